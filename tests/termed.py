"""Models over raw columns of every kind of term, and tables that they read."""

import numpy as np
import pandas as pd

from saccade.models.saved import SavedModel
from saccade.models.tables.assembling import assemble
from saccade.models.tables.blocks import Block, Formula, Lookup, Raw, mapped
from saccade.models.tables.maps import (
    Bins,
    Clip,
    Elementwise,
    Fill,
    Indicate,
    Match,
    Monomials,
    Power,
    Quantiles,
    Scale,
    Select,
    Splines,
    Threshold,
)
from saccade.models.tables.model import TermModel
from saccade.models.tables.terms import Grid

NAMES = ["state", "age", "income", "level", "unused", "score", "kind", "hours"]
STATES = np.array(["NY", "TX", "WA", "NA"], dtype=object)
KINDS = np.array([1, 2, 5])


def rows_of(n=4000, seed=0, *, gaps=0.1):
    """Return a table with texts and missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "state": rng.choice([*STATES, "other"], n).astype(object),
            "age": rng.normal(40, 12, n).round(1),
            "income": rng.lognormal(3, 1, n),
            "level": rng.choice(["low", "high"], n).astype(object),
            "unused": rng.choice(["x", "y"], n).astype(object),
            "score": rng.normal(size=n),
            "kind": rng.choice([1.0, 2.0, 5.0, 7.0], n),
            "hours": rng.integers(0, 60, n).astype(float),
        }
    )
    for name in ("state", "age", "kind", "score"):
        frame.loc[rng.random(n) < gaps, name] = None
    return frame


def looked_up(column, categories, table):
    """Return features by category; NaN stands for what is refused."""
    refused = np.isnan(table).any(axis=1)
    return Lookup(column, categories, np.where(refused[:, None], 0.0, table), refused)


def _splines(extrapolation="constant"):
    knots = np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0])
    return Splines(knots, np.eye(5)[:, :4], 2, extrapolation, -1.0, 2.0)


def blocks(rng):
    """Return features of every kind of step."""
    standard = Scale.of(1, minus=40.0, over=12.0)
    filled = mapped(Raw(5), Fill(np.nan, np.array([0.25])))
    onehot = np.vstack([np.eye(4), np.zeros((2, 4))])
    made = [
        looked_up(0, STATES, onehot),
        mapped(mapped(Raw(1), Fill(np.nan, np.array([38.0]))), standard),
        mapped(Raw(1), Indicate(np.nan)),
        mapped(
            mapped(Raw(2), Quantiles(np.array([1.0, 10, 20, 90]), np.linspace(0, 1, 4), True)), Select(np.zeros(2, int))
        ),
        looked_up(3, np.array(["low", "high"], dtype=object), np.array([[0.0], [1.0], [np.nan], [np.nan]])),
        mapped(filled, _splines()),
        mapped(mapped(filled, Power(np.array([0.4]), False)), Clip(np.array([-1.0]), np.array([1.0]))),
        mapped(filled, Threshold(np.array([0.1]))),
        looked_up(6, KINDS, np.vstack([np.eye(3), np.zeros((2, 3))])),
        mapped(
            mapped(Raw(7), Bins(np.array([10.0, 40.0]))),
            Match(np.arange(3.0), np.vstack([np.eye(3), np.zeros((2, 3))])),
        ),
        Formula(
            (1, 3),
            (Monomials(np.array([[1, 1, 0], [0, 1, 1]])),),
            (
                mapped(mapped(Raw(1), Fill(np.nan, np.array([38.0]))), standard),
                looked_up(
                    3,
                    np.array(["low", "high"], dtype=object),
                    np.array([[0.0, 1], [1.0, 0], [np.nan] * 2, [np.nan] * 2]),
                ),
            ),
        ),
    ]
    made.append(mapped(Raw(2), Elementwise("log1p")))
    widths = [4, 1, 1, 2, 1, 4, 1, 1, 3, 3, 2, 1]
    places = np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1])
    return [Block(own, block) for own, block in zip(places, made, strict=True)], sum(widths)


def model_of(seed=0, classes=("no", "yes"), names=NAMES):
    """Return a model with every kind of term."""
    rng = np.random.default_rng(seed)
    made, width = blocks(rng)
    scores = 1 if len(classes) == 2 else len(classes)
    coef = rng.normal(size=(scores, width))
    model = assemble(made, coef, rng.normal(size=scores) * 0.1, np.array(classes), len(NAMES), names)
    grid = Grid((0, 7), (None, np.array([20.0, 35.0])), 0.5 * rng.normal(size=(6, 4, scores)))
    return TermModel(
        (*model.terms, grid), model.intercept, model.classes, model.columns, model.categories, frozenset(), len(NAMES)
    )


def estimator_of(*args, **kwargs):
    """Return a classifier with such terms."""
    return SavedModel(model_of(*args, **kwargs))

"""Tables with texts and gaps, and models over their raw columns that are put together from blocks, for tests."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from saccade import attend
from saccade.models import apart
from saccade.models.tables.assembling import assemble
from saccade.models.tables.blocks import Block, Foreign, Formula, Lookup, Raw, mapped
from saccade.models.tables.maps import Bins, Fill, Monomials, Scale
from saccade.reading.plan import decided

NAMES = ["job", "age", "state", "hours", "unread", "size", "plan", "debt", "late"]
JOBS = np.array(["Private", "State", "Self", "None of these"], dtype=object)
STATES = np.array(["AK", "CA", "NY"], dtype=object)
PLANS = np.array([1.0, 2.0, 5.0])


class Stub:
    """A fitted estimator whose margins are those of a model over raw columns."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        margin = self.model.source(X).values() @ self.model.coef.T + self.model.intercept
        assert np.isfinite(margin).all()
        return self.classes_[decided(margin)]


def take_stubs_apart(monkeypatch):
    kind = SimpleNamespace(
        take_apart=lambda model: model.estimator.model if isinstance(getattr(model, "estimator", None), Stub) else None
    )
    monkeypatch.setattr(apart, "KINDS", (kind, *apart.KINDS))


def one_hot(n, *, other=0.0, missing=0.0):
    """Return a table of n categories; what any other value and a missing one are, NaN where they are refused."""
    return np.vstack([np.eye(n), np.full(n, other), np.full(n, missing)])


def lookup(column, categories, table):
    return Lookup(column, categories, np.nan_to_num(table), np.isnan(table).any(axis=1))


def model_of(rng, n_scores=1, *, pairs=False, foreign=False):
    """Return a model: job, state and plan are categories, and of the numbers hours and late may not be missing."""
    imputed = [mapped(mapped(Raw(k), Fill(np.nan, np.array([0.3]))), Scale.of(1, over=2.0)) for k in (1, 5)]
    bare = [mapped(Raw(k), Scale.of(1, minus=0.2)) for k in (3, 8)]
    made = [
        lookup(0, JOBS, one_hot(4, missing=0.5)),
        imputed[0],
        lookup(2, STATES, one_hot(3, other=np.nan, missing=0.25)),
        bare[0],
        imputed[1],
        lookup(6, PLANS, one_hot(3, missing=np.nan)),
        mapped(mapped(Raw(7), Fill(np.nan, np.array([1.0]))), Bins(np.array([-0.5, 0.5]))),
        bare[1],
    ]
    if pairs:
        product = Monomials(np.array([[1, 1]]))
        made += [
            Formula((1, 5), (product,), tuple(imputed)),
            Formula((3, 8), (product,), tuple(bare)),
            Formula((0, 7), (Monomials(np.array([[1, 0, 0, 0, 1], [0, 1, 0, 0, 1]])),), (made[0], made[6])),
        ]
    if foreign:
        made[0] = Foreign(0, lambda values: np.array([[len(str(value))] for value in values]) / 4.0, "Lengths", False)
    widths = [made_.features(filled).shape[1] for made_ in made]
    places = np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1])
    coef = rng.normal(size=(n_scores, sum(widths))) * rng.choice([0.05, 0.3, 1.0, 2.0], sum(widths))
    classes = np.array(["no", "yes"] if n_scores == 1 else ["low", "middle", "high"][:n_scores])
    blocks = [Block(place, made_) for place, made_ in zip(places, made, strict=True)]
    return assemble(blocks, coef, rng.normal(size=n_scores) * 0.1, classes, len(NAMES), NAMES)


def filled(column):
    return np.zeros(1, dtype=np.intp) if column in (0, 2, 6) else np.zeros(1)


def table_of(rng, n, *, gaps=0.1, unknown=0.02, foreign=False):
    """Return rows with gaps in job, age, state, size and debt, and with jobs and plans that the model never saw."""
    frame = pd.DataFrame(rng.normal(size=(n, len(NAMES))), columns=NAMES)
    frame["job"] = rng.choice(np.append(JOBS, "unheard of"), n, p=[*[(1 - unknown) / 4] * 4, unknown])
    frame["state"] = rng.choice(STATES, n)
    frame["plan"] = rng.choice(np.append(PLANS, 7.0), n, p=[*[(1 - unknown) / 3] * 3, unknown])
    frame["unread"] = rng.choice(["u", "v"], n)
    frame["late"] = rng.random(n) < 0.5
    for name in ["age", "state", "size", "debt", *([] if foreign else ["job"])]:
        frame.loc[rng.random(n) < gaps, name] = None if name in ("job", "state") else np.nan
    return frame


def attended(model, frame, **options):
    options = {"delta": 0.1, "random_state": 0, "promise": "rows"} | options
    return attend(Stub(model), frame, **options)

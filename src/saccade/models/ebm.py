"""Explainable boosting machines, of interpret: tables by bins of a column, or of several together, are added up.

The library itself is not needed. Seen to hold for interpret 0.7.0 to 0.7.8: in each dimension of ``term_scores_`` the
first bin is for missing values and the last for unknown ones, and ``bins_`` has for each feature cuts, or bins by
category, first those of single features, then those of pairs, and so on as long as they differ. Categories are texts,
as which numbers are written; before 0.7.7 as 1.0 and True, so that 1, 1.0 and True were three categories. Here they are
one in any version, the one that the model was fitted with.
"""

import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from saccade.models.categories import AS_PYTHON, PLAIN, Categories
from saccade.models.tables.model import TermModel
from saccade.models.tables.terms import Grid, NoTerm, Table, Term
from saccade.models.thresholds import step_inside, threshold_of

__all__ = ["ACCEPTED", "take_apart"]

Reals = NDArray[np.float64]
Bins = Reals | Mapping[str, int]  # ascending cuts, or bins by category, from 1

ACCEPTED = "interpret's fitted ExplainableBoostingClassifier"
ATTRIBUTES = ("bins_", "term_features_", "term_scores_", "intercept_", "feature_names_in_", "classes_", "predict")
PLAIN_SINCE = (0, 7, 7)  # whole numbers are written without a point, and truth values as 0 and 1


def take_apart(model: Any) -> TermModel | None:
    """Return the terms of an EBM; None for other models, and behind steps of a pipeline."""
    threshold = threshold_of(model)
    while (inside := step_inside(model)) is not None:
        if isinstance(model, Pipeline) and any(step not in (None, "passthrough", inside) for _, step in model.steps):
            return None
        model = inside
        threshold = threshold_of(model) if threshold is None else threshold
    if not all(hasattr(model, name) for name in ATTRIBUTES):
        return None
    classes, intercept = np.array(model.classes_), np.atleast_1d(np.array(model.intercept_, dtype=np.float64))
    if classes.size < 2:
        raise TypeError(f"{type(model).__name__} knows one class only, {classes.tolist()}: there is nothing to read.")
    margin = 0.0 if threshold is None else threshold.margin(model, classes, _margin_at)
    ahead = classes.size == 2 and intercept.size == 2  # two scores for two classes: the lead of the second counts
    intercept = intercept[1:] - intercept[:1] if ahead else intercept
    names = [str(name) for name in model.feature_names_in_]
    coded = {column: levels for column, levels in enumerate(model.bins_) if _are_categories(levels)}
    spelled = _spelled(model)
    categories = {column: _categories(levels, spelled) for column, levels in coded.items()}
    terms = _terms(model, categories, intercept.size, ahead)
    columns = None if names == _numbered(len(names)) else tuple(names)
    return TermModel(terms, intercept - margin, classes, columns, categories, n_columns=len(names))


def _margin_at(probability: float) -> float:
    return math.log(probability / (1 - probability))


def _numbered(n: int) -> list[str]:
    """Return the names that interpret itself gives to the columns of an array."""
    return [f"feature_{column:04}" for column in range(n)]


def _are_categories(levels: Sequence[Bins]) -> bool:
    return len(levels) > 0 and isinstance(levels[0], Mapping)


def _spelled(model: Any) -> str:
    """Return how the library that a model is of writes numbers."""
    library = sys.modules.get(type(model).__module__.partition(".")[0])
    version = tuple(map(int, re.findall(r"\d+", getattr(library, "__version__", ""))[:3]))
    return AS_PYTHON if version and version < PLAIN_SINCE else PLAIN


def _categories(levels: Sequence[Mapping[str, int]], spelled: str) -> Categories:
    texts = list(dict.fromkeys(str(text) for level in levels for text in level))
    values = np.empty(len(texts), dtype=object)
    values[:] = texts
    return Categories(values, numbers_too=True, others_apart=True, spelled=spelled)


def _terms(model: Any, categories: Mapping[int, Categories], n_scores: int, ahead: bool) -> tuple[Term, ...]:
    """Return a term for each column, in their order, then those of several columns."""
    single: dict[int, Term] = {}
    several: list[Term] = []
    for features, scores in zip(model.term_features_, model.term_scores_, strict=True):
        columns = tuple(map(int, features))
        table = np.asarray(scores, dtype=np.float64)
        table = table if table.ndim > len(columns) else table[..., None]
        table = table[..., 1:] - table[..., :1] if ahead else table
        if not table.any():
            continue
        edges: list[Reals | None] = []
        for axis, column in enumerate(columns):
            levels = model.bins_[column]
            bins = levels[min(len(levels), len(columns)) - 1]
            table = np.take(table, _places(bins, categories.get(column)), axis=axis)
            edges.append(None if column in categories else np.array(bins, dtype=np.float64))
        term = _term(columns, tuple(edges), np.ascontiguousarray(table))
        if len(columns) == 1 and columns[0] not in single:
            single[columns[0]] = term
        else:
            several.append(term)
    first = (single.get(column, NoTerm(column, n_scores)) for column in range(len(model.bins_)))
    return (*first, *several)


def _places(bins: Bins, categories: Categories | None) -> NDArray[np.intp]:
    """Return which bin of interpret's each place of a term's table is: unknown values are last there, and missing 0."""
    if categories is None:
        return np.append(np.arange(1, len(bins) + 2), 0)
    assert isinstance(bins, Mapping)
    return np.array([*(bins.get(text, -1) for text in categories.values.tolist()), -1, 0], dtype=np.intp)


def _term(columns: tuple[int, ...], edges: tuple[Reals | None, ...], table: Reals) -> Term:
    if len(columns) == 1 and edges[0] is None:
        return Table(columns[0], table)
    return Grid(columns, edges, table)  # of a single column, too: infinite numbers have a bin, unlike in polynomials

"""Fitted steps in turn: what a pipeline, a ColumnTransformer or a FeatureUnion makes of each raw column."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from saccade.models.pipelines import encoders, foreign, imputing, numeric
from saccade.models.pipelines.features import Blocks, RefusedError, concatenated, counted, elementwise, joined, taken
from saccade.models.tables.maps import Scale

__all__ = ["transformed"]

STEPS: dict[type, Any] = {**numeric.STEPS, **imputing.STEPS, **encoders.STEPS, **foreign.STEPS}


def transformed(step: Any, blocks: Blocks, names: Sequence[str] | None) -> Blocks:
    """Return the features that a fitted step makes; ``names`` are those of what it takes, where it may go by them."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return blocks
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            blocks, names = transformed(inner, blocks, names), None
        return blocks
    if isinstance(step, ColumnTransformer):
        return _by_column(step, blocks)
    if isinstance(step, FeatureUnion):
        return _side_by_side(step, blocks, names)
    if _takes_texts(step):
        raise RefusedError(
            step,
            "makes features of the words of a text, none of which is a column. Apply it first, and pass the model "
            "behind it, with rows as they come out of it.",
        )
    check_is_fitted(step)
    known = STEPS.get(type(step))
    if known is None and not type(step).__module__.startswith("sklearn."):
        return foreign.single(step, blocks)
    expected = getattr(step, "n_features_in_", None)
    if expected is not None and expected != counted(blocks):
        raise RefusedError(step, f"takes {expected} features, and gets {counted(blocks)} from the step before it.")
    if known is not None:
        made: Blocks = known(step, joined(blocks))
        return made
    if isinstance(step, SelectorMixin):
        return taken(joined(blocks), np.flatnonzero(step.get_support()))
    raise RefusedError(step, "mixes the columns of a row, or is not known here, so that no column adds by itself.")


def _takes_texts(step: Any) -> bool:
    return isinstance(step, CountVectorizer | HashingVectorizer)


def _by_column(step: ColumnTransformer, blocks: Blocks) -> Blocks:
    check_is_fitted(step)
    n, names = counted(blocks), getattr(step, "feature_names_in_", None)
    parts = []
    for name, inner, columns in step.transformers_:
        places = _places(columns, n, names)
        if places.size == 0 or (isinstance(inner, str) and inner == "drop"):
            continue
        if np.ndim(columns) == 0 and not isinstance(columns, slice) and not _takes_texts(inner):
            raise RefusedError(
                inner, f"({name!r} in a ColumnTransformer) takes a column as one dimension. Pass a list."
            )
        weight = (step.transformer_weights or {}).get(name)
        made = transformed(inner, taken(blocks, places), None)
        parts.append(made if weight is None else _weighted(made, weight))
    return concatenated(parts)


def _side_by_side(step: FeatureUnion, blocks: Blocks, names: Sequence[str] | None) -> Blocks:
    weights = step.transformer_weights or {}
    parts = []
    for name, inner in step.transformer_list:
        if isinstance(inner, str) and inner == "drop":
            continue
        made = transformed(inner, blocks, names)
        parts.append(_weighted(made, weights[name]) if weights.get(name) is not None else made)
    return concatenated(parts)


def _weighted(blocks: Blocks, weight: float) -> Blocks:
    return elementwise(blocks, Scale.of(counted(blocks), times=float(weight)))


def _places(columns: Any, n: int, names: NDArray[Any] | None) -> NDArray[np.intp]:
    """Return which columns are meant: names, numbers, a mask, or a slice of names (its end included) or numbers."""
    known = {} if names is None else {name: place for place, name in enumerate(names.tolist())}
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        if isinstance(start, str) or isinstance(stop, str):
            start = None if start is None else known[start]
            stop = None if stop is None else known[stop] + 1
        return np.arange(n)[slice(start, stop, columns.step)]
    listed = np.atleast_1d(np.asarray(columns, dtype=object)).tolist()
    if listed and all(isinstance(value, bool | np.bool_) for value in listed):
        return np.flatnonzero(np.array(listed, dtype=bool))
    return np.array([known[value] if isinstance(value, str) else range(n)[int(value)] for value in listed], np.intp)

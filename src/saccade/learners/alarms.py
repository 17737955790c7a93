"""Warnings about what was learned: a level that was not held, features of uneven scales, a model that decides nothing.

They look at a few rows: a pass over all of them would cost as much as learning does.
"""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import bdtrc

from saccade.exceptions import LevelNotHeldWarning, OneLabelWarning, UnevenScalesWarning
from saccade.learners.record import TrainingRecord
from saccade.reading.inputs import Rows

__all__ = ["CALLER", "FEW", "some_rows", "warn_if_level_not_held", "warn_of_model", "warn_of_scales"]

Reals = NDArray[np.float64]

# The chance of a false alarm when the audit's count is tested against the level.
ALARM = 0.01
# Rows of each class that are looked at first, and where all of them get one label; fewer than some tell little.
FEW, MANY = 16, 1024
FEWEST_ROWS = 32
# Features whose scales differ by this factor are too uneven; a scale is known from so many values other than zero.
UNEVEN = 100.0
FEWEST_VALUES = 8
# The line that called fit: above it are the wrapper of fit, fit, and the function that warns.
CALLER = 4


def warn_if_level_not_held(delta: float | None, record: TrainingRecord, stacklevel: int = CALLER) -> bool:
    """Warn where the audit's count speaks against the level; return whether it does."""
    if delta is None or not record.decision_error > delta:
        return False
    by_chance = bdtrc(record.n_missed - 1, record.n_important, delta)  # so many or more, at this level
    if by_chance >= ALARM:
        return False
    warnings.warn(
        f"The level delta={delta} was not held while learning: of {record.n_important} audited important "
        f"examples {record.n_missed} would have been filtered, {record.decision_error:.1%}. More passes "
        "(max_iter) or a larger audit let the boundary settle; a smaller delta makes it more cautious.",
        LevelNotHeldWarning,
        stacklevel=stacklevel,
    )
    return True


def warn_of_model(model: Any, X: Rows, codes: NDArray[np.integer], weight: Reals) -> None:
    """Warn where features differ in scale by decades, and where all training rows get one label."""
    rows = some_rows(codes, weight, model.classes_.size, FEW)
    part = X[rows]
    warn_of_scales(part, model._feature_names, CALLER + 1)
    if not _is_one_label(model, part, codes[rows]):
        return
    rows = some_rows(codes, weight, model.classes_.size, MANY)
    if rows.size >= FEWEST_ROWS and _is_one_label(model, X[rows], codes[rows]):
        label = model.classes_[_labels(model, X[rows[:1]])].item()
        warnings.warn(
            f"{type(model).__name__} gives all rows one label, {label!r}: it does so with each of {rows.size:,} "
            f"training rows of {model.classes_.size} classes. Scale the features, for example with StandardScaler, "
            "learn in more passes (max_iter), or let the rarer class count more (class_weight).",
            OneLabelWarning,
            stacklevel=CALLER,
        )


def warn_of_scales(part: Rows, names: NDArray[Any] | None, stacklevel: int = CALLER) -> None:
    """Warn where the scales of two features, as these rows show them, are decades apart.

    A scale is the root mean square of the values other than zero: constant and sparse features have one too, and a
    feature that is zero in nearly all rows is not taken for a small one.
    """
    columns, count, square = _values(part)
    scale = np.sqrt(square / np.maximum(count, 1))
    known = np.flatnonzero((count >= FEWEST_VALUES) & (scale > 0))
    if known.size == 0:
        return
    low, high = known[np.argmin(scale[known])], known[np.argmax(scale[known])]
    if scale[high] > UNEVEN * scale[low]:
        large, small = ((f"{k}" if names is None else repr(str(names[k]))) for k in columns[[high, low]])
        warnings.warn(
            f"Features differ in scale by decades: feature {large} has values of about {scale[high]:.2g}, feature "
            f"{small} of about {scale[low]:.2g}. The largest ones decide nearly alone. Scale them first, for example "
            "with StandardScaler.",
            UnevenScalesWarning,
            stacklevel=stacklevel,
        )


def some_rows(codes: NDArray[np.integer], weight: Reals, n_classes: int, most: int) -> NDArray[np.intp]:
    """Return up to so many rows of each class, evenly spaced; rows of weight 0 are none."""
    picked = []
    for code in range(n_classes):
        rows = np.flatnonzero((codes == code) & (weight > 0) if weight.size else codes == code)
        picked.append(rows[:: max(1, rows.size // most)][:most])
    return np.concatenate(picked)


def _values(part: Rows) -> tuple[NDArray[np.integer], NDArray[np.integer], Reals]:
    """Return columns, all that hold something, how many of their values are not zero, and the sum of their squares."""
    if sp.issparse(part):
        stored = part.data != 0
        columns, place, count = np.unique(part.indices[stored], return_inverse=True, return_counts=True)
        squares = np.zeros(columns.size)
        np.add.at(squares, place, part.data[stored].astype(np.float64) ** 2)
        return columns, count, squares
    values, count = part.astype(np.float64), (part != 0).sum(axis=0, dtype=np.int32)  # half the time of count_nonzero
    return np.arange(part.shape[1]), count, np.einsum("ij,ij->j", values, values)


def _is_one_label(model: Any, part: Rows, codes: NDArray[np.integer]) -> bool:
    """Whether rows of several classes get one label."""
    label = _labels(model, part)
    return bool(np.ptp(codes) > 0 and np.ptp(label) == 0)


def _labels(model: Any, part: Rows) -> NDArray[np.intp]:
    scores = part @ model.coef_.T + model.intercept_
    label: NDArray[np.intp] = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.intp)
    return label

"""Linear classifiers: a part is a column, and counts with its weight."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from saccade.models.categories import Categories
from saccade.reading.arrays import FLOATS_AND_BYTES
from saccade.reading.inputs import check_numbers, not_finite
from saccade.reading.plan import EACH
from saccade.reading.sources import Source, column_source
from saccade.reading.tables import take_rows

__all__ = ["LinearModel", "check_scores", "in_fitting_precision", "margin_at", "weights_of"]

Reals = NDArray[np.float64]

# The square of a value within these, and that of a millionth of it, are normal numbers of single precision.
SMALLEST, LARGEST = 1e-12, 1e12


@dataclass(frozen=True)
class LinearModel:
    """One score per row of ``coef``, over the columns that a user passes."""

    coef: Reals = field(repr=False)  # (scores, columns)
    intercept: Reals = field(repr=False)  # (scores,)
    classes: NDArray[Any]
    columns: tuple[str, ...] | None = field(default=None, repr=False)

    unit: ClassVar[NDArray[np.uint32]] = EACH
    parts_are_columns: ClassVar[bool] = True
    each_needs_one: ClassVar[bool] = True
    of_trees: ClassVar[bool] = False
    takes_objects: ClassVar[bool] = False
    as_held: ClassVar[frozenset[int]] = frozenset()
    categories: ClassVar[Mapping[int, Categories]] = MappingProxyType({})

    @property
    def unit_names(self) -> tuple[str, ...] | None:
        """The names of the columns."""
        return self.columns

    @property
    def n_columns(self) -> int:
        return int(self.coef.shape[1])

    @property
    def used(self) -> NDArray[np.intp]:
        """All columns: one without weight is to be a number, too."""
        return np.arange(self.n_columns)

    @property
    def takes_missing(self) -> NDArray[np.bool_]:
        """Nowhere is a missing value a value."""
        return np.zeros(self.n_columns, dtype=bool)

    def columns_of(self, parts: NDArray[np.intp]) -> NDArray[np.intp]:
        return parts

    def values(self, X: Any, rows: NDArray[np.intp]) -> NDArray[np.floating]:
        some = take_rows(X, rows)
        check_numbers(some)
        part = check_array(some, accept_sparse="csr", dtype=FLOATS_AND_BYTES, ensure_all_finite=False, input_name="X")
        dense = part.toarray() if hasattr(part, "toarray") else part
        with np.errstate(invalid="ignore"):
            low, high = dense.min(axis=0), dense.max(axis=0)  # NaN where there is one
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            where, feature = np.argwhere(~np.isfinite(dense))[0]
            raise not_finite(
                float(dense[where, feature]), int(rows[where]), int(feature), self.columns, "AttentiveClassifier"
            )
        return in_fitting_precision(dense, low, high)

    def full(self, X: Any, rows: NDArray[np.intp]) -> None:
        return None

    def ranges(self, X: Any, rows: NDArray[np.intp]) -> None:
        return None

    def check_own(self, X: Any, rows: NDArray[np.intp]) -> None:
        """Do nothing: models sum in an order of their own, and their labels are compared."""

    def as_taken(self, X: Any) -> Any:
        return X

    def source(self, X: Any) -> Source:
        return column_source(X)

    def named(self, columns: tuple[str, ...]) -> "LinearModel":
        return replace(self, columns=columns)


def weights_of(model: Any) -> tuple[Reals, Reals, NDArray[Any]] | None:
    """Return copies of the weights, the intercepts and the classes of a linear classifier; None for other models."""
    if not all(hasattr(model, name) for name in ("coef_", "intercept_", "classes_", "predict")):
        return None
    coef = np.atleast_2d(np.array(_dense(model.coef_), dtype=np.float64))
    intercept = np.array(np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (coef.shape[0],)))
    classes = np.array(model.classes_)
    check_scores(model, coef, classes)
    return coef, intercept, classes


def margin_at(model: Any, probability: float) -> float:
    """Return the margin at which the second class has this probability."""
    if getattr(model, "loss", None) == "modified_huber":  # SGDClassifier: p = (clip(margin, -1, 1) + 1) / 2
        return 2 * probability - 1
    return math.log(probability / (1 - probability))  # p = 1 / (1 + exp(-margin))


def in_fitting_precision(values: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.floating]:
    """Return values, which lie between these by column, in single precision where they come in no more and it fits."""
    single = values.dtype != np.float64 and _squares_fit(low, high)
    return np.ascontiguousarray(values, dtype=np.float32 if single else np.float64)


def _squares_fit(low: NDArray[Any], high: NDArray[Any]) -> bool:
    """Whether variances of values between these, by column, neither overflow nor vanish in single precision."""
    largest = np.maximum(np.abs(low.astype(np.float64)), np.abs(high.astype(np.float64)))
    return bool(((largest == 0) | ((largest > SMALLEST) & (largest < LARGEST))).all())


def check_scores(model: Any, coef: Reals, classes: NDArray[Any]) -> None:
    """Raise unless there is one score for two classes, or one for each of several."""
    name = type(model).__name__
    if classes.size > 2 and hasattr(model, "decision_function_shape"):  # SVC and NuSVC
        raise TypeError(
            f"{name} decides between {classes.size} classes one against one: its weights belong to pairs of classes, "
            f"and there is no score for each. Fit LinearSVC instead."
        )
    if coef.shape[0] != (1 if classes.size == 2 else classes.size):
        raise TypeError(
            f"{name} has {coef.shape[0]} scores for {classes.size} classes. If it was fitted on several targets "
            f"(multilabel), fit a model for each."
        )


def _dense(coef: Any) -> Any:
    return coef.toarray() if hasattr(coef, "toarray") else coef

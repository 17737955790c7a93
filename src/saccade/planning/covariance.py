"""Weighted means and covariances of part values: as products with the rows, or, of fewer parts, as one matrix.

A regression on most parts needs most columns of the covariance, and one product of matrices gives them all in a tenth
of the time. Sums over folds of the rows add up, so all rows but those of a fold cost nothing more.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Covariance", "Joint", "OfRows", "Sums", "sums_by_fold"]

Reals = NDArray[np.float64]
Values = NDArray[np.floating[Any]]  # (rows, parts)

# So many rows are multiplied at a time, in the precision of the values; what comes of them is added up in double.
ROWS_AT_ONCE = 2048


class Covariance(Protocol):
    """What a regression asks of the rows."""

    @property
    def mean(self) -> Reals:
        """(parts,)."""

    @property
    def variance(self) -> Reals:
        """(parts,) at least 0."""

    @property
    def constant(self) -> NDArray[np.bool_]:
        """(parts,) which parts vary by no more than rounding."""

    def column(self, part: int) -> Reals:
        """Return the covariance of a part with every other."""

    def columns(self, parts: NDArray[np.intp]) -> Reals:
        """Return the covariance of every part with some, (parts, some)."""

    def among(self, members: NDArray[np.intp]) -> Reals:
        """Return the covariance of some parts."""

    def with_scores(self, coef: Reals) -> Reals:
        """Return the covariance of every part with the scores, (parts, scores)."""

    def of_scores(self, coef: Reals) -> Reals:
        """Return the covariance of the scores."""


class OfRows:
    """Covariances of any number of parts, computed from the rows as they are asked for."""

    def __init__(self, X: Values, weight: Reals) -> None:
        self._weight = weight.astype(X.dtype)
        centre = self._weight @ X
        # A copy, because single precision would drown in the rounding of means that are large.
        self._X = X - centre
        self._exact_weight = weight
        self.mean: Reals = centre.astype(np.float64) + (self._weight @ self._X).astype(np.float64)
        self.variance: Reals = np.maximum(_variance(self._X, self._weight), 0)

    @property
    def constant(self) -> NDArray[np.bool_]:
        return _constant(self.variance, self.mean, self._X.dtype)

    def column(self, part: int) -> Reals:
        return (self._X.T @ (self._weight * self._X[:, part])).astype(np.float64)

    def columns(self, parts: NDArray[np.intp]) -> Reals:
        return (self._X.T @ (self._weight[:, None] * self._X[:, parts])).astype(np.float64)

    def among(self, members: NDArray[np.intp]) -> Reals:
        values = self._X[:, members]
        return (values.T @ (self._weight[:, None] * values)).astype(np.float64)

    def with_scores(self, coef: Reals) -> Reals:
        return (self._X.T @ (self._weight[:, None] * self._margin(coef))).astype(np.float64)

    def of_scores(self, coef: Reals) -> Reals:
        margin = self._margin(coef)
        product: Reals = margin.T.astype(np.float64) @ (self._weight[:, None] * margin)
        return product

    def _margin(self, coef: Reals) -> Values:
        margin = self._X @ coef.T.astype(self._X.dtype)
        rounding = self._exact_weight @ margin.astype(np.float64)  # the mean is zero but for rounding
        centred: Values = (margin - rounding).astype(self._X.dtype)
        return centred


@dataclass(frozen=True)
class Joint:
    """The whole covariance of some parts."""

    mean: Reals
    matrix: Reals  # (parts, parts)
    precision: np.dtype[Any]  # of the values

    @cached_property
    def variance(self) -> Reals:
        diagonal: Reals = np.maximum(np.diag(self.matrix), 0)
        return diagonal

    @property
    def constant(self) -> NDArray[np.bool_]:
        return _constant(self.variance, self.mean, self.precision)

    def column(self, part: int) -> Reals:
        column: Reals = self.matrix[part].copy()
        return column

    def columns(self, parts: NDArray[np.intp]) -> Reals:
        columns: Reals = self.matrix[:, parts]
        return columns

    def among(self, members: NDArray[np.intp]) -> Reals:
        block: Reals = self.matrix[np.ix_(members, members)]
        return block

    def with_scores(self, coef: Reals) -> Reals:
        return self.matrix @ coef.T

    def of_scores(self, coef: Reals) -> Reals:
        product: Reals = coef @ self.matrix @ coef.T
        return product


@dataclass(frozen=True)
class Sums:
    """Weighted sums over some rows of values, less a centre, and of their products."""

    centre: Values
    weight: float
    first: Reals  # (parts,)
    second: Values  # (parts, parts)

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.centre, self.weight + other.weight, self.first + other.first, self.second + other.second)

    def __sub__(self, other: "Sums") -> "Sums":
        return Sums(self.centre, self.weight - other.weight, self.first - other.first, self.second - other.second)

    def joint(self) -> Joint:
        """Return means and covariances of the rows that were summed."""
        mean = self.first / self.weight
        matrix = self.second.astype(np.float64) / self.weight - np.outer(mean, mean)
        return Joint(self.centre.astype(np.float64) + mean, matrix, self.centre.dtype)


def sums_by_fold(X: Values, weight: Reals, folds: list[slice]) -> list[Sums]:
    """Return the sums over each fold of the rows."""
    centre = weight.astype(X.dtype) @ X
    return [_sums(X[fold], weight[fold], centre) for fold in folds]


def _sums(X: Values, weight: Reals, centre: Values) -> Sums:
    first, second = np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    root = np.sqrt(weight).astype(X.dtype)
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        scaled = (X[rows] - centre) * root[rows, None]
        first += scaled.T @ root[rows]
        second += scaled.T @ scaled
    return Sums(centre, float(weight.sum()), first, second)


def _constant(variance: Reals, mean: Reals, precision: np.dtype[Any]) -> NDArray[np.bool_]:
    within: NDArray[np.bool_] = variance <= (8 * np.finfo(precision).eps * mean) ** 2
    return within


def _variance(X: Values, weight: Values) -> Reals:
    """Return the weighted variances of centred values, without a second array of X's size."""
    variance = np.empty(X.shape[1])
    for start in range(0, X.shape[1], 1024):
        part = X[:, start : start + 1024]
        variance[start : start + 1024] = weight @ (part * part)
    return variance

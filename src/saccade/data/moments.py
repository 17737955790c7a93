"""Means and standard deviations of columns, gathered batch by batch, to standardise them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.learners.scaling import Scaling

__all__ = ["ColumnMoments"]

Reals = NDArray[np.float64]
# Beyond these a squared unit is no number any more: such a column stays as it is.
SMALLEST, LARGEST = 1e-150, 1e150


class ColumnMoments:
    """Count, mean and sum of squared deviations of every column, merged by batches (Chan, Golub and LeVeque 1979).

    Of sparse rows only stored values count, about zero: a column is to be divided by the root mean square of its stored
    values. Divided by its standard deviation, a column with a few ones would outweigh all others.
    """

    def __init__(self, n_features: int) -> None:
        self._sparse = False
        self._count, self._mean, self._squares = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)

    @np.errstate(over="ignore", invalid="ignore")
    def add(self, X: Any) -> None:
        if X.shape[0] == 0:
            return
        if sp.issparse(X):
            self._sparse = True
            stored = X.data.astype(np.float64)
            self._count += np.bincount(X.indices, minlength=self._count.size)
            self._squares += np.bincount(X.indices, stored**2, minlength=self._count.size)
            return
        mean = X.mean(axis=0, dtype=np.float64)
        apart, total = mean - self._mean, self._count + X.shape[0]
        self._squares += ((X - mean) ** 2).sum(axis=0) + apart**2 * self._count * X.shape[0] / total
        self._mean += apart * X.shape[0] / total
        self._count = total

    @property
    def mean(self) -> float | None:
        """The mean of the first column; None where there was no value, or where it is too large for a number."""
        return float(self._mean[0]) if self._count[0] and np.isfinite(self._mean[0]) else None

    @np.errstate(over="ignore", invalid="ignore")
    def scaling(self, *, centred: bool) -> Scaling:
        """Return what makes means 0 and standard deviations 1, but of constant columns only the means.

        Sparse columns, and all if not ``centred``, get root mean squares of 1.
        """
        count = np.maximum(self._count, 1)
        variance = self._squares / count
        rounding = np.finfo(np.float64).eps * count
        constant = variance <= rounding * variance + (rounding * self._mean) ** 2
        if self._sparse or not centred:
            return Scaling(np.zeros(count.size), _possible(np.sqrt(variance + self._mean**2)))
        centre = np.where(np.isfinite(self._mean), self._mean, 0.0)
        return Scaling(centre, _possible(np.where(constant, 1.0, np.sqrt(variance))))


def _possible(unit: Reals) -> Reals:
    return np.where((unit > SMALLEST) & (unit < LARGEST), unit, 1.0)

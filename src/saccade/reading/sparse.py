"""CSR matrices as sources of columns, read by what their rows store."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.sparse import look_up, read_looked_up, read_stored
from saccade.reading.arrays import Selection, as_read_only
from saccade.reading.plan import Outcome, Plan
from saccade.reading.room import new_outcome

__all__ = ["CsrSource", "is_damaged", "stored_arrays", "without_duplicates"]


class CsrSource:
    """A CSR matrix of floats. What is not stored is zero, and is not counted where it is read."""

    def __init__(self, X: Any) -> None:
        self.X = as_read_only(X)
        self.shape: tuple[int, int] = X.shape

    def fill(self, part: int, rows: NDArray[np.uint32], size: int, out: NDArray[np.floating]) -> None:
        look_up(*stored_arrays(self.canonical), part, rows, size, out)

    def take(self, rows: Selection) -> "CsrSource":
        return CsrSource(self.X[rows])

    @cached_property
    def canonical(self) -> Any:
        """The matrix with ascending indices, duplicates summed up: a copy where it is not so itself."""
        if self.X.has_canonical_format:
            return self.X
        copy = self.X.copy()
        copy.sum_duplicates()
        return copy

    def run(self, plan: Plan) -> Outcome:
        """Read row by row: as the plan says, or in full where that costs less than to look its columns up."""
        if plan.checkpoints.size == 0:
            return self.in_full(plan, np.arange(self.shape[0], dtype=np.uint32))
        outcome, room = new_outcome(plan, self.shape[0]), np.empty(plan.positions)
        coef = _by_column(plan, self.X.nnz)
        return Outcome(*outcome, int(read_looked_up(*stored_arrays(self.canonical), plan, coef, room, *outcome)))

    def in_full(self, plan: Plan, rows: NDArray[np.uint32]) -> Outcome:
        """Read all that some rows store."""
        margin, n_read, stopped = new_outcome(plan, rows.size)
        n_read[:], stopped[:] = self.X.indptr[rows + 1] - self.X.indptr[rows], False
        coef = _by_column(plan, int(n_read.sum()))
        bad = read_stored(*stored_arrays(self.X), rows, coef, plan.intercept, margin)
        return Outcome(margin, n_read, stopped, int(bad))


def without_duplicates(X: Any) -> Any:
    """Return a CSR matrix with ascending indices; raise if a row stores a column twice.

    Libraries disagree about such entries: a linear model adds them up, a tree takes one of them.
    """
    if X.has_canonical_format:
        return X
    ordered = X.copy()
    ordered.sum_duplicates()
    if ordered.nnz < X.nnz:
        raise ValueError(
            f"X stores {X.nnz - ordered.nnz:,} entries more than once: a row has several values of one column. Call "
            "X.sum_duplicates() to add them up, or remove them."
        )
    return ordered


def _by_column(plan: Plan, n_stored: int) -> NDArray[np.float64]:
    """Return the weights of each column, which share a cache line: from as many values as columns on that pays."""
    return np.ascontiguousarray(plan.coef.T) if n_stored > plan.n_features else plan.coef.T


def is_damaged(X: Any) -> bool:
    """Return whether a CSR or CSC matrix points beyond its rows, columns or stored values.

    scipy looks at the ends of ``indptr`` only, and its full check changes the matrix.
    """
    if X.format not in ("csr", "csc") or X.ndim != 2:
        return False
    n_lines, n_places = X.shape if X.format == "csr" else X.shape[::-1]
    ends, size = X.indptr, min(X.indices.size, X.data.size)
    if ends.size != n_lines + 1 or ends[0] != 0 or ends[-1] > size or (ends[1:] < ends[:-1]).any():
        return True
    places = X.indices[: ends[-1]].view(f"u{X.indices.itemsize}")  # in which a negative one is too large
    return bool(places.size and places.max() >= n_places)


def stored_arrays(X: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return stored values, indices and row ends of a CSR matrix as kernels take them.

    As unsigned numbers, indices need no check for negative ones. Those of 64 bits stay as they are: numba makes real
    numbers of them where they meet others with a sign.
    """
    indices = X.indices.view(np.uint32) if X.indices.itemsize == 4 else X.indices
    return X.data, indices, X.indptr

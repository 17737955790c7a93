"""A plan over arrays in Fortran order and over tables: only the columns that are asked for are touched."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.columns import read_columns
from saccade.plan import Plan

__all__ = ["read_array_by_columns", "read_table"]

# Rows that are read together: their values of a few dozen features fit into the nearest caches.
BLOCK = 1024
# Tables are read in larger blocks, because each costs a few calls for every column.
TABLE_BLOCK = 65_536

Outcome = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_], int]


def read_array_by_columns(plan: Plan, X: NDArray[Any]) -> Outcome:
    """Read every row of an array whose columns are contiguous; return what ``read_rows`` returns."""
    n_rows, positions = X.shape[0], int(plan.checkpoints[-1]) if plan.checkpoints.size else 0
    margin, n_read, stopped = np.empty(n_rows), np.empty(n_rows, np.int64), np.empty(n_rows, np.bool_)
    block = min(BLOCK, max(n_rows, 1))
    values = np.empty((positions, block), np.float32 if X.dtype == np.float32 else np.float64)
    work = np.empty(block, np.int64), np.empty(block), np.empty(block, np.int64)
    bad = read_columns(X, plan, values, *work, margin, n_read, stopped)
    return margin, n_read, stopped, int(bad)


def read_table(plan: Plan, column: Callable[[int], NDArray[Any]], n_rows: int) -> Outcome:
    """Read every row of a table of which ``column(feature)`` gives one column, asked for once a block at the most."""
    margin, n_read = np.empty(n_rows), np.empty(n_rows, np.int64)
    stopped = np.ones(n_rows, np.bool_)
    for start in range(0, n_rows, TABLE_BLOCK):
        rows = np.arange(start, min(start + TABLE_BLOCK, n_rows))
        _read_block(plan, column, rows, margin, n_read, stopped)
        wrong = ~np.isfinite(margin[start : start + rows.size])
        if wrong.any():
            return margin, n_read, stopped, start + int(np.argmax(wrong))
    return margin, n_read, stopped, -1


def _read_block(
    plan: Plan,
    column: Callable[[int], NDArray[Any]],
    rows: NDArray[np.int64],
    margin: NDArray[np.float64],
    n_read: NDArray[np.int64],
    stopped: NDArray[np.bool_],
) -> None:
    whole = slice(rows[0], rows[-1] + 1) if rows.size else slice(0, 0)
    values: list[NDArray[np.float64]] = []
    total = np.zeros(rows.size)
    run = 0
    for k, (first, end) in enumerate(zip(plan.first, plan.checkpoints, strict=False)):
        untouched = rows.size == whole.stop - whole.start
        for p in range(len(values), end):
            asked = column(int(plan.order[p]))
            values.append(np.asarray(asked[whole] if untouched else asked[rows], dtype=np.float64))
        total = np.full(rows.size, plan.shift[k]) if first == 0 else total + plan.shift[k]
        for p in range(first, end):
            total += plan.weights[run + p - first] * values[p]
        run += end - first
        decided = (total >= plan.upper[k]) | (total <= plan.lower[k])
        done = rows[decided]
        margin[done], n_read[done] = total[decided], end
        rows, total = rows[~decided], total[~decided]
        if not rows.size:
            return
        later = k + 1 < plan.checkpoints.size and plan.first[k + 1] == 0
        values = [value[~decided] for value in values] if later else [value[:0] for value in values]
    total = np.full(rows.size, plan.offset)
    for j, weight in enumerate(plan.coef):
        total += weight * column(j)[rows]
    margin[rows], n_read[rows], stopped[rows] = total, plan.coef.size, False

"""A plan over tables: only the columns that are asked for are made into arrays, one after another."""

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.plan import Outcome, Plan

__all__ = ["Table", "as_table", "read_table"]

# Tables are read in larger blocks than arrays, because each block costs a few calls for every column.
BLOCK = 65_536


class Table:
    """A pandas, polars or Arrow table as columns of numbers, made into arrays one by one when they are asked for."""

    def __init__(self, frame: "nw.DataFrame[Any]") -> None:
        self._frame = frame
        self._columns: dict[int, NDArray[Any]] = {}
        self.shape = frame.shape

    def column(self, feature: int) -> NDArray[Any]:
        """Return one column; a missing value is NaN."""
        if feature not in self._columns:
            series = self._frame.get_column(self._frame.columns[feature])
            values = series.to_numpy()
            if values.dtype.kind not in "fiub":
                raise ValueError(
                    f"Column {series.name!r} holds {series.dtype}, not numbers. Encode it, as the model was taught."
                )
            self._columns[feature] = values
        return self._columns[feature]

    def __getitem__(self, row: int) -> NDArray[Any]:
        """Return one row."""
        return np.array([self.column(feature)[row] for feature in range(self.shape[1])])

    def rows(self, start: int, stop: int) -> "Table":
        return Table(self._frame[start:stop])


def as_table(X: Any) -> Table | None:
    """Return X as a table, or None where it is none."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return Table(frame) if isinstance(frame, nw.DataFrame) else None


def read_table(plan: Plan, table: Table) -> Outcome:
    """Read every row of a table."""
    n_rows = table.shape[0]
    margin, n_read = np.empty(n_rows), np.empty(n_rows, np.int64)
    stopped = np.ones(n_rows, np.bool_)
    for start in range(0, n_rows, BLOCK):
        rows = np.arange(start, min(start + BLOCK, n_rows))
        _read_block(plan, table, rows, margin, n_read, stopped)
        wrong = ~np.isfinite(margin[start : start + rows.size])
        if wrong.any():
            return margin, n_read, stopped, start + int(np.argmax(wrong))
    return margin, n_read, stopped, -1


def _read_block(
    plan: Plan,
    table: Table,
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
            asked = table.column(int(plan.order[p]))
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
        total += weight * table.column(j)[rows]
    margin[rows], n_read[rows], stopped[rows] = total, plan.coef.size, False

"""A plan over tables: only the columns that are asked for are made into arrays, one after another."""

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.kernels.blocks import check, gather
from saccade.plan import Outcome, Plan
from saccade.readers.room import new_room, outcome_of

__all__ = ["Table", "as_table", "read_table"]

# Tables are read in larger blocks than arrays, because each block costs a few calls for every column.
BLOCK = 2**14


class Table:
    """A pandas, polars or Arrow table as columns of numbers, made into arrays one by one when they are asked for."""

    def __init__(self, frame: "nw.DataFrame[Any]") -> None:
        self._frame = frame
        self._names = frame.columns
        self._columns: dict[int, NDArray[Any]] = {}
        self.shape = frame.shape

    def column(self, feature: int) -> NDArray[Any]:
        """Return one column; a missing value is NaN."""
        if feature not in self._columns:
            series = self._frame.get_column(self._names[feature])
            values = _as_array(series.to_native())
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


def _as_array(series: Any) -> NDArray[Any]:
    """Return a column as an array, without a copy where its memory is one piece."""
    if getattr(series, "num_chunks", 0) == 1 and hasattr(series, "chunk"):  # Arrow copies even one chunk if asked whole
        series = series.chunk(0)
        return np.asarray(series.to_numpy(zero_copy_only=False))
    return np.asarray(series.to_numpy())


def as_table(X: Any) -> Table | None:
    """Return X as a table, or None where it is none."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return Table(frame) if isinstance(frame, nw.DataFrame) else None


def read_table(plan: Plan, table: Table) -> Outcome:
    """Read every row of a table."""
    n_rows, room = table.shape[0], new_room(plan, min(BLOCK, max(table.shape[0], 1)), np.float64)
    margin, n_read, stopped = outcome_of(n_rows)
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        size = stop - start
        room.rows[:size] = np.arange(start, stop)
        position = run = 0
        for k, end in enumerate(plan.checkpoints.tolist()):
            for p in range(position, end):
                gather(table.column(int(plan.order[p])), room.rows, size, room.values[p])
            size = check(plan, k, run, size, *room, margin, n_read, stopped)
            position, run = end, run + end - int(plan.first[k])
            if size == 0:
                break
        _read_to_the_end(plan, table, room.rows[:size], margin, n_read, stopped)
        wrong = ~np.isfinite(margin[start:stop])
        if wrong.any():
            return margin, n_read, stopped, start + int(np.argmax(wrong))
    return margin, n_read, stopped, -1


def _read_to_the_end(
    plan: Plan,
    table: Table,
    rows: NDArray[np.int64],
    margin: NDArray[np.float64],
    n_read: NDArray[np.int64],
    stopped: NDArray[np.bool_],
) -> None:
    if rows.size:
        total = np.full(rows.size, plan.offset)
        for j, weight in enumerate(plan.coef):
            total += weight * table.column(j)[rows]
        margin[rows], n_read[rows], stopped[rows] = total, plan.coef.size, False

"""A plan over tables: only the columns that are asked for are made into arrays, one after another."""

from collections.abc import Callable
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.kernels.blocks import check, gather
from saccade.reading.plan import Outcome, Plan
from saccade.reading.room import Room, Written, new_room, outcome_of, positions

__all__ = ["Columns", "Table", "as_table", "read_table", "take_rows"]

# Every block of rows costs a few calls for each column, so tables are read in larger blocks than arrays. What a block
# leaves undecided after the first features, few rows, waits until there are enough of them for a block of their own.
BLOCK = 2**13
MOST_FIRST_FEATURES = 32


class Columns(Protocol):
    """What a table is to the reader."""

    shape: tuple[int, int]

    def column(self, feature: int) -> NDArray[Any]:
        """Return one column; a missing value is NaN."""


class Table:
    """A pandas, polars or Arrow table as columns of numbers, made into arrays one by one when they are asked for."""

    def __init__(self, frame: "nw.DataFrame[Any]") -> None:
        self._frame = frame
        self._fetch = _fetcher(frame)
        self._columns: dict[int, NDArray[Any]] = {}
        self.shape = frame.shape

    def column(self, feature: int) -> NDArray[Any]:
        """Return one column; a missing value is NaN."""
        if feature not in self._columns:
            values = self._fetch(feature)
            if values.dtype.kind not in "fiub":
                series = self._frame[:, feature]
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

    def one_array(self) -> NDArray[Any] | None:
        """Return the array behind a pandas table whose columns all lie in one, or None."""
        if not self._frame.implementation.is_pandas() or 0 in self.shape:
            return None
        behind = [self._fetch(feature).base for feature in (0, -1)]
        if behind[0] is None or behind[0] is not behind[1] or sorted(behind[0].shape) != sorted(self.shape):
            return None
        whole: NDArray[Any] = self._frame.to_native().to_numpy()
        return whole


def _fetcher(frame: "nw.DataFrame[Any]") -> Callable[[int], NDArray[Any]]:
    """Return what makes a column an array, without a copy where its memory is one piece.

    The libraries' own ways: for a table of many columns a uniform one takes longer than reading the rows.
    """
    native = frame.to_native()
    if frame.implementation.is_polars():
        return lambda feature: np.asarray(native.to_series(feature).to_numpy())
    if frame.implementation.is_pyarrow():
        return lambda feature: _arrow_values(native.column(feature))
    return lambda feature: np.asarray(frame[:, feature].to_native().to_numpy())


def _arrow_values(column: Any) -> NDArray[Any]:
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return np.asarray(whole.to_numpy(zero_copy_only=False))


def as_table(X: Any) -> Table | None:
    """Return X as a table, or None where it is none."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return Table(frame) if isinstance(frame, nw.DataFrame) else None


def take_rows(values: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a table, an array, a sparse matrix, a series or a list; those of a series as an array."""
    if sp.issparse(values):
        return values[rows]
    frame = nw.from_native(values, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows].to_native()
    return np.asarray(values)[rows] if hasattr(values, "__array__") else [values[row] for row in rows]


def read_table(plan: Plan, table: Columns) -> Outcome:
    """Read every row of a table."""
    n_rows = table.shape[0]
    outcome = outcome_of(plan, n_rows)
    block = min(BLOCK, max(n_rows, 1))
    early = int(np.searchsorted(plan.checkpoints, MOST_FIRST_FEATURES, side="right"))
    first = int(plan.checkpoints[early - 1]) if early else 0
    room, waiting = (new_room(plan, block, np.float64, size) for size in (first, positions(plan)))
    n_waiting = 0
    for start in range(0, n_rows, block):
        size = min(block, n_rows - start)
        room.rows[:size] = np.arange(start, start + size)
        size = _read_on(plan, table, range(early), size, room, outcome)
        if n_waiting + size > block:
            _read_out(plan, table, early, n_waiting, waiting, outcome)
            n_waiting = 0
        _move(room, size, waiting, n_waiting)
        n_waiting += size
    _read_out(plan, table, early, n_waiting, waiting, outcome)
    wrong = ~np.isfinite(outcome[0]).all(axis=1)
    return *outcome, int(np.argmax(wrong)) if wrong.any() else -1


def _read_on(plan: Plan, table: Columns, checkpoints: range, size: int, room: Room, outcome: Written) -> int:
    """Read rows from one checkpoint to another; return how many stay undecided."""
    for k in checkpoints:
        if size == 0:
            break
        for position in range(int(plan.checkpoints[k - 1]) if k else 0, int(plan.checkpoints[k])):
            gather(table.column(int(plan.order[position])), room.rows, size, room.values[position])
        size = check(plan, k, size, *room, *outcome)
    return size


def _read_out(plan: Plan, table: Columns, early: int, size: int, room: Room, outcome: Written) -> None:
    """Read rows that are undecided after the early checkpoints until they are decided, or to the end."""
    size = _read_on(plan, table, range(early, plan.checkpoints.size), size, room, outcome)
    if size and plan.most_read < plan.n_features:  # what decides every row did not decide these: they are not finite
        outcome[0][room.rows[:size]] = np.nan
    elif size:
        rows, total = room.rows[:size], np.tile(plan.offset, (size, 1))
        for feature, weights in enumerate(plan.coef.T):
            total += table.column(feature)[rows, None] * weights
        margin, n_read, stopped = outcome
        margin[rows], n_read[rows], stopped[rows] = total, plan.n_features, False


def _move(source: Room, size: int, target: Room, start: int) -> None:
    """Append rows and what is known of them to other rows."""
    end, known = start + size, source.values.shape[0]
    target.rows[start:end], target.total[:, start:end] = source.rows[:size], source.total[:, :size]
    target.values[:known, start:end] = source.values[:, :size]

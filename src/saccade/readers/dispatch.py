"""Which reader suits which storage, in one thread or in several."""

from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from saccade.plan import Plan
from saccade.readers.columns import Outcome, read_array_by_columns, read_table
from saccade.readers.rows import read_rows

__all__ = ["Table", "as_table", "read_plan"]

# Fewer rows than these are not worth a thread.
FEWEST_ROWS = 20_000


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


def read_plan(plan: Plan, X: Any, n_jobs: int | None) -> Outcome:
    """Read every row of an array, a CSR matrix or a Table.

    Return the margins, the features read, whether each row stopped, and -1 or a row that is not finite.
    """
    n_rows = X.shape[0]
    jobs = effective_n_jobs(n_jobs) if n_jobs is not None and n_rows >= FEWEST_ROWS else 1
    if jobs == 1:
        return _read(plan, X)
    bounds = np.linspace(0, n_rows, jobs + 1).astype(int).tolist()
    parts = [(start, stop) for start, stop in pairwise(bounds) if stop > start]
    cut = X.rows if isinstance(X, Table) else lambda start, stop: X[start:stop]
    done = Parallel(n_jobs=jobs, prefer="threads")(delayed(_read)(plan, cut(start, stop)) for start, stop in parts)
    margin, n_read, stopped = (np.concatenate([one[k] for one in done]) for k in range(3))
    bad = next((start + one[3] for (start, _), one in zip(parts, done, strict=True) if one[3] >= 0), -1)
    return margin, n_read, stopped, int(bad)


def _read(plan: Plan, X: Any) -> Outcome:
    if isinstance(X, Table):
        return read_table(plan, X.column, X.shape[0])
    if not sp.issparse(X) and X.shape[0] > 1 and abs(X.strides[0]) < abs(X.strides[1]):
        return read_array_by_columns(plan, X)
    return read_rows(plan, X)

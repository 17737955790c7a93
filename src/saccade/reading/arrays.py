"""Dense arrays, whichever way their memory runs, as sources of columns with a kernel of their own."""

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.kernels.checkpoints import gather
from saccade.kernels.dense import read_blocks, read_some
from saccade.reading.plan import Outcome, Plan
from saccade.reading.room import new_outcome, new_room

__all__ = ["FLOATS_AND_BYTES", "ArraySource", "Selection", "as_read_only"]

# What the kernels take as it is.
FLOATS_AND_BYTES = [np.dtype(kind) for kind in (np.float64, np.float32, np.uint8)]
# Some rows: a run of them, or their numbers.
Selection = slice | NDArray[np.intp]

# Rows that are read together: enough that columns are read in long runs, few enough to stay in the nearer caches.
BLOCK = 4096


def as_read_only(X: Any) -> Any:
    """Make X read-only in the eyes of the compiler, so that one compiled kernel serves memory maps and arrays alike.

    CSR matrices, whose stored values are few, become floats instead.
    """
    if sp.issparse(X):
        return X.astype(np.float64) if X.dtype == np.uint8 else X
    return _read_only_view(X)


def _read_only_view(X: NDArray[Any]) -> NDArray[Any]:
    view = X.view()
    view.flags.writeable = False
    return view


class ArraySource:
    """A two-dimensional array of float32, float64 or uint8."""

    weighs_all: ClassVar[bool] = True  # a compiled loop also multiplies values that have no weight

    def __init__(self, X: NDArray[Any]) -> None:
        self.X = _read_only_view(X)
        self.shape: tuple[int, int] = X.shape

    def fill(self, part: int, rows: NDArray[np.uint32], size: int, out: NDArray[np.floating]) -> None:
        gather(self.X[:, part], rows, size, out)

    def take(self, rows: Selection) -> "ArraySource":
        return ArraySource(self.X[rows])

    def run(self, plan: Plan) -> Outcome:
        """Read by blocks of rows inside one kernel: 145 ns a row of MNIST where the generic reader took 225."""
        n_rows = self.X.shape[0]
        dtype = np.float32 if self.X.dtype == np.float32 else np.float64
        outcome = new_outcome(plan, n_rows)
        room = new_room(plan, min(BLOCK, max(n_rows, 1)), dtype, plan.positions)
        return Outcome(*outcome, int(read_blocks(self.X, plan, *room, *outcome)))

    def in_full(self, plan: Plan, rows: NDArray[np.uint32]) -> Outcome:
        """Read some rows, which ascend, in full, without a copy of them."""
        outcome = new_outcome(plan, rows.size)
        return Outcome(*outcome, int(read_some(self.X, plan.coef, plan.intercept, rows, *outcome)))

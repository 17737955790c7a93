"""A plan over dense arrays, whichever way their memory runs, and over CSR matrices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.blocks import read_blocks
from saccade.kernels.reading import read_sparse
from saccade.plan import Outcome, Plan

__all__ = ["read_array", "read_csr"]

# Rows that are read together: enough that columns are read in long runs, few enough to stay in the nearer caches.
BLOCK = 4096


def read_array(plan: Plan, X: NDArray[Any]) -> Outcome:
    """Read every row of a dense array."""
    n_rows, positions = X.shape[0], _positions(plan)
    margin, n_read, stopped = _room(n_rows)
    block = min(BLOCK, max(n_rows, 1))
    values = np.empty((positions, block), np.float32 if X.dtype == np.float32 else np.float64)
    work = np.empty(block, np.int64), np.empty(block), np.empty(block, np.int64)
    bad = read_blocks(X, plan, values, *work, margin, n_read, stopped)
    return margin, n_read, stopped, int(bad)


def read_csr(plan: Plan, X: Any) -> Outcome:
    """Read every row of a CSR matrix."""
    margin, n_read, stopped = _room(X.shape[0])
    spread, values = np.zeros(X.shape[1]), np.empty(_positions(plan))
    bad = read_sparse(X.data, X.indices, X.indptr, spread, plan, values, margin, n_read, stopped)
    return margin, n_read, stopped, int(bad)


def _positions(plan: Plan) -> int:
    return int(plan.checkpoints[-1]) if plan.checkpoints.size else 0


def _room(n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    return np.empty(n_rows), np.empty(n_rows, np.int64), np.empty(n_rows, np.bool_)

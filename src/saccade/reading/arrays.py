"""A plan over dense arrays, whichever way their memory runs, and over CSR matrices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.blocks import read_blocks
from saccade.kernels.reading import read_sparse
from saccade.reading.plan import Outcome, Plan
from saccade.reading.room import new_room, outcome_of, positions

__all__ = ["read_array", "read_csr"]

# Rows that are read together: enough that columns are read in long runs, few enough to stay in the nearer caches.
BLOCK = 4096


def read_array(plan: Plan, X: NDArray[Any]) -> Outcome:
    """Read every row of a dense array."""
    n_rows = X.shape[0]
    written = outcome_of(plan, n_rows)
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    room = new_room(plan, min(BLOCK, max(n_rows, 1)), dtype, positions(plan))
    bad = read_blocks(X, plan, *room, *written)
    return *written, int(bad)


def read_csr(plan: Plan, X: Any) -> Outcome:
    """Read every row of a CSR matrix."""
    written = outcome_of(plan, X.shape[0])
    spread, values = np.zeros(X.shape[1]), np.empty(positions(plan))
    bad = read_sparse(X.data, X.indices, X.indptr, spread, plan, values, *written)
    return *written, int(bad)

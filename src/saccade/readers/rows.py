"""A plan over the rows of a dense array or of a CSR matrix."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.inputs import Rows
from saccade.kernels.reading import read_dense, read_sparse
from saccade.plan import Plan

__all__ = ["read_rows"]


def read_rows(plan: Plan, X: Rows) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_], int]:
    """Read every row by the plan.

    Return the margins, the features read, whether each row stopped, and -1 or the first row that is not finite.
    """
    rows = X.shape[0]
    margin = np.empty(rows)
    n_read = np.empty(rows, dtype=np.int64)
    stopped = np.empty(rows, dtype=np.bool_)
    values = np.empty(plan.checkpoints[-1] if plan.checkpoints.size else 0)
    if sp.issparse(X):
        spread = np.zeros(X.shape[1])
        bad = read_sparse(X.data, X.indices, X.indptr, spread, plan, values, margin, n_read, stopped)
    else:
        bad = read_dense(X, plan, values, margin, n_read, stopped)
    return margin, n_read, stopped, bad

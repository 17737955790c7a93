"""Which reader suits which storage, in one thread or in several."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs

from saccade.reading.arrays import read_array, read_csr
from saccade.reading.plan import Outcome, Plan
from saccade.reading.tables import Table, read_table

__all__ = ["read_plan"]

# Fewer rows than these are not worth a thread.
FEWEST_ROWS = 20_000


def read_plan(plan: Plan, X: Any, n_jobs: int | None = None) -> Outcome:
    """Read every row of an array, a CSR matrix or a Table."""
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
        return read_table(plan, X)
    return read_csr(plan, X) if sp.issparse(X) else read_array(plan, X)

"""Between which values the columns of rows lie."""

import numpy as np
from numpy.typing import NDArray

from saccade.models.trees.storage import Storage

__all__ = ["ranges_of"]

Reals = NDArray[np.float64]

# Rows whose columns are brought side by side at once.
BLOCK = 1024


def ranges_of(storage: Storage, n_slots: int) -> tuple[Reals, Reals, NDArray[np.bool_]]:
    """Return the least and the largest value at each slot, and whether one is missing."""
    low, high, missing = np.full(n_slots, np.inf), np.full(n_slots, -np.inf), np.zeros(n_slots, np.bool_)
    every, columns = np.arange(n_slots, dtype=np.int32), np.empty((max(n_slots, 1), BLOCK), storage.dtype)
    for start in range(0, storage.n_rows, BLOCK):
        rows = np.arange(start, min(start + BLOCK, storage.n_rows), dtype=np.uint32)
        storage.gather(every, rows, rows.size, columns)
        here = columns[:n_slots, : rows.size]
        low = np.minimum(low, np.fmin.reduce(here, axis=1))
        high = np.maximum(high, np.fmax.reduce(here, axis=1))
        missing |= np.isnan(here).any(axis=1)
    return low, high, missing

"""The arrays that reading needs: for what comes out, and to work in."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.reading.plan import Plan

__all__ = ["Room", "Written", "new_outcome", "new_room"]


class Room(NamedTuple):
    """Where a block of rows is read: its values by position, and what is known of each row that is still undecided."""

    rows: NDArray[np.uint32]
    values: NDArray[np.floating]  # (positions, block)
    total: NDArray[np.float64]  # (scores, block)
    places: NDArray[np.uint32]  # where in the block the undecided rows are, then, from the back, the decided ones


# Margins, parts read, whether each row stopped.
Written = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]


def new_room(plan: Plan, block: int, dtype: type[np.floating], positions: int) -> Room:
    values, total = np.empty((positions, block), dtype), np.empty((plan.coef.shape[0], block))
    return Room(np.empty(block, np.uint32), values, total, np.empty(block, np.uint32))


def new_outcome(plan: Plan, n_rows: int) -> Written:
    return np.empty((n_rows, plan.coef.shape[0])), np.empty(n_rows, np.int64), np.empty(n_rows, np.bool_)

"""The arrays that reading needs: for what comes out, and to work in."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.reading.plan import Plan

__all__ = ["Room", "Written", "new_room", "outcome_of", "positions"]


class Room(NamedTuple):
    """Where a block of rows is read: its values by position, and what is known of each row that is still undecided."""

    rows: NDArray[np.uint32]
    values: NDArray[np.floating]  # (positions, block)
    total: NDArray[np.float64]  # (scores, block)
    kept: NDArray[np.uint32]


# Margins, features read, whether each row stopped.
Written = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]


def new_room(plan: Plan, block: int, dtype: type[np.floating], positions: int) -> Room:
    values, total = np.empty((positions, block), dtype), np.empty((plan.coef.shape[0], block))
    return Room(np.empty(block, np.uint32), values, total, np.empty(block, np.uint32))


def positions(plan: Plan) -> int:
    """Return how many features a plan reads before it gives a row up."""
    return int(plan.checkpoints[-1]) if plan.checkpoints.size else 0


def outcome_of(plan: Plan, n_rows: int) -> Written:
    return np.empty((n_rows, plan.coef.shape[0])), np.empty(n_rows, np.int64), np.empty(n_rows, np.bool_)

"""The arrays that reading needs: for what comes out, and to work in."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.plan import Plan

__all__ = ["Room", "new_room", "outcome_of", "positions"]


class Room(NamedTuple):
    """Where a block of rows is read: its values by position, and what is known of each row that is still undecided."""

    rows: NDArray[np.int64]
    values: NDArray[np.floating]  # (positions, block)
    total: NDArray[np.float64]
    kept: NDArray[np.int64]


def new_room(plan: Plan, block: int, dtype: type[np.floating]) -> Room:
    values = np.empty((positions(plan), block), dtype)
    return Room(np.empty(block, np.int64), values, np.empty(block), np.empty(block, np.int64))


def positions(plan: Plan) -> int:
    """Return how many features a plan reads before it gives a row up."""
    return int(plan.checkpoints[-1]) if plan.checkpoints.size else 0


def outcome_of(n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    return np.empty(n_rows), np.empty(n_rows, np.int64), np.empty(n_rows, np.bool_)

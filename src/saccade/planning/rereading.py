"""Reading rows again by a plan with other thresholds.

The plans of a family mostly differ in their thresholds alone. What every checkpoint says of every row is then computed
once, to the bit as a reader computes it, and each plan only compares.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.checkpoints import find_stops, follow_blocks
from saccade.reading.arrays import BLOCK, as_read_only
from saccade.reading.plan import Plan
from saccade.reading.room import new_room

__all__ = ["Trail", "differ_in_thresholds_alone"]

THRESHOLDS = {"lower", "upper"}


class Trail:
    """What every checkpoint of a plan says of every row, and the class of a row that is read to its end."""

    def __init__(self, plan: Plan, X: NDArray[Any], full: NDArray[np.intp]) -> None:
        self._full = full
        shape = X.shape[0], plan.checkpoints.size
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        room = new_room(plan, min(BLOCK, max(X.shape[0], 1)), dtype, plan.positions)
        self._reached, self._label = np.empty(shape), np.empty(shape, np.int32)
        follow_blocks(as_read_only(X), plan, room.rows, room.values, room.total, self._reached, self._label)

    def labels(self, plan: Plan) -> NDArray[np.intp]:
        """Return the class of each row by a plan that differs in its thresholds alone."""
        stop = np.empty(self._full.size, np.intp)
        find_stops(self._reached, self._label, plan.lower, plan.upper, stop)
        here, stopped = self._full.astype(np.intp), np.flatnonzero(stop < plan.checkpoints.size)
        here[stopped] = self._label[stopped, stop[stopped]]
        return here


def differ_in_thresholds_alone(one: Plan, other: Plan) -> bool:
    pairs = ((getattr(one, name), getattr(other, name)) for name in Plan._fields if name not in THRESHOLDS)
    return all(mine is theirs or np.array_equal(mine, theirs) for mine, theirs in pairs)

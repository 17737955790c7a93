"""Reading any source with nothing but its ``fill``: a block of rows at a time, part after part."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.checkpoints import add_part, check, copy_some, first_bad
from saccade.reading.plan import Outcome, Plan, per_plan
from saccade.reading.room import Room, Written, new_outcome, new_room
from saccade.reading.sources import Source

__all__ = ["in_full_by_parts", "read_by_parts", "read_by_parts_and_in_full"]

Rows = NDArray[np.uint32]
Values = NDArray[np.float64]

# Every block of rows costs a call for each part, so blocks are larger than where a kernel does it all. What a block
# leaves undecided after the first parts, few rows, waits until there are enough of them for a block of their own.
# A source whose calls are dear says by itself how large its blocks are to be, and which parts are the first.
BLOCK = 2**13
MOST_FIRST_PARTS = 32
NOTHING: Mapping[int, Values] = MappingProxyType({})


def read_by_parts(plan: Plan, source: Source) -> Outcome:
    """Read every row until the plan decides it."""
    return _run(_Reader(plan, source, new_outcome(plan, source.shape[0]), _Kept.none()))


def read_by_parts_and_in_full(plan: Plan, source: Source, rows: Rows) -> tuple[Outcome, Outcome]:
    """Do so, and read some rows, which ascend, in full as well."""
    kept = _Kept.of(plan, rows)
    early = _run(_Reader(plan, source, new_outcome(plan, source.shape[0]), kept))
    return early, in_full_by_parts(plan, source, rows, dict(zip(kept.parts, kept.values, strict=True)))


def in_full_by_parts(plan: Plan, source: Source, rows: Rows, known: Mapping[int, Values] = NOTHING) -> Outcome:
    """Read some rows, which ascend, in full; of some parts their values may be known."""
    margin = _summed(plan, _counting(plan), source, rows, known)
    n_read, stopped = np.full(rows.size, plan.n_features), np.zeros(rows.size, np.bool_)
    return Outcome(margin, n_read, stopped, int(first_bad(margin)))


class _Kept(NamedTuple):
    """What the first checkpoint asks of some rows, which are read in full later: it asks it of all rows at once."""

    rows: Rows
    parts: list[int]
    values: Values  # (parts, rows)

    @classmethod
    def none(cls) -> "_Kept":
        return cls(np.zeros(0, np.uint32), [], np.zeros((0, 0)))

    @classmethod
    def of(cls, plan: Plan, rows: Rows) -> "_Kept":
        parts = plan.order[: int(plan.checkpoints[0])].tolist()
        return cls(rows, parts, np.empty((len(parts), rows.size)))

    def keep(self, room: Room, size: int) -> None:
        """Copy the values of those among the first ``size`` rows of a room, which follow one another."""
        begin = int(room.rows[0])
        copy_some(room.values, begin, size, self.rows, int(self.rows.searchsorted(begin)), self.values)


class _Reader(NamedTuple):
    plan: Plan
    source: Source
    written: Written
    kept: _Kept

    def read_on(self, checkpoints: range, size: int, room: Room) -> int:
        """Read rows from one checkpoint to another; return how many stay undecided."""
        plan = self.plan
        for k in checkpoints:
            if size == 0:
                break
            for position in range(int(plan.checkpoints[k - 1]) if k else 0, int(plan.checkpoints[k])):
                self.source.fill(int(plan.order[position]), room.rows, size, room.values[position])
            if k == 0 and self.kept.parts:
                self.kept.keep(room, size)
            size = check(plan, k, size, *room, *self.written)
        return size

    def read_out(self, early: int, size: int, room: Room) -> None:
        """Read rows that are undecided after the early checkpoints until they are decided, or to the end."""
        plan = self.plan
        size = self.read_on(range(early, plan.checkpoints.size), size, room)
        rows: Rows = room.rows[:size]
        margin, n_read, stopped = self.written
        if size and plan.closes:  # the last checkpoint decides every row that is finite
            margin[rows], n_read[rows], stopped[rows] = np.nan, plan.positions, True
        elif size:
            margin[rows] = _summed(plan, _demanded(plan), self.source, rows)
            n_read[rows], stopped[rows] = plan.n_features, False


def _run(reader: _Reader) -> Outcome:
    plan, source = reader.plan, reader.source
    n_rows = source.shape[0]
    block = min(getattr(source, "block", BLOCK), max(n_rows, 1))
    early = int(np.searchsorted(plan.checkpoints, getattr(source, "first_parts", MOST_FIRST_PARTS), side="right"))
    first = int(plan.checkpoints[early - 1]) if early else 0
    room, waiting = (new_room(plan, block, np.float64, size) for size in (first, plan.positions))
    n_waiting = 0
    for start in range(0, n_rows, block):
        size = min(block, n_rows - start)
        room.rows[:size] = np.arange(start, start + size)
        size = reader.read_on(range(early), size, room)
        if n_waiting + size > block:
            reader.read_out(early, n_waiting, waiting)
            n_waiting = 0
        _append(room, size, waiting, n_waiting)
        n_waiting += size
    reader.read_out(early, n_waiting, waiting)
    return Outcome(*reader.written, int(first_bad(reader.written[0])))


@per_plan
def _demanded(plan: Plan) -> list[int]:
    """Return the parts that any checkpoint or score weighs."""
    weighed: list[int] = np.flatnonzero(~plan.weightless).tolist()
    return weighed


@per_plan
def _counting(plan: Plan) -> list[int]:
    """Return the parts that any score weighs."""
    return _demanded(plan.without_stops())


def _summed(plan: Plan, parts: list[int], source: Source, rows: Rows, known: Mapping[int, Values] = NOTHING) -> Values:
    """Return the full margins of some rows."""
    total, filled = np.empty((rows.size, plan.intercept.size)), np.empty(rows.size)
    total[:] = plan.intercept
    for part in parts:
        values = known.get(part, filled)
        if values is filled:
            source.fill(part, rows, rows.size, filled)
        add_part(total, values, plan.coef, part)
    return total


def _append(source: Room, size: int, target: Room, start: int) -> None:
    """Append rows and what is known of them to other rows."""
    end, known = start + size, source.values.shape[0]
    target.rows[start:end], target.total[:, start:end] = source.rows[:size], source.total[:, :size]
    target.values[:known, start:end] = source.values[:, :size]

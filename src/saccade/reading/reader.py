"""Running a plan over any source: block by block, part by part, in one thread or in several."""

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from saccade.kernels.blocks import add_part, check
from saccade.reading.plan import Outcome, Plan
from saccade.reading.room import Room, Written, new_outcome, new_room
from saccade.reading.sources import Source

__all__ = ["read_audited", "read_plan"]

# Fewer rows than these are not worth a thread.
FEWEST_ROWS = 20_000
# Every block of rows costs a call for each part, so blocks are larger than where a kernel does it all. What a block
# leaves undecided after the first parts, few rows, waits until there are enough of them for a block of their own.
# A source whose calls are dear says by itself how large its blocks are to be, and which parts are the first.
BLOCK = 2**13
MOST_FIRST_PARTS = 32
NOTHING: Mapping[int, NDArray[np.float64]] = MappingProxyType({})


def read_plan(plan: Plan, source: Source, n_jobs: int | None = None) -> Outcome:
    """Read every row of a source until the plan decides it."""
    return _in_units(plan, _read_by_threads(plan, source, n_jobs))


def read_audited(
    plan: Plan, source: Source, rows: NDArray[np.uint32], n_jobs: int | None = None
) -> tuple[Outcome, Outcome]:
    """Read every row of a source until the plan decides it, and some of them, which ascend, in full as well.

    These are read where they lie: to select them may copy them, or fetch columns anew.
    """
    in_full = getattr(source, "in_full", None)
    if in_full is not None:
        early, full = _read_by_threads(plan, source, n_jobs), in_full(plan, rows)
        if full.bad >= 0:
            full = _mended(plan.without_stops(), source, full, rows)
    else:
        kept = _new_kept(plan, rows) if n_jobs is None else None
        early = _read_by_threads(plan, source, n_jobs, kept)
        full = _read_by_parts_in_full(plan.without_stops(), source, rows, early, kept)
    return _in_units(plan, early), _in_units(plan, full)


def _in_units(plan: Plan, outcome: Outcome) -> Outcome:
    return outcome if plan.unit.size == 0 else outcome._replace(n_read=plan.units_among(outcome.n_read))


class _Kept(NamedTuple):
    """What the first checkpoint asks of some rows, which it asks of all: they are wanted again when read in full."""

    rows: NDArray[np.uint32]
    parts: list[int]
    values: NDArray[np.float64]  # (parts, rows)

    def keep(self, room: Room, size: int) -> None:
        """Copy the values of those rows that are among the first ``size`` ones, which follow one another."""
        begin = int(room.rows[0])
        places = slice(*np.searchsorted(self.rows, (begin, begin + size)).tolist())
        self.values[:, places] = room.values[: len(self.parts), self.rows[places] - begin]


def _new_kept(plan: Plan, rows: NDArray[np.uint32]) -> _Kept:
    parts = plan.order[: plan.checkpoints[0] if plan.checkpoints.size else 0].tolist()
    return _Kept(rows, parts, np.empty((len(parts), rows.size)))


def _read_by_threads(plan: Plan, source: Source, n_jobs: int | None, kept: _Kept | None = None) -> Outcome:
    n_rows, n_parts = source.shape
    if n_parts != plan.n_features:
        raise ValueError(f"The model reads {plan.n_features} features, but the rows have {n_parts}.")
    jobs = effective_n_jobs(n_jobs) if n_jobs is not None and n_rows >= FEWEST_ROWS else 1
    if jobs == 1:
        return _read(plan, source, kept)
    bounds = np.linspace(0, n_rows, jobs + 1).astype(int).tolist()
    runs = [(start, stop) for start, stop in pairwise(bounds) if stop > start]
    done = Parallel(n_jobs=jobs, prefer="threads")(delayed(_read)(plan, source.take(slice(*run))) for run in runs)
    margin, n_read, stopped = (np.concatenate([outcome[k] for outcome in done]) for k in range(3))
    bad = next((start + outcome.bad for (start, _), outcome in zip(runs, done, strict=True) if outcome.bad >= 0), -1)
    return Outcome(margin, n_read, stopped, int(bad))


def _read(plan: Plan, source: Source, kept: _Kept | None = None) -> Outcome:
    run = getattr(source, "run", None)
    return _read_by_parts(plan, source, kept) if run is None else _mended(plan, source, run(plan))


def _mended(plan: Plan, source: Source, outcome: Outcome, rows: NDArray[np.uint32] | None = None) -> Outcome:
    """Read those rows of an outcome anew where a value without weight is not finite; it is of all rows, or of some."""
    if outcome.bad < 0 or not getattr(source, "weighs_all", False) or not plan.weightless.any():
        return outcome
    doubtful = np.flatnonzero(~np.isfinite(outcome.margin).all(axis=1))
    again = _read_by_parts(plan, source.take(doubtful if rows is None else rows[doubtful].astype(np.intp)))
    for written, values in zip(outcome[:3], again[:3], strict=True):
        written[doubtful] = values
    return outcome._replace(bad=int(doubtful[again.bad]) if again.bad >= 0 else -1)


def _read_by_parts(plan: Plan, source: Source, kept: _Kept | None = None) -> Outcome:
    """Read with nothing but the source's ``fill``."""
    n_rows = source.shape[0]
    written = new_outcome(plan, n_rows)
    block = min(getattr(source, "block", BLOCK), max(n_rows, 1))
    early = int(np.searchsorted(plan.checkpoints, getattr(source, "first_parts", MOST_FIRST_PARTS), side="right"))
    first = int(plan.checkpoints[early - 1]) if early else 0
    room, waiting = (new_room(plan, block, np.float64, size) for size in (first, plan.positions))
    n_waiting = 0
    for start in range(0, n_rows, block):
        size = min(block, n_rows - start)
        room.rows[:size] = np.arange(start, start + size)
        size = _read_on(plan, source, range(early), size, room, written, kept)
        if n_waiting + size > block:
            _read_out(plan, source, early, n_waiting, waiting, written, kept)
            n_waiting = 0
        _append(room, size, waiting, n_waiting)
        n_waiting += size
    _read_out(plan, source, early, n_waiting, waiting, written, kept)
    return Outcome(*written, _first_bad(written[0]))


def _first_bad(margin: NDArray[np.float64]) -> int:
    wrong = ~np.isfinite(margin).all(axis=1)
    return int(np.argmax(wrong)) if wrong.any() else -1


def _read_by_parts_in_full(
    plan: Plan, source: Source, rows: NDArray[np.uint32], early: Outcome, kept: _Kept | None
) -> Outcome:
    """Read some rows, of which there is an outcome already, to their end, unless they were."""
    margin, n_read = early.margin[rows], early.n_read[rows]
    unsure = np.flatnonzero(early.stopped[rows])
    if unsure.size:
        known = {} if kept is None else dict(zip(kept.parts, kept.values[:, unsure], strict=True))
        margin[unsure], n_read[unsure] = _summed(plan, source, rows[unsure], known), plan.n_features
    return Outcome(margin, n_read, np.zeros(rows.size, np.bool_), _first_bad(margin))


def _read_on(
    plan: Plan, source: Source, checkpoints: range, size: int, room: Room, written: Written, kept: _Kept | None
) -> int:
    """Read rows from one checkpoint to another; return how many stay undecided."""
    for k in checkpoints:
        if size == 0:
            break
        for position in range(int(plan.checkpoints[k - 1]) if k else 0, int(plan.checkpoints[k])):
            source.fill(int(plan.order[position]), room.rows, size, room.values[position])
        if k == 0 and kept is not None:
            kept.keep(room, size)
        size = check(plan, k, size, *room, *written)
    return size


def _read_out(
    plan: Plan, source: Source, early: int, size: int, room: Room, written: Written, kept: _Kept | None
) -> None:
    """Read rows that are undecided after the early checkpoints until they are decided, or to the end."""
    size = _read_on(plan, source, range(early, plan.checkpoints.size), size, room, written, kept)
    rows: NDArray[np.uint32] = room.rows[:size]
    margin, n_read, stopped = written
    if size and plan.closes:  # the last checkpoint decides every row that is finite
        margin[rows], n_read[rows], stopped[rows] = np.nan, plan.positions, True
    elif size:
        margin[rows], n_read[rows], stopped[rows] = _summed(plan, source, rows), plan.n_features, False


def _summed(
    plan: Plan, source: Source, rows: NDArray[np.uint32], known: Mapping[int, NDArray[np.float64]] = NOTHING
) -> NDArray[np.float64]:
    """Return the full margins of some rows, of which the values of some parts may be known."""
    total, filled = np.tile(plan.intercept, (rows.size, 1)), np.empty(rows.size)
    for part in np.flatnonzero(~plan.weightless).tolist():
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

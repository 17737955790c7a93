"""Running a plan over any source: block by block, part by part, in one thread or in several."""

from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from saccade.kernels.blocks import check
from saccade.reading.plan import Outcome, Plan
from saccade.reading.room import Room, Written, new_outcome, new_room
from saccade.reading.sources import Source

__all__ = ["read_plan", "read_some_in_full"]

# Fewer rows than these are not worth a thread.
FEWEST_ROWS = 20_000
# Every block of rows costs a call for each part, so blocks are larger than where a kernel does it all. What a block
# leaves undecided after the first parts, few rows, waits until there are enough of them for a block of their own.
# A source whose calls are dear says by itself how large its blocks are to be, and which parts are the first.
BLOCK = 2**13
MOST_FIRST_PARTS = 32


def read_plan(plan: Plan, source: Source, n_jobs: int | None = None) -> Outcome:
    """Read every row of a source until the plan decides it."""
    outcome = _read_by_threads(plan, source, n_jobs)
    return outcome if plan.unit.size == 0 else outcome._replace(n_read=plan.units_among(outcome.n_read))


def read_some_in_full(plan: Plan, source: Source, rows: NDArray[np.intp]) -> Outcome:
    """Read a few rows of a source in full, where they lie: to select them may copy them, or fetch columns anew."""
    plan, sums = plan.without_stops(), getattr(source, "full_sums", None)
    if sums is None and hasattr(source, "run"):
        return read_plan(plan, source.take(rows))
    numbers = rows.astype(np.uint32)
    margin = _summed(plan, source, numbers) if sums is None else sums(plan, numbers)
    wrong = ~np.isfinite(margin).all(axis=1)
    if wrong.any() and sums is not None:  # perhaps where a value without weight is not finite
        return read_plan(plan, source.take(rows))
    n_read = plan.units_among(np.full(rows.size, plan.n_features))
    return Outcome(margin, n_read, np.zeros(rows.size, np.bool_), int(np.argmax(wrong)) if wrong.any() else -1)


def _read_by_threads(plan: Plan, source: Source, n_jobs: int | None) -> Outcome:
    n_rows, n_parts = source.shape
    if n_parts != plan.n_features:
        raise ValueError(f"The model reads {plan.n_features} features, but the rows have {n_parts}.")
    jobs = effective_n_jobs(n_jobs) if n_jobs is not None and n_rows >= FEWEST_ROWS else 1
    if jobs == 1:
        return _read(plan, source)
    bounds = np.linspace(0, n_rows, jobs + 1).astype(int).tolist()
    runs = [(start, stop) for start, stop in pairwise(bounds) if stop > start]
    done = Parallel(n_jobs=jobs, prefer="threads")(delayed(_read)(plan, source.take(slice(*run))) for run in runs)
    margin, n_read, stopped = (np.concatenate([outcome[k] for outcome in done]) for k in range(3))
    bad = next((start + outcome.bad for (start, _), outcome in zip(runs, done, strict=True) if outcome.bad >= 0), -1)
    return Outcome(margin, n_read, stopped, int(bad))


def _read(plan: Plan, source: Source) -> Outcome:
    run = getattr(source, "run", None)
    if run is None:
        return _read_by_parts(plan, source)
    outcome: Outcome = run(plan)
    if outcome.bad < 0 or not getattr(source, "weighs_all", False) or not plan.weightless.any():
        return outcome
    # The rows where a value without weight is not finite are read anew.
    doubtful = np.flatnonzero(~np.isfinite(outcome.margin).all(axis=1))
    again = _read_by_parts(plan, source.take(doubtful))
    for written, values in zip(outcome[:3], again[:3], strict=True):
        written[doubtful] = values
    return outcome._replace(bad=int(doubtful[again.bad]) if again.bad >= 0 else -1)


def _read_by_parts(plan: Plan, source: Source) -> Outcome:
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
        size = _read_on(plan, source, range(early), size, room, written)
        if n_waiting + size > block:
            _read_out(plan, source, early, n_waiting, waiting, written)
            n_waiting = 0
        _append(room, size, waiting, n_waiting)
        n_waiting += size
    _read_out(plan, source, early, n_waiting, waiting, written)
    wrong = ~np.isfinite(written[0]).all(axis=1)
    return Outcome(*written, int(np.argmax(wrong)) if wrong.any() else -1)


def _read_on(plan: Plan, source: Source, checkpoints: range, size: int, room: Room, written: Written) -> int:
    """Read rows from one checkpoint to another; return how many stay undecided."""
    for k in checkpoints:
        if size == 0:
            break
        for position in range(int(plan.checkpoints[k - 1]) if k else 0, int(plan.checkpoints[k])):
            source.fill(int(plan.order[position]), room.rows, size, room.values[position])
        size = check(plan, k, size, *room, *written)
    return size


def _read_out(plan: Plan, source: Source, early: int, size: int, room: Room, written: Written) -> None:
    """Read rows that are undecided after the early checkpoints until they are decided, or to the end."""
    size = _read_on(plan, source, range(early, plan.checkpoints.size), size, room, written)
    rows: NDArray[np.uint32] = room.rows[:size]
    margin, n_read, stopped = written
    if size and plan.closes:  # the last checkpoint decides every row that is finite
        margin[rows], n_read[rows], stopped[rows] = np.nan, plan.positions, True
    elif size:
        margin[rows], n_read[rows], stopped[rows] = _summed(plan, source, rows), plan.n_features, False


def _summed(plan: Plan, source: Source, rows: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return the full margins of some rows."""
    total, values = np.tile(plan.intercept, (rows.size, 1)), np.empty(rows.size)
    for part in np.flatnonzero(~plan.weightless).tolist():
        source.fill(part, rows, rows.size, values)
        total += values[:, None] * plan.coef[:, part]
    return total


def _append(source: Room, size: int, target: Room, start: int) -> None:
    """Append rows and what is known of them to other rows."""
    end, known = start + size, source.values.shape[0]
    target.rows[start:end], target.total[:, start:end] = source.rows[:size], source.total[:, :size]
    target.values[:known, start:end] = source.values[:, :size]

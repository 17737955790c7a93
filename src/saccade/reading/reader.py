"""Running a plan over any source: by its own kernel or part by part, in one thread or in several."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from saccade.reading.by_parts import in_full_by_parts, read_by_parts, read_by_parts_and_in_full
from saccade.reading.plan import Outcome, Plan
from saccade.reading.sources import Source

__all__ = ["in_threads", "read_audited", "read_plan"]

# Fewer rows than these are not worth a thread.
FEWEST_ROWS = 20_000


def in_threads(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], n_jobs: int | None) -> list[Any]:
    """Run independent calls, in threads if there are several; kernels release the interpreter's lock."""
    workers = 1 if len(calls) == 1 else min(len(calls), effective_n_jobs(n_jobs))
    if workers == 1:
        return [function(*call) for call in calls]
    with ThreadPoolExecutor(workers) as pool:
        return [task.result() for task in [pool.submit(function, *call) for call in calls]]


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
    if plan.checkpoints.size == 0:  # all are read in full
        early = _read_by_threads(plan, source, n_jobs)
        full = early.some(rows)
    elif in_full is None and n_jobs is None:
        _check_shape(plan, source)
        early, full = read_by_parts_and_in_full(plan, source, rows)
    elif rows.size == source.shape[0]:
        early, full = (_read_by_threads(one, source, n_jobs) for one in (plan, plan.without_stops()))
    elif in_full is None:
        early, full = _read_by_threads(plan, source, n_jobs), in_full_by_parts(plan, source, rows)
    else:
        early, full = _read_by_threads(plan, source, n_jobs), in_full(plan, rows)
        if full.bad >= 0:
            full = _mended(plan.without_stops(), source, full, rows)
    return _in_units(plan, early), _in_units(plan, full)


def _in_units(plan: Plan, outcome: Outcome) -> Outcome:
    return outcome if plan.unit.size == 0 else outcome._replace(n_read=plan.units_among(outcome.n_read))


def _check_shape(plan: Plan, source: Source) -> None:
    if source.shape[1] != plan.n_features:
        raise ValueError(f"The model reads {plan.n_features} features, but the rows have {source.shape[1]}.")


def _read_by_threads(plan: Plan, source: Source, n_jobs: int | None) -> Outcome:
    _check_shape(plan, source)
    n_rows = source.shape[0]
    jobs = effective_n_jobs(n_jobs) if n_jobs is not None and n_rows >= FEWEST_ROWS else 1
    if jobs == 1:
        return _read(plan, source)
    bounds = np.linspace(0, n_rows, jobs + 1).astype(int).tolist()
    runs = [(start, stop) for start, stop in pairwise(bounds) if stop > start]
    done = in_threads(_read, [(plan, source.take(slice(*run))) for run in runs], jobs)
    margin, n_read, stopped = (np.concatenate([outcome[k] for outcome in done]) for k in range(3))
    bad = next((start + outcome.bad for (start, _), outcome in zip(runs, done, strict=True) if outcome.bad >= 0), -1)
    return Outcome(margin, n_read, stopped, int(bad))


def _read(plan: Plan, source: Source) -> Outcome:
    run = getattr(source, "run", None)
    return read_by_parts(plan, source) if run is None else _mended(plan, source, run(plan))


def _mended(plan: Plan, source: Source, outcome: Outcome, rows: NDArray[np.uint32] | None = None) -> Outcome:
    """Read those rows of an outcome, of all rows or of some, anew where a value without weight is not finite."""
    if outcome.bad < 0 or not getattr(source, "weighs_all", False) or not plan.weightless.any():
        return outcome
    doubtful = np.flatnonzero(~np.isfinite(outcome.margin).all(axis=1))
    again = read_by_parts(plan, source.take(doubtful if rows is None else rows[doubtful].astype(np.intp)))
    for written, values in zip(outcome[:3], again[:3], strict=True):
        written[doubtful] = values
    return outcome._replace(bad=int(doubtful[again.bad]) if again.bad >= 0 else -1)

"""Reading rows by the plan, and some of them in full as well."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.reading.plan import Outcome, decided
from saccade.reading.sources import Source

__all__ = ["Audit", "audited_reading"]

EVERY = slice(None)


class Runs(Protocol):
    """A certified model, of which a source is read by the plan or in full."""

    def _run_plan(self, source: Source) -> Outcome: ...

    def _run_in_full(self, source: Source) -> Outcome: ...

    def _run_some_in_full(self, source: Source, rows: NDArray[np.intp]) -> Outcome: ...


class Audit(NamedTuple):
    """Rows that were read, and what the audited ones among them say; those that cannot be compared say nothing."""

    outcome: Outcome
    early: NDArray[np.int64]  # codes of the labels of audited rows that could be compared
    full: NDArray[np.int64]
    compared: NDArray[np.intp]  # which rows these are
    n_chosen: int


def audited_reading(model: Runs, source: Source, chosen: NDArray[np.intp], *, all_in_full: bool) -> Audit:
    """Read all rows, and the chosen ones both ways; their margins are then the full ones.

    A row whose full margin is not finite, as where a column has a gap that the plan does not ask for, keeps its early
    one: an audit never makes a result worse.
    """
    if all_in_full:
        return _in_full(model, source, chosen)
    outcome = model._run_plan(source)
    early = decided(outcome.margin[chosen]).astype(np.int64)
    compared = _finite(outcome, chosen)
    unsure = np.flatnonzero(outcome.stopped[chosen])  # the others were read to their end
    if unsure.size:
        again = model._run_some_in_full(source, chosen[unsure])
        readable = _finite(again)
        _put(outcome, chosen[unsure[readable]], again, readable)
        compared[unsure] &= readable
    full = decided(outcome.margin[chosen]).astype(np.int64)
    return Audit(outcome, early[compared], full[compared], chosen[compared], chosen.size)


def _in_full(model: Runs, source: Source, chosen: NDArray[np.intp]) -> Audit:
    """Read all rows in full, the chosen ones early, too, and those early that cannot be read in full."""
    outcome = model._run_in_full(source)
    readable = _finite(outcome)
    full = decided(outcome.margin[chosen]).astype(np.int64)
    early = model._run_plan(source.take(chosen)) if chosen.size else None
    compared = readable[chosen]
    if early is not None:
        compared = compared & _finite(early)
    if not readable.all():
        rest = np.flatnonzero(~readable)
        again = model._run_plan(source.take(rest))
        _put(outcome, rest, again, EVERY)
        outcome = outcome._replace(bad=int(rest[again.bad]) if again.bad >= 0 else -1)
    codes = full if early is None else decided(early.margin).astype(np.int64)
    return Audit(outcome, codes[compared], full[compared], chosen[compared], chosen.size)


def _finite(outcome: Outcome, rows: NDArray[np.intp] | slice = EVERY) -> NDArray[np.bool_]:
    """Return which rows have finite margins."""
    margin = outcome.margin[rows]
    return np.ones(len(margin), np.bool_) if outcome.bad < 0 else np.asarray(np.isfinite(margin).all(axis=1))


def _put(outcome: Outcome, rows: NDArray[np.intp], other: Outcome, which: NDArray[np.bool_] | slice) -> None:
    """Replace some rows of an outcome."""
    for written, values in zip(outcome[:3], other[:3], strict=True):
        written[rows] = values[which]

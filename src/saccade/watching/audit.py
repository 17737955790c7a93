"""Reading rows by the plan, and some of them in full as well."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.watching import compare
from saccade.reading.plan import Outcome, decided
from saccade.reading.sources import Source

__all__ = ["Audit", "audited_reading"]

NO_CODES = np.zeros(0, np.int64)


class Runs(Protocol):
    """A certified model, of which a source is read by the plan or in full."""

    def _run_plan(self, source: Source) -> Outcome: ...

    def _run_in_full(self, source: Source) -> Outcome: ...

    def _run_audited(self, source: Source, rows: NDArray[np.uint32]) -> tuple[Outcome, Outcome]: ...


class Audit(NamedTuple):
    """Rows that were read, and what the audited ones among them say; those that cannot be compared say nothing."""

    outcome: Outcome
    audited: NDArray[np.bool_]  # which rows could be compared
    early: NDArray[np.int64]  # the codes of their labels
    full: NDArray[np.int64]
    n_chosen: int


def audited_reading(model: Runs, source: Source, chosen: NDArray[np.uint32], *, all_in_full: bool) -> Audit:
    """Read all rows, and the chosen ones, which ascend, both ways; their margins are then the full ones.

    A row whose full margin is not finite, as where a column has a gap that the plan does not ask for, keeps its early
    one: an audit never makes a result worse.
    """
    audited = np.zeros(source.shape[0], np.bool_)
    if all_in_full:
        return _in_full(model, source, chosen, audited)
    if chosen.size == 0:
        return Audit(model._run_plan(source), audited, NO_CODES, NO_CODES, 0)
    outcome, whole = model._run_audited(source, chosen)
    early, full = np.empty(chosen.size, np.int64), np.empty(chosen.size, np.int64)
    count = compare(chosen, whole.margin, whole.n_read, *outcome[:3], early, full, audited)
    return Audit(outcome, audited, early[:count], full[:count], chosen.size)


def _in_full(model: Runs, source: Source, chosen: NDArray[np.uint32], audited: NDArray[np.bool_]) -> Audit:
    """Read all rows in full, the chosen ones early, too, and those early that cannot be read in full."""
    outcome, rows = model._run_in_full(source), chosen.astype(np.intp)
    readable = _finite(outcome)
    full = decided(outcome.margin[rows]).astype(np.int64)
    early = model._run_plan(source.take(rows)) if rows.size else None
    compared = readable[rows]
    if early is not None:
        compared = compared & _finite(early)
    if not readable.all():
        rest = np.flatnonzero(~readable)
        again = model._run_plan(source.take(rest))
        for written, values in zip(outcome[:3], again[:3], strict=True):
            written[rest] = values
        outcome = outcome._replace(bad=int(rest[again.bad]) if again.bad >= 0 else -1)
    codes = full if early is None else decided(early.margin).astype(np.int64)
    audited[rows[compared]] = True
    return Audit(outcome, audited, codes[compared], full[compared], rows.size)


def _finite(outcome: Outcome) -> NDArray[np.bool_]:
    """Return which rows have finite margins."""
    margin = outcome.margin
    return np.ones(len(margin), np.bool_) if outcome.bad < 0 else np.asarray(np.isfinite(margin).all(axis=1))

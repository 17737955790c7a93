"""Reading rows by the plan, and some of them in full as well."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.reading import first_bad
from saccade.reading.plan import Outcome
from saccade.reading.sources import Source

__all__ = ["Audit", "audited_reading"]


class Runs(Protocol):
    """A certified model, of which a source is read by the plan or in full."""

    def _run_plan(self, source: Source) -> Outcome: ...

    def _run_in_full(self, source: Source) -> Outcome: ...

    def _run_audited(self, source: Source, rows: NDArray[np.uint32]) -> tuple[Outcome, Outcome]: ...


class Audit(NamedTuple):
    """Rows that were read, and the chosen ones among them both ways."""

    chosen: NDArray[np.uint32]  # ascending
    outcome: Outcome  # of all rows: of the chosen ones by the plan
    whole: Outcome  # of the chosen ones: in full


def audited_reading(model: Runs, source: Source, chosen: NDArray[np.uint32], *, all_in_full: bool) -> Audit:
    """Read all rows by the plan, or in full, and the chosen ones both ways."""
    if all_in_full:
        return Audit(chosen, *_all_in_full(model, source, chosen))
    if chosen.size:
        return Audit(chosen, *model._run_audited(source, chosen))
    outcome = model._run_plan(source)
    return Audit(chosen, outcome, outcome.some(chosen))


def _all_in_full(model: Runs, source: Source, chosen: NDArray[np.uint32]) -> tuple[Outcome, Outcome]:
    """Read all rows in full, but those early that cannot be read in full; the chosen ones both ways."""
    outcome = model._run_in_full(source)
    whole = outcome.some(chosen)
    unreadable = np.flatnonzero(~np.isfinite(outcome.margin).all(axis=1))
    rows = np.union1d(chosen, unreadable).astype(np.intp)
    if rows.size:
        for written, values in zip(outcome[:3], model._run_plan(source.take(rows))[:3], strict=True):
            written[rows] = values
    bad = int(first_bad(outcome.margin[unreadable]))
    return outcome._replace(bad=int(unreadable[bad]) if bad >= 0 else -1), whole

"""Reading rows by the plan, and some of them in full as well."""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

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


def audited_reading(
    model: Runs, source: Source, chosen: NDArray[np.uint32], source_of: Callable[[NDArray[np.intp]], Source]
) -> Audit:
    """Read all rows by the plan, and the chosen ones in full as well.

    Only the plan refuses rows, so that no answer depends on the audit. A chosen row that cannot be read in full has a
    margin of NaN there; ``source_of``, which returns the source of some of the rows, tells it from the others.
    """
    if chosen.size:
        with suppress(Exception):  # a user's own transformer may raise anything
            return Audit(chosen, *model._run_audited(source, chosen))
    outcome = model._run_plan(source)
    whole = outcome.some(chosen)
    whole.margin[:] = np.nan
    waiting = [np.arange(chosen.size)] if chosen.size else []
    while waiting:
        places = waiting.pop()
        try:
            read = model._run_in_full(source_of(chosen[places].astype(np.intp)))
        except Exception:
            waiting += np.array_split(places, 2) if places.size > 1 else []
        else:
            for written, values in zip(whole[:3], read[:3], strict=True):
                written[places] = values
    return Audit(chosen, outcome, whole)

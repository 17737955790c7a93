"""Read rows by the plan, and some of them in full as well, with the labels that the model itself gives them."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from saccade.reading.plan import Outcome, decided
from saccade.reading.sources import Source

__all__ = ["Audit", "audited_reading"]

T = TypeVar("T")
Codes = NDArray[np.intp]
Rows = NDArray[np.intp]


class Runs(Protocol):
    """A certified model, of which a source is read by the plan or in full."""

    def _run_plan(self, source: Source) -> Outcome: ...

    def _run_in_full(self, source: Source) -> Outcome: ...

    def _run_audited(self, source: Source, rows: NDArray[np.uint32]) -> tuple[Outcome, Outcome]: ...

    @property
    def _own_codes(self) -> Callable[[Any], Codes] | None: ...


class Audit(NamedTuple):
    """Rows that were read, and the chosen ones among them both ways."""

    chosen: NDArray[np.uint32]  # ascending
    outcome: Outcome  # of all rows: of the chosen ones by the plan
    whole: Outcome  # of the chosen ones: in full; margins are NaN where that is not possible
    codes: Codes  # the full model's labels of the chosen rows; -1 where it gives none


def audited_reading(
    model: Runs, source: Source, chosen: NDArray[np.uint32], some: Callable[[Rows], tuple[Any, Source]]
) -> Audit:
    """Read all rows by the plan, and the chosen ones in full as well, and ask the model itself for their labels.

    Only the plan refuses rows, so that no answer depends on the audit. ``some`` returns some of the rows, and their
    source.
    """
    outcome, whole = _read(model, source, chosen, some)
    readable, own, codes = np.isfinite(whole.margin).all(axis=1), model._own_codes, np.full(chosen.size, -1)
    if own is None:
        codes[readable] = decided(whole.margin)[readable]
        return Audit(chosen, outcome, whole, codes)
    there = np.flatnonzero(readable)
    for places, given in _attempts(lambda rows: own(some(rows)[0]), chosen[there]):
        codes[there[places]] = given
    return Audit(chosen, outcome, whole, codes)


def _read(
    model: Runs, source: Source, chosen: NDArray[np.uint32], some: Callable[[Rows], tuple[Any, Source]]
) -> tuple[Outcome, Outcome]:
    if chosen.size:
        with suppress(Exception):  # a user's own transformer may raise anything
            return model._run_audited(source, chosen)
    outcome = model._run_plan(source)
    whole = outcome.some(chosen)
    whole.margin[:] = np.nan
    for places, read in _attempts(lambda rows: model._run_in_full(some(rows)[1]), chosen):
        for written, values in zip(whole[:3], read[:3], strict=True):
            written[places] = values
    return outcome, whole


def _attempts(function: Callable[[Rows], T], rows: NDArray[np.uint32]) -> Iterator[tuple[Rows, T]]:
    """Yield what a function gives for some rows, with their places; halve the rows where it raises."""
    waiting = [np.arange(rows.size)] if rows.size else []
    while waiting:
        places = waiting.pop()
        try:
            given = function(rows[places].astype(np.intp))
        except Exception:
            waiting += np.array_split(places, 2) if places.size > 1 else []
        else:
            yield places, given

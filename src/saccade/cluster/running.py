"""All parts of a job, and what they count together: whoever did them, and whichever was done first."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar
from uuid import uuid4

from saccade.cluster.labelling import Done, Job, label_parts
from saccade.cluster.parts import Part, tasks_of
from saccade.cluster.spreading import spread
from saccade.reading.progress import Progress
from saccade.watching.groups import add_counts
from saccade.watching.watch import Watch

__all__ = ["Total", "label_all"]

Result = TypeVar("Result")


@dataclass
class Total:
    """What was counted in all parts, which are added in their order: so it does not depend on who was done first."""

    in_full: bool = True
    rows: int = 0
    bad_rows: int = 0
    units_read: int = 0
    bytes_read: int = 0
    resumed: int = 0
    counts: list[dict[str, Any]] = field(default_factory=list)
    alarm: Watch | None = None  # what a watch said on the way, for which all was read in full

    def add(self, done: Done, *, was_there: bool) -> None:
        made = done.made
        self.rows, self.bad_rows = self.rows + made.rows, self.bad_rows + made.bad_rows
        self.units_read, self.bytes_read = self.units_read + made.units_read, self.bytes_read + made.bytes_read
        self.resumed += done.found and was_there
        self.in_full &= made.in_full
        if made.watch is not None:
            self.counts.append(made.watch)

    def count_in(self, watch: Watch) -> None:
        """Add what audited rows say to a watch."""
        for counts in self.counts:
            add_counts(watch, counts)


def label_all(job: Job, parts: Sequence[Part], client: Any, there: set[str], watch: Watch | None) -> Total:
    """Label all parts, and again, in full, where a promise is seen to be broken and that is to be answered so."""
    if watch is None or watch.on_broken == "warn":
        return _in_order(job, parts, client, there, None)
    if watch._all_in_full or watch.state == "broken":
        return _in_order(replace(job, in_full=True), parts, client, there, None)
    seen = Watch.from_json(watch.to_json(), watch.attentive)
    total = _in_order(job, parts, client, there, seen)
    if seen.state != "broken":
        return total
    if watch.on_broken == "raise":
        total.count_in(watch)
        watch._answer(None, stacklevel=1)  # which raises
    total = _in_order(replace(job, in_full=True), parts, client, there, None)
    total.alarm = seen
    return total


def _in_order(job: Job, parts: Sequence[Part], client: Any, there: set[str], seen: Watch | None) -> Total:
    """Label all parts, or only until a watch that sees what they count finds that the promise is broken."""
    total, label = Total(), partial(label_parts, job)
    with (
        Progress("rows", label="Rows", length=sum(part.n_rows for part in parts)) as progress,
        closing(spread(client, label, tasks_of(parts), f"predict_parquet-{uuid4().hex}")) as results,
    ):
        for part, done in zip(parts, chain.from_iterable(_in_turn(results)), strict=True):
            total.add(done, was_there=part.labels in there)
            progress.advance(done.made.rows, total.rows)
            if seen is not None and done.made.watch is not None:
                add_counts(seen, done.made.watch)
                if seen.state == "broken":
                    break
    return total


def _in_turn(results: Iterable[tuple[int, Result]]) -> Iterator[Result]:
    """Yield results by their numbers, those that are done early when it is their turn."""
    early, number = dict[int, Result](), 0
    for finished, result in results:
        early[finished] = result
        while number in early:
            yield early.pop(number)
            number += 1

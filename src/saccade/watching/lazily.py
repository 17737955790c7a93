"""Audits of rows whose features are fetched when they are wanted: of the chosen ones, everything is fetched.

Rows are taken as they come, and a coin is tossed for each when it is. All are read, and then the chosen ones once more:
first by the plan and then by the plan without stops, or, once everything is read in full, the other way round. The
second inquiry is answered from what the first has fetched, and only then by fetching.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.asking.inquiry import Questions
from saccade.asking.lazily import Fetch, LazyReading
from saccade.planning.prices import Feature
from saccade.watching.records import WatchedLazyReading

__all__ = ["Fetched", "LazyAudit"]


@dataclass(frozen=True)
class Key:
    """A row as the caller knows it, and its number."""

    number: int
    row: Any


@dataclass(frozen=True)
class Fetched:
    """Answers by row and feature, of the rows that are remembered, and which rows lack a value that has no stand-in."""

    questions: Questions
    takes_missing: NDArray[np.bool_]
    remembered: set[int]
    answers: dict[tuple[int, Feature], Any] = field(default_factory=dict)
    lacking: set[int] = field(default_factory=set)

    def plain(self, fetch: Fetch, batch: int | None) -> Fetch:
        """Return a function that asks ``fetch`` for what is not known yet."""

        def one(key: Key, feature: Feature) -> Any:
            known = (key.number, feature)
            return self.answers[known] if known in self.answers else self._keep(key, feature, fetch(key.row, feature))

        def many(keys: list[Key], feature: Feature) -> Any:
            new = self._new(keys, feature)
            answered = fetch([key.row for key in new], feature) if new else []
            return self._all(keys, new, feature, answered)

        return one if batch is None else many

    def asynchronous(self, fetch: Fetch, batch: int | None) -> Callable[..., Any]:
        """Return the same for a coroutine function."""

        async def one(key: Key, feature: Feature) -> Any:
            known = (key.number, feature)
            if known in self.answers:
                return self.answers[known]
            return self._keep(key, feature, await fetch(key.row, feature))

        async def many(keys: list[Key], feature: Feature) -> Any:
            new = self._new(keys, feature)
            answered = await fetch([key.row for key in new], feature) if new else []
            return self._all(keys, new, feature, answered)

        return one if batch is None else many

    def _new(self, keys: list[Key], feature: Feature) -> list[Key]:
        return [key for key in keys if (key.number, feature) not in self.answers]

    def _all(self, keys: list[Key], new: list[Key], feature: Feature, answered: Any) -> Any:
        """Return the answers for all keys in their order; what is no list of the right length is refused by others."""
        listed = hasattr(answered, "__len__") and not isinstance(answered, str | Mapping)
        if not listed or len(answered) != len(new):
            return answered
        told = {key.number: self._keep(key, feature, answer) for key, answer in zip(new, answered, strict=True)}
        return [told[key.number] if key.number in told else self.answers[key.number, feature] for key in keys]

    def _keep(self, key: Key, feature: Feature, answer: Any) -> Any:
        if key.number in self.remembered:
            for name, value in answer.items() if isinstance(answer, Mapping) else [(feature, answer)]:
                self.answers[key.number, name] = value
                if value is None and name == feature and not self.takes_missing[self.questions.position(feature)]:
                    self.lacking.add(key.number)
        return answer


@dataclass
class LazyAudit:
    """Rows as they come, early or in full; the chosen ones, whose coin falls, both ways."""

    rows: Iterable[Any]
    falls: Callable[[], bool]
    all_in_full: bool
    n_rows: int = 0
    chosen: list[Key] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)  # of the chosen ones

    def keys(self) -> Iterator[Key]:
        """Yield every row when it is wanted, which happens in one thread."""
        for row in self.rows:
            key = Key(self.n_rows, row)
            self.n_rows += 1
            if self.falls():
                self.chosen.append(key)
                self.numbers.add(key.number)
            yield key

    @property
    def early(self) -> NDArray[np.intp]:
        return self._chosen if self.all_in_full else np.arange(self.n_rows)

    @property
    def in_full(self) -> NDArray[np.intp]:
        return np.arange(self.n_rows) if self.all_in_full else self._chosen

    @property
    def _chosen(self) -> NDArray[np.intp]:
        return np.array([key.number for key in self.chosen], dtype=np.intp)

    def joined(
        self, of_all: LazyReading, of_chosen: LazyReading, fetched: Fetched
    ) -> tuple[WatchedLazyReading, list[NDArray[Any]]]:
        """Return the reading, with full labels where everything could be had, and the labels of the compared rows.

        These are the early ones, and those of the full model.
        """
        early, full = (of_chosen, of_all) if self.all_in_full else (of_all, of_chosen)
        first = {number: place for place, number in enumerate(self.early.tolist())}
        places = [(first.get(number), place) for place, number in enumerate(self.in_full.tolist())]
        taken = [
            (before, place)
            for before, place in places
            if place not in full.failed and (before is None or self._is_whole(int(self.in_full[place]), fetched))
        ]
        compared = np.array(
            [
                (before, place)
                for before, place in taken
                if before is not None
                and before not in early.failed
                and self._is_whole(int(self.early[before]), fetched)
            ],
            dtype=np.intp,
        ).reshape(-1, 2)
        labels = [np.ma.getdata(reading.label)[compared[:, k]] for k, reading in enumerate((early, full))]
        return self._reading(early, full, [place for _, place in taken], compared), labels

    def _is_whole(self, number: int, fetched: Fetched) -> bool:
        return number not in fetched.lacking

    def _reading(
        self, early: LazyReading, full: LazyReading, taken: list[int], compared: NDArray[np.intp]
    ) -> WatchedLazyReading:
        numbers, size = self.in_full[taken], self.n_rows
        values: dict[str, NDArray[Any]] = {}
        for name in ("label", "margin", "n_asked", "spent", "certified"):
            before, after = (np.ma.getdata(getattr(reading, name)) for reading in (early, full))
            joined = np.zeros((size, *after.shape[1:]), dtype=np.result_type(before, after))
            joined[self.early] = before
            joined[numbers] = after[taken]
            values[name] = joined
        failed = {int(self.early[place]): error for place, error in early.failed.items()}
        failed |= {int(self.in_full[place]): error for place, error in full.failed.items() if self.all_in_full}
        for number in numbers.tolist():
            failed.pop(number, None)
        if failed:
            values["label"] = np.ma.array(values["label"], mask=np.isin(np.arange(size), list(failed)))
        audited = np.zeros(size, dtype=np.bool_)
        audited[self.in_full[compared[:, 1]]] = True
        beyond = np.maximum(full.spent[compared[:, 1]] - early.spent[compared[:, 0]], 0)
        return WatchedLazyReading(**values, failed=failed, audited=audited, audit_spent=float(beyond.sum()))

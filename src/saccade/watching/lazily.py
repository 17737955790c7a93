"""Audits of rows whose features are fetched when they are wanted: of the chosen ones, everything is fetched.

A chosen row is read twice by inquiries, once by the plan and once by the plan without stops. The second inquiry is
answered from what the first has fetched, and only then by fetching.
"""

from collections.abc import Callable, Mapping, Sequence
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
    remembered: frozenset[int]
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


@dataclass(frozen=True)
class LazyAudit:
    """Which rows are read early, and which in full; the chosen ones both ways."""

    rows: Sequence[Any]
    chosen: NDArray[np.intp]
    all_in_full: bool

    @property
    def early(self) -> NDArray[np.intp]:
        return self.chosen if self.all_in_full else np.arange(len(self.rows))

    @property
    def in_full(self) -> NDArray[np.intp]:
        return np.arange(len(self.rows)) if self.all_in_full else self.chosen

    def keys(self, numbers: NDArray[np.intp]) -> list[Key]:
        return [Key(number, self.rows[number]) for number in numbers.tolist()]

    def joined(
        self, early: LazyReading, full: LazyReading, fetched: Fetched
    ) -> tuple[WatchedLazyReading, NDArray[Any]]:
        """Return the reading, with full labels where everything could be had, and the compared rows.

        These are given as places among ``early`` and among ``full``, (2, rows).
        """
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
        return self._reading(early, full, [place for _, place in taken], compared), compared.T

    def _is_whole(self, number: int, fetched: Fetched) -> bool:
        return number not in fetched.lacking

    def _reading(
        self, early: LazyReading, full: LazyReading, taken: list[int], compared: NDArray[np.intp]
    ) -> WatchedLazyReading:
        numbers, size = self.in_full[taken], len(self.rows)
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

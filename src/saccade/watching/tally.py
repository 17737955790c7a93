"""All that a watch has counted, and what follows from it; without a model."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from saccade.promises.certificate import Certificate, strictest
from saccade.promises.watch import (
    FOR_ALL_ROWS,
    Counts,
    any_broken,
    holds,
    is_broken,
    lower_bound,
    upper_bound,
)
from saccade.reading.plan import decided
from saccade.watching.audit import Audit
from saccade.watching.records import ClassWatch, WatchedLazyReading

__all__ = ["State", "Tally", "numbers"]

State = Literal["holds", "open", "broken"]
# What is counted in each test, and besides.
COUNTS = ("rows", "errors", "recent")
TOTALS = ("n_rows", "n_incomparable", "parts_read", "audit_spent")
# Sums of two such counts stay whole numbers of 64 bits, and sums of such evidence finite.
MOST_ROWS, LARGEST = 2**62, 1e300


class Tally:
    """Counts of rows and of tests, at the levels of a certificate.

    A promise by class has two tests for each class, lost and false, and one of them suffices to break it: each has its
    part of alpha. That it holds is said when all of them say so, each at alpha: an intersection-union test needs no
    correction. So lower bounds hold together, and upper bounds one by one. The other promises have one test.
    """

    def __init__(self, certificate: Certificate, labels: list[Any], confidence: float) -> None:
        self.labels = labels if certificate.promise == "classes" else []
        delta = certificate.delta
        each = [delta[label] if isinstance(delta, Mapping) else delta for label in self.labels]
        self.counts = Counts(np.array([strictest(delta), *np.repeat(each, 2)]))
        self.n_rows = self.n_incomparable = self.parts_read = 0
        self.audit_spent = 0.0
        promised = [test for test in range(1, 1 + 2 * len(each)) if self.counts.levels[test] < 1]
        self._tests = promised if self.labels else [0]
        self._test_numbers = np.array(self._tests, dtype=np.intp)
        self._alpha = 1 - confidence
        self._alpha_each = self._alpha / max(len(self._tests), 1)

    @property
    def state(self) -> State:
        return self._state_of(self._tests)

    @property
    def is_broken(self) -> bool:
        return any_broken(self.counts, self._test_numbers, self._alpha_each)

    def _state_of(self, tests: list[int]) -> State:
        if any_broken(self.counts, np.array(tests, dtype=np.intp), self._alpha_each):
            return "broken"
        return "holds" if tests and all(holds(self.counts, test, self._alpha) for test in tests) else "open"

    @property
    def broken_tests(self) -> list[int]:
        return [test for test in self._tests if is_broken(self.counts, test, self._alpha_each)]

    def seen(self, test: int) -> tuple[int, int]:
        """Return the audited rows of a test, and the errors among them."""
        return self.counts.total(test)

    def bounds(self, test: int) -> tuple[float, float]:
        """Return bounds on the rate of a test; that of all rows has all of alpha where it breaks nothing itself."""
        alpha = self._alpha_each if test in self._tests else self._alpha
        rows, errors = int(self.counts.rows[test]), int(self.counts.errors[test])
        return lower_bound(rows, errors, alpha * FOR_ALL_ROWS), upper_bound(rows, errors, self._alpha)

    @property
    def by_class(self) -> tuple[ClassWatch, ...]:
        return tuple(self._class_watch(code, label) for code, label in enumerate(self.labels))

    def _class_watch(self, code: int, label: Any) -> ClassWatch:
        lost, false = 1 + 2 * code, 2 + 2 * code
        (full, n_lost), (here, n_false) = self.seen(lost), self.seen(false)
        state = self._state_of([test for test in (lost, false) if test in self._tests])
        level = float(self.counts.levels[lost])
        return ClassWatch(label, level, state, full, here, n_lost, n_false, *self.bounds(lost), *self.bounds(false))

    def add(self, audit: Audit) -> tuple[NDArray[np.bool_], int]:
        """Count rows; return which could be compared, and in how many of these the labels differ.

        The compared ones get their full margins.
        """
        chosen, outcome, whole, codes = audit
        compared = np.flatnonzero((codes >= 0) & np.isfinite(outcome.margin[chosen]).all(axis=1))
        rows = chosen[compared]
        n_wrong = self.counts.add(decided(outcome.margin[rows]).astype(np.int64), codes[compared])
        for written, values in zip(outcome[:3], whole[:3], strict=True):
            written[rows] = values[compared]
        self.n_rows += len(outcome.margin)
        self.n_incomparable += chosen.size - compared.size
        self.parts_read += int(outcome.n_read.sum())
        audited = np.zeros(len(outcome.margin), np.bool_)
        audited[rows] = True
        return audited, n_wrong

    def add_lazily(self, n_chosen: int, reading: WatchedLazyReading, codes: list[NDArray[np.int64]]) -> int:
        """Count rows that were fetched, and the codes of labels that could be compared; return how many differ."""
        self.n_rows += len(reading)
        self.n_incomparable += n_chosen - codes[0].size
        self.parts_read += int(reading.n_asked.sum())
        self.audit_spent += reading.audit_spent
        return self.counts.add(*codes)

    def merge(self, other: "Tally") -> None:
        """Add what another process has counted of the same model."""
        if self.n_rows + other.n_rows > MOST_ROWS:
            raise ValueError(f"Together the watches have counted more than {MOST_ROWS:,} rows. Make a new one.")
        self.counts.merge(other.counts)
        for name in TOTALS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_dict(self) -> dict[str, Any]:
        counted = {name: getattr(self.counts, name).tolist() for name in COUNTS}
        return {**{name: getattr(self, name) for name in TOTALS}, **counted}

    def restore(self, stated: Mapping[str, Any]) -> None:
        """Take over what ``to_dict`` wrote down; raise a ValueError where it cannot have been counted."""
        counted = {name: numbers(stated[name], getattr(self.counts, name)) for name in COUNTS}
        totals = {name: numbers(stated[name], getattr(self, name)).item() for name in TOTALS}
        rows, errors = counted["rows"], counted["errors"]
        if not ((errors <= rows) & (rows <= rows[0])).all() or rows[0] > totals["n_rows"]:
            raise ValueError("its counts contradict one another")
        for name, values in counted.items():
            setattr(self.counts, name, values)
        for name, value in totals.items():
            setattr(self, name, value)


def numbers(stated: Any, like: Any) -> NDArray[Any]:
    """Return what JSON states in the place of an array or a number, with its shape and type.

    Raise if it states something else, negative numbers, or such large ones that a sum of two could overflow.
    """
    like, given = np.asarray(like), np.array(stated)
    kinds, most = {"b": ("b", 1), "i": ("i", MOST_ROWS), "f": ("if", LARGEST)}[like.dtype.kind]
    if given.shape != like.shape or given.dtype.kind not in kinds or not ((given >= 0) & (given <= most)).all():
        raise ValueError(f"it has {str(stated)[:60]!r} in the place of counts")
    return given.astype(like.dtype)

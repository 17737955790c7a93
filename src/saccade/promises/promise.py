"""What can be promised of labels that were given early, and what it takes to keep it.

A promise says which evidence some rows give for or against it, and how much may go wrong on average for the calibration
rows to bear it out, which is what plans are tuned for.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from saccade.promises.evidence import Count, Difference, Evidence, allowed_share, attainable, rows_needed
from saccade.promises.labels import Codes, Labels

__all__ = ["Accuracy", "Allowed", "ByClass", "ByRows", "Promise", "Shortage", "is_kept", "promise_of"]

Reals = NDArray[np.float64]
# Whether so many labels may change: shares of all rows that get worse, and that get better, by the full model's class
# and by the class given here, (2, classes, classes).
Allowed = Callable[[Reals], bool]


@dataclass(frozen=True)
class Shortage:
    """A class, or all rows where it is None, of which there are too few rows to promise anything."""

    code: int | None
    rows: int
    needed: int
    attainable: float  # the least level that so many rows could promise


class Promise(Protocol):
    """What is vouched for at which level; a level of 1 promises nothing."""

    @property
    def name(self) -> str:
        """As users call it."""

    @property
    def delta(self) -> "float | Mapping[Any, float]":
        """The level as users state it."""

    def at(self, delta: float) -> "Promise":
        """Return the same promise at another level."""

    def loss(self, here: Codes, labels: Labels) -> NDArray[np.int8]:
        """Return what labels, (rows,) or (rows, checkpoints), cost: 1 for an error, -1 where one is mended."""

    def evidence(self, here: Codes, labels: Labels) -> list[tuple[Evidence, float]]:
        """Return counts, each with the level that it is tested against; the promise is kept where all of them are."""

    def allowed(self, shares: Reals, n_calibration: int, confidence: float) -> Allowed:
        """Return which errors so many calibration rows, with these shares of classes, would allow."""

    def shortages(self, labels: Labels, confidence: float) -> list[Shortage]:
        """Return of what there are too few rows, even if no label differed."""


def promise_of(name: str, delta: float | Mapping[Any, float], classes: NDArray[Any]) -> Promise:
    """Return the promise of a name at a level, or at one for each class."""
    if isinstance(delta, Mapping):
        levels = _levels(name, delta, classes)
        return ByClass(dict(zip(classes.tolist(), levels.tolist(), strict=True)), levels)
    if name == "classes":
        return ByClass(delta, np.full(classes.size, float(delta)))
    return ByRows(float(delta)) if name == "rows" else Accuracy(float(delta))


def _levels(name: str, delta: Mapping[Any, float], classes: NDArray[Any]) -> Reals:
    if name != "classes":
        raise ValueError(f"delta={dict(delta)!r} has a level for each class, and promise={name!r} takes one number.")
    known = classes.tolist()
    given = {(key.item() if hasattr(key, "item") else key): value for key, value in delta.items()}
    if set(given) != set(known):
        lacking, unknown = (
            [repr(label) for label in labels if label not in others]
            for labels, others in ((known, given), (given, known))
        )
        said = [f"it lacks {', '.join(lacking)}"] * bool(lacking) + [f"it has {', '.join(unknown)}"] * bool(unknown)
        raise ValueError(
            f"delta must have a level for each of the classes {known}, and for no other label: {' and '.join(said)}."
        )
    if not all(isinstance(level, Real) and 0 < level <= 1 for level in given.values()):
        raise ValueError(
            f"delta={given!r}: every level must be above 0, and at most 1, which promises nothing of its class."
        )
    return np.array([float(given[label]) for label in known])


def is_kept(promise: Promise, here: Codes, labels: Labels, confidence: float) -> bool:
    """Return whether every test rejects 'the risk exceeds its level'.

    This is an intersection-union test, which needs no correction for the number of tests.
    """
    return all(counted.rejects(delta, 1 - confidence) for counted, delta in promise.evidence(here, labels))


@dataclass(frozen=True, eq=False)
class ByClass:
    """Of the rows that the full model labels c at most delta_c get another label, and of those labelled c here."""

    delta: float | Mapping[Any, float]
    levels: Reals  # (classes,)
    name: ClassVar[str] = "classes"

    def at(self, delta: float) -> "ByClass":
        return ByClass(delta, np.full_like(self.levels, delta))

    def loss(self, here: Codes, labels: Labels) -> NDArray[np.int8]:
        return _differs(here, labels.full)

    def evidence(self, here: Codes, labels: Labels) -> list[tuple[Evidence, float]]:
        right = here == labels.full
        agree, full, given = (
            np.bincount(codes, minlength=labels.n_classes) for codes in (labels.full[right], labels.full, here)
        )
        return [
            (Count(int(rows[c] - agree[c]), int(rows[c])), float(self.levels[c]))
            for c in np.flatnonzero(self.levels < 1)
            for rows in (full, given)
        ]

    def allowed(self, shares: Reals, n_calibration: int, confidence: float) -> Allowed:
        most = shares * [
            allowed_share(round(n_calibration * share), delta, confidence)
            for share, delta in zip(shares, self.levels, strict=True)
        ]
        most[self.levels >= 1] = np.inf
        return lambda changed: bool((changed[0].sum(axis=1) <= most).all() and (changed[0].sum(axis=0) <= most).all())

    def shortages(self, labels: Labels, confidence: float) -> list[Shortage]:
        rows = np.bincount(labels.full, minlength=labels.n_classes)
        needed = [rows_needed(delta, confidence) for delta in self.levels]
        return [
            Shortage(c, int(rows[c]), needed[c], attainable(int(rows[c]), confidence))
            for c in range(labels.n_classes)
            if rows[c] < needed[c]
        ]


@dataclass(frozen=True)
class ByRows:
    """Of all rows at most delta get another label than the full model gives them."""

    delta: float
    name: ClassVar[str] = "rows"

    def at(self, delta: float) -> "ByRows":
        return ByRows(delta)

    def loss(self, here: Codes, labels: Labels) -> NDArray[np.int8]:
        return _differs(here, labels.full)

    def evidence(self, here: Codes, labels: Labels) -> list[tuple[Evidence, float]]:
        return [(Count(int(np.sum(here != labels.full)), labels.full.size), self.delta)]

    def allowed(self, shares: Reals, n_calibration: int, confidence: float) -> Allowed:
        most = allowed_share(n_calibration, self.delta, confidence)
        return lambda changed: bool(changed[0].sum() <= most)

    def shortages(self, labels: Labels, confidence: float) -> list[Shortage]:
        rows, needed = labels.full.size, rows_needed(self.delta, confidence)
        return [Shortage(None, rows, needed, attainable(rows, confidence))] if rows < needed else []


@dataclass(frozen=True)
class Accuracy:
    """The share of right labels falls by at most delta, against the full model's."""

    delta: float
    name: ClassVar[str] = "accuracy"

    def at(self, delta: float) -> "Accuracy":
        return Accuracy(delta)

    def loss(self, here: Codes, labels: Labels) -> NDArray[np.int8]:
        assert labels.true is not None
        wrong = (labels.full != labels.true).astype(np.int8)
        loss: NDArray[np.int8] = _differs(here, labels.true) - (wrong if here.ndim == 1 else wrong[:, None])
        return loss

    def evidence(self, here: Codes, labels: Labels) -> list[tuple[Evidence, float]]:
        loss = self.loss(here, labels)
        return [(Difference(int(np.sum(loss > 0)), int(np.sum(loss < 0)), loss.size), self.delta)]

    def allowed(self, shares: Reals, n_calibration: int, confidence: float) -> Allowed:
        deviations = float(ndtri(confidence))

        def allows(changed: Reals) -> bool:
            """Whether the test would reject, by its normal approximation, which plans are tuned by in no time."""
            worse, better = changed.sum(axis=(1, 2))
            return bool(worse - better + deviations * np.sqrt((worse + better) / n_calibration) <= self.delta)

        return allows

    def shortages(self, labels: Labels, confidence: float) -> list[Shortage]:
        rows = labels.full.size
        if self._suffice(rows, confidence):
            return []
        fewest = rows_needed(
            self.delta, confidence
        )  # a difference needs no fewer than a count, and not many times more
        needed = fewest + bisect_left(
            range(9 * fewest), True, key=lambda more: self._suffice(fewest + more, confidence)
        )
        return [Shortage(None, rows, needed, Difference(0, 0, rows).upper_bound(confidence))]

    def _suffice(self, rows: int, confidence: float) -> bool:
        return Difference(0, 0, rows).rejects(self.delta, 1 - confidence)


def _differs(here: Codes, others: Codes) -> NDArray[np.int8]:
    """Return where labels (rows,) or (rows, checkpoints) differ from one label per row."""
    differs: NDArray[np.int8] = (here != (others if here.ndim == 1 else others[:, None])).astype(np.int8)
    return differs

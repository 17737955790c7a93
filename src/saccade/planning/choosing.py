"""Which plan of a family is taken, and what rows that took no part in planning say of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.additive import Ranges
from saccade.planning.families import Families, Family
from saccade.planning.rereading import Trail, differ_in_thresholds_alone
from saccade.promises.labels import Labels
from saccade.promises.learn_then_test import certify
from saccade.promises.promise import Promise, is_kept
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Outcome, Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["Sample", "affordable", "boldest"]

# The setting at which a plan has the thresholds that it was tuned for.
AS_TUNED = 1.0
# Of so many parts variances are computed at a time.
PARTS_AT_ONCE = 256
# Levels for which plans are tuned where an average is asked for, from the boldest to the safest.
LEVELS = np.concatenate([[0.99, 0.95, 0.9, 0.8, 0.7, 0.6], np.geomspace(0.5, 1e-4, 48)])


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows: their part values and their labels."""

    values: NDArray[Any]  # (rows, parts)
    labels: Labels
    full: NDArray[np.float64] | None = None  # (rows, scores) full margins, where they are not the sum of ``values``
    seen: Ranges | None = None  # by column, if these are not the parts

    @property
    def stored_per_row(self) -> float | None:
        """How many values a row stores, where ``as_stored`` counts these rather than parts."""
        return None

    def read(self, plan: Plan) -> Outcome:
        outcome = read_plan(plan, ArraySource(self.values))
        if self.full is not None:
            outcome.margin[~outcome.stopped] = self.full[~outcome.stopped]
        return outcome

    def as_stored(self, plan: Plan) -> Outcome:
        """Read the rows as they are stored, and count what is read there."""
        return self.read(plan)

    def readings(self, plan: Plan) -> Iterator[Outcome]:
        """Read the rows in every way in which a storage may read them: each must keep a promise."""
        yield self.read(plan)
        yield from self.read_otherwise(plan)

    def read_otherwise(self, plan: Plan) -> Iterator[Outcome]:
        """Read the rows in the ways that are the storage's own: an array has none."""
        yield from ()

    def margins(self, plan: Plan) -> NDArray[np.float64]:
        """Return the full margins, to the bit as a reader sums them."""
        return self.full if self.full is not None else self.read(plan.without_stops()).margin

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return means and variances of the parts, of some at a time, for variances take memory as the rows do."""
        variance = np.empty(self.values.shape[1])
        for start in range(0, variance.size, PARTS_AT_ONCE):
            parts = slice(start, start + PARTS_AT_ONCE)
            variance[parts] = self.values[:, parts].var(axis=0, dtype=np.float64)
        return self.values.mean(axis=0, dtype=np.float64), variance

    def ranges(self) -> Ranges:
        """Return what was seen in each column."""
        if self.seen is not None:
            return self.seen
        low, high = (reduced.astype(np.float64) for reduced in (self.values.min(axis=0), self.values.max(axis=0)))
        return Ranges(low, high, np.zeros(low.size, dtype=bool), {})


def boldest(family: Family, calibration: Sample, promise: Promise, confidence: float) -> Plan | None:
    """Return the boldest plan whose promise the calibration rows bear out; None where they bear out none."""
    rows = _Rereader(calibration)

    def holds(setting: float) -> bool:
        given = rows.labels(family.plan(setting))
        return all(is_kept(promise, here, calibration.labels, confidence) for here in given)

    setting = certify(family.settings, holds)
    return None if setting is None else family.plan(setting)


class _Rereader:
    """Some rows, read by one plan after another.

    From the second plan on that differs from the last in thresholds alone, checkpoints are not weighed anew.
    """

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._last: Plan | None = None
        self._trail: Trail | None = None

    def labels(self, plan: Plan) -> Iterator[NDArray[np.intp]]:
        """Return the labels that the rows get, in every way in which a storage may read them."""
        yield self._walked(plan)
        for outcome in self._sample.read_otherwise(plan):
            yield decided(outcome.margin)

    def _walked(self, plan: Plan) -> NDArray[np.intp]:
        again = self._last is not None and differ_in_thresholds_alone(plan, self._last)
        self._last = plan
        if not again:
            self._trail = None
            return decided(self._sample.read(plan).margin)
        if self._trail is None:
            self._trail = Trail(plan, self._sample.values, decided(self._sample.margins(plan)))
        return self._trail.labels(plan)


def affordable(families: Families, planning: Sample, promise: Promise, average_features: float) -> Plan:
    """Return the plan tuned for the smallest level among those that read few enough parts of the planning rows.

    Of a family it is the safest such plan; the calibration rows have no say, so that what they show of it is not
    selected.
    """

    def reads(plan: Plan) -> float:
        return float(planning.as_stored(plan).n_read.mean())

    low, high = 0, LEVELS.size - 1  # if anything can be afforded, then the boldest
    while low < high:
        middle = (low + high + 1) // 2
        fits = reads(families.tuned(promise.at(LEVELS[middle])).plan(AS_TUNED)) <= average_features
        low, high = (middle, high) if fits else (low, middle - 1)
    family = families.tuned(promise.at(LEVELS[low]))
    for setting in family.settings:
        plan = family.plan(setting)
        if reads(plan) <= average_features:
            return plan
    last = family.plan(family.settings[-1])
    raise ValueError(
        f"No plan reads as few as average_features={average_features} {last.noun} per row: the boldest reads "
        f"{reads(last):.3g}. Raise it."
    )

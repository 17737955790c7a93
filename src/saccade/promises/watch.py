"""Does a rate still lie below its level? Anytime-valid evidence on counts, and a detector of late changes.

With n audited rows, s of them errors, an alternative whose odds are ρ times those of a rate r has the likelihood ratio

    LR_ρ(r) = ρ^s / (1 + (ρ - 1) r)^n.

A mixture E(r) = Σ_ρ w_ρ LR_ρ(r) over ρ > 1 is an e-process for 'the rate is at most r', over ρ < 1 for 'at least r': by
Ville's inequality it ever exceeds 1/α with probability at most α. That needs no independence, only that each row,
given those before, errs at such a rate. Nobody has to say beforehand when he will look. E(r) is monotone in r, so what
is not rejected is an interval, and its end is a confidence bound that holds at all times at once (Robbins 1970,
Waudby-Smith and Ramdas 2024).

After a long good past E has far to climb. Beside it runs the detector of Shiryaev and Roberts, M <- (M + 1) LR with
each row, for alternatives that begin anywhere (an e-detector: Shin, Ramdas and Rinaldo 2024). M - n is a
supermartingale, so that M exceeds a within n rows with probability at most n/a.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from saccade.kernels.watching import any_beyond, count_rows, log_mixture

__all__ = ["ABOVE", "BELOW", "Counts", "Mixture", "any_broken", "holds", "is_broken", "lower_bound", "upper_bound"]

Reals = NDArray[np.float64]

# Of the chance of a false alarm, this share goes to the evidence on all rows, for ever, and the others to the detector,
# for so many audited rows; its own share grows with the rows, in proportion.
FOR_ALL_ROWS = 0.85
HORIZON = 30_000
# Rates that are no bounds: nearer to 0 and 1 than any that is watched.
NEAREST = 1e-12


class Mixture(NamedTuple):
    """Alternatives, as multiples of the odds of a rate, and their weights."""

    ratio: Reals
    weight: Reals


def _mixture(weights: dict[float, float]) -> Mixture:
    return Mixture(np.array(list(weights)), np.array(list(weights.values())) / sum(weights.values()))


# Chosen for the median number of rows until rates of 1.5, 2, 3 and 5 times the level are found; those near 1 are for
# bounds that are to close in on the rate with many rows.
ABOVE = _mixture({1.05: 0.02, 1.12: 0.03, 1.25: 0.05, 1.6: 0.25, 2.5: 0.25, 5.0: 0.40})
BELOW = _mixture({0.95: 0.02, 0.9: 0.03, 0.8: 0.10, 0.6: 0.25, 0.35: 0.25, 0.02: 0.35})
# A change that begins late is worth an alarm where it is not small.
LATE = _mixture({2.0: 0.2, 3.5: 0.6, 8.0: 0.2})


class Counts:
    """Audited rows and errors of several tests, and their detectors: test 0 is of all rows, then two for each class.

    1 + 2c is of the rows that the full model labels c, of which an error is lost; 2 + 2c is of those labelled c early,
    of which an error is false. Counts of several processes add. So do detectors: what is expected of the sum is at
    most the number of all rows, as for one process. But it is not what one would have had: a change that all processes
    see is seen by each alone.
    """

    def __init__(self, levels: Reals) -> None:
        self.levels, size = levels, levels.size
        self.rows, self.errors = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.recent = np.zeros((size, LATE.ratio.size))
        self._loss = 1 / (1 + (LATE.ratio - 1) * levels[:, None])
        self._gain = LATE.ratio * self._loss

    def add(self, early: NDArray[np.int64], full: NDArray[np.int64]) -> int:
        """Count audited rows, in their order, by the codes of their labels; return how many are errors."""
        return int(count_rows(early, full, *self._state))

    def total(self, test: int) -> tuple[int, int]:
        """Return all audited rows of a test, and the errors among them."""
        return int(self.rows[test]), int(self.errors[test])

    @property
    def _state(self) -> tuple[NDArray[Any], ...]:
        return self._gain, self._loss, LATE.weight, self.rows, self.errors, self.recent

    def merge(self, other: "Counts") -> None:
        """Add what another process has counted."""
        self.rows += other.rows
        self.errors += other.errors
        self.recent += other.recent


def is_broken(counts: Counts, test: int, alpha: float) -> bool:
    """Whether the rate exceeds its level, over all rows or lately.

    At any rate up to the level the chance that this is ever said within n rows is at most
    alpha (FOR_ALL_ROWS + (1 - FOR_ALL_ROWS) n / HORIZON).
    """
    return any_broken(counts, np.array([test]), alpha)


def any_broken(counts: Counts, tests: NDArray[np.intp], alpha: float) -> bool:
    """Whether one of the rates does, each at alpha."""
    most_evidence, most_detected = -math.log(alpha * FOR_ALL_ROWS), HORIZON / (alpha * (1 - FOR_ALL_ROWS))
    kept = counts.rows, counts.errors, counts.levels, counts.recent
    return bool(any_beyond(tests, *kept, *ABOVE, most_evidence, most_detected))


def holds(counts: Counts, test: int, alpha: float) -> bool:
    """Whether the rate over all rows is below its level."""
    return _evidence_below(*counts.total(test), float(counts.levels[test])) >= -math.log(alpha)


def lower_bound(rows: int, errors: int, alpha: float) -> float:
    """Return what a rate is at least, at all times at once, but for a chance of alpha.

    >>> round(lower_bound(2000, 40, 0.05), 3), lower_bound(2000, 0, 0.05)
    (0.012, 0.0)
    """
    return _bound(lambda rate: _evidence_above(rows, errors, rate), alpha, 0.0)


def upper_bound(rows: int, errors: int, alpha: float) -> float:
    """Return what a rate is at most, at all times at once, but for a chance of alpha.

    >>> round(upper_bound(2000, 40, 0.05), 3), upper_bound(10, 10, 0.05)
    (0.031, 1.0)
    """
    return _bound(lambda rate: _evidence_below(rows, errors, rate), alpha, 1.0)


def _evidence_above(rows: int, errors: int, rate: float) -> float:
    """Return the logarithm of the evidence against 'the rate is at most so much'."""
    return float(log_mixture(rows, errors, rate, *ABOVE))


def _evidence_below(rows: int, errors: int, rate: float) -> float:
    """Return the logarithm of the evidence against 'the rate is at least so much'."""
    return float(log_mixture(rows, errors, rate, *BELOW))


def _bound(evidence: Callable[[float], float], alpha: float, none: float) -> float:
    """Return the rate at which the evidence is as large as 1 / alpha, or ``none`` where there is no such rate."""

    def beyond(rate: float) -> float:
        return evidence(rate) + math.log(alpha)

    if beyond(abs(none - NEAREST)) < 0:  # even the farthest rate is not rejected
        return none
    return float(brentq(beyond, NEAREST, 1 - NEAREST, xtol=1e-14)) if beyond(1 - abs(none - NEAREST)) < 0 else 1 - none

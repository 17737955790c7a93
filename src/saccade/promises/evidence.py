"""What rows say against 'the risk exceeds delta': exact tests of counts, and of paired differences."""

import math
from typing import NamedTuple, Protocol

import numpy as np
from scipy.stats import beta, binom

__all__ = ["Count", "Difference", "Evidence", "allowed_share", "attainable", "rows_needed"]

# Of the chance to err, this share goes to the bound on how many labels differ, where a difference is tested.
NUISANCE = 0.05
# So many rates of differing labels are tried up to that bound.
RATES = 8
# What is left out of sums over a binomial law, at either end, as a share of the chance to err.
NEGLIGIBLE = 1e-9


class Evidence(Protocol):
    """Counts of what went wrong among some rows."""

    def rejects(self, delta: float, alpha: float) -> bool:
        """Return whether counts so small have a chance of at most alpha if the risk is delta or more."""

    def upper_bound(self, confidence: float) -> float:
        """Return what the risk does not exceed, at this confidence."""


class Count(NamedTuple):
    """So many errors among so many rows; the rows are drawn independently, so that the errors are binomial."""

    errors: int
    rows: int

    def rejects(self, delta: float, alpha: float) -> bool:
        return bool(binom.cdf(self.errors, self.rows, delta) <= alpha)

    def upper_bound(self, confidence: float) -> float:
        """Return Clopper and Pearson's bound.

        >>> round(Count(0, 299).upper_bound(0.95), 3)
        0.01
        """
        if self.errors >= self.rows:
            return 1.0
        return float(beta.ppf(confidence, self.errors + 1, self.rows - self.errors))


class Difference(NamedTuple):
    """Rows that are right only in full, rows that are right only here, and all rows.

    Accuracy falls by the mean of differences in {-1, 0, 1}. How likely so small a sum of them is depends, beside the
    mean, on how often labels differ. That rate is bounded from the same rows, and the largest probability up to the
    bound is taken, the bound's own chance to err added (Berger and Boos 1994): an exact test, which asks for less than
    a bet on the differences does (1.7 instead of 2.5 standard deviations below delta at 95 %).
    """

    worse: int
    better: int
    rows: int

    def rejects(self, delta: float, alpha: float) -> bool:
        differ, total = self.worse + self.better, self.worse - self.better
        if not total < delta * self.rows:
            return False
        bound = Count(differ, self.rows).upper_bound(1 - NUISANCE * alpha)
        rates = np.linspace(abs(delta), max(bound, abs(delta)), RATES)
        left_out = NEGLIGIBLE * alpha
        return all(_chance(total, self.rows, rate, delta, left_out) <= (1 - NUISANCE) * alpha for rate in rates)

    def upper_bound(self, confidence: float) -> float:
        """Return the smallest fall of accuracy that is rejected."""
        low, high = -1.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if self.rejects(middle, 1 - confidence) else (middle, high)
        return high


def _chance(total: int, rows: int, rate: float, mean: float, left_out: float) -> float:
    """Return the chance that differences, which occur at a rate and have this mean, add up to so little."""
    if rate == 0:
        return 1.0 if total >= 0 else 0.0
    low, high = int(binom.ppf(left_out, rows, rate)), int(binom.isf(left_out, rows, rate))
    differ = np.arange(low, high + 1)
    worse = binom.cdf((total + differ) // 2, differ, (rate + mean) / (2 * rate))
    return float(np.sum(binom.pmf(differ, rows, rate) * worse)) + 2 * left_out


def rows_needed(delta: float, confidence: float) -> int:
    """Return how many rows must agree, without exception, before a share delta can be promised.

    >>> rows_needed(0.01, 0.95)
    299
    """
    return math.ceil(math.log(1 - confidence) / math.log1p(-delta)) if delta < 1 else 0


def attainable(rows: int, confidence: float) -> float:
    """Return the least share that so many rows can promise, if all of them agree.

    >>> round(attainable(299, 0.95), 4)
    0.01
    """
    return float(-math.expm1(math.log(1 - confidence) / rows)) if rows else 1.0


def allowed_share(rows: int, delta: float, confidence: float) -> float:
    """Return the largest share of errors among so many rows that still rejects 'the rate exceeds delta'."""
    if delta >= 1:
        return 1.0
    most = int(binom.ppf(1 - confidence, rows, delta)) - 1 if rows else 0
    return max(most, 0) / max(rows, 1)

"""Simulate the decision error and the stopping time of a boundary on Gaussian random walks.

A walk has n steps X_i ~ N(drift, 1) and stands for an example whose n features all have weight 1. Steps may be
autocorrelated, AR(1), which violates the independence that every boundary of the paper assumes.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numba import njit
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp
from scipy.stats import binomtest
from sklearn.utils import check_random_state

from saccade import ConstantSTST

__all__ = ["DecisionError", "StoppingTime", "decision_error", "stopping_time"]

Reals = NDArray[np.float64]

# Draws per block: 4 MB, whatever the number and the length of the walks.
BLOCK = 2**20
# Steps drawn at a time for the walks not yet stopped.
STRIDE = 1024


class Boundary(Protocol):
    """The part of a boundary that a simulation needs."""

    def law(self, theta: float) -> Any: ...


@dataclass(frozen=True)
class DecisionError:
    """The share of important walks, those that end below theta, that were stopped before their end.

    Examples
    --------
    >>> from reproduction.simulate import DecisionError
    >>> error = DecisionError(walks=2000, stopped=100, important=0.06)
    >>> error.rate, [round(bound, 3) for bound in error.interval]
    (0.05, [0.041, 0.06])
    """

    walks: int  #: number of simulated walks, all important
    stopped: int  #: number of walks that were stopped
    important: float  #: exact probability that a walk is important

    @property
    def rate(self) -> float:
        """``stopped`` over ``walks``."""
        return self.stopped / self.walks

    @property
    def interval(self) -> tuple[float, float]:
        """The Clopper-Pearson 95 % confidence interval."""
        low, high = binomtest(self.stopped, self.walks).proportion_ci(0.95, method="exact")
        return float(low), float(high)


@dataclass(frozen=True)
class StoppingTime:
    """The number of steps until a walk was stopped. A walk that was never stopped counts with all its steps.

    Examples
    --------
    >>> from reproduction.simulate import StoppingTime
    >>> time = StoppingTime(walks=2000, stopped=1990, mean=1406.0, standard_error=17.2)
    >>> time.mean / 4096 < 0.35  # of walks of 4,096 steps
    True
    """

    walks: int  #: number of simulated walks
    stopped: int  #: number of walks that were stopped
    mean: float  #: mean number of steps
    standard_error: float  #: standard error of the mean


def decision_error(
    boundary: Boundary,
    n: int,
    *,
    theta: float = 0.0,
    drift: float = 0.05,
    persistence: float = 0.0,
    walks: int = 100_000,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> DecisionError:
    """Simulate walks that end below theta and count those that the boundary stops before their end.

    The end is drawn first, from its distribution truncated at theta, then the Gaussian bridge to it. So every walk
    counts, however rare important walks are.

    Parameters
    ----------
    boundary : ConstantSTST, CurvedSTST or another boundary with a law
        It gets the true drift and variance of the steps and assumes that they are independent.
    n : int
        Number of steps.
    theta : float
        Walks that end below it are important.
    drift : float
        Mean of a step. Its variance is 1.
    persistence : float
        Lag-1 autocorrelation of the steps; at lag k it is the k-th power.
    walks : int
        Number of walks.
    random_state : int, RandomState or None
    n_jobs : int or None
        Number of threads. The result does not depend on it.

    Examples
    --------
    >>> from saccade import ConstantSTST
    >>> from reproduction.simulate import decision_error
    >>> error = decision_error(ConstantSTST(delta=0.1), 1000, walks=2000, random_state=0)
    >>> error.rate < 0.1  # the paper: 'the boundary is conservative'
    True
    """
    thresholds = _thresholds(boundary, n, theta, drift, persistence, walks)
    pull, variance = _pull(n, persistence)
    end_sd = math.sqrt(variance)
    log_important = float(log_ndtr((theta - n * drift) / end_sd))
    without_drift = thresholds - drift * np.arange(1, n + 1)

    def block(seed: np.random.SeedSequence, rows: int) -> int:
        rng = np.random.default_rng(seed)
        ends = end_sd * ndtri_exp(log_important + np.log1p(-rng.random(rows)))  # without the drift
        draws = rng.standard_normal((rows, n), dtype=np.float32)
        return int(count_crossings(draws, persistence, np.empty(n), pull, ends, without_drift))

    stopped = _in_blocks(block, random_state, walks, BLOCK // n, n_jobs)
    return DecisionError(walks, sum(stopped), math.exp(log_important))


def stopping_time(
    boundary: Boundary,
    n: int,
    *,
    theta: float = 0.0,
    drift: float = 0.05,
    persistence: float = 0.0,
    walks: int = 100_000,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> StoppingTime:
    """Simulate walks until the boundary stops them; the parameters are those of ``decision_error``.

    Examples
    --------
    >>> from saccade import ConstantSTST
    >>> from reproduction.simulate import stopping_time
    >>> time = stopping_time(ConstantSTST(delta=0.1), 4096, walks=2000, random_state=0)
    >>> 1200 < time.mean < 1600
    True
    """
    thresholds = _thresholds(boundary, n, theta, drift, persistence, walks)

    def block(seed: np.random.SeedSequence, rows: int) -> NDArray[np.int64]:
        rng = np.random.default_rng(seed)
        stopped_after = np.full(rows, n, dtype=np.int64)
        walking, total, noise = np.arange(rows), np.zeros(rows), np.zeros(rows)
        for first in range(0, n - 1, STRIDE):  # stopping at the last step would save nothing
            draws = rng.standard_normal((walking.size, min(STRIDE, n - 1 - first)), dtype=np.float32)
            left = walk_on(draws, persistence, drift, first, walking, total, noise, thresholds, stopped_after)
            walking = walking[:left]
        return stopped_after

    times = np.concatenate(_in_blocks(block, random_state, walks, BLOCK // STRIDE, n_jobs))
    return StoppingTime(walks, int((times < n).sum()), float(times.mean()), float(times.std() / math.sqrt(walks)))


def _thresholds(boundary: Boundary, n: int, theta: float, drift: float, persistence: float, walks: int) -> Reals:
    """Return the upper threshold after each step; raise if the parameters are invalid."""
    if not (math.isfinite(theta) and math.isfinite(drift)):
        raise ValueError(f"theta={theta}, drift={drift}: both must be finite.")
    if n < 2 or walks < 1:
        raise ValueError(f"n={n}, walks={walks}: a simulation needs walks of at least 2 steps, and at least 1 walk.")
    if not 0 <= persistence < 1:
        raise ValueError(f"persistence={persistence}: the correlation of neighbouring steps must be in [0, 1).")
    law = boundary.law(theta)
    if law is None:
        raise ValueError(f"{boundary!r} promises no level. Simulate ConstantSTST or CurvedSTST.")
    rest = n - np.arange(1, n + 1)
    # The constant boundary grows with the variance of the full margin. All weights and variances are 1 here, so for
    # the other boundaries the variance of the unread rest and its sum of squared weights are the same.
    constant = law.grows_with == ConstantSTST().law(theta).grows_with
    cushion = law.slope * np.sqrt(law.shift + (np.full(n, n) if constant else rest)) - law.offset
    thresholds: Reals = theta - law.centred * drift * rest + cushion
    return thresholds


def _pull(n: int, persistence: float) -> tuple[Reals, float]:
    """Return the bridge's coefficients cov(S_i, S_n) / var(S_n) for each step i, and var(S_n)."""
    steps = np.arange(1, n + 1)
    # cov(X_i, S_n) is the sum of persistence^|i - j| over j: two geometric series that share the term j = i.
    towards_start = (1 - persistence**steps) / (1 - persistence)
    towards_end = (1 - persistence ** (n + 1 - steps)) / (1 - persistence)
    covariance = np.cumsum(towards_start + towards_end - 1)
    return covariance / covariance[-1], float(covariance[-1])


def _in_blocks(
    block: Callable[[np.random.SeedSequence, int], Any], random_state: Any, walks: int, size: int, n_jobs: int | None
) -> list[Any]:
    """Run blocks of at most ``size`` walks in threads, each with its own seed."""

    def blocks() -> Iterator[Any]:
        root = np.random.SeedSequence(check_random_state(random_state).randint(2**31 - 1))
        for start in range(0, walks, max(1, size)):
            yield delayed(block)(root.spawn(1)[0], min(max(1, size), walks - start))

    results: list[Any] = Parallel(n_jobs=n_jobs, prefer="threads")(blocks())
    return results


@njit(cache=True, nogil=True)
def count_crossings(draws, persistence, path, pull, ends, thresholds):  # type: ignore[no-untyped-def]
    """Return the number of walks that reach a threshold before their last step, when bent to the given ends.

    A step is persistence times the previous one plus fresh noise, with variance 1 in all. ``path`` holds the free walk;
    adding ``pull[i]`` times the distance to the wanted end makes it a draw from the law of walks that end there
    (Matheron's rule for conditioning normal variables).
    """
    fresh = math.sqrt(1.0 - persistence * persistence)
    crossed = 0
    n = draws.shape[1]
    for row in range(draws.shape[0]):
        step = draws[row, 0]
        total = step
        path[0] = total
        for i in range(1, n):
            step = persistence * step + fresh * draws[row, i]
            total += step
            path[i] = total
        distance = ends[row] - total
        for i in range(n - 1):
            if path[i] + pull[i] * distance >= thresholds[i]:
                crossed += 1
                break
    return crossed


@njit(cache=True, nogil=True)
def walk_on(draws, persistence, drift, first, walking, total, noise, thresholds, stopped_after):  # type: ignore[no-untyped-def]
    """Continue the walks that are not stopped; move those still not stopped to the front of ``walking``, count them.

    ``first`` is the number of steps taken before. The number of steps of a stopped walk is written to
    ``stopped_after``.
    """
    fresh = math.sqrt(1.0 - persistence * persistence)
    left = 0
    for row in range(draws.shape[0]):
        walk = walking[row]
        where, last = total[walk], noise[walk]
        stopped = False
        for i in range(draws.shape[1]):
            alone = first == 0 and i == 0
            last = draws[row, i] if alone else persistence * last + fresh * draws[row, i]
            where += drift + last
            if where >= thresholds[first + i]:
                stopped_after[walk] = first + i + 1
                stopped = True
                break
        if not stopped:
            total[walk], noise[walk] = where, last
            walking[left] = walk
            left += 1
    return left

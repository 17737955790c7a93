"""The paper's simulation: decision error and stopping time of a boundary on Gaussian random walks.

A walk has n steps X_i ~ N(drift, 1) and stands for one example whose n features all have weight 1. Steps may be
autocorrelated, AR(1), against the assumption of every boundary of the paper.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp
from scipy.stats import binomtest
from sklearn.utils import check_random_state

from saccade.kernels.simulating import count_crossings, go_on
from saccade.kernels.state import TOTAL_VARIANCE
from saccade.planning.boundaries import Boundary

__all__ = ["DecisionError", "StoppingTime", "decision_error", "stopping_time"]

Reals = NDArray[np.float64]

# Draws per block: 4 MB, whatever the number and the length of the walks.
BLOCK = 2**20
# Steps drawn at a time for the walks not yet stopped.
STRIDE = 1024


@dataclass(frozen=True)
class DecisionError:
    """How many important walks, those that end below theta, were stopped before their end.

    Examples
    --------
    >>> from saccade.simulate import DecisionError
    >>> error = DecisionError(walks=2000, stopped=100, important=0.06)
    >>> error.rate, [round(bound, 3) for bound in error.interval]
    (0.05, [0.041, 0.06])
    """

    walks: int  #: how many were simulated
    stopped: int  #: how many of them were stopped
    important: float  #: the exact probability that a walk is important

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
    """Steps until walks were stopped; a walk that was never stopped counts with all its steps.

    Examples
    --------
    >>> from saccade.simulate import StoppingTime
    >>> time = StoppingTime(walks=2000, stopped=1990, mean=1406.0, standard_error=17.2)
    >>> time.mean / 4096 < 0.35  # of walks of 4,096 steps
    True
    """

    walks: int  #: how many were simulated
    stopped: int  #: how many of them were stopped
    mean: float  #: of the steps
    standard_error: float  #: of the mean


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

    The end is drawn first, from its distribution truncated at theta, then the Gaussian bridge to it, so that every walk
    counts however rare important walks are.

    Parameters
    ----------
    boundary : ConstantSTST or CurvedSTST
        Gets the true drift and variance of the steps, and assumes their independence.
    n : int
        The number of steps.
    theta : float
        Walks that end below it are important.
    drift : float
        The mean of a step; its variance is 1.
    persistence : float
        The lag-1 autocorrelation of the steps; at lag k it is the k-th power.
    walks : int
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads. The result does not depend on it.

    Examples
    --------
    >>> from saccade import ConstantSTST
    >>> from saccade.simulate import decision_error
    >>> error = decision_error(ConstantSTST(delta=0.1), 1000, walks=2000, random_state=0)
    >>> error.rate < 0.1  # the paper: 'the boundary is conservative'
    True
    """
    _check(n, theta, drift, persistence, walks)
    thresholds = _thresholds(boundary, n, theta, drift)
    pull, variance = _pull(n, persistence)
    end_sd = math.sqrt(variance)
    log_important = float(log_ndtr((theta - n * drift) / end_sd))

    def block(seed: np.random.SeedSequence, rows: int) -> int:
        rng = np.random.default_rng(seed)
        ends = end_sd * ndtri_exp(log_important + np.log1p(-rng.random(rows)))  # of the walk without its drift
        draws = rng.standard_normal((rows, n), dtype=np.float32)
        return int(count_crossings(draws, persistence, np.empty(n), pull, ends, thresholds - drift * steps))

    steps = np.arange(1, n + 1)
    blocks = _blocks(random_state, walks, max(1, BLOCK // n))
    stopped = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(block)(seed, rows) for seed, rows in blocks)
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
    >>> from saccade.simulate import stopping_time
    >>> time = stopping_time(ConstantSTST(delta=0.1), 4096, walks=2000, random_state=0)
    >>> 1200 < time.mean < 1600
    True
    """
    _check(n, theta, drift, persistence, walks)
    thresholds = _thresholds(boundary, n, theta, drift)

    def block(seed: np.random.SeedSequence, rows: int) -> NDArray[np.int64]:
        rng = np.random.default_rng(seed)
        stopped_after = np.full(rows, n, dtype=np.int64)
        walking, total, noise = np.arange(rows), np.zeros(rows), np.zeros(rows)
        first = 0
        while walking.size and first < n - 1:  # at the last step there is nothing left to save
            size = min(STRIDE, n - 1 - first)
            draws = rng.standard_normal((walking.size, size), dtype=np.float32)
            left = go_on(draws, persistence, drift, first, walking, total, noise, thresholds, stopped_after)
            walking = walking[:left]
            first += size
        return stopped_after

    blocks = _blocks(random_state, walks, max(1, BLOCK // STRIDE))
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(block)(seed, rows) for seed, rows in blocks)
    times = np.concatenate(parts)
    return StoppingTime(walks, int((times < n).sum()), float(times.mean()), float(times.std() / math.sqrt(walks)))


def _check(n: int, theta: float, drift: float, persistence: float, walks: int) -> None:
    if not (math.isfinite(theta) and math.isfinite(drift)):
        raise ValueError(f"theta={theta}, drift={drift}: both must be finite.")
    if n < 2 or walks < 1:
        raise ValueError(f"n={n}, walks={walks}: a simulation needs walks of at least 2 steps, and at least 1 walk.")
    if not 0 <= persistence < 1:
        raise ValueError(f"persistence={persistence}: the correlation of neighbouring steps must be in [0, 1).")


def _thresholds(boundary: Boundary, n: int, theta: float, drift: float) -> Reals:
    """Return the upper threshold after each step."""
    law = boundary.law(theta)
    if law is None:
        raise ValueError(f"{boundary!r} promises no level. Simulate ConstantSTST or CurvedSTST.")
    rest = n - np.arange(1, n + 1)
    variance = np.full(n, n) if law.grows_with == TOTAL_VARIANCE else rest
    thresholds: Reals = theta - law.centred * drift * rest + law.slope * np.sqrt(law.shift + variance) - law.offset
    return thresholds


def _pull(n: int, persistence: float) -> tuple[Reals, float]:
    """Return the bridge's coefficients cov(S_i, S_n) / var(S_n) for each step i, and var(S_n)."""
    steps = np.arange(1, n + 1)
    # cov(X_i, S_n) is the sum of persistence^|i - j| over j: two geometric series that share the term j = i.
    towards_start = (1 - persistence**steps) / (1 - persistence)
    towards_end = (1 - persistence ** (n + 1 - steps)) / (1 - persistence)
    covariance = np.cumsum(towards_start + towards_end - 1)
    return covariance / covariance[-1], float(covariance[-1])


def _blocks(random_state: Any, walks: int, size: int) -> Iterator[tuple[np.random.SeedSequence, int]]:
    """Yield a seed and a number of walks for each block, the same whatever the number of threads."""
    root = np.random.SeedSequence(check_random_state(random_state).randint(2**31 - 1))
    for start in range(0, walks, size):
        yield root.spawn(1)[0], min(size, walks - start)

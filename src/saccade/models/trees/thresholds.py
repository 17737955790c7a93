"""Comparisons of other kinds as the one that all walks make: x <= threshold, in double precision.

Rounding to single precision is monotone, so that the doubles which round to at most u are those up to a largest one.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["at_most", "below", "single"]

Reals = NDArray[np.float64]


@np.errstate(over="ignore")  # below the lowest single lies infinity
def below(threshold: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return u such that x < threshold where x <= u, for x of the same precision and a threshold above -inf."""
    down: NDArray[np.floating] = np.nextafter(threshold, threshold.dtype.type(-np.inf))
    return down


@np.errstate(over="ignore")
def at_most(threshold: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return the largest single that is at most each number."""
    rounded = threshold.astype(np.float32)
    lower = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded.astype(np.float64) > threshold, lower, rounded)


@np.errstate(over="ignore", invalid="ignore")  # around the largest single, and of infinities, which are thresholds too
def single(threshold: NDArray[np.floating]) -> Reals:
    """Return the largest double x such that float32(x) <= threshold."""
    lower = at_most(threshold)
    low, high = lower.astype(np.float64), np.nextafter(lower, np.float32(np.inf)).astype(np.float64)
    # Past the largest single lies infinity, which doubles round to from half a step on.
    high = np.where(np.isinf(high) & np.isfinite(low), 2.0**128, high)
    low = np.where(np.isinf(low) & (low < 0) & np.isfinite(high), -(2.0**128), low)
    middle = np.where(np.isfinite(low), low + (high - low) / 2, low)
    stays = middle.astype(np.float32) <= lower  # a tie goes to the even neighbour
    return np.where(stays, middle, np.nextafter(middle, -np.inf))

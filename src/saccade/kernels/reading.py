"""What every reader of a plan does at a checkpoint: the reference for all of them is ``tests/reference.py``."""

import math

from saccade.kernels.compiling import inlined, kernel, loop


@loop
def weighted_sum(values, weights):
    total = 0.0
    for k in range(values.shape[0]):
        total += weights[k] * values[k]
    return total


@inlined
def is_clear(scores, lower, upper):
    """Whether one score is far enough on either side, or the best of several leads the second best by what it must."""
    if scores.shape[0] == 1:
        clear = (scores[0] >= upper[0]) | (scores[0] <= lower[0])
    else:
        best, second, demanded = -math.inf, -math.inf, math.inf
        for c in range(scores.shape[0]):
            second = max(second, min(best, scores[c]))
            demanded = upper[c] if scores[c] > best else demanded
            best = max(best, scores[c])
        clear = best - second >= demanded
    return clear


@inlined
def all_finite(scores):
    finite = True
    for c in range(scores.shape[0]):
        finite = finite and math.isfinite(scores[c])
    return finite


@kernel
def first_bad(margin):
    """Return the first row whose scores, (rows, scores), are not all finite, or -1."""
    bad = -1
    for i in range(margin.shape[0]):
        if bad < 0 and not all_finite(margin[i]):
            bad = i
    return bad

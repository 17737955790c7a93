"""Making the order anew: rarely, because the weights move less and less, and never with a full sort."""

import math

import numpy as np

from saccade.kernels.compiling import inlined, kernel, loop
from saccade.kernels.randomness import DRAW, SHUFFLE, uniform
from saccade.kernels.state import (
    BUCKETS,
    CHANGES,
    NEXT_REORDER,
    PERMUTED,
    REORDERS,
    SAMPLED,
    SAMPLED_PRINTED,
    SCALE,
    SORTED,
)

# The order is made anew each time the number of changes has grown by this factor.
GROWTH = 1.15
# Magnitudes are told apart to a sixteenth of an octave: by the exponent and the first four bits of the mantissa.
DROPPED_BITS = 19
# The share of sampled draws that are uniform, so that a weight of zero can still be drawn and learned.
EXPLORE = 0.1


@inlined
def leading_bits(value):
    """Return the leading bits of a magnitude, which sort like the magnitudes themselves."""
    return np.int64(np.float32(abs(value)).view(np.int32)) >> DROPPED_BITS


@kernel
def sort_by_magnitude(values, scale, order, spare):
    """Order the features from the largest magnitude to the smallest: a stable counting sort on the leading bits."""
    n = values.shape[0]
    bucket, start = spare[:n], spare[n:]
    top = np.int64(0)
    for j in range(n):
        bucket[j] = leading_bits(scale * values[j])
        top = max(top, bucket[j])
    for b in range(start.shape[0]):
        start[b] = 0
    for j in range(n):
        bucket[j] = min(top - bucket[j], BUCKETS - 1)
        start[bucket[j] + 1] += 1
    for b in range(BUCKETS):
        start[b + 1] += start[b]
    for j in range(n):
        order[start[bucket[j]]] = j
        start[bucket[j]] += 1


@loop
def weigh_by_deviation(weights, var, values):
    """Write down the standard deviation that a feature adds to the margin: |weight| times its own, up to the sign."""
    for j in range(weights.shape[0]):
        values[j] = weights[j] * math.sqrt(var[0, j] + var[1, j])


@kernel
def shuffle(order, seed, turn):
    """Permute the order at random (Fisher and Yates)."""
    n = order.shape[0]
    for k in range(n - 1, 0, -1):
        other = int(uniform(seed, SHUFFLE, turn * n + k) * (k + 1))
        order[k], order[other] = order[other], order[k]


@kernel
def draw(weights, walk, seed, turn, unbiased):
    """Draw features with replacement from the distribution of the weights' magnitudes.

    The unbiased form weights a draw of probability p by 1 / (n p), so that n draws have the full margin as expectation;
    the paper does not rescale its draws.
    """
    n = weights.shape[0]
    upto = walk.work_real
    total = 0.0
    for j in range(n):
        total += abs(weights[j])
    explore = EXPLORE if total > 0 else 1.0
    reached = 0.0
    for j in range(n):
        reached += explore / n + ((1 - explore) * abs(weights[j]) / total if total > 0 else 0.0)
        upto[j] = reached
    for k in range(n):
        j = first_above(upto, uniform(seed, DRAW, turn * n + k) * reached)
        walk.order[k] = j
        probability = upto[j] - (upto[j - 1] if j > 0 else 0.0)
        walk.ratio[k] = 1.0 / (n * probability) if unbiased else 1.0


@kernel
def first_above(ascending, value):
    """Return the first index whose entry exceeds the value, or the last index."""
    low, high = 0, ascending.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def reorder(state, walk, settings):
    """Make the order anew for the weights as they are, and say when it is due again."""
    turn = state.counters[REORDERS]
    if settings.order == SORTED and settings.regress:
        weigh_by_deviation(state.weights, walk.var, walk.work_real)
        sort_by_magnitude(walk.work_real, state.scalars[SCALE], walk.order, walk.work_whole)
    elif settings.order == SORTED:
        sort_by_magnitude(state.weights, state.scalars[SCALE], walk.order, walk.work_whole)
    elif settings.order == PERMUTED:
        shuffle(walk.order, settings.seed, turn)
    elif settings.order == SAMPLED or settings.order == SAMPLED_PRINTED:
        draw(state.weights, walk, settings.seed, turn, settings.order == SAMPLED)
    state.counters[REORDERS] = turn + 1
    state.counters[NEXT_REORDER] = int(state.counters[CHANGES] * GROWTH) + 1

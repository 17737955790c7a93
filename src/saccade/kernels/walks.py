"""Walk over a row until the boundary stops it: reading order, thresholds at all checkpoints, and the walk itself.

The order is made anew rarely, because weights move less and less, and never with a full sort.
"""

import math

import numpy as np

from saccade.kernels.compiling import exact, inlined, internal, kernel, loop
from saccade.kernels.hashing import DRAW, SHUFFLE, uniform
from saccade.kernels.state import (
    BUCKETS,
    CHANGES,
    EXPECTED_0,
    EXPECTED_1,
    FACTOR_0,
    INTERCEPT,
    NEXT_REORDER,
    PERMUTED,
    REORDERS,
    REST_SQUARED_WEIGHTS,
    SAMPLED,
    SAMPLED_PRINTED,
    SCALE,
    SORTED,
    TOTAL_VARIANCE,
    WIDTH_0,
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


# The audit's moments say nothing before this many examples of a class; until then its walks are not stopped.
FEWEST_EXAMPLES = 8
# However well a partial margin predicts the full one, this share of its independent variance stays open.
LEAST_UNEXPLAINED = 1e-3


@inlined
def centre(walk, settings):
    """What is expected of an unread feature of each class: its mean, or zero where the boundary ignores means."""
    return walk.mean if settings.law.centred else walk.neutral


@inlined
def dispersion_of(walk, settings):
    """What the squared weights of unread features count with: their variance, or one."""
    return walk.neutral if settings.law.grows_with == REST_SQUARED_WEIGHTS else walk.var


@loop
def expected_margins(weights, means):
    kind = weights.dtype.type
    e0, e1 = kind(0), kind(0)
    for j in range(weights.shape[0]):
        e0 += weights[j] * means[0, j]
        e1 += weights[j] * means[1, j]
    return e0, e1


@inlined
def set_expected(state, walk, settings):
    """Recompute the margin that is expected of an example of each class before anything is read."""
    state.scalars[EXPECTED_0], state.scalars[EXPECTED_1] = expected_margins(state.weights, centre(walk, settings))


@loop
def variances(weights, dispersion):
    """Return the variance of the unscaled margin in both classes, the features taken as independent."""
    kind = weights.dtype.type
    q0, q1 = kind(0), kind(0)
    for j in range(weights.shape[0]):
        q0 += weights[j] * weights[j] * dispersion[0, j]
        q1 += weights[j] * weights[j] * dispersion[1, j]
    return q0, q1


@loop
def variances_of(features, weights, dispersion):
    """Like variances, of the given features alone."""
    kind = weights.dtype.type
    q0, q1 = kind(0), kind(0)
    for k in range(features.shape[0]):
        j = features[k]
        q0 += weights[j] * weights[j] * dispersion[0, j]
        q1 += weights[j] * weights[j] * dispersion[1, j]
    return q0, q1


@inlined
def put_cushion(walk, settings, scale, c, k, variance):
    """Store what a walk must exceed the threshold by, given the variance of the unscaled margin's unread rest."""
    if settings.fair and walk.counts[c, 0] < FEWEST_EXAMPLES:
        walk.cushion[c, k] = np.inf
    else:
        law = settings.law
        walk.cushion[c, k] = law.slope * math.sqrt(law.shift + scale * scale * max(variance, 0.0)) - law.offset


@inlined
def put_regression(scalars, walk, c, k):
    """Store how the full margin follows the partial one; return the share of its variance that is left unexplained."""
    near, cross = walk.partial_square[c, k], walk.partial_product[c, k]
    walk.slope[c, k] = cross / near if near > 0 else 1.0
    explained = cross * cross / near if near > 0 else 0.0
    return max(scalars[WIDTH_0 + c] ** 2 - explained, LEAST_UNEXPLAINED)


@internal
def set_cushions(state, walk, settings, checkpoints):
    """Recompute all cushions for the weights and moments as they are now."""
    grows_with = settings.law.grows_with
    n = state.weights.shape[0]
    scale = state.scalars[SCALE]
    dispersion = dispersion_of(walk, settings)
    q0, q1 = variances(state.weights, dispersion)
    done = 0
    for k in range(checkpoints.shape[0]):
        share0, share1 = 1.0, 1.0
        if settings.regress:
            share0, share1 = put_regression(state.scalars, walk, 0, k), put_regression(state.scalars, walk, 1, k)
        elif grows_with != TOTAL_VARIANCE:
            if settings.order >= SAMPLED:  # every draw is expected to add its n-th part
                share0 = share1 = 1.0 - checkpoints[k] / n
            else:
                a0, a1 = variances_of(walk.order[done : checkpoints[k]], state.weights, dispersion)
                q0, q1 = q0 - a0, q1 - a1
                done = checkpoints[k]
        put_cushion(walk, settings, scale, 0, k, share0 * q0)
        put_cushion(walk, settings, scale, 1, k, share1 * q1)


# Futility stop: after this checkpoint a row whose margin lies below theta - cushion is read in full.
FUTILE = 4


@exact
def read_eight(x, order, weights, middle, k):
    """Return what the features at positions k to k + 7 add to the unscaled margin beyond what was expected of them.

    Written out, because a loop over so few features costs more than the features do.
    """
    eight = order[k : k + 8]
    a, b, c, d, e, f, g, h = eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7]
    first = weights[a] * (x[a] - middle[a]) + weights[b] * (x[b] - middle[b])
    second = weights[c] * (x[c] - middle[c]) + weights[d] * (x[d] - middle[d])
    third = weights[e] * (x[e] - middle[e]) + weights[f] * (x[f] - middle[f])
    fourth = weights[g] * (x[g] - middle[g]) + weights[h] * (x[h] - middle[h])
    return (first + second) + (third + fourth)


@inlined
def demanded(state, walk, c, k):
    """Return by how much a walk must exceed the importance threshold at this checkpoint to be stopped."""
    cushion = walk.cushion[c, k]
    return cushion + (state.scalars[FACTOR_0 + c] - 1.0) * abs(cushion)


@inlined
def judge(state, walk, settings, c, k, margin):
    """Return 1 where a walk that expects this margin is stopped, -1 where it is given up, 0 where it goes on."""
    excess, cushion = margin - settings.law.theta, demanded(state, walk, c, k)
    if excess >= cushion:
        return 1
    return -1 if k > FUTILE and settings.law.centred and excess < -cushion else 0


@internal
def walk_in_order(x, state, walk, settings, checkpoints, c):
    """Read a row in order until the boundary stops it; return the checkpoint, or -1, and the margin expected there."""
    factor = (2.0 * c - 1.0) * state.scalars[SCALE]
    start = state.scalars[INTERCEPT] + state.scalars[EXPECTED_0 + c]
    middle = centre(walk, settings)[c]
    deviation = 0.0
    position = 0
    for k in range(checkpoints.shape[0]):
        while position < checkpoints[k]:
            deviation += read_eight(x, walk.order, state.weights, middle, position)
            position += 8
        expected = start + walk.slope[c, k] * deviation
        decision = judge(state, walk, settings, c, k, factor * expected)
        if decision != 0:
            return (k if decision > 0 else -1), expected
    return -1, start


@internal
def trace(x, order, weights, middle, checkpoints, path):
    """Write down how far the margin deviates from what was expected of it at each checkpoint."""
    deviation = 0.0
    position = 0
    for k in range(checkpoints.shape[0]):
        while position < checkpoints[k]:
            deviation += read_eight(x, order, weights, middle, position)
            position += 8
        path[k] = deviation


@inlined
def retrace(state, walk, settings, c):
    """Return whether a walk over the row that was traced would be stopped, and after how many checkpoints it ends."""
    factor = (2.0 * c - 1.0) * state.scalars[SCALE]
    start = state.scalars[INTERCEPT] + state.scalars[EXPECTED_0 + c]
    for k in range(walk.path.shape[0]):
        decision = judge(state, walk, settings, c, k, factor * (start + walk.slope[c, k] * walk.path[k]))
        if decision != 0:
            return decision > 0, k + 1
    return False, walk.path.shape[0]


@inlined
def ring(start, position, n):
    """Return the index of a position in a ring of n that begins at start."""
    return start + position if start + position < n else start + position - n


@internal
def walk_draws(x, state, walk, settings, checkpoints, c, start):
    """Like walk_in_order, over the sampled draws, which are taken in a ring from a random start."""
    n = walk.order.shape[0]
    factor = (2.0 * c - 1.0) * state.scalars[SCALE]
    expected = state.scalars[INTERCEPT] + state.scalars[EXPECTED_0 + c]
    share = state.scalars[EXPECTED_0 + c] / n  # each draw replaces the n-th part of what was expected
    position = 0
    for k in range(checkpoints.shape[0]):
        while position < checkpoints[k]:
            q = ring(start, position, n)
            j = walk.order[q]
            expected += walk.ratio[q] * state.weights[j] * x[j] - share
            position += 1
        if factor * expected - settings.law.theta >= demanded(state, walk, c, k):
            return k, expected
    return -1, expected

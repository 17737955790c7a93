"""Reading a row feature by feature until a boundary stops the walk."""

from saccade.kernels.compiling import exact, inlined, internal
from saccade.kernels.state import EXPECTED_0, FACTOR_0, INTERCEPT, SCALE
from saccade.kernels.thresholds import centre

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

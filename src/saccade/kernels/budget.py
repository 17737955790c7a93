"""Budgeted learning: of every example the same number of features is read, and no others are learned from."""

import math

from saccade.kernels.compiling import inlined, internal, kernel
from saccade.kernels.randomness import OFFSET, uniform
from saccade.kernels.reordering import reorder
from saccade.kernels.rows import dot
from saccade.kernels.state import CHANGES, INTERCEPT, N_READ, NEXT_REORDER, PERCEPTRON, SAMPLED, SCALE, STEP
from saccade.kernels.training import begin_step, learn_from, pass_over
from saccade.kernels.walking import ring


@internal
def choose(order, start, size, t, marked, chosen):
    """List the features at the first positions of the order, each once; return how many. ``marked`` is room."""
    n = order.shape[0]
    count = 0
    for position in range(size):
        j = order[ring(start, position, n)]
        if marked[j] != t:
            marked[j] = t
            chosen[count] = j
            count += 1
    return count


@inlined
def first_position(settings, n, t):
    """Return where in the ring of draws this step begins."""
    return int(uniform(settings.seed, OFFSET, t) * n) if settings.order >= SAMPLED else 0


@inlined
def take_part(state, walk, settings, indices, values, size, c, t, weight):
    """Learn from part of an example; return False where its margin is not finite."""
    inner = dot(state.weights, indices, values) + state.scalars[INTERCEPT]
    margin = (2.0 * c - 1.0) * state.scalars[SCALE] * inner
    if margin >= settings.law.theta and not (settings.rule == PERCEPTRON and margin <= 0):
        pass_over(state, settings, t, size)
        return math.isfinite(margin)
    state.counters[N_READ] += size
    length = learn_from(state, settings, indices, values, c, t, weight, inner, margin)
    state.counters[CHANGES] += length > 0
    if state.counters[CHANGES] >= state.counters[NEXT_REORDER]:
        reorder(state, walk, settings)
    return math.isfinite(margin) and not math.isnan(length)


@kernel
def train_budget_dense(X, target, rows, weights, state, walk, settings, chosen, values):
    """Learn from part of the given rows in turn; return -1, or the row whose margin was not finite."""
    for r in range(rows.shape[0]):
        i = rows[r]
        weight = weights[i] if weights.shape[0] > 0 else 1.0
        if weight == 0:
            continue
        t = begin_step(state, state.counters[STEP] + 1)
        start = first_position(settings, X.shape[1], t)
        count = choose(walk.order, start, settings.limit, t, walk.work_whole, chosen)
        for k in range(count):
            values[k] = X[i, chosen[k]]
        if not take_part(state, walk, settings, chosen[:count], values[:count], settings.limit, target[i], t, weight):
            return i
    return -1


@kernel
def train_budget_sparse(data, indices, indptr, target, rows, weights, state, walk, settings, chosen, values, room):
    """Like train_budget_dense, for CSR rows; ``room`` is an array of n zeros, and is left so. Stored values count."""
    for r in range(rows.shape[0]):
        i = rows[r]
        weight = weights[i] if weights.shape[0] > 0 else 1.0
        if weight == 0:
            continue
        for k in range(indptr[i], indptr[i + 1]):
            room[indices[k]] = data[k]
        t = begin_step(state, state.counters[STEP] + 1)
        start = first_position(settings, room.shape[0], t)
        listed = choose(walk.order, start, settings.limit, t, walk.work_whole, chosen)
        count = 0
        for k in range(listed):
            if room[chosen[k]] != 0:
                chosen[count] = chosen[k]
                values[count] = room[chosen[k]]
                count += 1
        for k in range(indptr[i], indptr[i + 1]):
            room[indices[k]] = 0
        if not take_part(state, walk, settings, chosen[:count], values[:count], count, target[i], t, weight):
            return i
    return -1

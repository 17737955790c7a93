"""Learn from rows in turn: dense and sparse ones, with memory of earlier passes, walks, or a budget.

What a learner does without is None (``walk``, ``checkpoints``, ``indices`` of a dense row), and numba drops the code
for it, which is most of what there is to compile.

**Memory** of an example is its last margin, and when it was read. Margins go to and fro, so one that has risen since
the reading before is remembered as half as far up. Between two readings a margin wanders like a random walk whose
variance grows with the sum of the squared step lengths, the clock. So an example whose margin exceeded the importance
threshold by more than T sqrt(age) is still clear, and is skipped unread. T is what a step of length 1 is expected to
move a margin by, in proportion to the squared norm of a row, times the multiplier that follows the audited misses. The
age is what the clock counted in whole passes, the one of the reading among them: within a pass margins hardly depend on
how long ago they were read, for weights that have settled go to and fro, too.

With a **budget** the same number of features is read of every example, and only these are learned from.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.audit import explore, is_walking, keep_walk, score, set_factors, teach, walk_over
from saccade.kernels.compiling import inlined, internal, kernel
from saccade.kernels.hashing import AUDIT, OFFSET, stream_key, uniform, uniform_of
from saccade.kernels.prefetching import prefetch, prefetch_far
from saccade.kernels.state import (
    ALGORITHM1,
    CHANGES,
    INTERCEPT,
    LOSS,
    MEAN_NORM2,
    MULTIPLIER,
    N_AUDITED,
    N_EXAMPLES,
    N_FILTERED,
    N_READ,
    N_READ_FILTERED,
    N_UPDATES,
    NEXT_REORDER,
    PEGASOS,
    PERCEPTRON,
    SAMPLED,
    SCALE,
    STEP,
    TAUGHT,
    State,
)
from saccade.kernels.updates import catch_up, dot, end_step, is_due, shrink, squared_norm, step_length, take_step
from saccade.kernels.walks import reorder, ring

# A step along one row moves the margin of another by this share of their squared norm, before misses say otherwise.
WANDERING = 0.038


class Picked(NamedTuple):
    """Those examples of a block that are to be read, and what each needs: room for a block of them."""

    place: NDArray[np.uint32]  # among the rows that are learned from
    step: NDArray[np.int64]
    coin: NDArray[np.float64]  # the random number of the step


@inlined
def is_remembered(memory, i):
    """Whether this example was read in an earlier pass."""
    return memory.shape[0] > 0 and memory[i, 0] > -math.inf


@inlined
def squared_reach(scalars, settings):
    """Return the variance of a margin per unit of the clock."""
    wandering = WANDERING * scalars[MULTIPLIER] * (scalars[MEAN_NORM2] + settings.intercept)
    return wandering * wandering


@inlined
def is_clear(memory, i, reach):
    """Whether this example's margin is clear from memory alone."""
    excess = memory[i, 0]
    return (excess > 0) & (excess * excess > reach * memory[i, 1])


@inlined
def remember(memory, i, excess):
    """Write down by how much this example's margin exceeds the importance threshold, now.

    A margin that has risen is expected to fall back: it counts as the mean of now and before.
    """
    if memory.shape[0] > 0:
        before = memory[i, 0]
        memory[i, 0] = 0.5 * (excess + before) if -math.inf < before < excess else excess
        memory[i, 1] = 0.0


@inlined
def is_witness(settings, coin, t):
    """Whether this step's example is read to its end, whatever is known of it."""
    return settings.fair & ((coin < settings.audit) | (coin < settings.teach) | (coin * t < settings.warm_up))


@internal
def pick(rows, begin, end, weights, memory, scalars, settings, coins, t, picked):
    """Pick the examples of a block that memory does not skip; return how many, and the last step.

    All at once and without a branch that depends on the data, for it would be guessed wrongly every third time: so
    conditions are joined by operators that evaluate both sides.
    """
    reach = squared_reach(scalars, settings)
    remembers, weighted = memory.shape[0] > 0, weights.shape[0] > 0
    count = 0
    for r in range(begin, end):
        i = rows[r]
        weight = weights[i] if weighted else 1.0
        t += weight != 0
        coin = uniform_of(coins, t)
        clear = remembers and is_clear(memory, i, reach) & (not is_witness(settings, coin, t))
        skipped = clear | (weight == 0)
        picked.place[count], picked.step[count], picked.coin[count] = r, t, coin
        count += not skipped
    return count, t


@kernel
def age_all(memory, age):
    """Let all that is remembered be older. numpy would keep other threads waiting meanwhile, and take longer."""
    for i in range(memory.shape[0]):
        memory[i, 1] += age


@kernel
def age_rows(memory, rows, age):
    """Let what is remembered of these rows be older."""
    for r in range(rows.shape[0]):
        memory[rows[r], 1] += age


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


# Scores mean something from this step on.
FIRST_SCORED = 60.0
# While one row is read, a later one is fetched: so many lines of the cache, after which the processor goes on alone.
AHEAD = 3
LINES, LINE = 49, 64


@inlined
def begin_step(state, t):
    """Begin the step of one more example; return its number."""
    state.counters[STEP] = t
    state.counters[N_EXAMPLES] += 1
    return t


@internal
def pass_over(state, settings, t, size):
    """Filter an example of which so many features were read."""
    state.counters[N_FILTERED] += 1
    state.counters[N_READ] += size
    state.counters[N_READ_FILTERED] += size
    if settings.rule == PEGASOS:
        shrink(state.scalars, settings, t)
    end_step(state, settings, t)


@internal
def move(state, potential, settings, indices, values, c, t, weight, inner, margin):
    """Move the weights by an example that is due; return by how much of it, or NaN where its norm is not finite."""
    scalars, counters = state.scalars, state.counters
    norm2 = squared_norm(state.weights, values)
    if not math.isfinite(norm2):
        return math.nan
    counters[N_UPDATES] += 1
    scalars[MEAN_NORM2] += (norm2 - scalars[MEAN_NORM2]) / counters[N_UPDATES]
    norm2 += settings.intercept
    length = step_length(scalars, settings, t, margin, norm2, weight)
    if length > 0:
        take_step(state, potential, settings, indices, values, inner, norm2, (2.0 * c - 1.0) * length)
    return length


@inlined
def learn_from(state, settings, indices, values, c, t, weight, inner, margin):
    """Take the step that a margin asks for; return its length, or NaN where the row's norm is not finite."""
    length = 0.0
    state.scalars[LOSS] += weight * max(0.0, settings.law.theta - margin)
    if settings.rule == PEGASOS or settings.rule == ALGORITHM1:
        shrink(state.scalars, settings, t)
    if is_due(settings, margin):
        length = move(state, state.potential, settings, indices, values, c, t, weight, inner, margin)
    end_step(state, settings, t)
    return length


@internal
def examine(state, walk, settings, checkpoints, memory, i, values, c, u, inner, margin):
    """Learn from an example that is read whatever is known of it what would have been missed, and how to walk.

    Return whether it taught how to walk.
    """
    scalars, counters = state.scalars, state.counters
    t = counters[STEP]
    chosen = u < settings.audit
    teaches = u < settings.teach or u * t < settings.warm_up
    counters[N_AUDITED] += chosen
    walking = is_walking(scalars, settings)
    stop = False
    if checkpoints is not None:
        if teaches:
            stop = explore(values, state, walk, settings, checkpoints, c) and walking
        elif walking:
            stop = walk_over(values, state, walk, settings, checkpoints, c)[0]
    if t > FIRST_SCORED if walking else is_remembered(memory, i):
        clear = memory.shape[0] > 0 and is_clear(memory, i, squared_reach(scalars, settings))
        missed = stop or clear
        score(scalars, counters, settings, chosen, margin < settings.law.theta, missed)
    if teaches:
        if walk is not None:
            teach(values, state, walk, settings, checkpoints, c, inner)
        counters[TAUGHT] += 1
    if checkpoints is not None:
        set_factors(scalars, settings)
    return teaches


@inlined
def take_example(state, walk, settings, checkpoints, memory, i, indices, values, c, weight, t, coin):
    """Filter an example or learn from it; return False where its margin is not finite."""
    catch_up(state.scalars, state.counters, settings, t - 1)
    begin_step(state, t)
    witness = is_witness(settings, coin, t)
    if checkpoints is not None and not witness and is_walking(state.scalars, settings):
        stop, size, expected = walk_over(values, state, walk, settings, checkpoints, c)
        if stop:
            pass_over(state, settings, t, size)
            return math.isfinite(expected)
    inner = dot(state.weights, indices, values) + state.scalars[INTERCEPT]
    margin = (2.0 * c - 1.0) * state.scalars[SCALE] * inner
    if not math.isfinite(margin):
        return False
    state.counters[N_READ] += values.shape[0]
    teaches = False
    if witness:
        teaches = examine(state, walk, settings, checkpoints, memory, i, values, c, coin, inner, margin)
    elif checkpoints is not None and settings.attentive and not settings.fair:
        teaches = True
        teach(values, state, walk, settings, checkpoints, c, inner)
    remember(memory, i, margin - settings.law.theta)
    length = learn_from(state, settings, indices, values, c, t, weight, inner, margin)
    state.counters[CHANGES] += (length > 0) + witness
    if checkpoints is not None and (teaches or is_walking(state.scalars, settings)):  # a call takes time
        keep_walk(state, walk, settings, checkpoints, length > 0, teaches)
    return not math.isnan(length)


@inlined
def fetch(values, begin, end):
    """Ask for these values of an array, or the first of them."""
    step = LINE // values.itemsize
    for k in range(begin, min(begin + LINES * step, end), step):
        prefetch_far(values, k)


@kernel
def train_dense(X, target, rows, weights, memory, state, walk, checkpoints, settings, picked):
    """Learn from the given rows in turn; return -1, or the row whose margin was not finite.

    ``memory`` is (rows, 2), or empty.
    """
    coins = stream_key(settings.seed, AUDIT)
    block, t = picked.place.shape[0], state.counters[STEP]
    for begin in range(0, rows.shape[0], block):
        end = min(begin + block, rows.shape[0])
        count, t = pick(rows, begin, end, weights, memory, state.scalars, settings, coins, t, picked)
        for q in range(count):
            if q + AHEAD < count:
                ahead = rows[picked.place[q + AHEAD]]
                fetch(X[ahead], 0, X.shape[1])
                if memory.shape[0] > 0:
                    prefetch(memory, ahead, 0)
            i = rows[picked.place[q]]
            weight = weights[i] if weights.shape[0] > 0 else 1.0
            step, coin = picked.step[q], picked.coin[q]
            if not take_example(
                state, walk, settings, checkpoints, memory, i, None, X[i], target[i], weight, step, coin
            ):
                return i
    catch_up(state.scalars, state.counters, settings, t)
    return -1


@kernel
def train_sparse(
    data, indices, indptr, codes, positive, rows, weights, memory, state, potential, seeds, settings, picked
):
    """Like train_dense, for CSR rows and several learners, all of which see a block of rows before the next is fetched.

    The last axis of weights, the first one of the other arrays tells the learners apart. ``positive`` is the class that
    each of them sets against the others.
    """
    block, reached = picked.place.shape[0], state.counters[0, STEP]
    for begin in range(0, rows.shape[0], block):
        end, t = min(begin + block, rows.shape[0]), reached
        for k in range(positive.shape[0]):
            logarithms = None
            if potential is not None:
                logarithms = potential[:, k]
            learner = State(
                state.weights[:, k], state.correction[:, k], logarithms, state.scalars[k], state.counters[k]
            )
            coins = stream_key(seeds[k], AUDIT)
            count, reached = pick(rows, begin, end, weights, memory[k], learner.scalars, settings, coins, t, picked)
            for q in range(count):
                if q + AHEAD < count:
                    ahead = rows[picked.place[q + AHEAD]]
                    fetch(indices, indptr[ahead], indptr[ahead + 1])
                    fetch(data, indptr[ahead], indptr[ahead + 1])
                i = rows[picked.place[q]]
                weight = weights[i] if weights.shape[0] > 0 else 1.0
                stored = slice(indptr[i], indptr[i + 1])
                row, kept, step, coin = indices[stored], data[stored], picked.step[q], picked.coin[q]
                c = 1 if codes[i] == positive[k] else 0
                if not take_example(learner, None, settings, None, memory[k], i, row, kept, c, weight, step, coin):
                    return i
    for k in range(positive.shape[0]):
        catch_up(state.scalars[k], state.counters[k], settings, reached)
    return -1

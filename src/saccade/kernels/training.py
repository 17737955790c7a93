"""The training path: every learner over dense rows and over sparse ones, with memory of earlier passes and with walks.

What a learner does without is None (``walk``, ``checkpoints``, ``indices`` of a dense row), and numba drops the code
for it, which is most of what there is to compile.
"""

import math

from saccade.kernels.audit import score, set_factors
from saccade.kernels.compiling import inlined, internal, kernel
from saccade.kernels.memory import is_clear, is_remembered, is_witness, pick, remember, squared_reach
from saccade.kernels.prefetching import prefetch, prefetch_far
from saccade.kernels.randomness import AUDIT, stream_key
from saccade.kernels.rows import dot, squared_norm
from saccade.kernels.state import (
    ALGORITHM1,
    CHANGES,
    INTERCEPT,
    LOSS,
    MEAN_NORM2,
    N_AUDITED,
    N_EXAMPLES,
    N_FILTERED,
    N_READ,
    N_READ_FILTERED,
    N_UPDATES,
    PEGASOS,
    SCALE,
    STEP,
    TAUGHT,
    State,
)
from saccade.kernels.stepping import catch_up, end_step, is_due, shrink, step_length, take_step
from saccade.kernels.teaching import explore, is_walking, keep_walk, teach, walk_over

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

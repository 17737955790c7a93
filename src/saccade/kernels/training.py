"""The training path: every learner, boundary and order over dense rows and over sparse ones."""

import math

from saccade.kernels.audit import audit_example
from saccade.kernels.compiling import inlined, kernel
from saccade.kernels.moments import learn_moments, learn_read_moments
from saccade.kernels.prefetching import prefetch
from saccade.kernels.randomness import AUDIT, OFFSET, uniform
from saccade.kernels.reordering import reorder
from saccade.kernels.state import (
    ALGORITHM1,
    CHANGES,
    EXPECTED_0,
    INTERCEPT,
    N_EXAMPLES,
    N_FILTERED,
    N_READ,
    N_READ_FILTERED,
    N_UPDATES,
    NEXT_REORDER,
    PEGASOS,
    SAMPLED,
    SCALE,
    STEP,
    WEIGHT_SUM,
)
from saccade.kernels.stepping import (
    SMALLEST_SCALE,
    add_example,
    dot_and_norm,
    multiply_out,
    shrink,
    step_length,
    take_into_average,
)
from saccade.kernels.thresholds import set_cushions, set_expected
from saccade.kernels.walking import read_only, trace, walk, walk_draws, would_stop

# While t is small a share WARM_UP / t of the examples is read to the end: moments and multiplier settle early.
WARM_UP = 60.0
# While one row is read, the first features of a later one are fetched: every second, for neighbours share lines.
AHEAD = 4
FETCHED = 32


@inlined
def learn_from(row, state, settings, checkpoints, c, t, importance, chosen, witness, stopped):
    """Take one step with an example that was read to its end; return False where its margin is not finite."""
    scalars, counters = state.scalars, state.counters
    sign = 2.0 * c - 1.0
    inner, norm2 = dot_and_norm(state.weights, row)
    inner += scalars[INTERCEPT]
    norm2 += settings.intercept
    margin = sign * scalars[SCALE] * inner
    if not (math.isfinite(margin) and math.isfinite(norm2)):
        return False
    counters[N_READ] += settings.limit
    taught = settings.attentive and (witness or settings.audit == 0)
    if settings.attentive and witness:
        if settings.regress:
            trace(row, state.order, state.weights, state.mean[c], checkpoints, state.path)
            stopped = would_stop(state, settings, c)
        important = 1 if margin < settings.law.theta else 0
        audit_example(state, settings, c, inner, int(chosen), t > WARM_UP, important, int(stopped))
        counters[CHANGES] += 1
    if taught:
        moved = learn_moments(state.counts[c], state.mean[c], state.var[c], row, state.weights)
        if settings.law.centred:
            scalars[EXPECTED_0 + c] += moved
    passed_over = settings.limit < row.shape[0] and margin >= settings.law.theta
    if passed_over:
        counters[N_FILTERED] += 1
        counters[N_READ_FILTERED] += settings.limit
    if settings.rule == PEGASOS or (settings.rule == ALGORITHM1 and not passed_over):
        shrink(state, t)
    length = 0.0 if passed_over else step_length(settings, t, margin, norm2, importance)
    if length > 0:
        counters[N_UPDATES] += 1
        counters[CHANGES] += 1
        add_example(state, settings, row, inner, norm2, sign * length)
    if counters[CHANGES] >= counters[NEXT_REORDER]:
        reorder(state, settings)
        if settings.attentive:
            set_cushions(state, settings, checkpoints)
    if settings.law.centred and length > 0:
        set_expected(state, settings)
    return True


@inlined
def filter_out(row, state, settings, size, c, t, start):
    """Pass over an example that the boundary stopped after size features."""
    counters = state.counters
    counters[N_FILTERED] += 1
    counters[N_READ] += size
    counters[N_READ_FILTERED] += size
    if settings.audit == 0:
        moved = learn_read_moments(
            state.counts[c], state.mean[c], state.var[c], row, state.order, start, size, state.weights
        )
        if settings.law.centred:
            state.scalars[EXPECTED_0 + c] += moved
    if settings.rule == PEGASOS:
        shrink(state, t)


@inlined
def take_example(X, i, c, weight, checkpoints, state, settings, buffer):
    """Walk over row i, filter it or learn from it; return False where its margin is not finite."""
    n = X.shape[1]
    sampled = settings.order >= SAMPLED
    state.counters[N_EXAMPLES] += 1
    state.counters[STEP] += 1
    t = state.counters[STEP]
    state.scalars[WEIGHT_SUM] += weight
    importance = weight * state.counters[N_EXAMPLES] / state.scalars[WEIGHT_SUM]  # relative to the mean so far
    chosen, witness = False, False
    if settings.audit > 0:
        u = uniform(settings.seed, AUDIT, t)
        chosen = u < settings.audit
        witness = chosen or u * t < WARM_UP
    start = int(uniform(settings.seed, OFFSET, t) * n) if sampled else 0
    stop, margin = -1, 0.0
    if settings.attentive:
        if sampled:
            stop, margin = walk_draws(X[i], state, settings, checkpoints, c, start)
        elif not (witness and settings.regress):  # which is traced once it has been read
            stop, margin = walk(X[i], state, settings, checkpoints, c)
    if stop >= 0 and not witness:
        finite = math.isfinite(margin)
        filter_out(X[i], state, settings, checkpoints[stop], c, t, start)
    elif settings.limit < n:
        read_only(X[i], state.order, start, settings.limit, buffer)
        finite = learn_from(buffer, state, settings, checkpoints, c, t, importance, chosen, witness, False)
    else:
        finite = learn_from(X[i], state, settings, checkpoints, c, t, importance, chosen, witness, stop >= 0)
    if finite and settings.average:
        take_into_average(state, settings, t)
    if state.scalars[SCALE] < SMALLEST_SCALE:
        multiply_out(state)
    return finite


@kernel
def train_dense(X, target, rows, weights, checkpoints, state, settings, buffer):
    """Learn from the given rows in turn; return -1, or the row whose margin was not finite."""
    for r in range(rows.shape[0]):
        i = rows[r]
        weight = weights[i] if weights.shape[0] > 0 else 1.0
        if weight == 0:
            continue
        if settings.attentive and r + AHEAD < rows.shape[0]:
            for k in range(0, min(FETCHED, X.shape[1]), 2):
                prefetch(X, rows[r + AHEAD], state.order[k])
        if not take_example(X, i, target[i], weight, checkpoints, state, settings, buffer):
            return i
    return -1


@kernel
def train_sparse(data, indices, indptr, row, target, rows, weights, checkpoints, state, settings, buffer):
    """Like train_dense, for CSR rows: each is scattered into ``row``, a (1, n) zero buffer, and re-zeroed after it."""
    for r in range(rows.shape[0]):
        i = rows[r]
        weight = weights[i] if weights.shape[0] > 0 else 1.0
        if weight == 0:
            continue
        for k in range(indptr[i], indptr[i + 1]):
            row[0, indices[k]] += data[k]
        finite = take_example(row, 0, target[i], weight, checkpoints, state, settings, buffer)
        for k in range(indptr[i], indptr[i + 1]):
            row[0, indices[k]] = 0
        if not finite:
            return i
    return -1

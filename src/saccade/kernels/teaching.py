"""Walks over dense rows while learning: made, measured by the examples that teach them, and kept up to date.

Where examples are filtered to save time, and not features, a walk is made only where it pays. That is counted on the
examples that teach, and never timed, so that the same seed gives the same bits.
"""

from saccade.kernels.audit import deviate, followed_width, following, measure_path
from saccade.kernels.compiling import inlined, internal
from saccade.kernels.moments import learn_moments, learn_read_moments
from saccade.kernels.randomness import OFFSET, uniform
from saccade.kernels.reordering import reorder
from saccade.kernels.state import (
    CHANGES,
    EXPECTED_0,
    GAIN,
    N_EXAMPLES,
    N_UPDATES,
    NEXT_REORDER,
    REST_SQUARED_WEIGHTS,
    SAMPLED,
    STEP,
    TAUGHT,
    WIDTH_0,
)
from saccade.kernels.thresholds import FEWEST_EXAMPLES, centre, set_cushions, set_expected
from saccade.kernels.walking import retrace, trace, walk_draws, walk_in_order

# A feature that is read out of order takes as long as so many that are read in sequence: 6 ns each where a row of 784
# takes 130.
SCATTERED = 36
# While walks are made, every step recomputes what is expected of both classes: as long as reading so many rows.
KEEPING = 2.0
# While they are not, order and cushions are made anew each time the number of changes has grown by this factor.
RARELY = 2.0


@inlined
def is_walking(scalars, settings):
    """Whether examples are walked over at present."""
    return settings.walks and (settings.always or scalars[GAIN] > 0)


@inlined
def offset(state, settings):
    """Return where in the ring of draws this step's walk begins."""
    return int(uniform(settings.seed, OFFSET, state.counters[STEP]) * state.weights.shape[0])


@internal
def walk_over(x, state, walk, settings, checkpoints, c):
    """Walk over a row; return whether it is stopped, after how many features, and the margin expected there."""
    if checkpoints is None:
        return False, 0, 0.0
    # numba drops one of the two
    start = 0
    if settings.order >= SAMPLED:
        start = offset(state, settings)
        k, expected = walk_draws(x, state, walk, settings, checkpoints, c, start)
    else:
        k, expected = walk_in_order(x, state, walk, settings, checkpoints, c)
    size = checkpoints[k] if k >= 0 else 0
    if k >= 0 and not settings.fair:
        moved = learn_read_moments(walk.counts[c], walk.mean[c], walk.var[c], x, walk.order, start, size, state.weights)
        if settings.law.centred:
            state.scalars[EXPECTED_0 + c] += moved
    return k >= 0, size, expected


@internal
def explore(x, state, walk, settings, checkpoints, c):
    """Find out what a walk over a row that is read anyway would do; return whether it would be stopped."""
    if not is_walking(state.scalars, settings) and settings.law.centred:
        set_expected(state, walk, settings)
    if settings.regress:
        trace(x, walk.order, state.weights, centre(walk, settings)[c], checkpoints, walk.path)
        stopped, passed = retrace(state, walk, settings, c)
        size = checkpoints[passed - 1] if passed > 0 else 0
    else:
        stopped, size, _ = walk_over(x, state, walk, settings, checkpoints, c)
        size = size if stopped else (checkpoints[-1] if checkpoints.shape[0] > 0 else 0)
    if not settings.always:
        counters = state.counters
        kept_up = KEEPING * counters[N_UPDATES] / counters[N_EXAMPLES]
        saved = (1.0 if stopped else 0.0) - SCATTERED * size / x.shape[0] - kept_up
        state.scalars[GAIN] = following(state.scalars[GAIN], saved, counters[TAUGHT])
    return stopped


@internal
def teach(values, state, walk, settings, checkpoints, c, inner):
    """Let moments, and what is measured with them, follow one more example of a class."""
    if settings.fair:
        seen = walk.counts[c, 0] - FEWEST_EXAMPLES
        deviation, variance = deviate(state.scalars, state.weights, walk.mean[c], walk.var[c], inner)
        if seen >= 0 and variance > 0 and settings.law.grows_with != REST_SQUARED_WEIGHTS:
            state.scalars[WIDTH_0 + c] = followed_width(state.scalars[WIDTH_0 + c], deviation, variance, seen)
            if checkpoints is not None and settings.regress:
                measure_path(walk.path, walk.partial_square[c], walk.partial_product[c], deviation, variance, seen)
    moved = learn_moments(walk.counts[c], walk.mean[c], walk.var[c], values, state.weights)
    if settings.law.centred:
        state.scalars[EXPECTED_0 + c] += moved


@internal
def keep_walk(state, walk, settings, checkpoints, moved, teaches):
    """Bring order, cushions and expected margins up to date where that is due."""
    due = state.counters[CHANGES] >= state.counters[NEXT_REORDER]
    walking = is_walking(state.scalars, settings)
    if due and (walking or teaches):
        reorder(state, walk, settings)
        set_cushions(state, walk, settings, checkpoints)
        if not walking:
            state.counters[NEXT_REORDER] = int(state.counters[CHANGES] * RARELY) + 1
    if walking and moved and settings.law.centred:
        set_expected(state, walk, settings)

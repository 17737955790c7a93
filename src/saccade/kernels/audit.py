"""Follow decision errors, and teach walks by the examples that are read to the end whatever the boundary says.

A cushion that trusts independence and the paper's level is too narrow for three reasons, and each is measured:

- the features of an example are correlated, so margins vary more (the width of a class), and what was read predicts
  what was not (the slope of the full margin on the partial one, and the residual variance);
- a boundary that errs on a share delta of what it stops misses most of the important examples where these are rare
  (rarity);
- neither the normal distribution nor the schedule is exact (the multiplier, which follows the misses themselves).

Where examples are filtered to save time, and not features, a walk is made only where it pays. That is counted on the
examples that teach, and never timed, so that the same seed gives the same bits.
"""

import math

from saccade.kernels.compiling import inlined, internal, loop
from saccade.kernels.hashing import OFFSET, uniform
from saccade.kernels.state import (
    CHANGES,
    EXPECTED_0,
    FACTOR_0,
    GAIN,
    IMPORTANT_SHARE,
    INTERCEPT,
    MULTIPLIER,
    N_EXAMPLES,
    N_IMPORTANT,
    N_MISSED,
    N_UPDATES,
    NEXT_REORDER,
    REST_SQUARED_WEIGHTS,
    SAMPLED,
    STEP,
    TAUGHT,
    TRACKED,
    WIDTH_0,
)
from saccade.kernels.updates import learn_moments, learn_read_moments
from saccade.kernels.walks import (
    FEWEST_EXAMPLES,
    centre,
    reorder,
    retrace,
    set_cushions,
    set_expected,
    trace,
    walk_draws,
    walk_in_order,
)

# Before they are measured, the widths and the share of important examples are these, and count like so many examples.
FIRST_WIDTH = 2.0
FIRST_SHARE = 0.1
FIRST_COUNTS = 10
# The measured ones follow at least at this rate, for the weights move.
SLOWEST_FOLLOWING = 0.02
# The multiplier begins here. Its rate falls for the first six steps and is constant from then on.
FIRST_MULTIPLIER = 1.0
FIRST_RATE = 0.5
SLOWEST_RATE = 0.2


@loop
def margin_moments(weights, mean, var):
    """Return mean and variance of the unscaled margin of a class, the features taken as independent."""
    kind = weights.dtype.type
    m, q = kind(0), kind(0)
    for j in range(weights.shape[0]):
        m += weights[j] * mean[j]
        q += weights[j] * weights[j] * var[j]
    return m, q


@inlined
def following(old, new, seen):
    """Return a running mean, moved towards one more value."""
    return old + (new - old) * max(1.0 / (seen + FIRST_COUNTS), SLOWEST_FOLLOWING)


@internal
def deviate(scalars, weights, mean, var, inner):
    """Return by how much an unscaled margin differs from its class's mean, and the variance of independent features."""
    m, q = margin_moments(weights, mean, var)
    return inner - scalars[INTERCEPT] - m, q


@inlined
def followed_width(width, deviation, variance, seen):
    """Let the width of a class follow one more of its examples."""
    return math.sqrt(following(width**2, deviation * deviation / variance, seen))


@internal
def measure_path(path, partial_square, partial_product, deviation, variance, seen):
    """Let it follow one more example of a class how its partial margins predict full ones."""
    for k in range(path.shape[0]):
        part = path[k]
        partial_square[k] = following(partial_square[k], part * part / variance, seen)
        partial_product[k] = following(partial_product[k], part * deviation / variance, seen)


@inlined
def upper_quantile(share):
    """Return the value that a standard normal variable exceeds with this probability, at most one half.

    Formula 26.2.23 of Abramowitz and Stegun, good to 0.00045, and one step of Newton's.
    """
    t = math.sqrt(-2.0 * math.log(share))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    z = t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return z + (0.5 * math.erfc(z / math.sqrt(2.0)) - share) / density


@inlined
def rarity(scalars, settings):
    """Return how much wider a cushion must be to miss a share delta of the important examples, not of those stopped.

    P(stop | important) = P(important | stop) P(stop) / P(important), so the level must be delta P(important). The
    constant boundary is derived for important examples and pays nothing.
    """
    if not settings.law.centred:
        return 1.0
    delta = min(settings.delta, 0.4)
    return upper_quantile(delta * scalars[IMPORTANT_SHARE]) / upper_quantile(delta)


@internal
def score(scalars, counters, settings, chosen, important, missed):
    """Score what would have been filtered on an example that was read to the end, and let the multiplier follow.

    Each important example moves the logarithm of the multiplier by rate * (missed - delta), which is adaptive conformal
    inference with a constant rate (Gibbs and Candes 2021). The steps telescope: over T of them the share of missed ones
    is delta + (log multiplier at the end - at the start) / (rate T), whatever the data do. So it tends to delta like
    1 / T as long as the multiplier stays bounded. Theorems on rates that fall towards 0 do not apply: so that the
    multiplier can follow moving weights, the rate does not. Only those chosen by the audit itself, evenly over the
    stream, are counted. Cushions and memory share the multiplier, so that what both miss together is kept at delta.
    """
    scalars[IMPORTANT_SHARE] = following(scalars[IMPORTANT_SHARE], important, counters[TAUGHT])
    if important:
        counters[N_IMPORTANT] += chosen
        counters[N_MISSED] += chosen and missed
        counters[TRACKED] += 1
        rate = max(SLOWEST_RATE, FIRST_RATE / math.sqrt(counters[TRACKED]))
        scalars[MULTIPLIER] *= math.exp(rate * (missed - settings.delta))


@internal
def set_factors(scalars, settings):
    """Widen the cushions by what the audit has found."""
    factor = scalars[MULTIPLIER] * rarity(scalars, settings)
    scalars[FACTOR_0] = factor * (1.0 if settings.regress else scalars[WIDTH_0])
    scalars[FACTOR_0 + 1] = factor * (1.0 if settings.regress else scalars[WIDTH_0 + 1])


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

"""What the examples that are read to the end, whatever the boundary says, teach about the boundary.

A cushion that trusts independence and the paper's level is too narrow for three reasons, and each is measured:

- the features of an example are correlated, so that margins vary more (the width of a class), and what was read
  tells about what was not (the slope of the full margin on the partial one, and what it leaves unexplained);
- a boundary that errs on a share delta of what it stops misses most of the important examples where these are rare
  (rarity);
- neither the normal distribution nor the schedule is exact (the multiplier, which follows the misses themselves).
"""

import math

from saccade.kernels.compiling import inlined, loop
from saccade.kernels.state import (
    FACTOR_0,
    IMPORTANT_SHARE,
    INTERCEPT,
    MULTIPLIER,
    N_AUDITED,
    N_IMPORTANT,
    N_MISSED,
    REST_SQUARED_WEIGHTS,
    TRACKED,
    WIDTH_0,
)
from saccade.kernels.thresholds import FEWEST_EXAMPLES

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


@inlined
def measure_width(state, settings, c, inner):
    """Let the width of a class, and how its partial margins predict full ones, follow one more of its examples."""
    seen = state.counts[c, 0] - FEWEST_EXAMPLES
    if seen < 0 or settings.law.grows_with == REST_SQUARED_WEIGHTS:
        return
    m, q = margin_moments(state.weights, state.mean[c], state.var[c])
    if q > 0:
        deviation = inner - state.scalars[INTERCEPT] - m
        state.scalars[WIDTH_0 + c] = math.sqrt(
            following(state.scalars[WIDTH_0 + c] ** 2, deviation * deviation / q, seen)
        )
        if settings.regress:
            for k in range(state.path.shape[0]):
                part = state.path[k]
                state.partial_square[c, k] = following(state.partial_square[c, k], part * part / q, seen)
                state.partial_product[c, k] = following(state.partial_product[c, k], part * deviation / q, seen)


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
def rarity(state, settings):
    """Return how much wider a cushion must be to miss a share delta of the important examples, not of those stopped.

    P(stop | important) = P(important | stop) P(stop) / P(important), so the level must be delta P(important). The
    constant boundary is derived for important examples and pays nothing.
    """
    if not settings.law.centred:
        return 1.0
    delta = min(settings.delta, 0.4)
    return upper_quantile(delta * state.scalars[IMPORTANT_SHARE]) / upper_quantile(delta)


@inlined
def audit_example(state, settings, c, inner, chosen, live, important, stopped):
    """Score the boundary on an example that was read to the end, and let the factors follow.

    Each important example moves the logarithm of the multiplier by rate * (missed - delta), which is adaptive conformal
    inference with a constant rate (Gibbs and Candes 2021). The steps telescope: over T of them the share of missed ones
    is delta + (log multiplier at the end - at the start) / (rate T), whatever the data do. So it tends to delta like
    1 / T as long as the multiplier stays bounded. Theorems on rates that fall towards 0 do not apply: so that the
    multiplier can follow moving weights, the rate does not. Only those chosen by the audit itself, evenly over the
    stream, are counted, and none before the boundary is live.
    """
    scalars, counters = state.scalars, state.counters
    counters[N_AUDITED] += chosen
    measure_width(state, settings, c, inner)
    if live:
        seen = state.counts[0, 0] + state.counts[1, 0]
        scalars[IMPORTANT_SHARE] = following(scalars[IMPORTANT_SHARE], important, seen)
        if important:
            counters[N_IMPORTANT] += chosen
            counters[N_MISSED] += chosen and stopped
            counters[TRACKED] += 1
            rate = max(SLOWEST_RATE, FIRST_RATE / math.sqrt(counters[TRACKED]))
            scalars[MULTIPLIER] *= math.exp(rate * (stopped - settings.delta))
    factor = scalars[MULTIPLIER] * rarity(state, settings)
    scalars[FACTOR_0] = factor * (1.0 if settings.regress else scalars[WIDTH_0])
    scalars[FACTOR_0 + 1] = factor * (1.0 if settings.regress else scalars[WIDTH_0 + 1])

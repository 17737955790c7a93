"""Take one step of learning: sums over one row, update rules, averages, and moments of features.

A row is dense if its ``indices`` are None, else its stored values; numba drops the branch that is not taken. Means and
variances of a class are learned online (Welford 1962).
"""

import math

from saccade.kernels.compiling import inlined, internal, kernel, loop
from saccade.kernels.state import (
    ALGORITHM1,
    AVERAGE_WEIGHT,
    CLOCK,
    EXPECTED_0,
    EXPECTED_1,
    EXPONENTIATED,
    INTERCEPT,
    INTERCEPT_CORRECTION,
    INTERCEPT_POTENTIAL,
    LARGEST,
    MASS,
    MEAN_NORM2,
    N_EXAMPLES,
    N_FILTERED,
    N_SKIPPED,
    NORM2,
    PA1,
    PA2,
    PEGASOS,
    PERCEPTRON,
    SCALE,
    SHIFT,
    STEP,
    TOTAL,
)
from saccade.kernels.walks import ring


@inlined
def learn_value(counts, mean, var, j, value):
    """Take one value into the moments of its feature; return by how much the mean moves."""
    kind = mean.dtype.type
    counts[j] += kind(1)
    rate = kind(1) / counts[j]
    difference = kind(value) - mean[j]
    moved = difference * rate
    mean[j] += moved
    var[j] += (difference * (kind(value) - mean[j]) - var[j]) * rate
    return moved


@loop
def learn_moments(counts, mean, var, row, weights):
    """Take a whole row into the moments of its class.

    Return by how much this moves the unscaled margin that is expected of the class.
    """
    expected = mean.dtype.type(0)
    for j in range(row.shape[0]):
        expected += weights[j] * learn_value(counts, mean, var, j, row[j])
    return expected


@kernel
def learn_read_moments(counts, mean, var, row, order, start, size, weights):
    """Take the features that were read, and no others, into the moments of their class, as the paper does.

    Return what learn_moments does.
    """
    expected = mean.dtype.type(0)
    for position in range(size):
        j = order[ring(start, position, order.shape[0])]
        expected += weights[j] * learn_value(counts, mean, var, j, row[j])
    return expected


@loop
def dot(weights, indices, values):
    kind = weights.dtype.type
    total = kind(0)
    if indices is None:
        for k in range(values.shape[0]):
            total += weights[k] * kind(values[k])
    else:
        for k in range(values.shape[0]):
            total += weights[indices[k]] * kind(values[k])
    return total


@loop
def squared_norm(weights, values):
    """Return the squared norm of a row, in the precision of the weights."""
    kind = weights.dtype.type
    total = kind(0)
    for k in range(values.shape[0]):
        value = kind(values[k])
        total += value * value
    return total


@loop
def largest_magnitude(values):
    largest = 0.0
    for k in range(values.shape[0]):
        largest = max(largest, abs(float(values[k])))
    return largest


@loop
def add_row(weights, correction, indices, values, coefficient, corrected):
    """Add coefficient times the row to the weights, and corrected times it to what corrects their average, if any."""
    kind = weights.dtype.type
    added, owed = kind(coefficient), kind(corrected)
    averaged = correction.shape[0] > 0
    for k in range(values.shape[0]):
        j = k if indices is None else indices[k]
        value = kind(values[k])
        weights[j] += added * value
        if averaged:
            correction[j] += owed * value


@inlined
def both(potential, shift):
    """Return the positive and the negative one of two weights whose logarithms are opposite, but for a shift."""
    return math.exp(potential - shift), math.exp(-potential - shift)


@loop
def add_exponentially(weights, correction, potential, indices, values, coefficient, total, shift):
    """Add coefficient times the row to the logarithms of the positive weights, and subtract it from the negative ones'.

    ``weights`` are the difference of the two, and total times their change is added to what corrects their average.
    Return by how much the sum of the two grows.
    """
    grown = 0.0
    for k in range(values.shape[0]):
        if values[k] == 0:
            continue
        j = k if indices is None else indices[k]
        up, down = both(potential[j], shift)
        potential[j] += coefficient * values[k]
        more, less = both(potential[j], shift)
        if correction.shape[0] > 0:
            correction[j] += total * (more - less - weights[j])
        weights[j] = more - less
        grown += (more + less) - (up + down)
    return grown


# Below this scale the weights are multiplied out. The average is a difference of two sums that grow apart as the scale
# falls, so it must not fall far.
SMALLEST_SCALE = 0.05
# Lambda in units of the mean squared norm of the examples that move the weights, where none is given.
RELATIVE = 5e-5
# Of the step that brings the margin of an example to 1. Twice as long a one leads as far beyond, longer ones diverge.
LONGEST_STEP = 1.9
# Exponents are shifted once the sum of the exponentiated weights has grown, or shrunk, by about this factor.
MOST_GROWTH = 1e6
# No step moves an exponent by more: a weight that is multiplied by e to the 50th is decided.
MOST_EXPONENT = 50.0


@inlined
def is_due(settings, margin):
    """Whether an example with this margin moves the weights."""
    if settings.rule == ALGORITHM1:
        return True
    return margin <= 0 if settings.rule == PERCEPTRON else margin < 1


@inlined
def regularisation(scalars, settings):
    """Return the lambda of Pegasos: as given, or in proportion to the squared norm of a row where that is 0."""
    return settings.strength if settings.strength > 0 else RELATIVE * scalars[MEAN_NORM2]


@internal
def step_length(scalars, settings, t, margin, norm2, weight):
    """Return how much of y x is added to the weights, or to their logarithms, by an example that is due.

    However much an example counts, a step of Passive-Aggressive takes its margin less far beyond 1 than it was below.
    """
    if settings.rule == PERCEPTRON:
        return weight
    if settings.rule == PA1:
        to_one = (1.0 - margin) / norm2 if norm2 > 0 else 0.0
        return min(weight * min(settings.strength, to_one), LONGEST_STEP * to_one)
    if settings.rule == PA2:
        to_one = (1.0 - margin) / norm2 if norm2 > 0 else math.inf
        return min(weight * (1.0 - margin) / (norm2 + 0.5 / settings.strength), LONGEST_STEP * to_one)
    if settings.rule == EXPONENTIATED:
        return weight * settings.strength / math.sqrt(t)
    strength = regularisation(scalars, settings)
    return weight / (strength * (t + settings.delay)) if strength > 0 else 0.0


@inlined
def projection(scalars, settings, norm2):
    """Return by what weights of this squared norm, unscaled, shrink onto the ball of radius 1 / sqrt(lambda).

    The ball holds the optimum.
    """
    if not settings.project:
        return 1.0
    norm = scalars[SCALE] * math.sqrt(max(norm2, 0.0) * regularisation(scalars, settings))
    return 1.0 / norm if norm > 1.0 else 1.0


@internal
def take_step(state, potential, settings, indices, values, inner, norm2, coefficient):
    """Move the weights, the intercept and what their average owes; inner and norm2 count the intercept as a feature."""
    scalars = state.scalars
    if potential is None:
        scalars[CLOCK] += coefficient * coefficient
        step = coefficient / scalars[SCALE]
        after = scalars[NORM2] + 2 * step * inner + step * step * norm2
        shrunk = projection(scalars, settings, after)
        if shrunk < SMALLEST_SCALE:  # what is added now would drown the average's sums in its rounding errors
            after *= scalars[SCALE] * scalars[SCALE]
            multiply_out(state, scalars[SCALE])
            step = coefficient
        add_row(state.weights, state.correction, indices, values, step, step * scalars[TOTAL])
        if settings.intercept:
            scalars[INTERCEPT] += step
            scalars[INTERCEPT_CORRECTION] += step * scalars[TOTAL]
        scalars[NORM2] = after
        scalars[SCALE] *= shrunk
    else:
        exponentiate(state, potential, settings, indices, values, coefficient)


@internal
def exponentiate(state, potential, settings, indices, values, coefficient):
    """Take a step of the exponentiated gradient, in units of the largest feature so far (Kivinen and Warmuth 1997)."""
    scalars = state.scalars
    n = state.weights.shape[0]
    scalars[LARGEST] = max(scalars[LARGEST], largest_magnitude(values), float(settings.intercept))
    rate = max(-MOST_EXPONENT, min(coefficient * math.sqrt(math.log(2.0 * n)), MOST_EXPONENT))
    step = rate / scalars[LARGEST] if scalars[LARGEST] > 0 else 0.0
    scalars[CLOCK] += (2.0 * scalars[SCALE] * step) ** 2  # the least that a step moves a weight by, for its feature
    scalars[MASS] += add_exponentially(
        state.weights, state.correction, potential, indices, values, step, scalars[TOTAL], scalars[SHIFT]
    )
    if settings.intercept:
        up, down = both(scalars[INTERCEPT_POTENTIAL], scalars[SHIFT])
        scalars[INTERCEPT_POTENTIAL] += step
        more, less = both(scalars[INTERCEPT_POTENTIAL], scalars[SHIFT])
        scalars[MASS] += (more + less) - (up + down)
        scalars[INTERCEPT_CORRECTION] += (more - less - scalars[INTERCEPT]) * scalars[TOTAL]
        scalars[INTERCEPT] = more - less
    if scalars[MASS] > MOST_GROWTH * n or scalars[MASS] < 1.0 / MOST_GROWTH:
        shift_exponents(state, potential, settings)
    scalars[SCALE] = settings.radius / scalars[MASS]


@kernel
def shift_exponents(state, potential, settings):
    """Lower or raise all exponents together, so that the largest weight becomes 1, and add up the weights anew."""
    scalars = state.scalars
    highest = abs(scalars[INTERCEPT_POTENTIAL])
    for j in range(state.weights.shape[0]):
        highest = max(highest, abs(potential[j]))
    multiply_out(state, math.exp(scalars[SHIFT] - highest))
    scalars[SHIFT] = highest
    up, down = both(scalars[INTERCEPT_POTENTIAL], highest)
    scalars[INTERCEPT] = up - down
    scalars[MASS] = settings.intercept * (up + down)
    for j in range(state.weights.shape[0]):
        up, down = both(potential[j], highest)
        state.weights[j] = up - down
        scalars[MASS] += up + down


@inlined
def shrink(scalars, settings, t):
    """Shrink the weights by the factor 1 - 1/t of Pegasos."""
    scalars[SCALE] *= 1.0 - 1.0 / (t + settings.delay)


@inlined
def end_step(state, settings, t):
    """Count the weights after this step into their average, and bring their scale back.

    Step t has the weight t (Lacoste-Julien, Schmidt and Bach 2012): with equal weights the first steps, which are far
    off, would count as much as those after the weights have settled.
    """
    scalars = state.scalars
    if settings.average:
        scalars[TOTAL] += t * scalars[SCALE]
        scalars[AVERAGE_WEIGHT] += t
    if (settings.rule == PEGASOS or settings.rule == ALGORITHM1) and scalars[SCALE] < SMALLEST_SCALE:
        multiply_out(state, scalars[SCALE])


@internal
def catch_up(scalars, counters, settings, t):
    """Do what the steps up to t did not do, because their examples were skipped, for all of them at once.

    Let k steps follow step a. The factors of Pegasos telescope: 1 - 1/(u + delay) from a + 1 to u multiply to
    (a + delay) / (u + delay). So the average grows by the scale times (a + delay) sum u / (u + delay), and the sum is
    k - delay sum 1 / (u + delay), where all terms are as the middle one but for 1e-6 of them: a delay is long.
    """
    k = t - counters[STEP]
    if k == 0:
        return
    counters[STEP] = t
    counters[N_EXAMPLES] += k
    counters[N_FILTERED] += k
    counters[N_SKIPPED] += k
    begun, delay = float(t - k), settings.delay
    sum_of_steps = 0.5 * k * (begun + 1.0 + t)
    scalars[AVERAGE_WEIGHT] += settings.average * sum_of_steps
    if settings.rule == PEGASOS:
        sum_of_inverses = k / (0.5 * (begun + 1.0 + t) + delay)
        scalars[TOTAL] += settings.average * scalars[SCALE] * (begun + delay) * (k - delay * sum_of_inverses)
        scalars[SCALE] *= (begun + delay) / (t + delay)
    else:
        scalars[TOTAL] += settings.average * sum_of_steps * scalars[SCALE]


@kernel
def multiply_out(state, factor):
    """Multiply the unscaled weights by a factor and divide their scale by it, so that weights and average stay."""
    scalars = state.scalars
    for j in range(state.correction.shape[0]):
        state.correction[j] -= scalars[TOTAL] * state.weights[j]
    for j in range(state.weights.shape[0]):
        state.weights[j] *= factor
    scalars[INTERCEPT_CORRECTION] -= scalars[TOTAL] * scalars[INTERCEPT]
    scalars[INTERCEPT] *= factor
    scalars[EXPECTED_0] *= factor
    scalars[EXPECTED_1] *= factor
    scalars[NORM2] *= factor * factor
    scalars[TOTAL] = 0.0
    scalars[SCALE] /= factor

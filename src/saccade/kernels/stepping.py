"""One step of a learner once an example's margin is known: the update rules and the average."""

import math

from saccade.kernels.compiling import inlined, kernel, loop
from saccade.kernels.state import (
    ALGORITHM1,
    AVERAGE_WEIGHT,
    EXPECTED_0,
    EXPECTED_1,
    INTERCEPT,
    INTERCEPT_CORRECTION,
    NORM2,
    PA1,
    PEGASOS,
    PERCEPTRON,
    SCALE,
    TOTAL,
)

# Below this scale the weights are multiplied out. The average is a difference of two sums that grow apart as the scale
# falls, so it must not fall far.
SMALLEST_SCALE = 0.05


@loop
def dot_and_norm(weights, row):
    """Return the inner product of weights and row, and the row's squared norm."""
    kind = weights.dtype.type
    inner = kind(0)
    norm2 = kind(0)
    for k in range(row.shape[0]):
        value = kind(row[k])
        inner += weights[k] * value
        norm2 += value * value
    return inner, norm2


@loop
def add_row(weights, correction, row, coefficient, corrected):
    """Add coefficient times the row to the weights, and corrected times the row to what corrects their average."""
    kind = weights.dtype.type
    for k in range(row.shape[0]):
        value = kind(row[k])
        weights[k] += coefficient * value
        correction[k] += corrected * value


@loop
def add_row_only(weights, row, coefficient):
    kind = weights.dtype.type
    for k in range(row.shape[0]):
        weights[k] += coefficient * kind(row[k])


@inlined
def step_length(settings, t, margin, norm2, importance):
    """Return how much of y x is added to the weights; 0 where the example is passed over."""
    if settings.rule == PEGASOS:
        return importance / (settings.strength * t) if margin < 1 else 0.0
    if settings.rule == ALGORITHM1:
        return importance / (settings.strength * t)
    if settings.rule == PERCEPTRON:
        return importance if margin <= 0 else 0.0
    loss = max(0.0, 1.0 - margin)
    if loss == 0.0:
        return 0.0
    if settings.rule == PA1:
        return importance * min(settings.strength, loss / norm2) if norm2 > 0 else 0.0
    return importance * loss / (norm2 + 0.5 / settings.strength)


@inlined
def projection(state, settings, norm2):
    """Return by what weights of this squared norm, unscaled, shrink onto the ball of radius 1 / sqrt(lambda).

    The ball holds the optimum.
    """
    norm = state.scalars[SCALE] * math.sqrt(max(norm2, 0.0) * settings.strength)
    return 1.0 / norm if settings.project and norm > 1.0 else 1.0


@inlined
def add_example(state, settings, row, inner, norm2, coefficient):
    """Move the weights, the intercept and what their average owes; inner and norm2 count the intercept as a feature."""
    scalars = state.scalars
    step = coefficient / scalars[SCALE]
    after = scalars[NORM2] + 2 * step * inner + step * step * norm2
    shrunk = projection(state, settings, after)
    if shrunk < SMALLEST_SCALE:  # what is added now would drown the average's sums in its rounding errors
        after *= scalars[SCALE] * scalars[SCALE]
        multiply_out(state)
        step = coefficient
    kind = state.weights.dtype.type
    if settings.average:
        add_row(state.weights, state.correction, row, kind(step), kind(step * scalars[TOTAL]))
    else:
        add_row_only(state.weights, row, kind(step))
    if settings.intercept:
        scalars[INTERCEPT] += step
        scalars[INTERCEPT_CORRECTION] += step * scalars[TOTAL]
    scalars[NORM2] = after
    scalars[SCALE] *= shrunk


@inlined
def shrink(state, t):
    """Shrink the weights by the factor 1 - 1/t of Pegasos."""
    state.scalars[SCALE] *= 1.0 - 1.0 / t


@inlined
def take_into_average(state, settings, t):
    """Count the weights after this step into their average.

    Pegasos gives step t the weight t (Lacoste-Julien, Schmidt and Bach 2012: the rate 1/T of strongly convex
    problems, where equal weights give log(T)/T); the others weight all steps alike.
    """
    scalars = state.scalars
    weight = float(t) if settings.rule <= ALGORITHM1 else 1.0
    scalars[TOTAL] += weight * scalars[SCALE]
    scalars[AVERAGE_WEIGHT] += weight


@kernel
def multiply_out(state):
    """Bring the scale back to 1 without a change of the weights or of their average."""
    scalars = state.scalars
    for j in range(state.correction.shape[0]):
        state.correction[j] -= scalars[TOTAL] * state.weights[j]
    for j in range(state.weights.shape[0]):
        state.weights[j] *= scalars[SCALE]
    scalars[INTERCEPT_CORRECTION] -= scalars[TOTAL] * scalars[INTERCEPT]
    scalars[INTERCEPT] *= scalars[SCALE]
    scalars[EXPECTED_0] *= scalars[SCALE]
    scalars[EXPECTED_1] *= scalars[SCALE]
    scalars[NORM2] *= scalars[SCALE] * scalars[SCALE]
    scalars[TOTAL] = 0.0
    scalars[SCALE] = 1.0

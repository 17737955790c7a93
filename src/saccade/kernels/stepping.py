"""One step of a learner once an example's margin is known: the update rules, the average, the audit."""

import math

from saccade.kernels.compiling import inlined, kernel, loop
from saccade.kernels.state import (
    ALGORITHM1,
    AVERAGE_WEIGHT,
    EXPECTED_0,
    EXPECTED_1,
    INTERCEPT,
    INTERCEPT_DEBT,
    MULTIPLIER,
    N_AUDITED,
    N_IMPORTANT,
    N_MISSED,
    NORM2,
    PA1,
    PEGASOS,
    PERCEPTRON,
    SCALE,
    TOTAL,
    TRACKED,
)

# The rate at which the multiplier follows the audit falls with the root of the number of its steps.
FIRST_RATE = 0.5
SLOWEST_RATE = 0.1
# Below this scale the weights are multiplied out. The average is a difference of two sums that grow apart as the scale
# falls, so it must not fall far.
SMALLEST_SCALE = 1e-2


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
def add_row(weights, debt, row, coefficient, owed):
    """Add coefficient times the row to the weights and owed times the row to the debt of their average."""
    kind = weights.dtype.type
    for k in range(row.shape[0]):
        value = kind(row[k])
        weights[k] += coefficient * value
        debt[k] += owed * value


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
        return min(importance * settings.strength, loss / norm2) if norm2 > 0 else 0.0
    return loss / (norm2 + 0.5 / (importance * settings.strength))


@inlined
def add_example(state, settings, row, inner, norm2, coefficient):
    """Move the weights, the intercept and what their average owes; inner and norm2 count the intercept as a feature."""
    real = state.real
    step = coefficient / real[SCALE]
    kind = state.weights.dtype.type
    if settings.average:
        add_row(state.weights, state.debt, row, kind(step), kind(step * real[TOTAL]))
    else:
        add_row_only(state.weights, row, kind(step))
    if settings.intercept:
        real[INTERCEPT] += step
        real[INTERCEPT_DEBT] += step * real[TOTAL]
    real[NORM2] += 2 * step * inner + step * step * norm2
    if settings.project:  # onto the ball of radius 1 / sqrt(lambda), which holds the optimum
        norm = real[SCALE] * math.sqrt(max(real[NORM2], 0.0))
        if norm * math.sqrt(settings.strength) > 1:
            real[SCALE] /= norm * math.sqrt(settings.strength)


@inlined
def shrink(state, t):
    """Shrink the weights by the factor 1 - 1/t of Pegasos."""
    state.real[SCALE] *= 1.0 - 1.0 / t


@inlined
def take_into_average(state, settings, t):
    """Count the weights after this step into their average.

    Pegasos gives step t the weight t (Lacoste-Julien, Schmidt and Bach 2012: the rate 1/T of strongly convex
    problems, where equal weights give log(T)/T); the others weight all steps alike.
    """
    real = state.real
    weight = float(t) if settings.rule <= ALGORITHM1 else 1.0
    real[TOTAL] += weight * real[SCALE]
    real[AVERAGE_WEIGHT] += weight


@kernel
def multiply_out(state):
    """Bring the scale back to 1 without a change of the weights or of their average."""
    real = state.real
    for j in range(state.debt.shape[0]):
        state.debt[j] -= real[TOTAL] * state.weights[j]
    for j in range(state.weights.shape[0]):
        state.weights[j] *= real[SCALE]
    real[INTERCEPT_DEBT] -= real[TOTAL] * real[INTERCEPT]
    real[INTERCEPT] *= real[SCALE]
    real[EXPECTED_0] *= real[SCALE]
    real[EXPECTED_1] *= real[SCALE]
    real[NORM2] *= real[SCALE] * real[SCALE]
    real[TOTAL] = 0.0
    real[SCALE] = 1.0


@inlined
def audit_example(state, settings, chosen, important, stopped):
    """Score the boundary on an example that was read to the end whatever it said, and let the multiplier follow.

    Each important example moves the logarithm of the multiplier by rate * (missed - delta): in the long run the share
    of missed ones is delta, whatever the data do (Gibbs and Candes 2021; the falling rate: Angelopoulos, Barber and
    Bates 2024). Only those chosen by the audit itself, evenly over the stream, are counted.
    """
    if chosen:
        state.whole[N_AUDITED] += 1
    if not important:
        return
    if chosen:
        state.whole[N_IMPORTANT] += 1
        state.whole[N_MISSED] += stopped
    state.whole[TRACKED] += 1
    rate = max(SLOWEST_RATE, FIRST_RATE / math.sqrt(state.whole[TRACKED]))
    state.real[MULTIPLIER] *= math.exp(rate * (stopped - settings.delta))

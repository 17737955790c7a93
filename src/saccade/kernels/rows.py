"""Sums over one row: a dense one, whose ``indices`` are None, or the stored values of a sparse one.

Numba drops the branch that is not taken when it compiles.
"""

import math

from saccade.kernels.compiling import inlined, loop


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

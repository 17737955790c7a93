"""Means and variances of the features of a class, learned online (Welford 1962)."""

from saccade.kernels.compiling import inlined, kernel, loop
from saccade.kernels.walking import ring


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

"""Means and variances of the features of a class, learned online (Welford 1962)."""

from saccade.kernels.compiling import kernel, loop
from saccade.kernels.walking import ring


@loop
def learn_moments(counts, mean, var, row):
    """Take a whole row into the moments of its class."""
    kind = mean.dtype.type
    for j in range(row.shape[0]):
        counts[j] += kind(1)
        share = kind(1) / counts[j]
        value = kind(row[j])
        difference = value - mean[j]
        mean[j] += difference * share
        var[j] += (difference * (value - mean[j]) - var[j]) * share


@kernel
def learn_read_moments(counts, mean, var, row, order, start, size, weights):
    """Take the features that were read, and no others, into the moments of their class, as the paper does.

    Return by how much this moves the unscaled margin that is expected of the class.
    """
    kind = mean.dtype.type
    moved = kind(0)
    for position in range(size):
        j = order[ring(start, position, order.shape[0])]
        counts[j] += kind(1)
        share = kind(1) / counts[j]
        value = kind(row[j])
        difference = value - mean[j]
        mean[j] += difference * share
        var[j] += (difference * (value - mean[j]) - var[j]) * share
        moved += weights[j] * difference * share
    return moved

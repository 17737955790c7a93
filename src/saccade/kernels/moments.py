"""Means and variances of the features of a class, learned online (Welford 1962)."""

from saccade.kernels.compiling import kernel, loop
from saccade.kernels.walking import ring


@loop
def learn_moments(count, mean, var, row):
    """Take a whole row into the moments of its class."""
    kind = mean.dtype.type
    for j in range(row.shape[0]):
        count[j] += kind(1)
        share = kind(1) / count[j]
        value = kind(row[j])
        difference = value - mean[j]
        mean[j] += difference * share
        var[j] += (difference * (value - mean[j]) - var[j]) * share


@kernel
def learn_read_moments(count, mean, var, row, order, start, size):
    """Take the features that were read, and no others, into the moments of their class, as the paper does."""
    kind = mean.dtype.type
    for position in range(size):
        j = order[ring(start, position, order.shape[0])]
        count[j] += kind(1)
        share = kind(1) / count[j]
        value = kind(row[j])
        difference = value - mean[j]
        mean[j] += difference * share
        var[j] += (difference * (value - mean[j]) - var[j]) * share

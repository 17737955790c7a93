"""Whether a promise by class is kept on rows that nobody saw."""

import numpy as np
from scipy.stats import binom


def shares(here, full, classes):
    """Return for each class the share that was lost, and the share that is false."""
    return np.array(
        [(np.mean(here[full == c] != c), np.mean(full[here == c] != c) if (here == c).any() else 0) for c in classes]
    )


def assert_kept(here, full, classes, delta):
    """For every class, in both directions, with the tolerance of the binomial law."""
    for label in classes:
        for those, others in ((full, here), (here, full)):
            count = np.sum(those == label)
            assert np.sum(others[those == label] != label) <= binom.ppf(0.9999, count, delta)

"""How tests compare a model that was taken apart with the library's own answers, and which rows they do it on."""

import numpy as np
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference_trees import margins_of

LARGEST = float(np.finfo(np.float32).max)
# The doubles around the largest single: some round to it, some to infinity.
PAST_SINGLE = (1e300, -1e300, LARGEST * (1 + 2**-24), np.nextafter(LARGEST * (1 + 2**-25), 0))
INFINITE = (np.inf, -np.inf)


def assert_same(imported, X, codes=None):
    """Assert that a full read of rows, which the trees get as codes, has the library's own bits and labels.

    Where the library has no bits of its own the margins are close.
    """
    margins = margins_of(imported.ensemble, X if codes is None else codes)
    with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up all values to see if one is infinite
        expected, labels = imported.margins(X), imported.labels(X)
    if imported.same_bits:
        assert_array_equal(margins, expected)
        assert_array_equal(labels_of(imported, margins), labels)
    else:
        assert_allclose(margins, expected, rtol=0, atol=1e-14)


def assert_probabilities(imported, X, probability):
    """Assert that a margin stands for the library's probability of the second class."""
    margin, slope = margins_of(imported.ensemble, X)[:, 0], imported.ensemble.slope
    made = (1 + margin) / 2 if slope is None else 1 / (1 + np.exp(-slope * margin))
    assert_allclose(made, probability, rtol=1e-12)
    if imported.probability is not None:
        assert_array_equal(imported.probability(margin), probability)


def labels_of(imported, margins):
    if imported.ensemble.n_scores == 1:
        return imported.classes[(margins[:, 0] >= imported.ensemble.sum.positive_from).astype(int)]
    return imported.classes[margins.argmax(axis=1)]


def rows(ensemble, *, also=()):
    """Return a strategy for rows on the thresholds, next to them in either precision, and anywhere."""
    edges = (0.0, -0.0, 5e-324, 1e-45, LARGEST, -LARGEST, *also)
    if ensemble.takes_missing:
        edges += (np.nan,)
    columns = [_values(ensemble, column, edges) for column in range(ensemble.n_columns)]
    return st.lists(st.tuples(*columns), min_size=1, max_size=6).map(np.array)


def _values(ensemble, column, edges):
    nodes = ensemble.nodes
    inner = (nodes.column == column) & (nodes.left != np.arange(nodes.left.size)) & (nodes.first_word < 0)
    threshold = np.unique(nodes.threshold[inner & np.isfinite(nodes.threshold) & (abs(nodes.threshold) < LARGEST)])
    near = np.concatenate([threshold, np.nextafter(threshold, np.inf), np.nextafter(threshold, -np.inf)])
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
        singles = [single, *(np.nextafter(single, np.float32(to)) for to in INFINITE)]
    pool = np.unique(np.concatenate([near, *singles]).astype(np.float64))
    return st.sampled_from([*edges, *pool.tolist()]) | st.floats(-4, 4)

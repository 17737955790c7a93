"""The orders, for plans and for learners whose weights move."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import order_by_magnitude

from saccade import Pegasos
from saccade.kernels.state import BUCKETS
from saccade.kernels.walks import shuffle, sort_by_magnitude
from saccade.planning.orders import reading_order

FLOATS = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)
weights = arrays(np.float64, st.integers(1, 40), elements=st.floats(-100, 100, width=32))


@given(weights, st.sampled_from(["natural", "permuted", "sorted"]), st.integers(0, 99))
def test_plain_orders_read_every_feature_once_with_its_weight(w, order, seed):
    features, ordered = reading_order(order, w, seed)
    assert sorted(features) == list(range(w.size))
    np.testing.assert_array_equal(ordered, w[features])


@given(weights)
def test_sorted_goes_from_large_to_small(w):
    _, ordered = reading_order("sorted", w, 0)
    assert np.all(np.diff(np.abs(ordered)) <= 0)


def test_sampled_draws_are_unbiased_and_printed_ones_are_not():
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=30), rng.normal(loc=1.0, size=30)
    sums = {"sampled": [], "sampled-printed": []}
    for seed in range(2000):
        for order, collected in sums.items():
            features, ordered = reading_order(order, w, seed)
            collected.append(ordered @ x[features])
    full = w @ x
    unbiased = np.array(sums["sampled"])
    assert abs(unbiased.mean() - full) < 4 * unbiased.std() / np.sqrt(2000)
    printed = np.array(sums["sampled-printed"])
    expected = 30 * np.sum(np.abs(w) / np.abs(w).sum() * w * x)
    assert abs(printed.mean() - expected) < 4 * printed.std() / np.sqrt(2000)
    assert abs(printed.mean() - full) > 10 * printed.std() / np.sqrt(2000)


def test_weights_of_zero_can_still_be_ordered():
    for order in ("natural", "permuted", "sorted", "sampled", "sampled-printed"):
        features, ordered = reading_order(order, np.zeros(7), 0)
        assert len(features) == 7
        assert not ordered.any()


@given(arrays(np.float64, st.integers(1, 60), elements=FLOATS), st.floats(1e-3, 1.0))
def test_the_counting_sort_agrees_with_a_plain_one(w, scale):
    order = np.zeros(w.size, np.uint32)
    sort_by_magnitude(w, scale, order, np.zeros(w.size + BUCKETS + 1, np.int64))
    assert list(order) == order_by_magnitude(scale * w)
    magnitudes = np.abs(scale * w)[order]
    largest = max(magnitudes.max(), 1e-30)
    assert np.all(magnitudes[1:] <= magnitudes[:-1] * (1 + 1 / 16) + largest * 2.0**-31)


@settings(max_examples=20)
@given(st.integers(1, 50), st.integers(0, 2**31))
def test_shuffling_permutes(n, seed):
    rows = np.arange(n, dtype=np.uint32)
    shuffle(rows, seed, 1)
    assert sorted(rows) == list(range(n))


def test_every_permutation_is_as_likely():
    counts = {}
    for turn in range(6000):
        rows = np.arange(3, dtype=np.uint32)
        shuffle(rows, 12345, turn)
        counts[tuple(rows)] = counts.get(tuple(rows), 0) + 1
    assert len(counts) == 6
    assert max(abs(count - 1000) for count in counts.values()) < 5 * np.sqrt(1000 * 5 / 6)


def test_an_unknown_order_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'sampled-printed'"):
        Pegasos(order="random").fit(np.eye(4), [0, 1, 0, 1])

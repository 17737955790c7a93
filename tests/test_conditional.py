"""Predicting the full margin from a few features: against weighted least squares and brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import least_squares

from data import problem
from saccade.planning.prices import price_list
from saccade.planning.regression import emphasis, regress


def regress_one(X, coef, *more, **options):
    """Regress one score."""
    return regress(X, coef[None], *more, **options)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 8), given_order=st.booleans())
def test_the_prediction_is_the_weighted_least_squares_fit(seed, size, given_order):
    X, coef, weight = problem(seed)
    weight = weight / weight.sum()
    order = np.random.default_rng(seed).permutation(8) if given_order else None
    found = regress_one(X, coef, weight, 8, ridge=1e-12, prices=price_list(None, None, 8, None), order=order)
    if given_order:
        np.testing.assert_array_equal(found.order, order)
    (beta,), (constant,) = found.weights(size)
    solution, _ = least_squares(X, X @ coef, weight, found.order[:size])
    np.testing.assert_allclose([*beta, constant], solution, rtol=1e-5, atol=1e-6)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), costly=st.booleans(), n_free=st.integers(0, 8))
def test_the_next_feature_explains_most_for_its_cost_and_what_is_free_comes_first(seed, costly, n_free):
    X, coef, weight = problem(seed)
    weight = weight / weight.sum()
    costs = np.random.default_rng(seed).uniform(0.1, 10, 8) if costly else np.ones(8)
    free = set(np.random.default_rng(seed).permutation(8)[:n_free].tolist())
    costs[list(free)] = 0
    found = regress_one(X, coef, weight, 8, ridge=1e-12, prices=price_list(costs, None, 8, None))
    left = least_squares(X, X @ coef, weight, [])[1]
    for k in range(7):
        read = list(found.order[:k])
        worth = {
            j: (left - least_squares(X, X @ coef, weight, [*read, j])[1]) / (costs[j] or 1.0)
            for j in (free - set(read)) or set(range(8)) - set(read)
        }
        assert worth[found.order[k]] == pytest.approx(max(worth.values()), rel=1e-6)
        left = least_squares(X, X @ coef, weight, [*read, found.order[k]])[1]


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 8))
def test_several_scores_are_predicted_from_the_features_that_set_them_apart(seed, size):
    X, _, weight = problem(seed)
    weight, coef = weight / weight.sum(), np.random.default_rng(seed).normal(size=(3, 8))
    found = regress(X, coef, weight, 8, ridge=1e-12, prices=price_list(None, None, 8, None))
    beta, constant = found.weights(size)
    for c in range(3):
        solution, _ = least_squares(X, X @ coef[c], weight, found.order[:size])
        np.testing.assert_allclose([*beta[c], constant[c]], solution, rtol=1e-5, atol=1e-6)
    apart = coef - coef.mean(axis=0)
    first = {j: sum(least_squares(X, X @ one, weight, [j])[1] for one in apart) for j in range(8)}
    assert first[found.order[0]] == pytest.approx(min(first.values()), rel=1e-6)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_a_group_is_bought_for_what_its_features_explain_together(seed):
    X, coef, weight = problem(seed)
    weight = weight / weight.sum()
    groups, costs = {"sample": [0, 3, 5], "record": [1, 2]}, {"sample": 2.0, "record": 5.0}
    units = [[0, 3, 5], [1, 2], [4], [6], [7]]
    price = [2.0, 5.0, 1.0, 1.0, 1.0]
    found = regress_one(X, coef, weight, 8, ridge=1e-12, prices=price_list(costs, groups, 8, None))
    read: list[int] = []
    while len(read) < 8:
        left = least_squares(X, X @ coef, weight, read)[1]
        worth = {
            u: (left - least_squares(X, X @ coef, weight, [*read, *unit])[1]) / price[u]
            for u, unit in enumerate(units)
            if unit[0] not in read
        }
        unit = next(u for u, members in enumerate(units) if found.order[len(read)] in members)
        assert worth[unit] == pytest.approx(max(worth.values()), rel=1e-5, abs=1e-9)
        bought = [int(feature) for feature in found.order[len(read) : len(read) + len(units[unit])]]
        assert sorted(bought) == units[unit]
        read += bought


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_what_is_missing_and_what_it_leads_to_follow_from_what_is_known(seed):
    X, coef, weight = problem(seed)
    weight = weight / weight.sum()
    found = regress_one(X, coef, weight, 8, ridge=1e-12, prices=price_list(None, None, 8, None))
    known, missing, row = np.array([1, 4, 6]), np.array([0, 7]), X[3, found.order]
    solution, left = least_squares(X, X @ coef, weight, found.order[known])
    mean, covariance = found.given(known, row[known])
    assert mean[0] == pytest.approx(row[known] @ solution[:-1] + solution[-1], rel=1e-5, abs=1e-6)
    assert covariance[0, 0] == pytest.approx(left, rel=1e-5)
    slope, at_zero, uncertainty = found.imputation(missing, known)
    guess = row[known] @ slope + at_zero
    for k, position in enumerate(missing):
        solution, left = least_squares(X, X[:, found.order[position]], weight, found.order[known])
        assert guess[k] == pytest.approx(row[known] @ solution[:-1] + solution[-1], rel=1e-5, abs=1e-6)
        assert uncertainty[k, k] == pytest.approx(left, rel=1e-5)


def test_features_that_tell_nothing_are_never_read():
    X, coef, weight = problem(0)
    X[:, 2] = 5.0
    X[:, 4] = X[:, 1]
    found = regress_one(X, coef, weight / weight.sum(), 8, ridge=1e-12, prices=price_list(None, None, 8, None))
    assert sorted({*found.order} - {1, 4}) == [0, 3, 5, 6, 7]
    assert len({1, 4} & {*found.order}) == 1  # the same twice


def test_many_features_are_handled_by_parts_with_the_same_result():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5000)).astype(np.float32)
    coef, weight = rng.normal(size=5000), np.full(200, 1 / 200)
    wide = regress_one(X, coef, weight, 5, ridge=0.01, prices=price_list(None, None, 5000, None))
    narrow = regress_one(
        X[:, np.sort(wide.order)],
        coef[np.sort(wide.order)],
        weight,
        5,
        ridge=0.01,
        prices=price_list(None, None, 5, None),
        order=np.arange(5),
    )
    np.testing.assert_allclose(np.sort(wide.mean), np.sort(narrow.mean), rtol=1e-4, atol=1e-6)


def test_rows_near_the_decision_count_most():
    weight = emphasis(np.array([0.0, 1.0, -1.0, 5.0]), 0.5)
    assert weight.sum() == pytest.approx(1)
    assert weight[0] > weight[1] == weight[2] > weight[3]
    np.testing.assert_allclose(emphasis(np.zeros(4), 0.5), 0.25)

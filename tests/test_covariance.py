"""Covariances as one matrix, fold by fold, against the rows themselves; and regressions on other rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import problem
from saccade.planning.covariance import OfRows, sums_by_fold
from saccade.planning.prices import price_list
from saccade.planning.regression import regress_again, regress_by
from saccade.planning.trials import Predicted

PRICES = price_list(None, None, 8, None)


def folds_of(rows, *inner):
    edges = [0, *sorted(inner), rows]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), single=st.booleans(), offset=st.sampled_from([0.0, 100.0]))
def test_the_whole_covariance_is_that_of_the_rows(seed, single, offset):
    X, coef, weight = problem(seed)
    X, weight = (X + offset).astype(np.float32 if single else np.float64), weight / weight.sum()
    first, second = sums_by_fold(X, weight, folds_of(len(X), len(X) // 3))
    joint, rows = (first + second).joint(), OfRows(X, weight)
    close = {"rtol": 1e-3, "atol": 1e-4} if single else {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(joint.mean, rows.mean, **close)
    np.testing.assert_allclose(joint.variance, rows.variance, **close)
    np.testing.assert_allclose(joint.column(3), rows.column(3), **close)
    np.testing.assert_allclose(joint.among(np.array([1, 4])), rows.among(np.array([1, 4])), **close)
    np.testing.assert_allclose(joint.with_scores(coef[None]), rows.with_scores(coef[None]), **close)
    np.testing.assert_allclose(joint.of_scores(coef[None]), rows.of_scores(coef[None]), **close)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), fold=st.integers(0, 2))
def test_without_a_fold_the_sums_are_those_of_the_other_rows(seed, fold):
    X, _, weight = problem(seed)
    folds = folds_of(len(X), len(X) // 4, len(X) // 2)
    sums = sums_by_fold(X, weight / weight.sum(), folds)
    left = (sums[0] + sums[1] + sums[2] - sums[fold]).joint()
    others = np.delete(np.arange(len(X)), np.arange(len(X))[folds[fold]])
    expected = OfRows(X[others], weight[others] / weight[others].sum())
    np.testing.assert_allclose(left.mean, expected.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(left.column(0), expected.column(0), rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 8), ridge=st.sampled_from([1e-3, 0.3]))
def test_a_regression_on_other_rows_keeps_the_order_and_is_theirs(seed, size, ridge):
    X, coef, weight = problem(seed)
    weight, half = weight / weight.sum(), len(X) // 2
    first, second = (fold.joint() for fold in sums_by_fold(X, weight, folds_of(len(X), half)))
    known = regress_by(first, coef[None], 8, ridge=ridge, prices=PRICES)
    again = regress_again(known, second, coef[None], ridge=ridge)
    alone = regress_by(second, coef[None], 8, ridge=ridge, prices=PRICES, order=known.order)
    np.testing.assert_array_equal(again.order, known.order)
    for got, expected in zip(again.weights(size), alone.weights(size), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-2, atol=1e-3)


def test_a_feature_that_is_constant_on_other_rows_weighs_nothing_there():
    X, coef, weight = problem(0)
    half = len(X) // 2
    X[half:, 2] = X[half, 2]
    first, second = (fold.joint() for fold in sums_by_fold(X, weight / weight.sum(), folds_of(len(X), half)))
    known = regress_by(first, coef[None], 8, ridge=0.01, prices=PRICES)
    again = regress_again(known, second, coef[None], ridge=0.01)
    (beta,), _ = again.weights(8)
    assert beta[known.order == 2] == pytest.approx(0, abs=1e-6)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 8))
def test_the_leading_features_of_a_regression_are_a_regression(seed, size):
    X, coef, weight = problem(seed)
    whole = regress_by(OfRows(X, weight / weight.sum()), coef[None], 8, ridge=0.01, prices=PRICES)
    leading = whole.leading(size)
    assert leading.order.size == size
    for got, expected in zip(leading.weights(size), whole.weights(size), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_what_folds_were_predicted_is_pooled_row_by_row():
    rng = np.random.default_rng(0)
    folds = [Predicted(rng.random((n, 2)), rng.integers(0, 2, (n, 2)), rng.random(2)) for n in (3, 4)]
    pooled = Predicted.pooled(folds)
    np.testing.assert_array_equal(pooled.lead[3:], folds[1].lead)
    np.testing.assert_array_equal(pooled.label[:3], folds[0].label)
    np.testing.assert_allclose(pooled.sigma**2, (folds[0].sigma ** 2 + folds[1].sigma ** 2) / 2)

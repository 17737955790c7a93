"""What purchases explain: groups of equal size at once, against one group after another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import explained, purchases

from saccade.planning import regression
from saccade.planning.covariance import Joint, OfRows
from saccade.planning.prices import Prices
from saccade.planning.regression import regress_by
from saccade.planning.worth import Groups, centred

RIDGE = 1e-3


def drawn(seed, sizes, scores, rows=400):
    """Return correlated rows, weights of scores, and groups of these sizes, whose members lie anywhere."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, n)) + rng.normal(size=(rows, n))
    purchase = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    prices = Prices(purchase.astype(np.intp), rng.integers(1, 5, len(sizes)).astype(float))
    return X, rng.normal(size=(scores, n)), prices


def whole(X):
    return Joint(X.mean(axis=0), np.cov(X.T, bias=True).reshape(X.shape[1], -1), X.dtype)


def with_ridge(joint, coef):
    """Return the covariance of the features, and with the scores, as a regression sees them."""
    penalty = RIDGE * joint.variance
    return joint.matrix + np.diag(penalty), joint.with_scores(coef) + penalty[:, None] * coef.T


sizes_of_groups = st.lists(st.integers(1, 5), min_size=2, max_size=7)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), sizes_of_groups, st.sampled_from([1, 3]), st.integers(0, 4), st.integers(0, 3))
def test_groups_of_a_size_are_worth_at_once_what_each_is_worth_alone(seed, sizes, scores, n_known, n_useless):
    X, coef, prices = drawn(seed, sizes, scores)
    covariance, with_scores = with_ridge(whole(X), coef)
    some = np.random.default_rng(seed).permutation(len(covariance))
    known, useless = some[:n_known].tolist(), np.zeros(len(covariance), dtype=bool)
    useless[some[: n_known + n_useless]] = True
    groups = Groups(whole(X), prices, RIDGE * whole(X).variance, prices.groups)
    left, unexplained = covariance, with_scores
    for feature in known:  # one step of a Cholesky decomposition
        loading, gain = (part / np.sqrt(left[feature, feature]) for part in (left[feature], unexplained[feature]))
        left, unexplained = left - np.outer(loading, loading), unexplained - np.outer(loading, gain)
        groups.choose(loading)
    worth = np.full(len(sizes), np.nan)
    groups.explained(unexplained, useless, worth)
    before = explained(covariance, with_scores, known)
    for number, size in enumerate(sizes):
        there = [feature for feature in np.flatnonzero(prices.purchase == number).tolist() if not useless[feature]]
        if size == 1:
            assert np.isnan(worth[number])
        elif not there:
            assert worth[number] == -1
        else:
            alone = explained(covariance, with_scores, known + there) - before
            np.testing.assert_allclose(worth[number], alone, rtol=1e-6, atol=1e-8 * np.abs(centred(with_scores)).max())


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), sizes_of_groups, st.sampled_from([1, 3]), st.booleans())
def test_purchases_are_made_in_the_order_of_their_worth_and_give_a_cholesky_factor(seed, sizes, scores, by_rows):
    """Equal up to rounding: the covariances of a group's features are computed together."""
    X, coef, prices = drawn(seed, sizes, scores)
    joint = whole(X)
    covariance, with_scores = with_ridge(joint, coef)
    rows = OfRows(X, np.full(len(X), 1 / len(X))) if by_rows else joint
    made = regress_by(rows, coef, X.shape[1], ridge=RIDGE, prices=prices)
    bought = list(dict.fromkeys(prices.purchase[made.order].tolist()))
    assert bought == purchases(covariance, with_scores, prices.purchase, prices.price)
    factor = np.linalg.cholesky(covariance[np.ix_(made.order, made.order)])
    np.testing.assert_allclose(made.factor, factor, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(made.gains, np.linalg.solve(factor, with_scores[made.order]), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("scores", [1, 4])
def test_large_groups_give_the_same_one_feature_at_a_time(monkeypatch, scores):
    X, coef, prices = drawn(0, [12, 12, 7, 1, 1], scores)
    together = regress_by(whole(X), coef, 25, ridge=RIDGE, prices=prices)
    monkeypatch.setattr(regression, "MOST_AT_ONCE", 1)
    alone = regress_by(whole(X), coef, 25, ridge=RIDGE, prices=prices)
    np.testing.assert_array_equal(together.order, alone.order)
    for name in ("factor", "gains"):
        np.testing.assert_allclose(getattr(together, name), getattr(alone, name), rtol=1e-9, atol=1e-10)

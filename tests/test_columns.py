"""Plans that read few columns: what is given up first, against brute force, and the promise."""

import numpy as np
import pytest
from effort import repetitions
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import least_squares
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from data import correlated, problem
from saccade import Conditional, attend
from saccade.planning.fewest_columns import _by_importance
from saccade.planning.prices import price_list
from saccade.planning.regression import regress

EVERY_X, every_y = correlated(16_000, 60, seed=3, separation=4.0)
X, FRESH = EVERY_X[:6000], EVERY_X[6000:]


@pytest.fixture(scope="module")
def linear():
    return LogisticRegression(C=0.1, max_iter=500).fit(X[:2000], every_y[:2000])


@pytest.fixture(scope="module")
def by_columns(linear):
    return attend(linear, X[2000:], delta=0.05, fewest="columns", random_state=0)


def unexplained(X, scores, weight, features):
    return sum(least_squares(X, score, weight, list(features))[1] for score in scores)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    costly=st.booleans(),
    free=st.sets(st.integers(0, 7)),
    groups=st.sampled_from([None, {"pair": [1, 5], "three": [0, 2, 7]}]),
    several=st.booleans(),
)
def test_what_is_given_up_first_costs_least_for_its_price_and_what_is_free_is_kept(seed, costly, free, groups, several):
    X, coef, weight = problem(seed)
    rng, weight = np.random.default_rng(seed), weight / weight.sum()
    coef = rng.normal(size=(3, 8)) if several else coef[None]
    costs = rng.uniform(0.1, 10, 8) if costly else np.ones(8)
    costs[list(free)] = 0
    prices = price_list(costs, groups, 8, None)
    found = regress(X, coef, weight, 8, ridge=1e-12, prices=prices)
    ranked = found.order[_by_importance(found, prices)].tolist()
    scores = (coef - coef.mean(axis=0) if several else coef) @ X.T
    assert sorted(ranked) == list(range(8))
    while ranked:
        bought = {int(one): set(prices.members(int(one))) for one in np.unique(prices.purchase[ranked])}
        paid = {one for one in bought if prices.price[one] > 0} or set(bought)
        loss = {
            one: (unexplained(X, scores, weight, set(ranked) - bought[one]) - unexplained(X, scores, weight, ranked))
            / (prices.price[one] or 1.0)
            for one in paid
        }
        given_up = bought[int(prices.purchase[ranked[-1]])]
        assert set(ranked[-len(given_up) :]) == given_up
        assert loss[int(prices.purchase[ranked[-1]])] == pytest.approx(min(loss.values()), rel=1e-5, abs=1e-8)
        ranked = ranked[: -len(given_up)]


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 8))
def test_a_regression_in_another_order_is_the_regression_on_those_features(seed, size):
    X, coef, weight = problem(seed)
    positions, prices = np.random.default_rng(seed).permutation(8), price_list(None, None, 8, None)
    found = regress(X, coef[None], weight / weight.sum(), 8, ridge=0.1, prices=prices)
    moved = found.reordered(positions)
    given = regress(X, coef[None], weight / weight.sum(), 8, ridge=0.1, prices=prices, order=found.order[positions])
    np.testing.assert_array_equal(moved.order, given.order)
    for one, other in zip(moved.weights(size), given.weights(size), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_no_row_reads_more_than_the_columns_that_were_found_to_do(linear, by_columns):
    reading, plan = by_columns.read(FRESH), by_columns.plan_
    assert reading.stopped.all()
    assert reading.n_read.max() == plan.most_read == plan.checkpoints[-1] < 40
    assert by_columns.certificate_.delta == 0.05
    assert f"at most {plan.most_read} are read of a row" in plan.describe()
    by_features = attend(linear, X[2000:], delta=0.05, random_state=0)
    assert by_features.plan_.most_read > plan.most_read
    assert by_features.read(FRESH).n_read.mean() < reading.n_read.mean()


def test_unread_columns_may_be_anything(by_columns):
    hidden = FRESH.copy()
    hidden[:, np.setdiff1d(np.arange(60), by_columns.plan_.order)] = np.nan
    np.testing.assert_array_equal(by_columns.predict(hidden), by_columns.predict(FRESH))


@pytest.mark.parametrize("classes", [2, 4])
def test_the_promise_holds_over_many_calibrations(classes):
    rng, broken, repeats = np.random.default_rng(0), 0, repetitions(60, fewest=20)
    labels = np.digitize(
        EVERY_X[:, :6].sum(axis=1), np.quantile(EVERY_X[:, :6].sum(axis=1), np.arange(1, classes) / classes)
    )
    model = LogisticRegression(C=0.1, max_iter=500).fit(EVERY_X[:1500], labels[:1500])
    full = model.predict(EVERY_X)
    for seed in range(repeats):
        given = 1500 + rng.permutation(len(EVERY_X) - 1500)[:2000]
        others = np.setdiff1d(np.arange(1500, len(EVERY_X)), given)
        attentive = attend(
            model, EVERY_X[given], delta=0.05, confidence=0.9, fewest="columns", promise="rows", random_state=seed
        )
        assert attentive.plan_.most_read < 60
        broken += np.mean(attentive.predict(EVERY_X[others]) != full[others]) > 0.05
    assert broken <= binom.ppf(0.9999, repeats, 0.1)


def test_cheap_columns_are_preferred(linear):
    costs = np.where(np.arange(60) % 2, 1.0, 10.0)
    plain, priced = (
        attend(linear, X[2000:], delta=0.05, fewest="columns", costs=given, random_state=0).plan_.order
        for given in (None, costs)
    )
    assert costs[priced].sum() < costs[plain].sum()


@pytest.mark.parametrize("changed", [{"boundary": "curved"}, {"order": "sorted"}])
def test_an_order_or_a_boundary_of_ones_own_is_refused(linear, changed):
    with pytest.raises(ValueError, match="fewest='columns' chooses its own order"):
        attend(linear, X[2000:], fewest="columns", **changed)


def test_parameters_of_the_boundary_are_kept_and_checked(linear):
    with pytest.raises(ValueError, match="ridge must be a positive number"):
        attend(linear, X[2000:], fewest="columns", boundary=Conditional(ridge=-1))


@pytest.mark.parametrize("rows", [np.ones((2000, 60)), np.zeros((2000, 60))], ids=["ones", "zeros"])
def test_rows_that_tell_nothing_get_the_full_label(linear, rows):
    attentive = attend(linear, rows, promise="rows", fewest="columns", random_state=0)
    np.testing.assert_array_equal(attentive.predict(rows), linear.predict(rows))

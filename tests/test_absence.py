"""Plans for rows that lack features: equal to a plain reference, and to a regression on the other features."""

import pickle

import numpy as np
import pytest
import reference
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import least_squares
from sklearn.linear_model import LogisticRegression

from data import correlated, problem
from saccade import Conditional, attend
from saccade.planning.absence import Population, plan_without
from saccade.planning.prices import price_list
from saccade.planning.regression import emphasis, regress
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan


@pytest.fixture(scope="module")
def every():
    """Return forty features on different scales, correlated through three hidden factors, and labels."""
    X, y = correlated(30_000, 40, seed=2, factors=3, separation=2.0)
    return X @ np.diag(np.linspace(0.1, 100, 40)), y


@pytest.fixture(scope="module")
def rows(every):
    return every[0]


@pytest.fixture(scope="module")
def model(every):
    return LogisticRegression(max_iter=5000).fit(every[0][:3000], every[1][:3000])


def lacking(*features):
    return np.isin(np.arange(40), features)


def test_without_a_feature_the_margin_is_a_regression_on_the_others(model, rows):
    attentive = attend(model, rows[:6000], delta=0.05, boundary=Conditional(ridge=1e-9), random_state=0)
    plan, regression = attentive.plan_, attentive.population_.regression
    absent = [int(plan.order[0]), int(plan.order[2])]
    without = plan_without(plan, attentive.population_, lacking(*absent), 0.05)
    # The regression sees the rows that do not calibrate.
    mixed = np.random.RandomState(0).permutation(6000)
    sample = rows[:6000][mixed[1800:]]
    margin = model.decision_function(sample)
    weight = emphasis(margin, Conditional().focus)
    for k, end in enumerate(plan.checkpoints):
        if end < 4 or plan.first[k]:
            continue
        known = [feature for feature in regression.order[:end] if feature not in absent]
        solution, _ = least_squares(sample, margin, weight, known)
        weights = without.weights[0, without.begins[k] : without.begins[k] + end]
        by_feature = dict(zip(plan.order[:end].tolist(), weights, strict=True))
        assert all(by_feature[feature] == 0 for feature in absent)
        np.testing.assert_allclose([by_feature[feature] for feature in known], solution[:-1], rtol=1e-3, atol=1e-6)
        assert without.shift[0, k] == pytest.approx(solution[-1], rel=1e-3, abs=1e-4)


def test_a_missing_feature_widens_the_boundaries_of_the_checkpoints_that_use_it(model, rows):
    attentive = attend(model, rows[:6000], delta=0.05, random_state=0)
    plan = attentive.plan_
    last = int(plan.order[plan.checkpoints[-1] - 1])
    without = plan_without(plan, attentive.population_, lacking(last), 0.05)
    reached = plan.checkpoints == plan.checkpoints[-1]
    np.testing.assert_array_equal(without.upper[:, ~reached], plan.upper[:, ~reached])
    assert (without.upper[:, reached] > plan.upper[:, reached]).all()
    np.testing.assert_array_equal(without.lower, -without.upper)
    nothing = plan_without(plan, attentive.population_, lacking(), 0.05)
    for mine, theirs in zip(nothing, plan, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def any_plan(rng, n, scores):
    """Return a random plan: sums restart or continue at each checkpoint, and the order may repeat features."""
    order = rng.permutation(n) if rng.random() < 0.5 else rng.integers(0, n, n)
    stops = np.flatnonzero(rng.random(n) < 0.4) + 1
    before = np.append(0, stops[:-1])[: stops.size]
    first = np.where(rng.random(stops.size) < 0.5, before, 0)
    upper = rng.uniform(0.1, 1.0, (scores, stops.size))
    return Plan(
        order=order.astype(np.uint32),
        checkpoints=stops,
        first=first,
        begins=np.append(0, np.cumsum(stops - first))[: stops.size],
        weights=rng.normal(size=(scores, (stops - first).sum())),
        shift=rng.normal(size=(scores, stops.size)),
        lower=-upper,
        upper=upper,
        coef=rng.normal(size=(scores, n)),
        intercept=rng.normal(size=scores),
    )


@settings(max_examples=examples(400))
@given(
    seed=st.integers(0, 100_000), scores=st.sampled_from([1, 3]), regressed=st.integers(0, 10), in_turn=st.booleans()
)
def test_the_plan_equals_the_plain_reference(seed, scores, regressed, in_turn):
    n, rng = 10, np.random.default_rng(seed)
    X, _, weight = problem(seed, n)
    order = rng.permutation(n) if in_turn else None
    coef, prices = rng.normal(size=(scores, n)), price_list(None, None, n, None)
    regression = regress(X, coef, weight / weight.sum(), regressed, ridge=1e-3, prices=prices, order=order)
    population = Population(regression, X.mean(axis=0), X.var(axis=0), X.min(axis=0), X.max(axis=0))
    plan = any_plan(rng, n, scores)
    for share in (0.1, 0.5, 0.9, 1.0):
        missing = rng.random(n) < share
        mine = plan_without(plan, population, missing, 0.05)
        theirs = reference.plan_without(plan, population, missing, 0.05)
        for name, values, expected in zip(Plan._fields, mine, theirs, strict=True):
            np.testing.assert_allclose(values, expected, rtol=1e-7, atol=1e-9, err_msg=name)


def test_a_pickled_regression_leaves_out_cached_values(model, rows):
    regression = attend(model, rows[:6000], delta=0.05, random_state=0).population_.regression
    before = len(pickle.dumps(regression))
    regression.imputation(np.array([0]), np.array([1, 2, 5]))
    assert len(pickle.dumps(regression)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(regression)).covariance, regression.covariance)


@pytest.mark.parametrize("boundary", ["curved", "constant"])
@pytest.mark.parametrize("order", ["greedy", "sorted", "permuted"])
def test_a_missing_feature_is_never_read_with_any_boundary_or_order(boundary, order, model, rows):
    attentive = attend(model, rows[:6000], delta=0.1, boundary=boundary, order=order, random_state=0)
    absent = int(attentive.plan_.order[0])
    without = plan_without(attentive.plan_, attentive.population_, lacking(absent), 0.1)
    sample = rows[6000:8000].copy()
    complete = read_plan(without, ArraySource(sample))
    sample[:, absent] = 1e6
    for mine, theirs in zip(read_plan(without, ArraySource(sample)), complete, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    labels = attentive.classes_[decided(complete[0])]
    assert np.mean(labels == model.predict(rows[6000:8000])) > 0.8

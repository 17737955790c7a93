"""Plans for rows that lack features, and the promise that some of them keep."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from test_conditional import least_squares

from data import correlated
from saccade import Conditional, attend
from saccade.planning.absence import plan_without
from saccade.planning.regression import emphasis
from saccade.reading.plan import decided
from saccade.reading.reader import read_plan

# Forty features that share three hidden factors: each can be told from the others.
EVERY, labels = correlated(30_000, 40, seed=2, factors=3, separation=2.0)
EVERY = EVERY @ np.diag(np.linspace(0.1, 100, 40))  # in units of their own
MODEL = LogisticRegression(max_iter=5000).fit(EVERY[:3000], labels[:3000])


def lacking(*features):
    return np.isin(np.arange(40), features)


def test_without_a_feature_the_margin_is_regressed_on_the_others_alone():
    attentive = attend(MODEL, EVERY[:6000], delta=0.05, boundary=Conditional(ridge=1e-9), random_state=0)
    plan, regression = attentive.plan_, attentive.population_.regression
    absent = [int(plan.order[0]), int(plan.order[2])]
    without = plan_without(plan, attentive.population_, lacking(*absent), 0.05)
    # The rows that the regression saw: the first 70 % of those that do not calibrate.
    mixed = np.random.RandomState(0).permutation(6000)
    rows = EVERY[:6000][mixed[1800:][: round(0.7 * 4200)]]
    margin = MODEL.decision_function(rows)
    weight = emphasis(margin, Conditional().focus)
    for k, end in enumerate(plan.checkpoints):
        if end < 4 or plan.first[k]:
            continue
        known = [feature for feature in regression.order[:end] if feature not in absent]
        solution, _ = least_squares(rows, margin, weight, known)
        weights = without.weights[0, without.begins[k] : without.begins[k] + end]
        by_feature = dict(zip(plan.order[:end].tolist(), weights, strict=True))
        assert all(by_feature[feature] == 0 for feature in absent)
        np.testing.assert_allclose([by_feature[feature] for feature in known], solution[:-1], rtol=1e-3, atol=1e-6)
        assert without.shift[0, k] == pytest.approx(solution[-1], rel=1e-3, abs=1e-4)


def test_margins_must_be_clearer_where_something_is_missing_and_later_checkpoints_only():
    attentive = attend(MODEL, EVERY[:6000], delta=0.05, random_state=0)
    plan = attentive.plan_
    last = int(plan.order[plan.checkpoints[-1] - 1])
    without = plan_without(plan, attentive.population_, lacking(last), 0.05)
    reached = plan.checkpoints == plan.checkpoints[-1]
    np.testing.assert_array_equal(without.upper[~reached], plan.upper[~reached])
    assert (without.upper[reached] > plan.upper[reached]).all()
    np.testing.assert_array_equal(without.lower, -without.upper)
    nothing = plan_without(plan, attentive.population_, lacking(), 0.05)
    for mine, theirs in zip(nothing, plan, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.slow
def test_the_promise_holds_without_a_spare_feature():
    """Over many calibrations, the share of those whose disagreement without the first feature exceeds delta."""
    rng = np.random.default_rng(0)
    delta, confidence, repetitions = 0.05, 0.9, 60
    untouched = EVERY[20_000:]
    full = MODEL.predict(untouched)
    broken = promised = 0
    for repetition in range(repetitions):
        rows = EVERY[rng.choice(np.arange(3000, 20_000), 2000, replace=False)]
        attentive = attend(MODEL, rows, delta=delta, confidence=confidence, random_state=repetition)
        absent = int(attentive.plan_.order[0])
        if (absent,) in attentive.population_.spare:
            promised += 1
            without = plan_without(attentive.plan_, attentive.population_, lacking(absent), delta)
            labels = attentive.classes_[decided(read_plan(without, untouched)[0])]
            broken += np.mean(labels != full) > delta
    assert promised > 10
    assert broken <= binom.ppf(0.9999, promised, 1 - confidence)


@pytest.mark.parametrize("boundary", ["curved", "constant"])
@pytest.mark.parametrize("order", ["greedy", "sorted", "permuted"])
def test_the_papers_boundaries_do_without_features_too(boundary, order):
    attentive = attend(MODEL, EVERY[:6000], delta=0.1, boundary=boundary, order=order, random_state=0)
    absent = int(attentive.plan_.order[0])
    without = plan_without(attentive.plan_, attentive.population_, lacking(absent), 0.1)
    rows = EVERY[6000:8000].copy()
    complete = read_plan(without, rows)
    rows[:, absent] = 1e6
    for mine, theirs in zip(read_plan(without, rows), complete, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    labels = attentive.classes_[decided(complete[0])]
    assert np.mean(labels == MODEL.predict(EVERY[6000:8000])) > 0.8

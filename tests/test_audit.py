"""The audit keeps the level, under correlated features and the sorted order, on data that nothing was tuned on."""

import warnings

import numpy as np
import pytest
from effort import repetitions
from replay import replay
from scipy.stats import binom, norm
from sklearn.base import clone

from data import correlated
from reproduction.mnist import load_mnist
from saccade import ConstantSTST, CurvedSTST, Full, PassiveAggressive, Pegasos, Perceptron
from saccade.exceptions import LevelNotHeldWarning
from saccade.kernels.audit import SLOWEST_RATE
from saccade.learners.record import TrainingRecord
from saccade.planning.boundaries import as_boundary

# How far the logarithm of the multiplier moves once it has settled.
WANDERING = 1.0


def decision_error(model, problems, **how):
    """Return tracked examples, decision error, and how far from the level it may lie by chance, over some problems.

    The audited important examples deviate from the level by the multiplier's way over its rate, and the others from
    them by chance: two binomial samples at the same level.
    """
    runs = [
        replay(clone(model).set_params(random_state=seed, average=False), X, y, seed=seed, **how)
        for seed, (X, y) in enumerate(problems)
    ]
    tracked, important, missed = np.sum(runs, axis=0)
    delta = as_boundary(model.boundary).delta
    chance = norm.isf(5e-5) * np.sqrt(delta * (1 - delta) * (1 / tracked + 1 / important))
    return missed / important, delta, chance + len(runs) * WANDERING / (SLOWEST_RATE * tracked)


@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize("boundary", [CurvedSTST, ConstantSTST])
def test_the_level_holds_on_correlated_features(boundary, delta):
    """Two-sided: the multiplier narrows a cushion that misses too few as it widens one that misses too many."""
    problems = [correlated(6000, 64, seed=100 + seed, factors=3) for seed in range(repetitions(10, fewest=3))]
    model = Pegasos(1e-2, boundary=boundary(delta), audit=0.3, cost="features")
    rate, level, tolerance = decision_error(model, problems, theta=1.0, passes=2, settling=3000)
    assert tolerance < 0.2 * np.sqrt(delta)
    assert abs(rate - level) <= tolerance


@pytest.mark.parametrize(("learner", "theta"), [(Perceptron(), 0.0), (PassiveAggressive(0.01), 1.0)], ids=repr)
def test_the_level_holds_for_the_other_learners(learner, theta):
    problems = [correlated(6000, 64, seed=200 + seed, factors=3) for seed in range(repetitions(10, fewest=3))]
    rate, level, tolerance = decision_error(
        learner.set_params(audit=0.3, cost="features"), problems, theta=theta, passes=2, settling=3000
    )
    assert tolerance < 0.2 * np.sqrt(level)
    assert abs(rate - level) <= tolerance


@pytest.fixture(scope="module")
def four_or_nine():
    X, y, _, _ = load_mnist((4, 9))
    return X / np.float32(255), y


def test_without_an_audit_the_paper_misses_far_more(four_or_nine):
    """The decision error of a boundary that trusts independence, measured by reading on: what the audit repairs."""
    paper, honest = (
        replay(
            Pegasos(1e-2, boundary=ConstantSTST(0.1), audit=audit, cost="features", average=False, random_state=0),
            *four_or_nine,
            theta=1.0,
        )
        for audit in (0, 0.1)
    )
    assert paper.tracked == 0
    assert paper.missed > 3 * binom.isf(1e-4, paper.important, 0.1)
    assert honest.rate < paper.rate / 3


def test_without_an_audit_nothing_is_said_of_the_level(four_or_nine):
    X, y = four_or_nine
    record = Pegasos(boundary=ConstantSTST(0.1), audit=0, random_state=0).fit(X[:2000], y[:2000]).training_
    assert record.n_audited == record.n_important == 0
    assert np.isnan(record.decision_error)


def test_the_level_holds_on_mnist(four_or_nine):
    problems = [four_or_nine] * repetitions(10, fewest=2)
    rate, level, tolerance = decision_error(
        Pegasos(1e-2, audit=0.2, cost="features"), problems, theta=1.0, passes=3, settling=6000
    )
    assert tolerance < 0.06
    assert abs(rate - level) <= tolerance


def test_the_audit_share_is_what_was_asked_for():
    X, y = correlated(20_000, 16, seed=1)
    for share in (0.01, 0.1, 1.0):
        audited = Pegasos(audit=share, max_iter=1, random_state=0).fit(X, y).training_.n_audited
        assert abs(audited - 20_000 * share) <= 4 * np.sqrt(20_000 * share * (1 - share))


def test_an_audit_of_everything_filters_nothing_and_learns_like_the_full_learner():
    X, y = correlated(2000, 40, seed=2)
    audited = Pegasos(audit=1.0, random_state=0).fit(X, y)
    full = Pegasos(boundary=Full(), random_state=0).fit(X, y)
    assert audited.training_.n_filtered == 0
    np.testing.assert_allclose(audited.coef_, full.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("missed", "alarm"), [(10, False), (15, False), (19, True), (40, True)])
def test_a_level_that_was_clearly_not_held_is_said_with_the_figure(monkeypatch, missed, alarm):
    """Of 100 important examples at a level of 10 %, 18 are missed by chance less than once in a hundred times."""
    audited = TrainingRecord(n_examples=5000, n_audited=100, n_important=100, n_missed=missed)
    monkeypatch.setattr(TrainingRecord, "of", lambda counters: audited)
    X, y = correlated(50, 10, seed=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Pegasos(boundary=CurvedSTST(0.1)).fit(X, y)
    said = [str(warning.message) for warning in caught if warning.category is LevelNotHeldWarning]
    assert len(said) == alarm
    assert not alarm or f"of 100 audited important examples {missed} would have been filtered, {missed}.0%" in said[0]


def test_a_level_that_was_held_is_not_warned_about():
    X, y = correlated(4000, 64, seed=4, separation=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Pegasos(audit=0.2, random_state=0).fit(X, y)


def test_there_is_nothing_to_audit_without_a_boundary():
    X, y = correlated(500, 20, seed=5)
    record = Pegasos(boundary=Full(), max_iter=1, random_state=0).fit(X, y).training_
    assert (record.n_audited, record.n_filtered) == (0, 0)
    assert np.isnan(record.decision_error)
    assert record.n_read == 500 * 20

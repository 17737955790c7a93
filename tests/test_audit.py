"""The audit keeps the level, under correlated features and the sorted order, on data that nothing was tuned on."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom

from data import correlated
from saccade import ConstantSTST, CurvedSTST, Full, PassiveAggressive, Pegasos, Perceptron
from saccade.datasets import load_mnist
from saccade.exceptions import LevelNotHeldWarning
from saccade.learners.record import TrainingRecord


def missed_and_important(model, problems, **fit):
    missed = important = 0
    for seed, (X, y) in enumerate(problems):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LevelNotHeldWarning)
            record = model.set_params(random_state=seed).fit(X, y, **fit).training_
        missed += record.n_missed
        important += record.n_important
    return missed, important


@pytest.mark.parametrize("delta", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("boundary", [CurvedSTST, ConstantSTST])
def test_the_level_holds_on_correlated_features(boundary, delta):
    problems = [correlated(6000, 64, seed=100 + seed, factors=3, separation=2.0) for seed in range(8)]
    missed, important = missed_and_important(Pegasos(boundary=boundary(delta), audit=0.05, max_iter=2), problems)
    assert important > 300
    assert missed <= binom.isf(1e-3, important, 1.25 * delta), f"{missed / important:.3f}"


@pytest.mark.parametrize("learner", [Perceptron(), PassiveAggressive(0.01)], ids=repr)
def test_the_level_holds_for_the_other_learners(learner):
    problems = [correlated(6000, 64, seed=200 + seed, factors=3, separation=1.0) for seed in range(8)]
    missed, important = missed_and_important(learner.set_params(audit=0.05, max_iter=2), problems)
    assert important > 300
    assert missed <= binom.isf(1e-3, important, 1.25 * 0.1), f"{missed / important:.3f}"


def test_without_an_audit_the_paper_misses_far_more():
    """The decision error of a boundary that trusts independence, measured by reading on: what the audit repairs."""
    X, y, _, _ = load_mnist((4, 9))
    X = X / np.float32(255)
    paper = Pegasos(boundary=ConstantSTST(0.1), audit=0, random_state=0).fit(X, y)
    honest = Pegasos(boundary=ConstantSTST(0.1), audit=0.02, random_state=0).fit(X, y)
    assert np.isnan(paper.training_.decision_error)
    assert paper.training_.n_audited == 0
    assert set(paper._learners[0].factors) == {1.0}
    assert honest._learners[0].factors.min() > 1.2
    assert honest.training_.features_per_example > paper.training_.features_per_example


@pytest.mark.parametrize("pair", [(2, 3), (4, 9)])
def test_the_level_holds_on_mnist(pair):
    X, y, _, _ = load_mnist(pair)
    problems = [(X / np.float32(255), y)] * 5
    missed, important = missed_and_important(Pegasos(max_iter=3), problems)
    assert important > 250
    assert missed <= binom.isf(1e-3, important, 1.25 * 0.1), f"{missed / important:.3f}"


def test_the_audit_share_is_what_was_asked_for():
    X, y = correlated(20_000, 16, seed=1)
    for share in (0.01, 0.1, 1.0):
        audited = Pegasos(audit=share, random_state=0).fit(X, y).training_.n_audited
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
    record = Pegasos(boundary=Full(), random_state=0).fit(X, y).training_
    assert (record.n_audited, record.n_filtered) == (0, 0)
    assert np.isnan(record.decision_error)
    assert record.n_read == 500 * 20

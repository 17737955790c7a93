"""What is remembered of earlier passes: the rule against plain loops, the level, and that nothing else changes."""

import numpy as np
import pytest
import scipy.sparse as sp
from effort import repetitions
from reference import RememberingLearner
from scipy.stats import binom
from sklearn.base import clone

from data import correlated
from saccade import ConstantSTST, CurvedSTST, ExponentiatedGradient, Full, PassiveAggressive, Pegasos, Perceptron
from saccade.kernels.state import N_AUDITED, N_SKIPPED
from saccade.kernels.walks import shuffle
from saccade.learners.passes import Team, new_memory


@pytest.fixture(autouse=True)
def few_values_are_enough(monkeypatch):
    monkeypatch.setattr("saccade.learners.classifier.FEWEST_VALUES", 1)


LEARNERS = [
    Pegasos(),
    Pegasos(1e-2, rule="algorithm1"),
    Perceptron(),
    PassiveAggressive(0.01),
    PassiveAggressive(0.01, variant="pa2"),
    ExponentiatedGradient(),
]


def easy(n_rows=1500, n_features=30, seed=0, **how):
    """Rows of which most are clear."""
    return correlated(n_rows, n_features, seed=seed, separation=2.5, **how)


def same_model(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.training_ == other.training_


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_the_memory_agrees_with_plain_loops(stored):
    X, y = easy()
    model = Pegasos(0.05, audit=0.1, max_iter=4, tol=None, random_state=3).fit(stored(X), y)
    seed = model._learners[0].settings.seed
    slow = RememberingLearner(30, 0.05, delta=0.1, audit=0.1, seed=seed)
    rows = np.arange(len(y), dtype=np.uint32)
    for turn in range(4):
        shuffle(rows, seed, 1 + turn)
        slow.go_over(X, np.where(y == 1, 1, -1), rows.tolist())
    record = model.training_
    assert 0 < record.n_skipped == slow.skipped
    assert (record.n_updates, record.n_important, record.n_missed) == (slow.updates, slow.important, slow.missed)
    coef, intercept = slow.averaged()
    np.testing.assert_allclose(model.coef_[0], coef, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], intercept, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::saccade.exceptions.LevelNotHeldWarning")  # few are audited
@pytest.mark.parametrize("model", LEARNERS, ids=repr)
@pytest.mark.parametrize("boundary", [CurvedSTST(0.1), ConstantSTST(0.1)], ids=repr)
@pytest.mark.parametrize("order", ["sorted", "sampled"])
def test_every_learner_boundary_and_order_skips_and_keeps_count(model, boundary, order):
    X, y = easy()
    model = clone(model).set_params(boundary=boundary, order=order, max_iter=5, tol=None, random_state=0).fit(X, y)
    record = model.training_
    assert record.n_examples == 5 * len(y)
    assert record.n_skipped == record.n_filtered > len(y) / 2
    assert record.n_read == 30 * (record.n_examples - record.n_skipped)
    assert record.n_read_filtered == 0
    assert record.n_important > 0
    assert model.score(X, y) > 0.94


@pytest.mark.parametrize(
    "without",
    [{"cost": "features"}, {"audit": 0}, {"boundary": Full()}, {"max_iter": 1}],
    ids=["features", "no audit", "full", "one pass"],
)
def test_nothing_is_skipped_where_nothing_is_remembered(without):
    X, y = easy()
    assert Pegasos(**{"max_iter": 3, "random_state": 0, **without}).fit(X, y).training_.n_skipped == 0


def test_a_stream_is_not_remembered():
    X, y = easy()
    model = Pegasos(random_state=0)
    for _ in range(3):
        model.partial_fit(X, y, [0, 1])
    assert model.training_.n_skipped == 0


def missed_from_outside(model, X, y, passes, seed):
    """Return the important examples of later passes that were not audited, and how many of them were skipped.

    Every example is read in full by the weights as they stand before it comes; the model must not average.
    """
    learner = model.set_params(random_state=seed, average=False)._new_learners(X, np.unique(y))[0]
    memory, unweighted = new_memory(1, len(y)), np.empty(0)
    team, rng = Team([learner], [1], memory), np.random.default_rng(seed)
    important = missed = 0
    for turn in range(passes):
        for row in rng.permutation(len(y)).astype(np.uint32):
            weights, intercept = learner.weights()
            margin = (weights @ X[row] + intercept) * (1 if y[row] == 1 else -1)
            audited, skipped = learner.counters[N_AUDITED], learner.counters[N_SKIPPED]
            team.learn(X, y, np.array([row]), unweighted)
            if turn > 0 and margin < learner.settings.law.theta and learner.counters[N_AUDITED] == audited:
                important += 1
                missed += learner.counters[N_SKIPPED] > skipped
        team.grow_older()
    return important, missed


@pytest.mark.parametrize("model", [Pegasos(), Perceptron(), PassiveAggressive(0.01)], ids=repr)
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_the_level_holds_for_what_is_skipped(model, delta):
    """The share of missed ones tends to the level like 1 / (rate of the multiplier x audited ones)."""
    counts = [
        missed_from_outside(
            clone(model).set_params(boundary=CurvedSTST(delta), audit=0.3), *correlated(1500, 20, seed=seed), 6, seed
        )
        for seed in range(repetitions(10, fewest=3))
    ]
    important, missed = np.sum(counts, axis=0)
    settling = 3 / (0.2 * 0.3 * important / len(counts))
    assert missed <= binom.isf(1e-4, important, min(delta + settling, 1.0))
    assert missed > 0


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_the_number_of_threads_does_not_change_a_bit(classes, stored):
    X, _ = easy()
    y = np.random.default_rng(2).integers(0, classes, len(X))
    X = stored(X + 3 * y[:, None] * np.eye(4, 30)[y % 4])
    one, two = (Pegasos(n_jobs=jobs, max_iter=4, random_state=1).fit(X, y) for jobs in (None, 2))
    same_model(one, two)
    assert one.training_.n_skipped > 0


def test_a_warm_start_on_the_same_rows_remembers_them():
    X, y = easy()
    parameters = {"shuffle": False, "tol": None, "random_state": 0}
    model = Pegasos(warm_start=True, max_iter=2, **parameters).fit(X, y).fit(X, y)
    same_model(model, Pegasos(max_iter=4, **parameters).fit(X, y))
    assert model.training_.n_skipped > 0


@pytest.mark.parametrize("changed", ["rows", "labels", "number"])
def test_a_warm_start_on_other_rows_remembers_nothing(changed):
    X, y = easy()
    model = Pegasos(warm_start=True, max_iter=1, random_state=0).fit(X, y)
    other = {"rows": (X + 1e-9, y), "labels": (X, np.where(np.arange(len(y)) == 7, 1 - y, y)), "number": (X[1:], y[1:])}
    assert model.fit(*other[changed]).training_.n_skipped == 0


def test_a_failed_fit_leaves_the_memory_as_it_was():
    X, y = easy()
    model = Pegasos(warm_start=True, max_iter=2, random_state=0).fit(X, y)
    before = model._remembered.margins.copy()
    broken = X.copy()
    broken[1400, 3] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(broken, y)
    np.testing.assert_array_equal(model._remembered.margins, before)
    expected = Pegasos(max_iter=2, random_state=0, warm_start=True).fit(X, y).fit(X, y)
    same_model(model.fit(X, y), expected)


def test_sample_weights_count_for_what_is_skipped():
    """An example's weight is relative to the mean of all so far, the skipped ones among them."""
    X, y = easy()
    weight = np.random.default_rng(0).integers(1, 5, len(y)).astype(float)
    model = Pegasos(max_iter=4, tol=None, random_state=0).fit(X, y, weight)
    scaled = Pegasos(max_iter=4, tol=None, random_state=0).fit(X, y, 4 * weight)
    same_model(model, scaled)
    assert model.training_.n_skipped > 0

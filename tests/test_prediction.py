"""Reading rows by a plan: against a plain loop, and what must hold of every reading."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from reference import read_row

from data import correlated
from saccade import Budget, ConstantSTST, CurvedSTST, Full, PassiveAggressive, Pegasos, Perceptron
from saccade.planning.stst import checkpoints

ORDERS = ["natural", "permuted", "sampled", "sampled-printed", "sorted"]


@pytest.fixture(scope="module")
def rows():
    return correlated(1500, 90, seed=21, separation=3.0)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "boundary", [Full(), ConstantSTST(0.1), CurvedSTST(0.1), CurvedSTST(0.4, "cantelli")], ids=repr
)
def test_readings_agree_with_a_plain_loop(rows, boundary, order):
    X, y = rows
    model = Pegasos(boundary=boundary, order=order, random_state=0).fit(X, y)
    reading = model.read(X[:200])
    for i in range(200):
        (margin,), n_read, stopped = read_row(model.plans_[0], X[i])
        assert reading.margin[i] == pytest.approx(margin, rel=1e-9, abs=1e-9)
        assert (reading.n_read[i], reading.stopped[i]) == (n_read, stopped)
        assert reading.label[i] == int(reading.margin[i] > 0)


@pytest.mark.filterwarnings("ignore::saccade.exceptions.LevelNotHeldWarning")  # 1,500 rows are few to settle on
@pytest.mark.parametrize("learner", [Pegasos(), Perceptron(), PassiveAggressive()], ids=repr)
def test_prediction_reads_few_features_and_agrees_with_the_full_margin(rows, learner):
    X, y = rows
    model = learner.set_params(max_iter=3, random_state=0).fit(X, y)
    reading = model.read(X)
    assert reading.stopped.any()
    assert reading.n_read.mean() < 60
    disagreement = np.mean((model.full_margin(X) > 0) != (reading.margin > 0))
    assert disagreement <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / len(X)), "the level of the default boundary"


@pytest.mark.parametrize("order", ORDERS)
def test_rows_that_did_not_stop_have_their_full_margin(rows, order):
    X, y = rows
    model = Pegasos(1e-2, order=order, cost="features", max_iter=1, random_state=0).fit(X, y)
    reading = model.read(X)
    unread = ~reading.stopped
    assert unread.any()
    np.testing.assert_array_equal(reading.margin[unread], model.full_margin(X)[unread])
    assert set(reading.n_read[unread]) == {90}
    assert reading.n_read[reading.stopped].max() < 90


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.uint8])
@pytest.mark.parametrize("storage", [np.ascontiguousarray, np.asfortranarray, sp.csr_matrix])
def test_full_margins_are_the_product_with_the_coefficients(rows, kind, storage):
    X, y = rows
    X = np.clip(60 * X + 128, 0, 255).astype(kind)
    model = Pegasos(random_state=0).fit(X, y)
    expected = X.astype(np.float64) @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.full_margin(storage(X)), expected, rtol=1e-9, atol=1e-9)


def test_a_row_is_read_the_same_alone_and_in_company(rows):
    X, y = rows
    for order in ORDERS:
        model = Pegasos(order=order, random_state=0).fit(X, y)
        together = model.read(X[:40])
        for i in range(40):
            alone = model.read(X[i : i + 1])
            assert (alone.margin[0], alone.n_read[0]) == (together.margin[i], together.n_read[i])


@pytest.mark.filterwarnings("ignore::saccade.exceptions.LevelNotHeldWarning")  # 1,500 rows are few to settle on
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("learner", [Pegasos, Perceptron, PassiveAggressive])
def test_predictions_are_the_full_computation_and_readings_stop_early(rows, learner, classes):
    X, y = rows
    kinds = np.array(["no", "yes", "maybe"])[np.where(X[:, 0] > 1, 2, y) if classes == 3 else y]
    model = learner(boundary=CurvedSTST(0.4), max_iter=3, random_state=0).fit(X, kinds)
    scores = X @ model.coef_.T + model.intercept_
    full = model.classes_[scores.argmax(axis=1) if classes == 3 else (scores[:, 0] > 0).astype(int)]
    reading = model.read(X)
    assert reading.stopped.any()
    np.testing.assert_array_equal(model.predict(X), full)
    np.testing.assert_allclose(model.decision_function(X), scores if classes == 3 else scores[:, 0], rtol=1e-9)
    np.testing.assert_array_equal(model.decision_function(X), model.full_margin(X))
    assert not np.allclose(reading.margin, model.decision_function(X))
    assert len(reading) == len(X)


@pytest.mark.parametrize("boundary", ["constant", "curved"])
def test_more_classes_are_decided_as_the_full_margins_decide(boundary):
    X, _ = correlated(3000, 60, seed=22)
    y = np.argmax(X[:, :5], axis=1)
    model = Pegasos(boundary=boundary, max_iter=5, random_state=0).fit(X, y)
    reading, full = model.read(X), model.full_margin(X)
    np.testing.assert_allclose(full, X @ model.coef_.T + model.intercept_, rtol=1e-9, atol=1e-9)
    assert reading.margin.shape == (3000, 5)
    np.testing.assert_array_equal(reading.label, reading.margin.argmax(axis=1))
    assert np.mean(reading.label != full.argmax(axis=1)) < 0.02
    assert model.score(X, y) > 0.8
    assert reading.n_read.mean() < 5 * 60
    read_in_full = reading.n_read == 5 * 60
    np.testing.assert_array_equal(reading.stopped, ~read_in_full)
    np.testing.assert_array_equal(reading.margin[read_in_full], full[read_in_full])


def test_variances_are_those_of_each_class_if_every_row_is_read_in_full(rows):
    X, y = rows
    model = Pegasos(boundary="constant", audit=1.0, cost="features", max_iter=1, random_state=0).fit(X, y)
    [variances] = model.variances_
    np.testing.assert_allclose(variances, [X[y == label].var(axis=0) for label in (0, 1)], rtol=0.05)
    assert Pegasos(boundary="full").fit(X, y).variances_.size == 0


def test_a_budget_decides_by_its_features_alone(rows):
    X, y = rows
    model = Pegasos(boundary=Budget(10), order="permuted", random_state=0).fit(X, y)
    read = model.plans_[0].order[:10]
    changed = X.copy()
    changed[:, np.setdiff1d(np.arange(90), read)] = np.nan
    np.testing.assert_array_equal(model.read(changed).label, model.read(X).label)


def test_many_threads_read_what_one_reads(rows):
    X, y = rows
    expected = Pegasos(random_state=0).fit(X, y).read(X)
    model = Pegasos(random_state=0).fit(X, y)  # whose plan is made by whichever thread comes first
    with ThreadPoolExecutor(8) as pool:
        for reading in pool.map(lambda _: model.read(X), range(32)):
            np.testing.assert_array_equal(reading.margin, expected.margin)
            np.testing.assert_array_equal(reading.n_read, expected.n_read)


def test_checkpoints_are_eights_that_grow_apart():
    for n in (1, 8, 9, 100, 784, 20_000):
        positions = checkpoints(n)
        assert np.all(positions % 8 == 0)
        assert np.all(np.diff(positions) >= 8)
        assert positions.size == 0 or (positions[0] == 8 and positions[-1] < n)
        assert positions.size < 60


def test_few_examples_give_a_plan_that_reads_everything():
    X, y = correlated(12, 40, seed=23)
    model = Pegasos(random_state=0).fit(X, y)
    assert not model.read(X).stopped.any()

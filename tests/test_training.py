"""The training kernels against plain loops, and what must not depend on how the data are stored or split."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Learner, exponentiated_gradient
from sklearn.base import clone

from data import correlated
from saccade import (
    Budget,
    ConstantSTST,
    CurvedSTST,
    ExponentiatedGradient,
    Full,
    PassiveAggressive,
    Pegasos,
    Perceptron,
)

# As the plain loops do it: one pass in order, every example walked over, nothing remembered.
PLAIN = {"cost": "features", "max_iter": 1, "tol": None, "shuffle": False}
LEARNERS = {
    "pegasos": (Pegasos(0.1, **PLAIN), "pegasos", 0.1, 1.0),
    "algorithm1": (Pegasos(0.1, rule="algorithm1", **PLAIN), "algorithm1", 0.1, 1.0),
    "perceptron": (Perceptron(**PLAIN), "perceptron", 1.0, 0.0),
    "pa1": (PassiveAggressive(0.01, **PLAIN), "pa1", 0.01, 1.0),
    "pa2": (PassiveAggressive(0.01, variant="pa2", **PLAIN), "pa2", 0.01, 1.0),
}
BOUNDARIES = [
    Full(),
    ConstantSTST(0.1),
    ConstantSTST(0.2, form="printed"),
    ConstantSTST(0.2, form="simplified"),
    CurvedSTST(0.1),
    CurvedSTST(0.1, tail="hoeffding"),
    CurvedSTST(0.3, tail="cantelli"),
]
STORAGES = {
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "csr": sp.csr_matrix,
    "csr array": sp.csr_array,
}


def same_model(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.training_ == other.training_
    assert one.t_ == other.t_


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=repr)
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("order", "audit"), [("natural", 0.0), ("sorted", 0.0), ("sorted", 0.1)])
def test_learner_agrees_with_plain_loops(name, boundary, order, audit):
    model, rule, strength, theta = LEARNERS[name]
    X, y = correlated(400, 60, seed=1, separation=2.0)
    model.set_params(boundary=boundary, order=order, audit=audit, random_state=3).fit(X, y)
    slow = Learner(
        60,
        rule,
        strength,
        theta=theta,
        boundary=None if isinstance(boundary, Full) else boundary,
        order=order,
        audit=audit,
        seed=model._learners[0].settings.seed,
    )
    for x, label in zip(X, np.where(y == 1, 1, -1), strict=True):
        slow.learn(x, int(label))
    record = model.training_
    for count, value in slow.counts.items():
        assert getattr(record, f"n_{count}") == value, count
    assert (record.n_important, record.n_missed) == (slow.important, slow.missed)
    coef, intercept = slow.averaged()
    np.testing.assert_allclose(model.coef_[0], coef, rtol=1e-7, atol=1e-9 * np.abs(coef).max())
    np.testing.assert_allclose(model.intercept_[0], intercept, rtol=1e-7)


def test_without_average_the_last_weights_are_kept():
    X, y = correlated(300, 40, seed=2)
    model = Pegasos(0.1, boundary=Full(), average=False, **PLAIN).fit(X, y)
    slow = Learner(40, "pegasos", 0.1)
    for x, label in zip(X, np.where(y == 1, 1, -1), strict=True):
        slow.learn(x, int(label))
    np.testing.assert_allclose(model.coef_[0], slow.w, rtol=1e-7)
    np.testing.assert_allclose(model.intercept_[0], slow.b, rtol=1e-7)


def test_projection_keeps_the_weights_in_the_ball_that_holds_the_optimum():
    X, _ = correlated(50, 30, seed=3)
    for rows in range(2, 50, 7):
        model = Pegasos(0.5, boundary=Full(), average=False, **PLAIN).fit(10 * X[:rows], np.arange(rows) % 2)
        assert np.hypot(np.linalg.norm(model.coef_), model.intercept_[0]) <= 1 / np.sqrt(0.5) + 1e-9


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("order", ["sorted", "permuted", "sampled", "sampled-printed"])
def test_the_storage_changes_nothing_but_rounding(storage, order):
    X, y = correlated(300, 50, seed=4)
    X[np.abs(X) < 0.5] = 0
    model = Pegasos(order=order, random_state=0)
    expected = model.fit(X, y)
    coef, record, reading = expected.coef_, expected.training_, expected.read(X)
    stored = STORAGES[storage](X)
    other = Pegasos(order=order, random_state=0).fit(stored, y)
    np.testing.assert_allclose(other.coef_, coef, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(other.decision_function(stored), expected.decision_function(X), rtol=1e-9, atol=1e-12)
    if storage.startswith("csr"):  # whose stored values count
        assert other.training_.n_read == record.n_read / X.size * np.count_nonzero(X)
        assert other.training_.n_audited == 0  # where nothing is filtered, nothing is audited
        assert replace(other.training_, n_read=0) == replace(record, n_read=0, n_audited=0)
        return
    assert other.training_ == record
    again = other.read(stored)
    np.testing.assert_array_equal(again.n_read, reading.n_read)
    np.testing.assert_allclose(again.margin, reading.margin, rtol=1e-12, atol=1e-12)


def allocated(call):
    """Return how many bytes were allocated at most while something was called for the second time."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def on_disk(X, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (np.float64, lambda X, _: X),
        (np.float32, on_disk),
        (np.float64, lambda X, _: np.asfortranarray(X)),
        (np.float64, lambda X, _: sp.csr_array(X)),
    ],
    ids=["rows", "read-only memory map", "columns", "csr"],
)
def test_rows_are_read_without_a_copy(kind, stored, tmp_path):
    X, y = correlated(40_000, 30, seed=5, dtype=kind)
    given, model = stored(X, tmp_path), Pegasos(random_state=0)
    for call in (lambda: model.fit(given, y), lambda: model.partial_fit(given, y), lambda: model.read(given)):
        assert allocated(call) < X.nbytes / 2
    if sp.issparse(given):  # read in full, because to look columns up takes longer
        np.testing.assert_allclose(model.read(given).margin, model.decision_function(X), rtol=1e-9, atol=1e-9)
        return
    reading, expected = model.read(given), model.read(X)
    np.testing.assert_array_equal(reading.n_read, expected.n_read)
    np.testing.assert_allclose(reading.margin, expected.margin, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.int64])
def test_kinds_of_numbers_agree_with_float64(kind):
    X, y = correlated(400, 40, seed=6)
    X = np.clip(40 * X + 100, 0, 255).astype(kind)
    one = Pegasos(boundary=Full(), random_state=0).fit(X, y)
    other = Pegasos(boundary=Full(), random_state=0).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=2e-3, atol=1e-3 * np.abs(other.coef_).max())


@settings(max_examples=40, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 239), max_size=6, unique=True),
    order=st.sampled_from(["natural", "permuted", "sampled", "sorted"]),
    boundary=st.sampled_from([Full(), ConstantSTST(0.1), CurvedSTST(0.2), Budget(9)]),
    average=st.booleans(),
    classes=st.sampled_from([2, 3]),
    weighted=st.booleans(),
)
def test_a_stream_gives_the_same_bits_in_any_split(cuts, order, boundary, average, classes, weighted):
    if isinstance(boundary, Budget) and order == "sorted":
        order = "permuted"
    X, _ = correlated(240, 33, seed=7)
    y = np.random.default_rng(0).integers(0, classes, 240)
    weight = np.random.default_rng(1).integers(0, 3, 240) if weighted else None
    parameters = {"order": order, "boundary": boundary, "average": average, "random_state": 11}
    whole = Pegasos(**parameters).partial_fit(X, y, np.arange(classes), sample_weight=weight)
    split = Pegasos(**parameters)
    for part in np.split(np.arange(240), sorted(cuts)):
        split.partial_fit(X[part], y[part], np.arange(classes), None if weight is None else weight[part])
    same_model(split, whole)


def test_fit_without_shuffling_is_one_pass_of_partial_fit():
    X, y = correlated(300, 40, seed=8)
    same_model(
        Pegasos(shuffle=False, max_iter=1, random_state=0).fit(X, y),
        Pegasos(random_state=0).partial_fit(X, y, [0, 1]),
    )


def test_a_row_of_weight_zero_is_a_row_that_is_not_there():
    X, y = correlated(300, 40, seed=9)
    weight = np.random.default_rng(0).integers(0, 2, 300)
    same_model(
        Pegasos(shuffle=False, random_state=0).fit(X, y, weight),
        Pegasos(shuffle=False, random_state=0).fit(X[weight == 1], y[weight == 1]),
    )


def test_only_the_ratios_of_weights_matter():
    X, y = correlated(300, 40, seed=10)
    weight = np.random.default_rng(0).integers(1, 5, 300).astype(float)
    one = Pegasos(boundary=Full(), random_state=0).fit(X, y, weight)
    other = Pegasos(boundary=Full(), random_state=0).fit(X, y, 1024 * weight)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)


@pytest.mark.parametrize("kind", [Perceptron, PassiveAggressive])
def test_rows_of_hardly_any_weight_hardly_move_the_weights_even_where_they_come_first(kind):
    X, y = correlated(300, 40, seed=10)
    early = np.arange(300) < 5
    model = kind(boundary=Full(), average=False, shuffle=False, max_iter=1)
    coef = clone(model).fit(X, y, np.where(early, 1e-9, 1.0)).coef_
    expected = clone(model).fit(np.where(early[:, None], 0.0, X), y, np.where(early, 1e-9, 1.0)).coef_
    np.testing.assert_allclose(coef, expected, atol=1e-6 * np.abs(expected).max())


def test_rows_of_hardly_any_weight_do_not_end_the_passes():
    X, y = correlated(300, 40, seed=10)
    noise = 100 * np.random.default_rng(0).normal(size=X.shape)
    model = Perceptron(boundary=Full(), shuffle=False, max_iter=100, tol=1e-2)
    alone = clone(model).fit(X, y)
    # Beside rows of no weight the others have twice the mean weight, so the margins are twice as large, too.
    among = clone(model).set_params(tol=2e-2).fit(np.vstack([X, noise]), np.tile(y, 2), np.repeat([1.0, 1e-12], 300))
    assert 5 < among.n_iter_ == alone.n_iter_ < 100


def test_class_weights_multiply_sample_weights():
    X, y = correlated(300, 40, seed=11)
    by_class = Pegasos(class_weight={0: 3.0, 1: 1.0}, random_state=0).fit(X, y)
    by_row = Pegasos(random_state=0).fit(X, y, np.where(y == 0, 3.0, 1.0))
    same_model(by_class, by_row)


def test_warm_start_goes_on_with_the_schedule():
    X, y = correlated(200, 30, seed=12)
    model = Pegasos(warm_start=True, shuffle=False, max_iter=1, random_state=0).fit(X, y).fit(X, y)
    assert model.t_ == 1 + 400
    same_model(model, Pegasos(shuffle=False, max_iter=2, random_state=0).fit(X, y))


def test_a_fresh_fit_begins_anew():
    X, y = correlated(200, 30, seed=13)
    model = Pegasos(random_state=0).fit(X, y)
    same_model(model.fit(X, y), Pegasos(random_state=0).fit(X, y))


@pytest.mark.parametrize("order", ["sorted", "sampled"])
def test_the_number_of_threads_does_not_change_a_bit(order):
    X, _ = correlated(400, 50, seed=14)
    y = np.random.default_rng(2).integers(0, 5, 400)
    models = [Pegasos(order=order, n_jobs=jobs, random_state=1).fit(X, y) for jobs in (None, 2, 4)]
    for model in models[1:]:
        same_model(model, models[0])
        np.testing.assert_array_equal(model.read(X).margin, models[0].read(X).margin)


def test_budget_reads_the_same_number_of_features_of_every_example():
    X, y = correlated(300, 50, seed=15)
    for order in ("natural", "permuted", "sampled"):
        model = Pegasos(boundary=Budget(12), order=order, random_state=0).fit(X, y)
        assert model.training_.features_per_example == 12
        assert set(model.read(X).n_read) == {12}
    natural = Pegasos(boundary=Budget(12), order="natural", random_state=0).fit(X, y)
    assert np.count_nonzero(natural.coef_) == 12, "features that were never read have no weight"


def test_the_record_adds_up():
    X, y = correlated(3000, 60, seed=16, separation=3.0)
    record = Pegasos(cost="features", max_iter=1, random_state=0).fit(X, y).training_
    assert record.n_examples == 3000
    read_in_full = record.n_examples - record.n_filtered
    assert record.n_read == record.n_read_filtered + 60 * read_in_full
    assert record.n_updates <= read_in_full
    assert 8 <= record.features_per_filtered < record.features_per_example < 60
    assert abs(record.n_audited - 60) < 4 * np.sqrt(60)


def test_passive_aggressive_does_not_diverge_however_much_an_example_weighs():
    X, y = correlated(300, 20, seed=17)
    weight = np.where(np.arange(300) % 10 == 0, 1000.0, 1.0)
    for variant in ("pa1", "pa2"):
        model = PassiveAggressive(variant=variant, boundary=Full(), max_iter=50, tol=None, random_state=0)
        assert np.abs(model.fit(X, y, weight).coef_).max() < 10


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_exponentiated_gradient_agrees_with_weights_that_are_multiplied(stored):
    X, y = correlated(500, 30, seed=18)
    model = ExponentiatedGradient(0.7, norm=12.0, boundary=Full(), max_iter=1, shuffle=False).fit(stored(X), y)
    coef, intercept = exponentiated_gradient(X, np.where(y == 1, 1, -1), 0.7, 12.0)
    np.testing.assert_allclose(model.coef_[0], coef, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], intercept, rtol=1e-6)
    assert np.abs(model.coef_).sum() + abs(model.intercept_[0]) <= 12.0


def test_exponentiated_gradient_does_not_overflow():
    """Exponents are lowered together before they grow too large."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], (2000, 3))
    y = (np.random.default_rng(1).random(2000) < 0.5).astype(int)
    model = ExponentiatedGradient(eta=3000.0, boundary=Full(), max_iter=20, tol=None, random_state=0)
    with np.errstate(all="raise"):
        assert np.isfinite(model.fit(X, y).coef_).all()
    easy = np.column_stack([2.0 * y - 1, X])
    assert model.fit(easy, y).score(easy, y) == 1.0


def test_passes_end_when_the_loss_no_longer_falls():
    X, y = correlated(500, 20, seed=21)
    patient = Pegasos(max_iter=50, tol=1e-3, random_state=0).fit(X, y)
    assert 6 <= patient.n_iter_ < 50
    same_model(patient, Pegasos(max_iter=patient.n_iter_, tol=None, random_state=0).fit(X, y))
    assert Pegasos(max_iter=30, tol=None, random_state=0).fit(X, y).n_iter_ == 30
    assert Pegasos(max_iter=50, tol=10.0, n_iter_no_change=2, random_state=0).fit(X, y).n_iter_ == 3


def test_the_default_strength_does_not_depend_on_the_scale_of_the_features():
    X, y = correlated(800, 20, seed=22)
    for scale in (2.0**-40, 64.0):
        one, other = (Pegasos(fit_intercept=False, random_state=0).fit(factor * X, y) for factor in (1.0, scale))
        np.testing.assert_allclose(scale * other.coef_, one.coef_, rtol=1e-9)

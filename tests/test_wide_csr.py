"""``attend`` on CSR rows of many columns: planned on some of them, promised for all, in bounded memory."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression, SGDClassifier

import saccade
from saccade import Budget, attend
from saccade.planning.boundaries import Conditional
from saccade.planning.narrowed import MOST_COLUMNS, Narrowed, narrowed
from saccade.planning.prices import price_list
from saccade.reading.arrays import ArraySource
from saccade.reading.reader import read_plan

WIDTH, STORED = 3000, 40


def texts(rows, classes, seed, width=WIDTH):
    """Return rows of few words each, of which some tell the class, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=rows)
    common = (width * rng.random((rows, STORED)) ** 3).astype(int)
    words = np.where(rng.random((rows, STORED)) < 0.4, common // classes * classes + y[:, None], common) % width
    counts = rng.random(rows * STORED) + 0.5
    ends = np.arange(0, rows * STORED + 1, STORED, dtype=np.int32)
    X = sp.csr_array((counts, words.ravel().astype(np.int32), ends), shape=(rows, width))
    X.sum_duplicates()
    return X, y


def fitted(classes):
    X, y = texts(3000, classes, 0)
    return SGDClassifier(loss="log_loss", random_state=0).fit(X, y)


MODELS = {classes: fitted(classes) for classes in (2, 4)}


@pytest.mark.parametrize("classes", MODELS)
@pytest.mark.parametrize("options", [{}, {"fewest": "columns"}, {"order": "sorted"}, {"boundary": "curved"}], ids=str)
def test_the_promise_is_kept_on_fresh_rows_however_they_are_stored(classes, options):
    model = MODELS[classes]
    attentive = attend(model, texts(6000, classes, 1)[0], delta=0.1, random_state=0, **options)
    fresh = texts(3000, classes, 2)[0]
    full = model.predict(fresh)
    stored, dense = attentive.read(fresh), attentive.read(fresh.toarray())
    for label in (stored.label, dense.label):
        for c in model.classes_:
            for given in (full == c, label == c):
                wrong = int(np.sum((label != full)[given]))
                assert wrong <= binom.ppf(0.999, int(given.sum()), 0.1)
    assert (stored.n_read <= np.diff(fresh.indptr)).all()
    np.testing.assert_array_equal(stored.label[~stored.stopped], full[~stored.stopped])
    assert attentive.certificate_.features_per_row <= STORED
    assert attentive.plan_.n_features == attentive.certificate_.n_features == WIDTH
    np.testing.assert_allclose(attentive.full_margin(fresh), model.decision_function(fresh))


def test_a_plan_of_all_columns_says_of_dense_rows_what_it_said_of_the_parts():
    model, X = MODELS[4], texts(2000, 4, 1)[0]
    rows = np.arange(2000)
    additive = saccade.models.apart.take_apart(model)
    narrow = narrowed(additive, X, rows, price_list(None, None, WIDTH, None), Conditional(), "greedy", 0)
    assert narrow.kept.size == MOST_COLUMNS
    values = narrow.values(X, rows)
    assert values.shape == (2000, MOST_COLUMNS + 4)
    np.testing.assert_allclose(values @ narrow.coef.T + narrow.intercept, model.decision_function(X))
    np.testing.assert_allclose(narrow.full(X, rows), model.decision_function(X))
    np.testing.assert_allclose(values[:, -4:].mean(axis=0), 0, atol=1e-9)
    plan = attend(model, texts(5000, 4, 3)[0], delta=0.1, random_state=0).plan_
    assert plan.checkpoints.size
    assert plan.order.max() < WIDTH
    outcome = read_plan(plan, ArraySource(X[:50].toarray()))
    assert outcome.stopped.any()


def test_what_is_known_of_the_population_is_known_of_all_columns():
    X = texts(4000, 2, 1)[0]
    population = attend(MODELS[2], X, delta=0.1, random_state=0).population_
    dense = X.toarray()
    np.testing.assert_array_equal(population.low, dense.min(axis=0))
    np.testing.assert_array_equal(population.high, dense.max(axis=0))
    planning = dense[np.random.RandomState(0).permutation(4000)[1200:]]
    np.testing.assert_allclose(population.mean, planning.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(population.variance, planning.var(axis=0), atol=1e-12)
    assert population.regression.order.max() < WIDTH


def test_a_group_is_kept_whole_or_not_at_all_and_what_is_free_is_kept():
    X, model = texts(1500, 2, 1)[0], MODELS[2]
    groups = {f"g{k}": list(range(7 * k, 7 * k + 7)) for k in range(WIDTH // 7)}
    free = int(np.argmin(np.where(model.coef_[0] == 0, np.inf, np.abs(model.coef_[0]))))
    prices = price_list(None, groups, WIDTH, None)
    prices.price[prices.purchase[free]] = 0.0
    narrow = narrowed(saccade.models.apart.take_apart(model), X, np.arange(1500), prices, Conditional(), "greedy", 0)
    members = np.bincount(prices.purchase)
    kept = np.bincount(prices.purchase[narrow.kept], minlength=members.size)
    assert ((kept == 0) | (kept == members)).all()
    assert free in narrow.kept
    assert narrow.prices(prices).price.sum() == pytest.approx(prices.price.sum())


@pytest.mark.parametrize(
    ("options", "said"),
    [({"order": "sampled", "boundary": "curved"}, "draws from all columns"), ({"boundary": Budget(2000)}, "2,000")],
)
def test_what_cannot_be_planned_on_some_columns_is_refused_with_a_remedy(options, said):
    with pytest.raises(ValueError, match=f"(?s){said}.*Pass fewer columns"):
        attend(MODELS[2], texts(500, 2, 1)[0], random_state=0, **options)


def test_a_value_that_is_not_finite_is_named_by_its_row_and_feature():
    X = texts(500, 2, 1)[0]
    X.data[X.indptr[123]] = np.nan
    with pytest.raises(ValueError, match=rf"NaN at row 123, feature {X.indices[X.indptr[123]]}\b"):
        attend(MODELS[2], X, random_state=0)


def test_the_certificate_of_narrow_csr_rows_counts_stored_values_and_files_keep_it(tmp_path):
    X, y = texts(6000, 2, 4, width=300)
    model = LogisticRegression(max_iter=500).fit(X[:2000], y[:2000])
    attentive = attend(model, X[2000:], delta=0.1, random_state=0)
    stored = attentive.certificate_.stored_per_row
    assert stored == pytest.approx(X[2000:].nnz / 4000, rel=0.02)
    assert attentive.certificate_.features_per_row <= stored
    assert f"of {stored:.1f}." in str(attentive.certificate_)
    saccade.save(attentive, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    assert loaded.certificate_ == attentive.certificate_
    np.testing.assert_array_equal(loaded.predict(X), attentive.predict(X))


def test_where_nearly_all_stored_values_are_read_certificate_and_plan_say_that_nothing_is_saved(tmp_path):
    X, y = texts(6000, 2, 4, width=300)
    model = LogisticRegression(max_iter=500).fit(X[:2000], y[:2000])
    attentive = attend(model, X[2000:], delta=0.01, random_state=0)
    assert attentive.certificate_.features_per_row > 0.95 * attentive.certificate_.stored_per_row
    saccade.save(attentive, tmp_path / "model")
    for one in (attentive, saccade.load(tmp_path / "model")):
        for said in (str(one.certificate_), one.plan_.describe(), one._repr_html_()):
            assert "Reads nearly everything: early exit saves nothing here." in said


@pytest.mark.parametrize("classes", [2, 4])
def test_memory_does_not_grow_with_the_number_of_columns(classes):
    X, y = texts(6000, classes, 5, width=100_000)
    model = SGDClassifier(random_state=0, max_iter=3, tol=None).fit(X[:1000], y[:1000])
    tracemalloc.start()
    attend(model, X[1000:], delta=0.2, random_state=0, when_too_few="read")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 250e6  # the rows as a dense array would take 4 GB


def test_a_narrowed_model_is_made_of_linear_models_and_csr_rows_alone():
    X, prices = texts(50, 2, 1)[0], price_list(None, None, WIDTH, None)
    additive = saccade.models.apart.take_apart(MODELS[2])
    rest = (np.arange(50), prices, Conditional(), "greedy", 0)
    assert narrowed(additive, X.toarray(), *rest) is None
    assert isinstance(narrowed(additive, X, *rest), Narrowed)

"""CSR rows are read by what they store: against plain loops, and against dense rows read by the same plan."""

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import reference
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer

from saccade import Pegasos, Watch, attend
from saccade.kernels.sparse import HALVING, MOST_SPENT
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan
from saccade.reading.reader import read_plan
from saccade.reading.sparse import CsrSource, is_damaged

RNG = np.random.default_rng(0)


def plan_over(rng, n, scores, sizes):
    """Return a plan that looks after so many columns, each time weighing all of them anew."""
    stops = np.array(sizes, dtype=np.int64)
    return Plan(
        order=rng.permutation(n)[: stops[-1]].astype(np.uint32),
        checkpoints=stops,
        first=np.zeros_like(stops),
        begins=np.array([0, *np.cumsum(stops)], dtype=np.int64)[: stops.size],
        weights=rng.normal(size=(scores, stops.sum())),
        shift=rng.normal(size=(scores, stops.size)),
        lower=-rng.uniform(0, 2, (scores, stops.size)),
        upper=rng.uniform(0, 2, (scores, stops.size)),
        coef=rng.normal(size=(scores, n)),
        intercept=rng.normal(size=scores),
    )


def sparse_rows(rng, rows, n, density, dtype=np.float64):
    return np.where(rng.random((rows, n)) < density, rng.normal(size=(rows, n)), 0.0).astype(dtype)


def read_slowly(plan, x, stored):
    """Return margins, stored values read and whether the row stopped: the plain loop, and the rule that gives it up."""
    most = MOST_SPENT * len(stored) / (HALVING * math.log2(len(stored) + 2))
    affordable = int(np.searchsorted(plan.checkpoints, most, side="right"))
    margin, position, decided = reference.read_row(plan._replace(checkpoints=plan.checkpoints[:affordable]), x)
    if not decided:
        return plan.intercept + plan.coef @ x, len(stored), False
    return margin, len(set(plan.order[:position].tolist()) & stored), True


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000), scores=st.sampled_from([1, 3, 4, 9]), density=st.sampled_from([0.0, 0.2, 0.9]))
def test_stored_values_are_read_and_counted_as_by_a_plain_loop(dtype, indices, seed, scores, density):
    rng = np.random.default_rng(seed)
    X, plan = sparse_rows(rng, 20, 700, density, dtype), plan_over(rng, 700, scores, [1, 2, 4, 9])
    rows = sp.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(indices), rows.indptr.astype(indices)
    outcome = read_plan(plan, CsrSource(rows))
    for i, x in enumerate(X.astype(np.float64)):
        margin, n_read, stopped = read_slowly(plan, x, set(np.flatnonzero(x).tolist()))
        assert (outcome.n_read[i], outcome.stopped[i]) == (n_read, stopped)
        np.testing.assert_allclose(outcome.margin[i], margin, rtol=1e-9, atol=1e-9)
    if density == 0.9:
        assert outcome.stopped.any()


@pytest.mark.parametrize("scores", [1, 2, 4, 7])
def test_a_full_read_is_the_product_and_counts_all_that_is_stored(scores):
    X = sparse_rows(RNG, 50, 90, 0.1)
    plan = Plan.in_full(RNG.normal(size=(scores, 90)), RNG.normal(size=scores))
    for rows in (X, X[:1]):  # of few values and of many the weights lie otherwise in memory
        outcome = read_plan(plan, CsrSource(sp.csr_array(rows)))
        np.testing.assert_allclose(outcome.margin, rows @ plan.coef.T + plan.intercept)
        np.testing.assert_array_equal(outcome.n_read, np.count_nonzero(rows, axis=1))
        assert not outcome.stopped.any()


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), scores=st.sampled_from([1, 3]), stops=st.sampled_from([[3], [2, 40], [1, 30, 200]]))
def test_walked_to_the_plans_end_a_csr_row_has_the_margin_of_a_dense_one(seed, scores, stops):
    """A value that is not finite, where the plan does not ask for it, is why the row cannot be read in full."""
    rng = np.random.default_rng(seed)
    X, plan = sparse_rows(rng, 30, 300, 0.3), plan_over(rng, 300, scores, stops)
    plan.lower[:, -1], plan.upper[:, -1] = 0.0, 0.0  # decides every row
    elsewhere = np.setdiff1d(np.arange(300), plan.order)[0]
    X[:, elsewhere] = np.nan
    sparse, dense = read_plan(plan, CsrSource(sp.csr_array(X))), read_plan(plan, ArraySource(X))
    assert sparse.bad == dense.bad == -1
    np.testing.assert_allclose(sparse.margin, dense.margin)
    stored = [set(np.flatnonzero(row).tolist()) for row in X]
    asked = [set(plan.order[:size].tolist()) for size in dense.n_read]
    assert sparse.n_read.tolist() == [len(a & b) for a, b in zip(stored, asked, strict=True)]


def test_unsorted_indices_duplicates_and_stored_zeros_change_nothing_and_the_matrix_stays_as_it_is():
    plan = plan_over(np.random.default_rng(3), 700, 1, [1, 2])
    X = sparse_rows(RNG, 6, 700, 0.9)
    rows = sp.csr_array(X)
    order = np.concatenate([RNG.permutation(np.arange(*ends)) for ends in pairwise(rows.indptr)])
    twice = sp.csr_array(
        (np.repeat(rows.data[order] / 2, 2), np.repeat(rows.indices[order], 2), 2 * rows.indptr), shape=rows.shape
    )
    zeros = sp.csr_array(np.ones_like(X))
    zeros.data[:] = X.ravel()
    before = twice.indices.copy()
    expected = read_plan(plan, CsrSource(rows))
    for other in (twice, zeros):
        outcome = read_plan(plan, CsrSource(other))
        np.testing.assert_allclose(outcome.margin, expected.margin)
    np.testing.assert_array_equal(twice.indices, before)
    in_full = read_plan(plan.without_stops(), CsrSource(zeros))
    assert in_full.n_read.tolist() == [700] * 6  # a zero that is stored is read


def test_columns_are_filled_from_what_is_stored():
    X = sparse_rows(RNG, 9, 20, 0.4)
    out, rows = np.empty(3), np.array([7, 0, 4], dtype=np.uint32)
    for part in range(20):
        CsrSource(sp.csr_array(X)).fill(part, rows, 3, out)
        np.testing.assert_array_equal(out, X[rows, part])


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_stored_value_that_is_not_finite_is_named_by_row_and_feature(classes, bad):
    X = sparse_rows(RNG, 200, 3000, 0.02)
    y = np.arange(200) % classes
    model = Pegasos(random_state=0).fit(sp.csr_array(X), y)
    rows = X[:20].copy()
    column = np.flatnonzero(model.coef_.all(axis=0))[0]
    rows[13, column] = bad
    with pytest.raises(ValueError, match=rf"row 13, feature {column}\b"):
        model.predict(sp.csr_array(rows))


def test_a_value_without_weight_may_be_anything():
    coef = np.ones((2, 30))
    coef[:, 7] = 0.0
    X = np.ones((3, 30))
    X[1, 7] = np.nan
    outcome = read_plan(Plan.in_full(coef, np.zeros(2)), CsrSource(sp.csr_array(X)))
    assert outcome.bad == -1
    np.testing.assert_array_equal(outcome.margin[1], [29.0, 29.0])


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@given(data=st.data())
def test_matrices_are_damaged_where_scipy_finds_them_so_when_it_looks_at_all_indices(make, kind, data):
    X = make(sparse_rows(np.random.default_rng(0), 6, 9, 0.4))
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    changed = data.draw(st.sampled_from([X.indices, X.indptr]), label="array")
    place = data.draw(st.integers(0, changed.size - 1), label="place")
    limits = np.iinfo(kind)
    changed[place] = data.draw(st.integers(-2, 30) | st.integers(limits.min, limits.max), label="value")
    assume(X.nnz > 0)  # else scipy looks at nothing
    try:
        X.copy().check_format(full_check=True)
    except ValueError:
        assert is_damaged(X)
    else:
        assert not is_damaged(X)


ROWS = sp.csr_matrix(sparse_rows(RNG, 900, 60, 0.2))  # LightGBM takes no arrays
LABELS = np.asarray(ROWS[:, :2].argmax(axis=1)).ravel()
MODELS = {
    "columns": LogisticRegression().fit(ROWS[:300], LABELS[:300]),
    "trees": LGBMClassifier(n_estimators=5, verbose=-1).fit(ROWS[:300], LABELS[:300]),
    "terms": make_pipeline(Binarizer(), LogisticRegression()).fit(ROWS[:300], LABELS[:300]),
}
CERTIFIED = {name: attend(model, ROWS[300:], delta=0.4, random_state=0) for name, model in MODELS.items()}
LEARNER = Pegasos().fit(ROWS, LABELS)
USES = {
    "fit": lambda X: Pegasos().fit(X, LABELS),
    "partial_fit": lambda X: Pegasos().partial_fit(X, LABELS, [0, 1]),
    "learner, predict": LEARNER.predict,
    "learner, read": LEARNER.read,
    "watch": Watch(CERTIFIED["columns"], share=1.0).predict,
    **{f"{name}, attend": partial(attend, model) for name, model in MODELS.items()},
    **{f"{name}, predict": attentive.predict for name, attentive in CERTIFIED.items()},
    **{f"{name}, in full": attentive.full_margin for name, attentive in CERTIFIED.items()},
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(
    ("array", "place", "value"),
    [("indices", 7, 10**9), ("indices", -1, 60), ("indices", 7, -1), ("indptr", 3, 10**9), ("indptr", 3, -5)],
)
def test_a_matrix_that_points_outside_of_itself_is_refused(use, make, array, place, value):
    X = make(ROWS.copy())
    value = X.shape[0] if value == 60 and make is sp.csc_array else value
    getattr(X, array)[place] = value
    with pytest.raises(ValueError, match=r"X is a damaged CS[RC] matrix: its indices or indptr point outside of it"):
        USES[use](X)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_learners_predict_the_same_from_csr_and_dense_rows(classes):
    X = sparse_rows(RNG, 300, 60, 0.2)
    y = np.argmax(X[:, :classes], axis=1)
    model = Pegasos(random_state=0).fit(X, y)
    rows = sp.csr_array(X)
    np.testing.assert_array_equal(model.predict(rows), model.predict(X))
    np.testing.assert_allclose(model.decision_function(rows), model.decision_function(X))

"""Trees read by the kernels, beside trees walked as slowly and as obviously as possible."""

import numpy as np
import pytest
import scipy.sparse as sp
from grown import N_COLUMNS, edgy_rows, grown_ensemble
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_trees import leaf_of, margins_of

from saccade.kernels.tree_walks import LARGE
from saccade.models.trees.assembling import Tree, assemble
from saccade.models.trees.ensemble import Ensemble, Sum
from saccade.models.trees.model import TreeModel
from saccade.models.trees.thresholds import at_most, below, single
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan
from saccade.reading.reader import read_plan

seeds = st.integers(0, 2**31)
kinds = st.fixed_dictionaries(
    {
        "n_scores": st.sampled_from([1, 3]),
        "most_leaves": st.sampled_from([1, 3, 31, 60, 90]),
        "single": st.booleans(),
        "zeros": st.booleans(),
    }
)


def model_of(ensemble):
    return TreeModel(ensemble, np.arange(max(2, ensemble.n_scores)))


def a_plan(model, seed, n_checkpoints=3):
    """Return a plan with any weights that looks at several checkpoints, of which each decides some rows."""
    rng = np.random.default_rng(seed)
    scores, n = model.coef.shape
    order = rng.permutation(n).astype(np.uint32)
    stops = np.unique(rng.integers(1, n + 1, n_checkpoints))
    weighed = np.concatenate([[0], np.cumsum(stops)])
    return Plan(
        order=order[: stops[-1]],
        checkpoints=stops,
        first=np.zeros(stops.size, np.int64),
        begins=weighed[:-1],
        weights=rng.normal(size=(scores, weighed[-1])),
        shift=rng.normal(size=(scores, stops.size)),
        lower=np.full((scores, stops.size), -1.0),
        upper=np.full((scores, stops.size), 1.0),
        coef=model.coef,
        intercept=model.intercept,
        unit=model.unit,
    )


def storages(rows):
    """Return the same rows as arrays in either order, strided, and as a table."""
    pd = pytest.importorskip("pandas")
    yield np.ascontiguousarray(rows)
    yield np.asfortranarray(rows)
    yield np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)[::2, ::2]
    yield pd.DataFrame(rows, columns=[f"c{j}" for j in range(N_COLUMNS)], copy=True).assign(c0=lambda frame: frame.c0)


@settings(max_examples=30, deadline=None)
@given(seeds, kinds, st.sampled_from([np.float64, np.float32]), st.sampled_from([1, 3, 40]))
def test_full_margins_are_the_references_to_the_bit_in_every_storage(seed, kind, dtype, n_rows):
    model = model_of(grown_ensemble(seed, **kind))
    rows = edgy_rows(seed, n_rows, dtype)
    expected = margins_of(model.ensemble, rows)
    for X in storages(rows):
        assert np.array_equal(model.raw(model.sums(X)), expected)


@settings(max_examples=20, deadline=None)
@given(seeds, st.sampled_from([2, 4]), st.sampled_from([6, 60, 90]))
def test_trees_with_an_output_for_each_class(seed, outputs, most_leaves):
    n_scores = 1 if outputs == 2 else outputs
    model = model_of(grown_ensemble(seed, most_leaves=most_leaves, n_scores=n_scores, outputs=outputs))
    rows = edgy_rows(seed, 30)
    assert np.array_equal(model.raw(model.sums(rows)), margins_of(model.ensemble, rows))
    values, leaf = model.values(rows, np.arange(30)), leaf_of(model.ensemble, 2, rows[7])
    of_leaf = model.ensemble.nodes.value[leaf]
    mine = values[7][model.unit == 2]
    assert np.array_equal(mine, [of_leaf[1] - of_leaf[0]] if outputs == 2 else of_leaf, equal_nan=True) or np.allclose(
        mine, of_leaf if outputs > 2 else of_leaf[1] - of_leaf[0], rtol=1e-6
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("categorical", [(), (3,)])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("n_rows", [5, 300])
def test_large_trees(outputs, n_rows, categorical, single, missing):
    ensemble = grown_ensemble(2, 4, 2500, n_scores=outputs, outputs=outputs, categorical=categorical, single=single)
    model = model_of(ensemble)
    assert model.ensemble.nodes.left.size > 4 * LARGE
    rows = edgy_rows(3, n_rows) if missing else np.nan_to_num(edgy_rows(3, n_rows), posinf=np.inf, neginf=-np.inf)
    leaves = np.array([[leaf_of(model.ensemble, tree, x) for tree in range(4)] for x in rows])
    for X in storages(rows):
        assert np.array_equal(model.raw(model.sums(X)), margins_of(model.ensemble, rows))
        assert np.array_equal(model.values(X, np.arange(n_rows)), model.walks.parts[leaves].reshape(n_rows, -1))


def test_rows_are_rounded_where_that_changes_no_comparison():
    """Libraries that compare in single precision have thresholds between two singles; others would lose digits."""
    assert model_of(grown_ensemble(0, single=True)).walks.castable
    assert not model_of(grown_ensemble(0)).walks.castable
    assert not model_of(grown_ensemble(0, single=True, zeros=True)).walks.castable
    by_category = grown_ensemble(0, single=True, categorical=(0, 1, 2, 3, 4))
    assert model_of(by_category).walks.castable
    assert not model_of(type(by_category)(**{**vars(by_category), "single": False})).walks.castable


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nodes_that_need_more_room_are_walked_alike(dtype):
    """A tree of 70,000 nodes, its columns far apart: neither children nor columns fit into two bytes."""
    rng = np.random.default_rng(0)
    n_leaves, n_columns = 50_000, 40_000
    column = rng.integers(0, n_columns, 2 * n_leaves - 1)
    node = np.arange(2 * n_leaves - 1)
    inner = node < n_leaves - 1  # a heap: the children of k are 2k + 1 and 2k + 2
    left, right = np.where(inner, 2 * node + 1, -1), np.where(inner, 2 * node + 2, -1)
    tree = Tree(column, rng.normal(size=node.size), left, right, node % 2 == 0, rng.normal(size=node.size))
    ensemble = Ensemble(assemble([tree]), np.zeros(1, np.int32), 1, n_columns, Sum(np.zeros(1)))
    model = model_of(ensemble)
    rows = rng.normal(size=(30, n_columns)).astype(dtype)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    assert model.walks.packed(dtype, by_slot=False)["skip"].dtype == np.uint32
    assert np.array_equal(model.raw(model.sums(rows)), margins_of(ensemble, rows))


@settings(max_examples=30, deadline=None)
@given(seeds, kinds, st.sampled_from([1, 5, 50]))
def test_a_plan_reads_trees_as_it_reads_their_values(seed, kind, n_rows):
    model = model_of(grown_ensemble(seed, **kind))
    plan, rows = a_plan(model, seed), edgy_rows(seed, n_rows)
    from_values = read_plan(plan, ArraySource(model.values(rows, np.arange(n_rows))))
    full = model.margins(model.sums(rows))
    for X in storages(rows):
        outcome = read_plan(plan, model.source(X))
        assert np.array_equal(outcome.stopped, from_values.stopped)
        assert np.array_equal(outcome.n_read, from_values.n_read)
        np.testing.assert_allclose(outcome.margin[outcome.stopped], from_values.margin[outcome.stopped], rtol=1e-12)
        assert np.array_equal(outcome.margin[~outcome.stopped], full[~outcome.stopped])


def test_threads_change_no_bit():
    model = model_of(grown_ensemble(3, n_trees=20))
    plan, rows = a_plan(model, 5), edgy_rows(1, 50_000)
    alone, together = (read_plan(plan, model.source(rows), n_jobs) for n_jobs in (None, 2))
    assert all(np.array_equal(a, b) for a, b in zip(alone[:3], together[:3], strict=True))


@pytest.mark.parametrize("absent", [0.0, np.nan])
@pytest.mark.parametrize("zeros", [False, True])
def test_what_a_sparse_row_does_not_store_is_zero_or_missing(absent, zeros):
    ensemble = grown_ensemble(8, n_trees=12, zeros=zeros)
    rows = np.where(np.random.default_rng(0).random((60, N_COLUMNS)) < 0.6, 0.0, edgy_rows(2, 60))
    dense = np.where(rows == 0, absent, rows)
    sparse = sp.csr_array(np.where(np.isnan(rows), 0, rows)) + sp.csr_array(np.where(np.isnan(rows), np.nan, 0))
    model = TreeModel(ensemble, np.arange(2), absent=absent)
    assert np.array_equal(model.raw(model.sums(sp.csr_array(sparse))), margins_of(ensemble, dense))


def test_a_row_that_lacks_a_value_has_no_margin_where_the_library_takes_none():
    ensemble = grown_ensemble(4, categorical=())
    strict = model_of(type(ensemble)(**{**vars(ensemble), "takes_missing": False}))
    rows = np.abs(np.nan_to_num(edgy_rows(0, 100), posinf=1, neginf=1))
    used = strict.walks.used
    rows[[7, 60], used[0]] = np.nan
    outcome = read_plan(a_plan(strict, 0), strict.source(rows))
    assert outcome.bad == 7
    assert np.flatnonzero(np.isnan(outcome.margin[:, 0])).tolist() == [7, 60]


@pytest.mark.parametrize(
    ("left", "right"),
    [([1, -1, -1], [1, -1, -1]), ([1, 0, -1], [2, 2, -1]), ([1, -1, -1], [5, -1, -1]), ([-1, -1], [-1, -1])],
    ids=["one child twice", "a cycle", "out of range", "unreachable"],
)
def test_what_is_no_tree_is_refused(left, right):
    n = len(left)
    tree = Tree(np.zeros(n, int), np.zeros(n), np.array(left), np.array(right), np.zeros(n, bool), np.zeros(n))
    with pytest.raises(ValueError, match="tree"):
        assemble([tree])


singles = st.floats(width=32, allow_nan=False)
doubles = st.floats(allow_nan=False)


@given(st.one_of(singles, doubles), st.one_of(singles, doubles))
def test_a_threshold_in_single_precision_decides_every_double_as_before(threshold, value):
    with np.errstate(over="ignore"):
        as_single = np.float32(value)
    moved = single(np.array([threshold]))[0]
    assert (value <= moved) == (float(as_single) <= threshold)
    near = np.nextafter(moved, np.inf)
    with np.errstate(over="ignore"):
        assert float(np.float32(moved)) <= threshold or moved == -np.inf
        assert near == moved or float(np.float32(near)) > threshold


@given(doubles, singles)
def test_a_threshold_for_singles_decides_every_single_as_before(threshold, value):
    assert (np.float32(value) <= at_most(np.array([threshold]))[0]) == (value <= threshold)


@given(singles.filter(lambda threshold: threshold > -np.inf), singles)
def test_less_than_is_at_most_the_number_before(threshold, value):
    assert (np.float32(value) <= below(np.array([threshold], np.float32))[0]) == (value < threshold)

"""Every reader against a plain loop, over every storage."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import reference
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.planning.stst import plan_of_sums
from saccade.reading import arrays, by_parts, reader
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan
from saccade.reading.reader import read_audited, read_plan
from saccade.reading.sources import column_source
from saccade.reading.tables import as_table

N = 12


def random_plan(rng, anew, scores=1):
    """Return a plan with checkpoints at random, whose sums begin anew at each or go on."""
    stops = np.sort(rng.choice(np.arange(1, N), rng.integers(0, 5), replace=False)).astype(np.int64)
    before = np.array([0, *stops], dtype=np.int64)[: stops.size]
    first = np.zeros_like(before) if anew else before
    begins = np.array([0, *np.cumsum(stops - first)], dtype=np.int64)[: stops.size]
    return Plan(
        order=rng.permutation(N).astype(np.uint32),
        checkpoints=stops,
        first=first,
        begins=begins,
        weights=rng.normal(size=(scores, (stops - first).sum())),
        shift=rng.normal(size=(scores, stops.size)),
        lower=-rng.uniform(0, 3, (scores, stops.size)),
        upper=rng.uniform(0, 3, (scores, stops.size)),
        coef=rng.normal(size=(scores, N)),
        intercept=rng.normal(size=scores),
    )


STORAGES = {
    "computed": lambda X: Walked(X),
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every second": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "CSR": sp.csr_array,
    "pandas": lambda X: pd.DataFrame(X, columns=[f"f{j}" for j in range(N)]),
    "pandas column by column": lambda X: pd.concat([pd.Series(X[:, j], name=f"f{j}") for j in range(N)], axis=1),
    "polars": lambda X: pl.DataFrame(X, schema=[f"f{j}" for j in range(N)]),
    "Arrow": lambda X: pa.table({f"f{j}": X[:, j] for j in range(N)}),
    "Arrow in pieces": lambda X: pa.concat_tables(
        [pa.table({f"f{j}": part[:, j] for j in range(N)}) for part in (X[:1], X[1:])]
    ),
}


# CSR rows are read in full where that is sooner done, and their stored values counted: see test_sparse_reading.py.
READ_AS_PLANNED = [name for name in STORAGES if name != "CSR"]


class Walked:
    """A storage that nobody has thought of: values that are computed when they are asked for, one part at a time."""

    def __init__(self, X):
        self.shape, self._X = X.shape, X

    def fill(self, part, rows, size, out):
        out[:size] = self._X[rows[:size], part]

    def take(self, rows):
        return Walked(self._X[rows])


def stored(name, X):
    storage = STORAGES[name](X)
    return storage if isinstance(storage, Walked) else column_source(storage)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("storage", READ_AS_PLANNED)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), anew=st.booleans(), rows=st.integers(1, 40), scores=st.sampled_from([1, 3, 4]))
def test_every_reader_reads_as_the_plain_loop(storage, dtype, seed, anew, rows, scores):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (rows, N)).astype(dtype) if dtype == np.uint8 else rng.normal(size=(rows, N)).astype(dtype)
    plan = random_plan(rng, anew, scores)
    margin, n_read, stopped, bad = read_plan(plan, stored(storage, X), None)
    assert bad == -1
    for i, row in enumerate(X):
        expected = reference.read_row(plan, row)
        assert (n_read[i], stopped[i]) == expected[1:]
        np.testing.assert_allclose(margin[i], expected[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("scores", [1, 3])
def test_blocks_and_threads_change_nothing(storage, anew, scores, monkeypatch):
    rng = np.random.default_rng(5)
    X, plan = rng.normal(size=(300, N)), random_plan(np.random.default_rng(2), anew, scores)
    whole = read_plan(plan, stored(storage, X), None)
    monkeypatch.setattr(arrays, "BLOCK", 7)
    monkeypatch.setattr(by_parts, "BLOCK", 11)
    monkeypatch.setattr(by_parts, "MOST_FIRST_PARTS", 4)
    monkeypatch.setattr(reader, "FEWEST_ROWS", 2)
    parts = read_plan(plan, stored(storage, X), 3)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("scores", [1, 4])
@pytest.mark.parametrize("n_rows", [1, 60, 400])
def test_audited_rows_are_read_by_the_plan_and_in_full_with_the_same_bits(storage, dtype, scores, n_rows, monkeypatch):
    for module, name, value in ((arrays, "BLOCK", 7), (by_parts, "BLOCK", 60), (reader, "FEWEST_ROWS", 200)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(by_parts, "MOST_FIRST_PARTS", 4)
    rng = np.random.default_rng(n_rows + scores)
    X = (4 * rng.random((n_rows, N))).astype(dtype)
    plan = random_plan(rng, anew=scores == 1, scores=scores)
    chosen = np.flatnonzero(rng.random(n_rows) < rng.random()).astype(np.uint32)
    early, full = read_audited(plan, stored(storage, X), chosen)
    for one, other in zip(early, read_plan(plan, stored(storage, X)), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(full, read_plan(plan.without_stops(), stored(storage, X)).some(chosen), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip((early, full), read_audited(plan, stored(storage, X), chosen, 3), strict=True):
        for values, again in zip(one, other, strict=True):
            np.testing.assert_array_equal(values, again)


@pytest.mark.parametrize("storage", STORAGES)
def test_audited_rows_that_are_not_finite_are_those_of_a_full_read(storage):
    rng = np.random.default_rng(4)
    X, plan = rng.normal(size=(60, N)), random_plan(np.random.default_rng(2), anew=False)
    weightless, last = plan.order[-2:]
    plan.coef[:, weightless] = 0
    X[5:20, weightless], X[12:30, last] = np.nan, np.inf
    chosen = np.arange(0, 60, 3, dtype=np.uint32)
    _, full = read_audited(plan, stored(storage, X), chosen)
    expected = read_plan(plan.without_stops(), stored(storage, X)).some(chosen)
    np.testing.assert_array_equal(chosen[~np.isfinite(full.margin[:, 0])], [12, 15, 18, 21, 24, 27])
    for one, other in zip(full, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_value_that_is_not_finite_is_found_where_it_is_read_and_nowhere_else(storage):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, N))
    order = np.arange(N)
    always = plan_of_sums(order, np.ones(N), 0.0, np.array([3]), np.array([0.0]), np.array([0.0]), np.ones(N))
    X[20, 5] = np.nan
    assert read_plan(always, stored(storage, X), None)[3] == -1
    X[30, 1] = np.nan
    assert read_plan(always, stored(storage, X), None)[3] == 30


def test_a_pandas_table_in_one_array_is_read_there_and_any_other_by_its_columns():
    X = np.random.default_rng(0).normal(size=(20, N))
    np.testing.assert_array_equal(as_table(STORAGES["pandas"](X)).one_array(), X)
    assert isinstance(stored("pandas", X), ArraySource)
    mixed = pd.DataFrame({"age": [1.0, 2.0], "count": [3, 4]})
    for table in (mixed, pl.DataFrame(mixed), mixed[:0]):
        assert as_table(table).one_array() is None


def test_a_column_of_text_is_named_when_it_is_asked_for():
    table = as_table(pd.DataFrame({"age": [1.0, 2.0], "name": ["a", "b"]}))
    assert table.column(0).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="'name'"):
        table.column(1)


@pytest.mark.parametrize("storage", READ_AS_PLANNED)
def test_sums_may_begin_anew_after_they_went_on(storage):
    """The last checkpoint weighs values that were read before rows were decided, and moved together, twice."""
    plan = Plan(
        order=np.arange(N, dtype=np.uint32),
        checkpoints=np.array([1, 2, 3]),
        first=np.array([0, 1, 0]),
        begins=np.array([0, 1, 2]),
        weights=np.array([[10.0, 0.0, 1.0, 1.0, 1.0]]),
        shift=np.zeros((1, 3)),
        lower=np.array([[-9.0, -9.0, 0.0]]),
        upper=np.array([[9.0, 9.0, 0.0]]),
        coef=np.ones((1, N)),
        intercept=np.zeros(1),
    )
    X = np.zeros((3, N))
    X[:, :3] = [[1.0, 0.0, 0.0], [0.5, 0.0, -9.0], [0.0, 1.0, 0.0]]
    assert read_plan(plan, stored(storage, X)).margin[:, 0].tolist() == [10.0, -8.5, 1.0]


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray], ids=["rows", "columns"])
@pytest.mark.parametrize("scores", [1, 2, 4, 9])
def test_full_margins_are_the_product_and_have_the_same_bits_whatever_rows_are_undecided_too(layout, scores):
    rng = np.random.default_rng(scores)
    X, n = rng.normal(size=(700, 13)), 13
    X[:, 0] = np.arange(700) % 3 != 0
    plan = Plan.in_full(rng.normal(size=(scores, n)), rng.normal(size=scores))
    whole = read_plan(plan, ArraySource(layout(X)))
    np.testing.assert_allclose(whole.margin, X @ plan.coef.T + plan.intercept)
    # One checkpoint, after the first column, decides two rows of three.
    weights = np.zeros((scores, 1))
    weights[0] = 1.0
    lower, upper = np.full((scores, 1), -np.inf), np.full((scores, 1), 0.5)
    one, none = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    first = np.zeros(1, dtype=np.uint32)
    some = plan._replace(
        order=first,
        checkpoints=one,
        first=none,
        begins=none,
        weights=weights,
        shift=0 * weights,
        lower=lower,
        upper=upper,
    )
    scattered = read_plan(some, ArraySource(layout(X)))
    np.testing.assert_array_equal(scattered.stopped, X[:, 0] == 1)
    np.testing.assert_array_equal(scattered.margin[~scattered.stopped], whole.margin[~scattered.stopped])


def test_rows_of_another_width_are_refused():
    plan = random_plan(np.random.default_rng(0), anew=True)
    with pytest.raises(ValueError, match=f"reads {N} features, but the rows have 2"):
        read_plan(plan, ArraySource(np.zeros((5, 2))))


def test_several_scores_with_a_value_that_is_not_finite_are_not_decided():
    plan = random_plan(np.random.default_rng(3), anew=True, scores=3)
    X = np.zeros((4, N))
    X[2, plan.order[0]] = np.nan
    outcome = read_plan(plan, ArraySource(X))
    assert outcome.bad == 2
    assert np.isnan(outcome.margin[2]).any()


COLUMNS = {
    "big-endian": lambda values: values.astype(">f8"),
    "half": lambda values: values.astype(np.float16),
    "extended": lambda values: values.astype(np.longdouble),
    "objects": lambda values: values.astype(object),
    "Decimal": lambda values: np.array([Decimal(str(value)) for value in values]),
    "integers": lambda values: values.astype(np.int64),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_any_kind_of_number_are_read(kind):
    X = np.random.default_rng(0).integers(-8, 8, (50, N)).astype(np.float64)
    plan = random_plan(np.random.default_rng(1), anew=True)
    frame = pd.DataFrame({f"f{j}": COLUMNS[kind](X[:, j]) for j in range(N)})
    expected = read_plan(plan, ArraySource(X))
    np.testing.assert_allclose(read_plan(plan, stored("polars", X)).margin, expected.margin)  # kernels are compiled now
    outcome = read_plan(plan, column_source(frame))
    np.testing.assert_allclose(outcome.margin, expected.margin)
    np.testing.assert_array_equal(outcome.n_read, expected.n_read)


@pytest.mark.parametrize("missing", [None, pd.NA], ids=str)
def test_a_missing_value_among_objects_is_not_a_number(missing):
    table = as_table(pd.DataFrame({"flag": pd.Series([True, missing, False], dtype=object)}))
    np.testing.assert_array_equal(table.column(0), [1.0, np.nan, 0.0])

"""Every reader against a plain loop, over every storage."""

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
from saccade.reading import arrays, reader
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan
from saccade.reading.reader import read_plan
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
@pytest.mark.parametrize("storage", STORAGES)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), anew=st.booleans(), rows=st.integers(1, 40), scores=st.sampled_from([1, 3, 4]))
def test_every_reader_reads_as_the_plain_loop(storage, dtype, seed, anew, rows, scores):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (rows, N)).astype(dtype) if dtype == np.uint8 else rng.normal(size=(rows, N)).astype(dtype)
    if storage == "CSR" and dtype == np.uint8:
        X = X.astype(np.float64)
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
    monkeypatch.setattr(reader, "BLOCK", 11)
    monkeypatch.setattr(reader, "MOST_FIRST_PARTS", 4)
    monkeypatch.setattr(reader, "FEWEST_ROWS", 2)
    parts = read_plan(plan, stored(storage, X), 3)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("storage", [name for name in STORAGES if name != "CSR"])
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

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

from saccade.plan import Plan, plan_of_sums
from saccade.readers import arrays, dispatch, tables
from saccade.readers.dispatch import read_plan
from saccade.readers.tables import as_table

N = 12


def random_plan(rng, anew):
    """Return a plan with checkpoints at random, whose sums begin anew at each or go on."""
    stops = np.sort(rng.choice(np.arange(1, N), rng.integers(0, 5), replace=False)).astype(np.int64)
    order, coef, offset = rng.permutation(N), rng.normal(size=N), float(rng.normal())
    upper, lower = rng.uniform(0, 3, stops.size), -rng.uniform(0, 3, stops.size)
    if not anew:
        return plan_of_sums(order, coef[order], offset, stops, lower, upper, coef)
    first = np.zeros(stops.size, dtype=np.int64)
    weights, shift = rng.normal(size=stops.sum()), rng.normal(size=stops.size)
    return Plan(order.astype(np.uint32), stops, first, weights, shift, lower, upper, coef, offset)


STORAGES = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every second": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "CSR": sp.csr_array,
    "pandas": lambda X: pd.DataFrame(X, columns=[f"f{j}" for j in range(N)]),
    "polars": lambda X: pl.DataFrame(X, schema=[f"f{j}" for j in range(N)]),
    "Arrow": lambda X: pa.table({f"f{j}": X[:, j] for j in range(N)}),
}


def stored(name, X):
    storage = STORAGES[name](X)
    return as_table(storage) or storage


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("storage", STORAGES)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), anew=st.booleans(), rows=st.integers(1, 40))
def test_every_reader_reads_as_the_plain_loop(storage, dtype, seed, anew, rows):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (rows, N)).astype(dtype) if dtype == np.uint8 else rng.normal(size=(rows, N)).astype(dtype)
    if storage == "CSR" and dtype == np.uint8:
        X = X.astype(np.float64)
    plan = random_plan(rng, anew)
    margin, n_read, stopped, bad = read_plan(plan, stored(storage, X), None)
    assert bad == -1
    for i, row in enumerate(X):
        expected = reference.read_row(plan, row)
        assert (n_read[i], stopped[i]) == expected[1:]
        assert margin[i] == pytest.approx(expected[0], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("anew", [False, True])
def test_blocks_and_threads_change_nothing(storage, anew, monkeypatch):
    rng = np.random.default_rng(5)
    X, plan = rng.normal(size=(300, N)), random_plan(np.random.default_rng(2), anew)
    whole = read_plan(plan, stored(storage, X), None)
    monkeypatch.setattr(arrays, "BLOCK", 7)
    monkeypatch.setattr(tables, "BLOCK", 11)
    monkeypatch.setattr(dispatch, "FEWEST_ROWS", 2)
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


def test_a_column_of_text_is_named_when_it_is_asked_for():
    table = as_table(pd.DataFrame({"age": [1.0, 2.0], "name": ["a", "b"]}))
    assert table.column(0).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="'name'"):
        table.column(1)

"""Raw columns of any storage: the same scores, and missing values where the model sends them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from termed import KINDS, NAMES, STATES, estimator_of, looked_up, model_of, rows_of

import saccade
from saccade.exceptions import NotNumbersError
from saccade.models.tables.assembling import assemble
from saccade.models.tables.blocks import Block, Raw, mapped
from saccade.models.tables.maps import Fill, Indicate, Scale

ROWS = rows_of(300, gaps=0.2)
MODEL = model_of()
EXPECTED = MODEL.source(ROWS.to_numpy(object)).values()
TEXTS, WHOLE = ["state", "level", "unused"], ["kind", "hours"]


def chunked(table):
    """Return an Arrow table in pieces, each of which has dictionaries of its own."""
    coded = [
        table.set_column(0, "state", table.column("state").slice(0).combine_chunks().dictionary_encode()).slice(
            start, 70
        )
        for start in range(0, table.num_rows, 70)
    ]
    own = []
    for part in coded:
        texts = part.column("state").combine_chunks().cast(pa.string())
        own.append(part.set_column(0, "state", texts.dictionary_encode()))
    return pa.concat_tables(own)


def with_na(frame):
    """Return objects with every way of saying that a value is missing."""
    made = frame.astype(object)
    ways = [None, np.nan, pd.NA, float("nan"), pd.NaT]
    for name in frame.columns:
        for k, row in enumerate(np.flatnonzero(frame[name].isna())):
            made.iat[row, made.columns.get_loc(name)] = ways[k % len(ways)]
    return made


ARROW = pa.Table.from_pandas(ROWS, preserve_index=False)
POLARS = pl.from_arrow(ARROW)
STORAGES = {
    "pandas": ROWS,
    "pandas objects": with_na(ROWS),
    "pandas categories": ROWS.astype(dict.fromkeys(TEXTS, "category")),
    "pandas categories of numbers": ROWS.astype({"kind": "category"}),
    "pandas categories that no row has": ROWS.assign(
        state=pd.Categorical(ROWS["state"], categories=["zz", *STATES[::-1], "other", "unheard"])
    ),
    "pandas strings": ROWS.astype(dict.fromkeys(TEXTS, "string")),
    "pandas nullable": ROWS.astype(dict.fromkeys(WHOLE, "Int64") | {"age": "Float64", "score": "Float64"}),
    "pandas of Arrow": ROWS.convert_dtypes(dtype_backend="pyarrow"),
    "an array of objects": ROWS.to_numpy(object),
    "an array with every way of missing": with_na(ROWS).to_numpy(object),
    "polars": POLARS,
    "polars categories": POLARS.with_columns(pl.col("state").cast(pl.Categorical)),
    "polars enumerations": POLARS.with_columns(pl.col("level").cast(pl.Enum(["unheard", "high", "low"]))),
    "polars integers with nulls": POLARS.with_columns(
        pl.col("kind").fill_nan(None).cast(pl.Int32), pl.col("hours").cast(pl.UInt8)
    ),
    "polars in pieces": pl.concat([POLARS[:100], POLARS[100:]], rechunk=False),
    "Arrow": ARROW,
    "Arrow integers with nulls": ARROW.set_column(6, "kind", ARROW.column("kind").cast(pa.int8())),
    "Arrow dictionaries": ARROW.set_column(0, "state", ARROW.column("state").dictionary_encode()),
    "Arrow dictionaries of numbers": ARROW.set_column(6, "kind", ARROW.column("kind").dictionary_encode()),
    "Arrow in chunks with dictionaries of their own": chunked(ARROW),
    "Arrow large texts": ARROW.set_column(0, "state", ARROW.column("state").cast(pa.large_string())),
    "Arrow views of texts": ARROW.set_column(0, "state", ARROW.column("state").cast(pa.string_view())),
}


@pytest.mark.parametrize("name", STORAGES)
def test_every_storage_gives_the_same_scores(name):
    source = MODEL.source(STORAGES[name])
    np.testing.assert_array_equal(source.values(), EXPECTED)
    some = np.array([3, 4, 90, 210, 299], dtype=np.uint32)
    out = np.empty(5)
    for part in range(source.shape[1]):
        if np.isfinite(EXPECTED[:, part]).all() and EXPECTED[:, part].any():
            source.fill(part, some, 5, out)
            np.testing.assert_array_equal(out, EXPECTED[some, part])
    np.testing.assert_array_equal(source.take(slice(20, 80)).values(), EXPECTED[20:80])
    chosen = np.array([5, 1, 200])
    np.testing.assert_array_equal(source.take(chosen).values(), EXPECTED[chosen])
    np.testing.assert_array_equal(source.take(slice(20, 80)).take(np.array([2, 9])).values(), EXPECTED[[22, 29]])


@pytest.mark.parametrize("name", [name for name in STORAGES if name != "Arrow views of texts"])  # no rows can be taken
def test_missing_values_are_values_in_planning_and_in_reading(name):
    model = estimator_of()
    rows = pd.concat([ROWS] * 8, ignore_index=True)
    attentive = saccade.attend(model, rows, delta=0.3, when_too_few="read", random_state=0)
    expected = attentive.read(ROWS)
    stored = STORAGES[name]
    if isinstance(stored, np.ndarray):
        stored = pd.DataFrame(stored, columns=NAMES)
    np.testing.assert_array_equal(attentive.read(stored).margin, expected.margin)
    np.testing.assert_array_equal(model.predict(stored), model.predict(ROWS))


def test_plans_are_the_same_whatever_the_storage():
    model, frame = estimator_of(), rows_of(2000)
    terms = {"delta": 0.3, "when_too_few": "read", "random_state": 0}
    expected = saccade.attend(model, frame, **terms)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for rows in (with_na(frame), table, pl.from_arrow(table)):
        planned = saccade.attend(model, rows, **terms)
        np.testing.assert_array_equal(planned.plan_.order, expected.plan_.order)
        np.testing.assert_array_equal(planned.plan_.upper, expected.plan_.upper)
        np.testing.assert_array_equal(planned.population_.missing, expected.population_.missing)
    nameless = saccade.attend(estimator_of(names=None), frame.to_numpy(object), **terms)
    np.testing.assert_array_equal(nameless.plan_.upper, expected.plan_.upper)


MISSING = {
    "pandas": lambda frame: frame,
    "objects": with_na,
    "strings": lambda frame: frame.astype({"level": "string", "income": "Float64"}),
    "categories": lambda frame: frame.astype({"level": "category"}),
    "polars": pl.from_pandas,
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("storage", MISSING)
@pytest.mark.parametrize(("column", "said"), [("level", "no value"), ("income", "NaN")])
def test_a_model_without_a_way_for_a_missing_value_names_row_and_column(column, said, storage):
    frame = rows_of(600)
    model = saccade.attend(estimator_of(), frame, delta=0.3, when_too_few="read", boundary="full", random_state=0)
    frame.loc[17, column] = None
    rows = MISSING[storage](frame)
    with pytest.raises(ValueError, match=f"Row 17 of X has {said} in column '{column}'"):
        model.predict(rows)
    with pytest.raises(ValueError, match=f"Row 17 of X has {said} in column '{column}'"):
        saccade.attend(estimator_of(), rows, delta=0.3, when_too_few="read", random_state=0)


def test_a_value_that_an_encoder_refuses_names_row_and_column():
    frame = rows_of(600)
    model = saccade.attend(estimator_of(), frame, delta=0.3, when_too_few="read", boundary="full", random_state=0)
    frame.loc[9, "level"] = "middle"
    with pytest.raises(ValueError, match=r"Row 9 of X has a value that is none of \['low', 'high'\] in column 'level'"):
        model.predict(frame)
    with pytest.raises(NotNumbersError, match=r"Column 'age' holds 'old'"):
        model.predict(frame.astype({"age": object}).assign(age="old"))


@pytest.mark.parametrize("storage", MISSING)
def test_what_is_missing_in_a_column_that_is_not_read_does_not_matter(storage):
    frame = rows_of(3000)
    model = saccade.attend(estimator_of(), frame, delta=0.3, when_too_few="read", random_state=0)
    expected = model.read(frame)
    level, income = (model.additive_.columns.index(name) for name in ("level", "income"))
    for column in (level, income):
        reach = [
            position for position, part in enumerate(model.plan_.order) if column in model.additive_.terms[part].columns
        ]
        unread = expected.n_read <= min(reach)
        if not unread.any():
            continue
        gaps = frame.copy()
        gaps.loc[unread, NAMES[column]] = None
        reading = model.read(MISSING[storage](gaps))
        np.testing.assert_array_equal(reading.margin, expected.margin)
    unused = frame.assign(unused=None)
    np.testing.assert_array_equal(model.read(MISSING[storage](unused)).margin, expected.margin)
    np.testing.assert_array_equal(model.read(MISSING[storage](frame.drop(columns="unused"))).margin, expected.margin)


def number_model():
    """Return a model of one number, of which 0.5 stands for a missing one, and of categories that are numbers."""
    blocks = [
        Block(np.array([0]), mapped(mapped(Raw(0), Fill(np.nan, np.array([0.5]))), Scale.of(1, over=2.0))),
        Block(np.array([1]), mapped(Raw(0), Indicate(np.nan))),
        Block(np.arange(2, 5), looked_up(1, KINDS, np.vstack([np.eye(3), [[0] * 3, [1] * 3]]))),
    ]
    return assemble(blocks, np.array([[2.0, 10, 1, 2, 4]]), np.zeros(1), np.array([0, 1]), 2, ["x", "kind"])


numbers = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-100, 100)), st.one_of(st.none(), st.sampled_from([1, 2, 5, 7, -3, 120]))
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=examples(500))
@given(numbers)
def test_whole_numbers_with_gaps_are_the_same_in_every_library(pairs):
    model = number_model()
    x, kind = (list(values) for values in zip(*pairs, strict=True))
    weights = {1: 1.0, 2: 2.0, 5: 4.0, None: 7.0}
    expected = [(10.5 if value is None else value) + weights.get(own, 0.0) for value, own in pairs]
    columns = {"x": x, "kind": kind}
    small = {"x": pa.array(x, pa.int16()), "kind": pa.array(kind, pa.int8())}
    for rows in (
        pd.DataFrame(columns, dtype=object),
        pd.DataFrame(columns, dtype="Int64"),
        pd.DataFrame(columns, dtype="float32"),
        pd.DataFrame(columns, dtype="Int8").astype("category"),
        pl.DataFrame(columns, schema={"x": pl.Int64, "kind": pl.Int16}),
        pa.table(small),
        pa.table({name: values.dictionary_encode() for name, values in small.items()}),
        np.array(list(zip(x, kind, strict=True)), dtype=object),
        np.array(list(zip(x, kind, strict=True)), dtype=float),
    ):
        np.testing.assert_array_equal(model.source(rows).values().sum(axis=1), expected)


def test_columns_without_any_value_are_missing_everywhere():
    model = number_model()
    nothing = [None] * 4
    for rows in (
        pd.DataFrame({"x": nothing, "kind": nothing}),
        pd.DataFrame({"x": nothing, "kind": nothing}, dtype="Int64"),
        pl.DataFrame({"x": nothing, "kind": nothing}),
        pl.DataFrame({"x": nothing, "kind": nothing}, schema={"x": pl.Float32, "kind": pl.Int8}),
        pa.table({"x": pa.nulls(4), "kind": pa.nulls(4)}),
        pa.table({"x": pa.nulls(4, pa.int64()), "kind": pa.nulls(4, pa.int8())}),
    ):
        np.testing.assert_array_equal(model.source(rows).values().sum(axis=1), [17.5] * 4)


def test_booleans_with_gaps_are_numbers():
    model, values = number_model(), [True, None, False]
    for rows in (
        pd.DataFrame({"x": values, "kind": [1, 2, 5]}),
        pd.DataFrame({"x": pd.array(values, "boolean"), "kind": [1, 2, 5]}),
        pl.DataFrame({"x": values, "kind": [1, 2, 5]}),
        pa.table({"x": values, "kind": [1, 2, 5]}),
    ):
        np.testing.assert_array_equal(model.source(rows).values().sum(axis=1), [2.0, 12.5, 4.0])


def test_tables_without_rows_have_no_scores():
    for name in ("pandas", "pandas categories", "polars", "polars categories", "Arrow"):
        none = STORAGES[name].slice(0, 0) if name == "Arrow" else STORAGES[name][:0]
        assert MODEL.source(none).values().shape == (0, EXPECTED.shape[1])


def test_sparse_rows_hold_numbers_and_codes():
    model = number_model()
    dense = np.array([[0.0, 5.0], [3.0, 0.0], [np.nan, 1.0]])
    expected = model.source(dense).values()
    for made in (sp.csr_array(dense), sp.csr_matrix(dense), sp.csc_array(dense)):
        np.testing.assert_array_equal(model.source(made).values(), expected)


def test_entries_that_are_stored_twice_are_refused():
    """A step of scikit-learn takes each of them for a value of its own."""
    twice = sp.csr_array((np.ones(3), [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    with pytest.raises(ValueError, match="X stores 1 entries more than once"):
        number_model().source(twice)


def test_an_infinite_number_is_refused_and_not_filled_in():
    frame = rows_of(600)
    model = saccade.attend(estimator_of(), frame, delta=0.3, when_too_few="read", boundary="full", random_state=0)
    assert model.additive_.takes_missing[5]
    for name in ("score", "age", "hours"):
        bad = frame.copy()
        bad.loc[4, name] = -np.inf
        with pytest.raises(ValueError, match=f"Row 4 of X has -inf in column '{name}'"):
            model.predict(bad)


DATES = pd.date_range("2024-01-01", periods=300, freq="h")


@pytest.mark.parametrize("column", ["state", "age", "kind"])
@pytest.mark.parametrize(
    "values",
    [DATES, DATES.tz_localize("UTC"), DATES - DATES[0], DATES.astype(object), DATES.date],
    ids=lambda v: v.dtype,
)
def test_dates_and_times_are_neither_numbers_nor_categories(column, values):
    frame = ROWS.assign(**{column: values})
    array = ROWS.to_numpy(object)
    array[:, NAMES.index(column)] = values
    for rows in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), array):
        for some in (rows, rows[:3]):
            with pytest.raises(NotNumbersError, match=rf"Column ({column!r}|\d) "):
                MODEL.source(some).values()

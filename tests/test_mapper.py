"""The mapper: Arrow rows in, labels out, in whatever batches, on whatever machine."""

import json
import pickle
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from attended import attended
from attended_trees import attended as attended_trees
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from termed import estimator_of, rows_of

import saccade
from data import correlated

ROWS = 300
PAGE = Path(__file__).parent.parent / "docs" / "production.md"


@cache
def model_and_rows(name):
    """Return a certified model, rows of a frame with a key, and their labels by the model's own predict."""
    if name == "terms":
        frame = rows_of()
        model = saccade.attend(estimator_of(), frame[1000:], delta=0.1, random_state=0)
    elif name.startswith("linear"):
        model, frame = attended(name.removeprefix("linear, "))
    else:
        model, frame = attended_trees(name)
    frame = frame[:ROWS]
    return model, frame.assign(key=np.arange(ROWS) * 7 % 1000), model.predict(frame)


NAMES = ["linear, two classes", "linear, four classes", "lightgbm", "lightgbm, gaps", "lightgbm, three", "terms"]


def table(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def with_a_gap(frame):
    frame = frame.copy()
    frame.iloc[3] = None
    return frame


def batches(frame, cuts):
    """Cut a table into record batches at these rows, some of which may be the same."""
    ends = [*sorted(cuts), len(frame)]
    whole = table(frame).combine_chunks().to_batches()[0]
    return [whole.slice(start, end - start) for start, end in zip([0, *ends], ends, strict=False)]


def labels_in(found):
    return [label for labels in found for label in labels.column("label").to_pylist()]


@pytest.mark.parametrize("name", NAMES)
@given(cuts=st.lists(st.integers(0, ROWS), max_size=8))
@settings(max_examples=examples(100))
def test_labels_do_not_depend_on_how_rows_are_cut_into_batches(name, cuts):
    model, frame, labels = model_and_rows(name)
    given_batches = batches(frame, cuts)
    found = list(saccade.mapper(model, keep="key")(iter(given_batches)))
    assert [batch.num_rows for batch in found] == [batch.num_rows for batch in given_batches]
    assert labels_in(found) == labels.tolist()
    assert [key for batch in found for key in batch.column("key").to_pylist()] == frame["key"].tolist()
    assert all(isinstance(batch, pa.RecordBatch) for batch in found)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_columns_that_it_names_are_needed(name):
    model, frame, labels = model_and_rows(name)
    label = saccade.mapper(model, keep=["key"])
    assert label.columns == ["key", *model.columns_]
    rows = table(frame).select(label.columns[::-1])
    assert label(rows).column("label").to_pylist() == labels.tolist()
    assert str(label) == f"Mapper(columns={label.columns})"


def test_a_column_that_is_not_read_may_hold_anything():
    model, frame, labels = model_and_rows("terms")
    assert "unused" not in model.columns_
    rows = table(frame).drop_columns("unused").append_column("unused", [[[1], None] * (ROWS // 2)])
    assert saccade.mapper(model)(rows).column("label").to_pylist() == labels.tolist()


def test_a_feature_can_be_kept_too():
    model, frame, labels = model_and_rows("linear, two classes")
    label = saccade.mapper(model, keep=model.columns_[:1])
    assert label.columns == model.columns_
    assert label(table(frame)).equals(table(frame).select(model.columns_[:1]).append_column("label", [labels]))


# What goes in tells what comes out


def test_a_batch_gives_a_batch_and_a_table_a_table():
    model, frame, labels = model_and_rows("linear, two classes")
    label, cut = saccade.mapper(model), batches(frame, [100])
    assert isinstance(label(cut[1]), pa.RecordBatch)
    assert label(cut[1]).column("label").to_pylist() == labels[100:].tolist()
    in_chunks = label(pa.Table.from_batches(cut))
    assert isinstance(in_chunks, pa.Table)
    assert in_chunks.column("label").to_pylist() == labels.tolist()


def test_batches_are_read_when_they_are_asked_for():
    model, frame, _ = model_and_rows("linear, two classes")
    asked = []

    def one_by_one():
        for batch in batches(frame, [100, 200]):
            asked.append(batch.num_rows)
            yield batch

    found = saccade.mapper(model)(one_by_one())
    assert asked == []
    next(found)
    assert asked == [100]


@pytest.mark.parametrize(
    "stream",
    [
        lambda frame: pa.RecordBatchReader.from_batches(table(frame).schema, batches(frame, [10, 10, 200])),
        pl.from_pandas,
        lambda frame: duckdb.from_arrow(table(frame)),
        lambda frame: frame,
    ],
    ids=["reader", "polars", "DuckDB", "pandas"],
)
@pytest.mark.parametrize("name", ["linear, two classes", "terms"])
def test_a_stream_gives_a_stream(name, stream):
    model, frame, labels = model_and_rows(name)
    if not hasattr(frame, "__arrow_c_stream__") and stream(frame) is frame:
        pytest.skip("this version of pandas has no stream")
    found = saccade.mapper(model, keep="key")(stream(frame))
    assert isinstance(found, pa.RecordBatchReader)
    assert found.schema.names == ["key", "label"]
    read = found.read_all()
    assert read.column("label").to_pylist() == labels.tolist()
    assert read.column("key").to_pylist() == frame["key"].tolist()


# Types


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        (["no", "yes"], pa.string()),
        (np.array(["no", "yes"], dtype=object), pa.string()),
        ([3, -8], pa.int64()),
        (np.array([0, 9], dtype=np.uint8), pa.int64()),
        (np.array([0.0, 2.0], dtype=np.float32), pa.float64()),
        ([False, True], pa.bool_()),
    ],
)
def test_labels_have_the_type_of_the_classes(classes, kind):
    X, y = correlated(2000, 6, seed=0, separation=4.0)
    frame = pd.DataFrame(X).add_prefix("x")
    model = LogisticRegression().fit(frame[:500], np.asarray(classes)[y[:500]])
    attentive = saccade.attend(model, frame[500:], delta=0.1, random_state=0)
    found = saccade.mapper(attentive)(table(frame))
    assert found.schema.field("label").type == kind
    assert found.column("label").to_pylist() == attentive.predict(frame).tolist()
    assert saccade.mapper(attentive)(table(frame)[:0]).schema == found.schema


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.large_string()),
    ],
    ids=str,
)
@given(cuts=st.lists(st.integers(0, ROWS), max_size=4))
@settings(max_examples=examples(50))
def test_texts_of_every_type_are_read(kind, cuts):
    """Nulls among them, and batches whose dictionaries differ."""
    model, frame, labels = model_and_rows("terms")

    def cast(batch):
        for place, name in enumerate(batch.schema.names):
            if pa.types.is_string(batch.column(place).type) or pa.types.is_large_string(batch.column(place).type):
                values = batch.column(place)
                held = pa.types.is_dictionary(kind)
                values = values.cast(kind.value_type).dictionary_encode().cast(kind) if held else values.cast(kind)
                batch = batch.set_column(place, name, values)
        return batch

    given_batches = [cast(batch) for batch in batches(frame, cuts)]
    assert any(batch.schema.field("state").type == kind for batch in given_batches)
    assert labels_in(saccade.mapper(model)(given_batches)) == labels.tolist()


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.int16(), pa.decimal128(25, 2)], ids=str)
def test_numbers_of_every_type_are_read(kind):
    model, frame, _ = model_and_rows("linear, two classes")
    rounded = frame.drop(columns="key").round()
    rows = pa.table({name: pa.array(rounded[name]).cast(pa.int64()).cast(kind) for name in rounded})
    assert saccade.mapper(model)(rows).column("label").to_pylist() == model.predict(rounded).tolist()


def test_a_null_is_what_it_is_to_predict():
    gaps, frame, labels = model_and_rows("lightgbm, gaps")
    rows = table(frame)
    assert rows.column("age").null_count > 0
    assert saccade.mapper(gaps)(rows).column("label").to_pylist() == labels.tolist()
    model, frame, _ = model_and_rows("linear, two classes")
    with pytest.raises(ValueError, match=f"NaN at row 3, feature '{model.columns_[0]}'"):
        saccade.mapper(model)(table(with_a_gap(frame)))


# Elsewhere

WORKER = """
import json, pickle, sys
import pyarrow as pa, pyarrow.ipc

found = []
for path, rows in zip(sys.argv[1::2], sys.argv[2::2]):
    with open(path, "rb") as file:
        label = pickle.load(file)
    with pa.ipc.open_file(rows) as reader:
        given = (reader.get_batch(k) for k in range(reader.num_record_batches))
        found.append([value for batch in label(given) for value in batch.column("label").to_pylist()])
print(json.dumps({"found": found, "needs LightGBM": "lightgbm" in sys.modules}))
"""


def test_it_travels_by_pickle_and_cloudpickle_without_the_library_of_the_model(tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle", reason="dask brings it")
    arguments, expected = [], []
    for k, (name, dumps) in enumerate([("lightgbm", pickle.dumps), ("terms", cloudpickle.dumps)]):
        model, frame, labels = model_and_rows(name)
        saccade.save(model, tmp_path / "model.saccade")
        for how, held in (("fitted", model), ("loaded", saccade.load(tmp_path / "model.saccade"))):
            sent = dumps(saccade.mapper(held, keep="key"))
            assert len(sent) < 0.75 * len(dumps(held))
            path, rows = tmp_path / f"{k}-{how}.pickle", tmp_path / f"{k}-{how}.arrow"
            path.write_bytes(sent)
            with pa.ipc.new_file(rows, table(frame).schema) as writer:
                writer.write_table(table(frame), max_chunksize=70)
            arguments += [path, rows]
            expected.append(labels.tolist())
    ran = subprocess.run([sys.executable, "-c", WORKER, *arguments], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == {"found": expected, "needs LightGBM": False}


def test_duckdb_reads_the_columns_that_are_asked_for_and_keeps_labels_beside_keys(tmp_path):
    model, frame, labels = model_and_rows("terms")
    pq.write_table(table(frame), tmp_path / "rows.parquet", row_group_size=64)
    label = saccade.mapper(model, keep="key")
    with duckdb.connect() as database:
        reading = database.cursor()  # a connection has one result at a time
        columns = ", ".join(f'"{name}"' for name in label.columns)
        found = label(reading.sql(f"SELECT {columns} FROM '{tmp_path / 'rows.parquet'}'"))
        database.register("found", found)
        database.execute("CREATE TABLE labels AS SELECT * FROM found")
        held = dict(database.execute("SELECT key, label FROM labels").fetchall())
        assert held == dict(zip(frame["key"].tolist(), labels.tolist(), strict=True))
        kinds = database.execute("SELECT column_name, column_type FROM (DESCRIBE labels)").fetchall()
        assert kinds == [("key", "BIGINT"), ("label", "VARCHAR")]


def test_what_is_wrong_is_said_through_duckdb_too():
    model, frame, _ = model_and_rows("linear, two classes")
    rows = table(with_a_gap(frame))
    with duckdb.connect() as database, database.cursor() as reader:
        database.register("found", saccade.mapper(model)(reader.from_arrow(rows)))
        with pytest.raises(duckdb.Error, match="NaN at row 3"):
            database.execute("CREATE TABLE labels AS SELECT * FROM found")


@pytest.mark.parametrize("streamable", [False, True])
def test_polars_maps_a_lazy_frame(tmp_path, streamable):
    model, frame, labels = model_and_rows("terms")
    pl.from_pandas(frame).write_parquet(tmp_path / "rows.parquet", row_group_size=64)
    label = saccade.mapper(model, keep="key")
    found = (
        pl.scan_parquet(tmp_path / "rows.parquet")
        .select(label.columns)
        .map_batches(
            lambda rows: pl.DataFrame(label(rows.to_arrow())),
            schema={"key": pl.Int64, "label": pl.String},
            streamable=streamable,
        )
        .collect()
    )
    assert found["label"].to_list() == labels.tolist()
    assert found["key"].to_list() == frame["key"].tolist()


def snippets(heading):
    """The code under a heading of the page on production, up to the next heading."""
    section = re.search(rf"^#+ {heading}\n(.*?)(?=^#+ [A-Z]|\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("engine", ["DuckDB", "Polars"])
def test_the_snippets_of_the_page_run_as_they_stand(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for snippet in [*snippets("Other engines: Spark, Ray, DuckDB, Polars"), *snippets(engine)]:
        exec(snippet, names)
    rows = names["table"]
    if engine == "DuckDB":
        found = names["database"].execute("FROM labelled ORDER BY id").fetchall()
    else:
        found = names["labels"].sort("id").rows()
    expected = names["attentive"].predict(rows[names["features"]])
    assert found == list(zip(rows["id"].tolist(), expected.tolist(), strict=True))


@pytest.mark.parametrize("engine", ["Spark", "Ray"])
def test_the_snippets_that_need_a_cluster_are_said_to_be_untested(engine):
    (snippet,) = snippets(engine)
    compile(snippet, engine, "exec")
    assert re.search(rf"^### {engine}\n\nNot run in this project's tests", PAGE.read_text(), re.MULTILINE)


# What is refused, and what is not


def test_columns_that_are_not_there_are_named():
    model, frame, _ = model_and_rows("linear, two classes")
    label, lacking = saccade.mapper(model, keep="key"), model.columns_[2]
    rows = table(frame.drop(columns=["key", lacking]))
    for given_rows in (rows, rows.to_batches()[0], rows.to_reader()):  # of a reader before it is read
        with pytest.raises(ValueError, match=f"no column 'key', '{lacking}'"):
            label(given_rows)
    with pytest.raises(ValueError, match="and 8 more"):
        label(table(frame[["key"]])[:0].drop_columns("key"))


def test_a_model_that_knows_no_names_is_told_what_to_do():
    X, y = correlated(3000, 6, seed=0, separation=4.0)
    frame = pd.DataFrame(X).add_prefix("x")
    bare = saccade.attend(LogisticRegression().fit(X[:500], y[:500]), X[500:], delta=0.1, random_state=0)
    with pytest.raises(ValueError, match="by their places"):
        saccade.mapper(bare)
    remedied = saccade.attend(bare.estimator_, frame[500:], delta=0.1, random_state=0)
    assert labels_in([saccade.mapper(remedied)(table(frame))]) == bare.predict(X).tolist()
    taught = LogisticRegression().fit(frame[:500], y[:500])  # it has names, what certifies it has none
    known = saccade.mapper(saccade.attend(taught, X[500:], delta=0.1, random_state=0))
    assert labels_in([known(table(frame).select(known.columns))]) == bare.predict(X).tolist()


def test_rows_are_counted_where_no_column_is_read():
    frame, y = pd.DataFrame({"a": np.arange(2000.0), "b": 0.0}), np.arange(2000) % 5 > 0
    leaf = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=1000).fit(frame[:500], y[:500])
    model = saccade.attend(leaf, frame[500:], promise="rows", delta=0.1, random_state=0)
    assert model.columns_ == []
    label = saccade.mapper(model)
    assert label.columns == ["a"]
    assert label(table(frame).select(["a"])).column("label").to_pylist() == model.predict(frame).tolist()


def test_a_watch_is_refused_with_what_to_do():
    watch = saccade.Watch(model_and_rows("linear, two classes")[0])
    with pytest.raises(TypeError, match=r"would be lost.*watch\.attentive.*predict_files.*to_json.*merge"):
        saccade.mapper(watch)


def test_other_models_and_other_rows_are_refused():
    model, frame, _ = model_and_rows("linear, two classes")
    with pytest.raises(TypeError, match=r"got LogisticRegression\. Make one of it with saccade\.attend"):
        saccade.mapper(LogisticRegression())
    with pytest.raises(ValueError, match="not fitted yet"):
        saccade.mapper(saccade.AttentiveClassifier())
    with pytest.raises(ValueError, match="'label' can be kept"):
        saccade.mapper(model, keep="label")
    with pytest.raises(TypeError, match="got int"):
        saccade.mapper(model)(3)
    with pytest.raises(TypeError, match="got ndarray"):
        list(saccade.mapper(model)([frame.to_numpy()]))

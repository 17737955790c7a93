"""``predict_files``: the labels of ``predict``, row by row, whatever the format, and safe to repeat."""

import contextlib
import os
from functools import cache

import dask.distributed
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.datasets import dump_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from data import census, correlated
from saccade import Pegasos, Watch, attend, predict_files
from saccade.exceptions import DataFileError, PromiseBrokenError, PromiseBrokenWarning
from saccade.files.writing import SCRATCH
from saccade.io import batches

NAMES = [f"f{j}" for j in range(8)]
X, y = correlated(4000, 8, seed=3, separation=3.0)
FRAME = pd.DataFrame(X, columns=NAMES)
LEVELS = {"delta": 0.1, "promise": "rows", "random_state": 0}


@cache
def model_and_rows(name):
    """Return a model that knows its columns by name, and new rows of a table."""
    if name == "linear":
        model = LogisticRegression().fit(FRAME[:1000], y[:1000])
        return attend(model, FRAME[1000:3000], fewest="columns", **LEVELS), FRAME[3000:]
    if name == "learner":
        return Pegasos(max_iter=3, random_state=0).fit(FRAME[:1000], np.where(y[:1000], "yes", "no")), FRAME[3000:]
    frame = census(4000, classes=3).assign(zip=[f"{k % 40:05}" for k in range(4000)])
    kinds = frame.pop("income")
    if name == "table":
        steps = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "hours"]),
            (OneHotEncoder(handle_unknown="ignore"), ["state", "work", "zip"]),
            ("passthrough", ["size"]),
        )
        model = make_pipeline(steps, LogisticRegression(max_iter=1000)).fit(frame[:1000], kinds[:1000])
    else:
        frame = frame.drop(columns="name").assign(
            state=frame.state.astype("category"), work=frame.work.astype("category"), zip=frame.zip.astype("category")
        )
        frame["size"] = frame["size"].astype("category")
        model = LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(frame[:1000], kinds[:1000])
    return attend(model, frame[1000:3000], **LEVELS), frame[3000:]


def write(frame, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffixes[0]:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".parquet":
            frame.to_parquet(path, row_group_size=300)
        case ".arrow":
            pyarrow.feather.write_feather(pa.Table.from_pandas(frame, preserve_index=False), path)
    return path


def read(path):
    return pd.read_csv(path) if path.suffix == ".csv" else pq.read_table(path).to_pandas()


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(batches, "BATCH_ROWS", 130)
    monkeypatch.setattr(batches, "LIBSVM_LINES", 130)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv", ".csv.gz"])
@pytest.mark.parametrize("name", ["linear", "learner", "table", "trees"])
def test_labels_are_those_of_predict(name, suffix, tmp_path):
    model, rows = model_and_rows(name)
    done = predict_files(model, write(rows, tmp_path / f"rows{suffix}"), tmp_path / "labels")
    assert done[:4] == (1, 0, 1000, 0)
    found = read(tmp_path / "labels" / ("rows.csv" if "csv" in suffix else "rows.parquet"))
    assert found.label.tolist() == model.predict(rows).tolist()
    n_read = np.full(1000, 8) if name == "learner" else model.read(rows).n_read
    assert found.n_read.tolist() == n_read.tolist()
    assert done.n_read == n_read.sum()


def test_labels_keep_their_type(tmp_path):
    model, rows = model_and_rows("learner")
    predict_files(model, write(rows, tmp_path / "rows.parquet"), tmp_path / "labels")
    assert pq.read_schema(tmp_path / "labels" / "rows.parquet").types == [pa.string(), pa.int32()]
    model, rows = model_and_rows("linear")
    predict_files(model, write(rows, tmp_path / "rows.parquet"), tmp_path / "numbers")
    assert pq.read_schema(tmp_path / "numbers" / "rows.parquet").types == [pa.int64(), pa.int32()]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_only_columns_that_the_plan_can_ask_for_are_needed(suffix, tmp_path):
    model, rows = model_and_rows("linear")
    assert len(model.columns_) < 8
    some = rows[sorted(model.columns_)].assign(key="k")
    predict_files(model, write(some, tmp_path / f"rows{suffix}"), tmp_path / "labels")
    assert read(tmp_path / "labels" / f"rows{suffix}").label.tolist() == model.predict(rows).tolist()
    asked = model.columns_[0]
    lacking = write(rows.rename(columns={asked: f"{asked}0"}), tmp_path / f"lacking{suffix}")
    with pytest.raises(DataFileError, match=f"lacking{suffix} has no column '{asked}'. Did you mean {asked}0"):
        predict_files(model, lacking, tmp_path / "others")
    assert os.listdir(tmp_path / "others") == ["_saccade.txt"]


@pytest.mark.parametrize("format", ["npy", "libsvm", "libsvm-zero-based", "csv", "parquet"])
def test_models_without_names_find_columns_by_position(format, tmp_path, small_batches):
    model = attend(LogisticRegression().fit(X[:1000], y[:1000]), X[1000:3000], **LEVELS)
    path, rows = tmp_path / f"rows.{format}", X[3000:]
    if format == "npy":
        np.save(path, rows)
    elif "libsvm" in format:
        rows = np.where(np.abs(rows) > 0.3, rows, 0.0)
        dump_svmlight_file(rows, y[3000:], str(path), zero_based="zero" in format)
        rows = sp.csr_matrix(rows)
    else:
        write(pd.DataFrame(rows, columns=list("hgfedcba")), path)
    predict_files(model, path, tmp_path / "labels", format=format)
    (output,) = (path for path in (tmp_path / "labels").iterdir() if path.name[0] != "_")
    assert read(output).label.tolist() == model.predict(rows).tolist()


def test_columns_without_names_must_be_as_many_as_the_models(tmp_path):
    model = attend(LogisticRegression().fit(X[:1000], y[:1000]), X[1000:3000], **LEVELS)
    with pytest.raises(DataFileError, match="has 9 columns, but the model was fitted on 8 columns without names"):
        predict_files(model, write(FRAME.assign(more=1), tmp_path / "rows.csv"), tmp_path / "labels")
    dump_svmlight_file(np.ones((3, 9)), np.ones(3), str(tmp_path / "wide.svm"), zero_based=False)
    with pytest.raises(DataFileError, match=r"wide\.svm cannot be read"):
        predict_files(model, tmp_path / "wide.svm", tmp_path / "labels")


def test_an_index_0_in_a_libsvm_file_is_an_error_unless_it_is_expected(tmp_path):
    model = attend(LogisticRegression().fit(X[:1000], y[:1000]), X[1000:3000], **LEVELS)
    dump_svmlight_file(X[3000:], y[3000:], str(tmp_path / "rows.svm"), zero_based=True)
    with pytest.raises(DataFileError, match=r"row 0.*index 0.*format='libsvm-zero-based'"):
        predict_files(model, tmp_path / "rows.svm", tmp_path / "labels")


def test_a_csv_format_says_what_is_unusual(tmp_path):
    model, rows = model_and_rows("linear")
    rows.to_csv(tmp_path / "rows.txt", sep=";", index=False, header=False)
    format = pyarrow.dataset.CsvFileFormat(
        parse_options=pyarrow.csv.ParseOptions(delimiter=";"),
        read_options=pyarrow.csv.ReadOptions(column_names=NAMES),
    )
    for skip_bad in (False, True):
        predict_files(model, tmp_path / "rows.txt", tmp_path / f"{skip_bad}", format=format, skip_bad=skip_bad)
        assert read(tmp_path / f"{skip_bad}" / "rows.csv").label.tolist() == model.predict(rows).tolist()


# Many files


def test_folders_are_searched_and_outputs_lie_as_inputs_do(tmp_path):
    model, rows = model_and_rows("linear")
    for k, name in enumerate(["a/x.parquet", "a/b/x.pq", "y.csv", "z.arrow"]):
        write(rows[100 * k : 100 * k + 100], tmp_path / "in" / name) if name != "a/b/x.pq" else rows[
            100:200
        ].to_parquet((tmp_path / "in/a/b").mkdir(parents=True) or tmp_path / "in" / name)
    for name in ("_SUCCESS", ".hidden.parquet", "_temporary/q.parquet", "notes.txt"):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text("no data")
    done = predict_files(model, tmp_path / "in", tmp_path / "out")
    assert (done.n_files, done.n_rows) == (4, 400)
    outputs = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*"))
    assert outputs == ["_saccade.txt", "a/b/x.parquet", "a/x.parquet", "y.csv", "z.parquet"]
    assert read(tmp_path / "out/a/b/x.parquet").label.tolist() == model.predict(rows[100:200]).tolist()


def test_hive_partitions_are_columns(tmp_path):
    model, rows = model_and_rows("table")
    size = rows["size"].iloc[0]
    some = rows[rows["size"] == size]
    write(some.drop(columns="size"), tmp_path / "in" / f"size={size}" / "part-0.parquet")
    predict_files(model, tmp_path / "in", tmp_path / "out")
    found = read(tmp_path / "out" / f"size={size}" / "part-0.parquet")
    assert found.label.tolist() == model.predict(some).tolist()


def test_files_that_are_done_are_not_done_again(tmp_path):
    model, rows = model_and_rows("linear")
    for k in range(3):
        write(rows[300 * k : 300 * k + 300], tmp_path / "in" / f"{k}.parquet")
    predict_files(model, tmp_path / "in", tmp_path / "out")
    (tmp_path / "out" / "1.parquet").unlink()
    write(rows[:50], tmp_path / "in" / "2.parquet")
    os.utime(tmp_path / "in" / "2.parquet", ns=(2**62, 2**62))
    before = (tmp_path / "out" / "0.parquet").stat().st_mtime_ns
    again = predict_files(model, tmp_path / "in", tmp_path / "out")
    assert (again.n_files, again.n_skipped, again.n_rows) == (3, 1, 350)
    assert (tmp_path / "out" / "0.parquet").stat().st_mtime_ns == before
    assert str(again).startswith("3 files, 1 of them already there; 350 rows; ")


def test_labels_of_another_model_are_not_mixed_in(tmp_path):
    model, rows = model_and_rows("linear")
    write(rows, tmp_path / "rows.parquet")
    predict_files(model, tmp_path / "rows.parquet", tmp_path / "out")
    other = attend(model.estimator_, FRAME[1000:3000], **LEVELS | {"delta": 0.2})
    with pytest.raises(DataFileError, match=r"labels of another model\. Choose another folder"):
        predict_files(other, tmp_path / "rows.parquet", tmp_path / "out")


def test_an_interrupted_file_leaves_no_output(tmp_path, monkeypatch, small_batches):
    model, rows = model_and_rows("linear")
    calls = []

    def interrupted(self, X, **how):
        calls.append(len(X))
        if len(calls) == 12:
            raise KeyboardInterrupt
        return read_some(self, X, **how)

    read_some = type(model)._reading
    for k in range(2):
        write(rows, tmp_path / "in" / f"{k}.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_reading", interrupted)
        with pytest.raises(KeyboardInterrupt):
            predict_files(model, tmp_path / "in", tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == ["0.parquet", "_saccade.txt"]
    assert predict_files(model, tmp_path / "in", tmp_path / "out").n_skipped == 1


def test_outputs_keep_their_permissions_and_abandoned_scratch_files_go(tmp_path):
    model, rows = model_and_rows("linear")
    path = write(rows, tmp_path / "in" / "rows.parquet")
    predict_files(model, path, tmp_path / "out")
    (tmp_path / "out" / "rows.parquet").chmod(0o600)
    (tmp_path / "out" / f"{SCRATCH}{os.getpid()}-0").touch()  # which nobody has locked
    os.utime(path, (2**32, 2**32))
    predict_files(model, path, tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == ["_saccade.txt", "rows.parquet"]
    assert (tmp_path / "out" / "rows.parquet").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["no.parquet"], r"There is no file .*no\.parquet"),
        ([], "No data file found in an empty list"),
        (["empty"], "No data file found in .*empty"),
        (["a.parquet", "b/a.parquet"], r"Two files are called a\.parquet"),
        (["a.parquet", "a.pq"], "differ only in their suffix"),
        (["a.txt"], "name of .*a.txt does not tell its format: pass format=, one of parquet"),
    ],
)
def test_wrong_sources_are_refused(sources, message, tmp_path):
    model, rows = model_and_rows("linear")
    for name in ("a.parquet", "b/a.parquet"):
        write(rows[:10], tmp_path / name)
    rows[:10].to_parquet(tmp_path / "a.pq")
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataFileError, match=message):
        predict_files(model, [tmp_path / source for source in sources], tmp_path / "out")


def test_other_mistakes_are_refused(tmp_path):
    model, rows = model_and_rows("linear")
    path = write(rows[:10], tmp_path / "in" / "a.parquet")
    with pytest.raises(TypeError, match=r"got LogisticRegression. Use saccade\.attend"):
        predict_files(model.estimator_.estimator, path, tmp_path / "out")
    with pytest.raises(DataFileError, match="contains data files that are to be read"):
        predict_files(model, path, tmp_path)
    with pytest.raises(DataFileError, match="There is no format 'excel'"):
        predict_files(model, path, tmp_path / "out", format="excel")
    with pytest.raises(ValueError, match="a Watch over the model that predicts"):
        predict_files(model, path, tmp_path / "out", watch=Watch(model_and_rows("trees")[0]))
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataFileError, match=r"a\.parquet cannot be read"):
        predict_files(model, path, tmp_path / "out")


def wild(values, place, value):
    """Return an Arrow array whose offsets, or indices of a dictionary, point elsewhere in one place."""
    is_text = pa.types.is_string(values.type)
    numbers, texts = values.buffers()[1:] if is_text else (values.indices.buffers()[1], None)
    changed = np.frombuffer(numbers, dtype=np.int32).copy()
    changed[place] = value
    if is_text:
        return pa.Array.from_buffers(values.type, len(values), [None, pa.py_buffer(changed), texts])
    indices = pa.Array.from_buffers(pa.int32(), len(values), [None, pa.py_buffer(changed)])
    return pa.DictionaryArray.from_arrays(indices, values.dictionary, safe=False)


@pytest.mark.parametrize("value", [-1, 10**9])
@pytest.mark.parametrize("is_dictionary", [False, True])
@pytest.mark.parametrize("name", ["table", "trees"])
def test_addresses_in_an_arrow_file_are_checked(name, is_dictionary, value, tmp_path):
    model, rows = model_and_rows(name)
    texts = pa.array(rows["zip"].tolist(), pa.string())
    table = pa.Table.from_pandas(rows, preserve_index=False)
    column = wild(texts.dictionary_encode() if is_dictionary else texts, 5, value)
    table = table.set_column(table.column_names.index("zip"), "zip", column)
    with pa.ipc.new_file(tmp_path / "rows.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(DataFileError, match=r"rows\.arrow cannot be read: .* Correct the file"):
        predict_files(model, tmp_path / "rows.arrow", tmp_path / "out")


@pytest.mark.parametrize("compression", ["uncompressed", "lz4"])
@pytest.mark.parametrize("name", ["table", "trees"])
@settings(max_examples=examples(1000))
@given(data=st.data())
def test_an_arrow_file_with_random_bytes_is_refused_or_read(name, compression, tmp_path_factory, data):
    model, rows = model_and_rows(name)
    path, folder = tmp_path_factory.getbasetemp() / "rows.arrow", tmp_path_factory.getbasetemp() / f"out {name}"
    pyarrow.feather.write_feather(pa.Table.from_pandas(rows[:200], preserve_index=False), path, compression)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans(), label="cut short"):
        del content[data.draw(st.integers(0, len(content) - 1), label="end") :]
    else:
        for _ in range(data.draw(st.integers(1, 4), label="changes")):
            place, changed = data.draw(st.integers(0, len(content) - 1)), data.draw(st.binary(min_size=1, max_size=8))
            content[place : place + len(changed)] = changed
    path.write_bytes(content)
    (folder / "rows.parquet").unlink(missing_ok=True)
    with contextlib.suppress(DataFileError):
        assert predict_files(model, path, folder).n_files == 1


# Bad rows


def spoiled(rows, model):
    """Return lines of a CSV file with bad rows, and the numbers of these: one at the end, two beside each other."""
    frame = rows[:300].astype(object)
    first = model.columns_[0]
    frame.iloc[7, frame.columns.get_loc(first)] = None
    frame.iloc[20, frame.columns.get_loc(first)] = "wide"
    lines = frame.to_csv(index=False).splitlines()
    for number in (21, 100, 299):
        lines[number + 1] = "1.0,2.0"
    return lines, [7, 20, 21, 100, 299]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("name", ["linear", "learner"])
def test_bad_rows_of_csv_files_have_no_label_and_others_keep_their_place(name, tmp_path):
    model, rows = model_and_rows(name)
    certified = model_and_rows("linear")[0]
    lines, bad = spoiled(rows, certified)
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    done = predict_files(model, tmp_path / "rows.csv", tmp_path / "out", skip_bad=True)
    assert (done.n_rows, done.n_bad) == (300, 5)
    found = read(tmp_path / "out" / "rows.csv")
    assert np.flatnonzero(found.label.isna()).tolist() == bad
    good = np.setdiff1d(np.arange(300), bad)
    assert found.label[good].astype(model.classes_.dtype).tolist() == model.predict(rows[:300])[good].tolist()


def test_a_file_of_nothing_but_bad_rows_gives_as_many_empty_labels(tmp_path):
    model = model_and_rows("linear")[0]
    (tmp_path / "rows.csv").write_text(",".join(NAMES) + "\n" + "1.0\n" * 7)
    done = predict_files(model, tmp_path / "rows.csv", tmp_path / "out", skip_bad=True)
    assert (done.n_rows, done.n_bad) == (7, 7)
    assert (tmp_path / "out" / "rows.csv").read_text().splitlines()[1:] == [","] * 7
    (tmp_path / "none.csv").write_text(",".join(NAMES) + "\n")
    assert predict_files(model, tmp_path / "none.csv", tmp_path / "out").n_rows == 0


@pytest.mark.parametrize(
    ("row", "value", "message"),
    [
        (20, "wide", r"rows\.csv cannot be read.*Row #22: CSV conversion error to double: invalid value 'wide'"),
        (7, None, r"rows\.csv, in rows 0 to 299, counted from the first of them: .*NaN at row 7"),
    ],
)
def test_a_bad_row_is_an_error_that_names_it(row, value, message, tmp_path):
    model, rows = model_and_rows("linear")
    frame = rows[:300].astype(object)
    frame.iloc[row, frame.columns.get_loc(model.columns_[0])] = value
    with pytest.raises(DataFileError, match=message):
        predict_files(model, write(frame, tmp_path / "rows.csv"), tmp_path / "out")
    (tmp_path / "short.csv").write_text(",".join(NAMES) + "\n" + "1.0,2.0\n")
    with pytest.raises(DataFileError, match=r"short\.csv cannot be read.*Row #2.*skip_bad=True"):
        predict_files(model, tmp_path / "short.csv", tmp_path / "out")


def test_bad_rows_of_parquet_and_libsvm_files_have_no_label(tmp_path, small_batches):
    model, rows = model_and_rows("linear")
    frame = rows[:300].copy()
    frame.loc[frame.index[[4, 5, 250]], model.columns_[0]] = np.nan
    predict_files(model, write(frame, tmp_path / "a.parquet"), tmp_path / "out", skip_bad=True)
    assert np.flatnonzero(read(tmp_path / "out" / "a.parquet").label.isna()).tolist() == [4, 5, 250]
    model = attend(LogisticRegression().fit(X[:1000], y[:1000]), X[1000:3000], **LEVELS)
    dump_svmlight_file(X[3000:3200], y[3000:3200], str(tmp_path / "b.svm"), zero_based=False)
    lines = (tmp_path / "b.svm").read_text().splitlines()
    lines[3], lines[150] = "1 2:x", "1 3:1 2:1"
    (tmp_path / "b.svm").write_text("\n".join(lines))
    predict_files(model, tmp_path / "b.svm", tmp_path / "more", skip_bad=True)
    found = read(tmp_path / "more" / "b.csv")
    assert np.flatnonzero(found.label.isna()).tolist() == [3, 150]
    good = found.label.notna().to_numpy()
    assert found.label[good].tolist() == model.predict(sp.csr_matrix(X[3000:3200]))[good].tolist()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_texts_of_files_are_those_of_memory(suffix, tmp_path):
    """A text NA is a text in a typed file, and missing in a CSV file; blanks are never stripped."""
    random, texts = np.random.default_rng(0), ["NA", "-", " x ", "x", "null", ""]
    frame = pd.DataFrame({"text": random.choice(texts, 2000), "number": random.normal(size=2000)})
    weights = dict(zip(texts, [2.0, -2.0, 1.0, -1.0, 3.0, -3.0], strict=True))
    target = (frame.text.map(weights) + frame.number > 0).astype(int)
    steps = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["text"]), ("passthrough", ["number"]))
    model = attend(make_pipeline(steps, LogisticRegression()).fit(frame[:500], target[:500]), frame[500:], **LEVELS)
    predict_files(model, write(frame, tmp_path / f"rows{suffix}"), tmp_path / "out")
    gone = frame.assign(text=frame.text.where(~frame.text.isin(["NA", "null", ""])))
    expected = model.predict(gone if suffix == ".csv" else frame)
    found = read(tmp_path / "out" / ("rows.csv" if suffix == ".csv" else "rows.parquet"))
    assert found.label.tolist() == expected.tolist()
    for rows in (pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.astype({"text": "category"})):
        np.testing.assert_array_equal(model.full_margin(rows), model.full_margin(frame))


def test_missing_texts_of_csv_files_are_missing(tmp_path):
    """A text NA and nothing between two commas are what pandas reads as missing, too."""
    model, rows = model_and_rows("table")
    some = rows[rows.work.isna()][:20]
    lines = some.assign(work="NA").to_csv(index=False).splitlines()
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    predict_files(model, tmp_path / "rows.csv", tmp_path / "out")
    assert read(tmp_path / "out" / "rows.csv").label.tolist() == model.predict(some).tolist()


# Watches and clusters


def parts_of(rows, tmp_path):
    for k in range(5):
        write(rows[200 * k : 200 * k + 200], tmp_path / "in" / f"{k}.parquet")
    return tmp_path / "in"


def test_a_watch_audits_rows_of_every_file(tmp_path):
    model, rows = model_and_rows("linear")
    watch = Watch(model, share=0.3, random_state=0)
    predict_files(model, parts_of(rows, tmp_path), tmp_path / "out", watch=watch)
    found = pd.concat([read(tmp_path / "out" / f"{k}.parquet") for k in range(5)])
    assert watch.n_rows == 1000
    assert 200 < watch.n_audited == found.audited.sum() < 400
    full = model.estimator_.predict(rows)
    assert (found.label.to_numpy() == np.where(found.audited, full, model.predict(rows))).all()
    assert len({tuple(read(tmp_path / "out" / f"{k}.parquet").audited) for k in range(5)}) == 5


@pytest.fixture(scope="module")
def broken_and_rows():
    """Return a model, and rows on which its promise does not hold: columns have changed places."""
    model, rows = model_and_rows("linear")
    return model, rows[NAMES[::-1]].set_axis(NAMES, axis=1)


def test_a_broken_promise_is_answered_after_the_file_that_broke_it(broken_and_rows, tmp_path):
    model, rows = broken_and_rows
    watch = Watch(model, share=0.9, on_broken="read", random_state=0)
    with pytest.warns(PromiseBrokenWarning) as given:
        predict_files(model, parts_of(rows, tmp_path), tmp_path / "out", watch=watch)
    assert len(given) == 1
    assert given[0].filename == __file__
    assert (read(tmp_path / "out" / "4.parquet").n_read == 8).all()
    assert (read(tmp_path / "out" / "0.parquet").n_read < 8).any()
    watch = Watch(model, share=1.0, on_broken="raise", random_state=0)
    with pytest.raises(PromiseBrokenError):
        predict_files(model, tmp_path / "in", tmp_path / "raised", watch=watch)
    assert len(list((tmp_path / "raised").glob("*.parquet"))) < 5


@pytest.fixture(scope="module")
def client():
    cluster = dask.distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, dask.distributed.Client(cluster) as client:
        yield client


def test_a_cluster_gives_the_same_files(client, tmp_path):
    for name in ("linear", "table"):
        model, rows = model_and_rows(name)
        source = parts_of(rows, tmp_path / name)
        here = predict_files(model, source, tmp_path / name / "here", watch=Watch(model, share=0.1, random_state=1))
        watch = Watch(model, share=0.1, random_state=1)
        there = predict_files(model, source, tmp_path / name / "there", watch=watch, client=client)
        assert here == there
        assert watch.n_rows == 1000
        for k in range(5):
            assert read(tmp_path / name / "here" / f"{k}.parquet").equals(read(tmp_path / name / f"there/{k}.parquet"))


def test_an_error_on_a_worker_is_raised(client, tmp_path):
    model, rows = model_and_rows("linear")
    source = parts_of(rows, tmp_path)
    rows.drop(columns=model.columns_[0]).to_parquet(source / "3.parquet")
    with pytest.raises(DataFileError, match=r"3\.parquet has no column"):
        predict_files(model, source, tmp_path / "out", client=client)
    assert not (tmp_path / "out" / "3.parquet").exists()

"""Data files in every format: the same rows, bad ones named, and numbers read as Python reads them."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from saccade.exceptions import DataFileError
from saccade.kernels.parsing import parse_csv
from saccade.streams import columns, text
from saccade.streams.batches import BadRows, labels_from_texts
from saccade.streams.opening import open_data

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 7)).astype(np.float32)
KIND = np.array(["elm", "oak"])[RNG.integers(0, 2, 500)]
NAMES = [f"f{j}" for j in range(7)]


def write(kind, path, rows=X, labels=KIND):
    frame = pd.DataFrame(rows, columns=NAMES[: rows.shape[1]])
    codes = (labels == "oak").astype(int)
    match kind:
        case "csv":
            frame.assign(kind=labels).to_csv(path, index=False)
        case "tsv":
            frame.assign(kind=labels).to_csv(path, index=False, sep="\t")
        case "parquet":
            frame.assign(kind=labels).to_parquet(path, row_group_size=64)
        case "arrow":
            pl.DataFrame(frame.assign(kind=labels)).write_ipc(path)
        case "ipc":
            pl.DataFrame(frame.assign(kind=labels)).write_ipc_stream(path)
        case "npy":
            np.save(path, np.column_stack([rows, codes]).astype(np.float64))
        case "svm":
            dump_svmlight_file(rows.astype(np.float64), codes, str(path), zero_based=False)
    return str(path)


TARGETS = {"npy": "7", "svm": None}
KINDS = ["csv", "tsv", "parquet", "arrow", "ipc", "npy", "svm"]


def read(source, start=0, *, skip=False):
    bad = BadRows(source.path, skip=skip)
    return list(source.batches(start, bad)), bad


def dense(rows):
    return rows.toarray() if hasattr(rows, "toarray") else rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("small", [False, True], ids=["one batch", "many"])
def test_every_format_gives_the_same_rows_and_goes_on_where_a_batch_ended(kind, small, tmp_path, monkeypatch):
    if small:
        monkeypatch.setattr(text, "BLOCK", 1500)
        monkeypatch.setattr(columns, "BATCH_BYTES", 2000)
    path = write(kind, tmp_path / f"data.{kind}")
    with open_data(path, TARGETS.get(kind, "kind")) as source:
        assert source.n_features == 7
        assert source.names == (None if kind in ("npy", "svm") else NAMES)
        found, _ = read(source)
        assert (len(found) > 1) == small
        np.testing.assert_allclose(np.concatenate([dense(one.X) for one in found]), X, rtol=1e-6)
        labels = np.concatenate([one.y for one in found])
        expected = (KIND == "oak").astype(int) if kind in ("npy", "svm") else KIND
        np.testing.assert_array_equal(labels, expected)
        for k in range(len(found) - 1):
            rest, _ = read(source, found[k].end)
            np.testing.assert_array_equal(dense(rest[0].X), dense(found[k + 1].X))
            assert [one.end for one in rest] == [one.end for one in found[k + 1 :]]


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["0", "-0.0", ".5", "5.", "1e400", "1e-400", "000012", "0.1", "3.141592653589793"]),
)


@settings(deadline=None, max_examples=500)
@given(NUMBERS)
def test_numbers_are_read_as_python_reads_them(written):
    expected = float(written)
    assume(not 1e290 < abs(expected) < np.inf and not 0 < abs(expected) < 1e-280)  # where float64 itself gives out
    values, wrong, column = np.empty((1, 1)), np.empty(1, np.int8), np.empty(1, np.int64)
    line = np.frombuffer(f"{written}\n".encode(), dtype=np.uint8)
    parse_csv(line, ord(","), -1, values, np.zeros((1, 2), np.int64), wrong, column)
    assert wrong[0] == 0
    exact = len(written) < 20 and abs(expected) < 1e20 and (expected == 0 or abs(expected) > 1e-4)
    np.testing.assert_allclose(values[0, 0], expected, rtol=0 if exact else 5e-16, atol=1e-320)


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="0123456789.eE+-x ", max_size=8))
def test_what_python_takes_for_no_number_is_none(written):
    values, wrong, column = np.empty((1, 2)), np.empty(1, np.int8), np.empty(1, np.int64)
    line = np.frombuffer(f"1,{written}\n".encode(), dtype=np.uint8)
    parse_csv(line, ord(","), -1, values, np.zeros((1, 2), np.int64), wrong, column)
    try:
        float(written)
    except ValueError:
        assert wrong[0] != 0
    else:
        assert wrong[0] == 0


BAD_LINES = {
    "1,2": "it has 2 fields, not 3",
    "1,2,elm,4": "it has 4 fields, not 3",
    "1,tall,elm": "'b' is 'tall', not a number",
    "1,,elm": "'b' is missing",
    "1,2,": "the target is missing",
    "nan,2,elm": "'a' is 'nan', not a number",
}


@pytest.mark.parametrize("line", BAD_LINES)
@pytest.mark.parametrize("before", [0, 300])
def test_a_bad_line_is_named_or_counted(line, before, tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 100)
    path = tmp_path / "data.csv"
    path.write_text("a,b,kind\n" + "1,2,elm\n" * before + line + "\n\n3,4,oak\n")
    with open_data(str(path), "kind") as source:
        with pytest.raises(DataFileError, match=f"data.csv, line {before + 2}: {BAD_LINES[line]}"):
            read(source)
        found, bad = read(source, skip=True)
        assert bad.count == 1
        assert sum(len(one.X) for one in found) == before + 1
        later = read(source, found[0].end, skip=True)[0] if len(found) > 1 else []
        assert len(later) == len(found) - 1


@pytest.mark.parametrize("line", ["x 1:2", "1 2", "1 3:1 2:1", "1 1:x", "1 1.5:2"])
def test_a_bad_libsvm_line_is_named_or_counted(line, tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(f"1 1:0.5 3:2 # fine\n{line}\n\n0 2:1\n")
    with open_data(str(path), None) as source:
        with pytest.raises(DataFileError, match=r"data\.svm, line 2"):
            read(source)
        (found,), bad = read(source, skip=True)
        assert bad.count == 1
        np.testing.assert_array_equal(found.X.toarray(), [[0.5, 0, 2], [0, 1, 0]])


@pytest.mark.parametrize("zero_based", [False, True])
def test_libsvm_is_read_as_scikit_learn_reads_it(zero_based, tmp_path):
    rows = np.where(RNG.random((200, 30)) < 0.3, RNG.normal(size=(200, 30)), 0)
    rows[0] = 1.0
    dump_svmlight_file(rows, RNG.integers(0, 3, 200), str(tmp_path / "a.svm"), zero_based=zero_based)
    expected, labels = load_svmlight_file(str(tmp_path / "a.svm"), zero_based=zero_based)
    with open_data(str(tmp_path / "a.svm"), None) as source:
        (found,), _ = read(source)
    np.testing.assert_allclose(found.X.toarray(), expected.toarray(), rtol=1e-15)
    np.testing.assert_array_equal(found.y, labels)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_missing_values_in_columns_are_named_by_row(kind, tmp_path):
    rows, labels = X.astype(np.float64).copy(), KIND.astype(object)
    rows[70, 3], labels[100] = np.nan, None
    path = write(kind, tmp_path / f"data.{kind}", rows, labels)
    with open_data(path, "kind") as source:
        with pytest.raises(DataFileError, match="line 71: a value is missing"):
            read(source)
        found, bad = read(source, skip=True)
    assert bad.count == 2
    assert sum(len(one.X) for one in found) == 498


@pytest.mark.parametrize(
    ("name", "content", "target", "message"),
    [
        ("a.csv", b"", "kind", "is empty"),
        ("a.csv", b"a,b\n1,2\n", "kind", "no column 'kind'"),
        ("a.parquet", b"nonsense", "kind", "no Parquet file"),
        ("a.arrow", b"nonsense", "kind", "no Arrow file"),
        ("a.npy", b"nonsense", "0", "no .npy file"),
        ("a.svm", b"1 1:2\n", "kind", "Leave --target out"),
        ("a.xyz", b"1,2\n", "kind", "--format"),
    ],
)
def test_files_that_cannot_be_read_are_refused(name, content, target, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataFileError, match=message), open_data(str(tmp_path / name), target) as source:
        read(source)


def test_a_numpy_file_with_objects_is_never_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[object()]], dtype=object), allow_pickle=True)
    with pytest.raises(DataFileError, match=r"no \.npy file"), open_data(str(tmp_path / "a.npy"), None):
        pass


def test_standard_input_is_read_as_a_file(monkeypatch):
    class Input:
        buffer = io.BytesIO(b"a,b\n1,2\n3,4\n")

    monkeypatch.setattr("sys.stdin", Input)
    with open_data("-", "b") as source:
        (found,), _ = read(source)
    np.testing.assert_array_equal(found.X, [[1], [3]])


def test_text_columns_are_refused_by_name(tmp_path):
    pd.DataFrame({"a": [1.0], "name": ["x"], "kind": ["elm"]}).to_parquet(tmp_path / "a.parquet")
    with open_data(str(tmp_path / "a.parquet"), "kind") as source, pytest.raises(DataFileError, match="'name'"):
        read(source)


def test_labels_are_numbers_where_all_are():
    assert labels_from_texts(["1", "2"]).dtype.kind == "i"
    assert labels_from_texts(["1", "2.5"]).dtype.kind == "f"
    assert labels_from_texts(["1", "b"]).tolist() == ["1", "b"]

"""Data files in every format: the same rows, bad ones named, and numbers read as Python reads them."""

import datetime
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from saccade.data import columns, csv, lines
from saccade.data.batches import BadRows, Wanted
from saccade.data.labels import LabelsSeen, _codes_of, labels_from_texts
from saccade.data.opening import open_data
from saccade.exceptions import DataFileError

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
        monkeypatch.setattr(lines, "BLOCK", 1500)
        monkeypatch.setattr(columns, "BATCH_BYTES", 2000)
    path = write(kind, tmp_path / f"data.{kind}")
    with open_data(path, Wanted(TARGETS.get(kind, "kind"))) as source:
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
    st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(["0", "-0.0", ".5", "5.", "1e-400", "000012", "0.1", "5e-324", "1.7976931348623157e308"]),
)


@settings(deadline=None, max_examples=200)
@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_numbers_are_read_as_python_reads_them(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("numbers") / "data.csv"
    path.write_text("a,b\n" + "".join(f"{one},7\n" for one in written))
    expected = np.array([float(one) for one in written])
    with open_data(str(path), Wanted()) as source:
        (found,), bad = read(source, skip=True)
    np.testing.assert_array_equal(found.good, np.isfinite(expected))
    assert bad.count == np.sum(np.isinf(expected))
    np.testing.assert_allclose(found.X[:, 0], expected[found.good], rtol=5e-16, atol=0)
    plain = [len(one) < 20 and (x == 0 or 1e-4 < abs(x) < 1e20) for one, x in zip(written, expected, strict=True)]
    exact = np.array(plain)[found.good]
    np.testing.assert_array_equal(found.X[exact, 0], expected[found.good][exact])


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="0123456789.eE+-x ", max_size=8))
def test_what_python_takes_for_no_number_is_none(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("numbers") / "data.csv"
    path.write_text(f"a,b\n1,{written}\n")
    try:
        number = np.isfinite(float(written))
    except ValueError:
        number = False
    with open_data(str(path), Wanted()) as source:
        (found,), _ = read(source, skip=True)
    assert found.good.tolist() == [number]


def test_a_number_that_is_too_large_is_a_bad_row_of_either_format(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,kind\n1,2,x\n1e400,3,y\n2,1e-320,y\n")
    (tmp_path / "a.svm").write_text("1 1:1 2:2\n0 qid:3 1:1e400\n0 1:2 2:1e-320\n1e999 1:3\n")
    for name, target, bad_rows in (("a.csv", "kind", 1), ("a.svm", None, 2)):
        with open_data(str(tmp_path / name), Wanted(target)) as source:
            with pytest.raises(DataFileError, match=r"line [23]: .*too large"):
                read(source)
            (found,), bad = read(source, skip=True)
        assert bad.count == bad_rows
        np.testing.assert_array_equal(dense(found.X), [[1, 2], [2, 1e-320]])


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
    monkeypatch.setattr(lines, "BLOCK", 100)
    path = tmp_path / "data.csv"
    path.write_text("a,b,kind\n" + "1,2,elm\n" * before + line + "\n\n3,4,oak\n")
    with open_data(str(path), Wanted("kind")) as source:
        with pytest.raises(DataFileError, match=f"data.csv, line {before + 2}: {BAD_LINES[line]}"):
            read(source)
        found, bad = read(source, skip=True)
        assert bad.count == 1
        assert sum(len(one.X) for one in found) == before + 1
        later = read(source, found[0].end, skip=True)[0] if len(found) > 1 else []
        assert len(later) == len(found) - 1


@pytest.mark.parametrize("line", ["x 1:2", "1 2", "1 3:1 2:1", "1 1:x", "1 1.5:2", "1 -1:2", "1 1:2:3", "1,0 1:2"])
def test_a_bad_libsvm_line_is_named_or_counted(line, tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(f"1 1:0.5 3:2 # fine\n{line}\n\n0 2:1\n")
    with open_data(str(path), Wanted(None)) as source:
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
    with open_data(str(tmp_path / "a.svm"), Wanted(None)) as source:
        (found,), _ = read(source)
    np.testing.assert_allclose(found.X.toarray(), expected.toarray(), rtol=1e-15)
    np.testing.assert_array_equal(found.y, labels)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_missing_values_in_columns_are_named_by_row(kind, tmp_path):
    rows, labels = X.astype(np.float64).copy(), KIND.astype(object)
    rows[70, 3], labels[100] = np.nan, None
    path = write(kind, tmp_path / f"data.{kind}", rows, labels)
    with open_data(path, Wanted("kind")) as source:
        with pytest.raises(DataFileError, match="row 71: a value is missing"):
            read(source)
        found, bad = read(source, skip=True)
    assert bad.count == 2
    assert sum(len(one.X) for one in found) == 498


def test_columns_of_every_type_of_number_are_read_alike_in_one_chunk_or_several(tmp_path):
    columns = {
        "doubles": pa.array([1.0, 2.0, 3.0]),
        "floats": pa.array([1.0, 2.0, 3.0], pa.float32()),
        "bytes": pa.array([1, 2, 3], pa.uint8()),
        "booleans": pa.array([True, False, True]),
        "dictionary": pa.array([1, 2, 3]).dictionary_encode(),
    }
    parts = [pa.table({name: column.slice(k, n) for name, column in columns.items()}) for k, n in ((0, 1), (1, 2))]
    pq.write_table(pa.concat_tables(parts), tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", parts[0].schema) as writer:
        for part in parts:
            writer.write_table(part)
    for name in ("a.parquet", "a.arrow"):
        with open_data(str(tmp_path / name), Wanted()) as source:
            batches, _ = read(source)
        np.testing.assert_array_equal(
            np.concatenate([batch.X for batch in batches]), [[1, 1, 1, 1, 1], [2, 2, 2, 0, 2], [3, 3, 3, 1, 3]]
        )


def test_reading_the_columns_of_parquet_imports_no_pandas(tmp_path):
    path = write("parquet", tmp_path / "a.parquet", X, KIND)
    program = (
        "import sys, saccade\n"
        f"batch = next(saccade.rows({str(path)!r}, columns=['f0']))\n"
        "assert batch.X.shape[0] and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def npy(array):
    np.save(file := io.BytesIO(), array)
    return file.getvalue()


def arrow_stream():
    table = pa.table({"a": np.arange(100.0), "k": ["x"] * 100})
    with pa.ipc.new_stream(file := io.BytesIO(), table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def parquet(columns):
    pq.write_table(pa.table(columns), file := io.BytesIO())
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "target", "message"),
    [
        ("a.csv", b"", "kind", "is empty"),
        ("a.csv", b"a,b\n1,2\n", "kind", "no column 'kind'"),
        ("a.csv", b"a,b\n1,2\n", "5", "no column '5'"),
        ("a.csv", b"3,4\n1,2\n", "5", "columns 0 to 1: there is no '5'"),
        ("a.csv", b"a,a,kind\n1,2,x\n", "kind", "several columns 'a'"),
        ("a.csv", "a,kind\n1,2\n".encode("utf-16"), "kind", "no UTF-8 text"),
        ("a.csv", b"a,kind\n1,x\n2,\xe9\n", "kind", "line 3: the target is no UTF-8 text"),
        ("a.parquet", b"nonsense", "kind", "a.parquet cannot be read"),
        ("a.arrow", b"nonsense", "kind", "a.arrow cannot be read"),
        ("a.arrow", arrow_stream()[:-200], "k", "a.arrow cannot be read"),
        ("a.csv", b"kind\nx\n", "kind", "has no features"),
        ("a.npy", b"nonsense", "0", "no .npy file"),
        ("a.npy", npy(np.ones((3, 2))), "--5", "and no '--5'"),
        ("a.npy", npy(np.ones((3, 2), dtype=np.longdouble)), "0", "expected rows of numbers"),
        ("a.npy", npy(np.ones(3)), "0", "expected rows of numbers"),
        ("a.parquet", parquet({"a": [1.0], "k": [[1, 2]]}), "k", "which are no labels"),
        ("a.parquet", parquet({"a": [datetime.date(2026, 1, 1)], "k": [1]}), "k", "a.parquet: column 'a' holds"),
        ("a.svm", b"1 1:2\n", "kind", "Leave the target out"),
        ("a.xyz", b"1,2\n", "kind", "--format"),
    ],
)
def test_files_that_cannot_be_read_are_refused(name, content, target, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataFileError, match=message), open_data(str(tmp_path / name), Wanted(target)) as source:
        read(source)


def test_a_numpy_file_with_objects_is_never_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[object()]], dtype=object), allow_pickle=True)
    with pytest.raises(DataFileError, match=r"no \.npy file"), open_data(str(tmp_path / "a.npy"), Wanted(None)):
        pass


def test_standard_input_is_read_as_a_file(monkeypatch):
    class Input:
        buffer = io.BytesIO(b"a,b\n1,2\n3,4\n")

    monkeypatch.setattr("sys.stdin", Input)
    with open_data("-", Wanted("b")) as source:
        (found,), _ = read(source)
    np.testing.assert_array_equal(found.X, [[1], [3]])


def test_text_columns_are_refused_by_name(tmp_path):
    pd.DataFrame({"a": [1.0], "name": ["x"], "kind": ["elm"]}).to_parquet(tmp_path / "a.parquet")
    with open_data(str(tmp_path / "a.parquet"), Wanted("kind")) as source, pytest.raises(DataFileError, match="'name'"):
        read(source)


def test_labels_are_numbers_where_all_are():
    assert labels_from_texts(["1", "2"]).dtype.kind == "i"
    assert labels_from_texts(["+1", "-1"]).tolist() == [1, -1]
    assert labels_from_texts(["1.0", "2.0"]).tolist() == [1, 2]
    assert labels_from_texts(["1", "2.5"]).tolist() == ["1", "2.5"]
    assert labels_from_texts(["1", str(2**64)]).tolist() == ["1", str(2**64)]
    assert labels_from_texts(["1", "b"]).tolist() == ["1", "b"]
    assert labels_from_texts(["1", "01"]).tolist() == ["1", "01"]
    assert labels_from_texts(["10", "1_0"]).tolist() == ["10", "1_0"]
    assert labels_from_texts(["1", "1.0"]).tolist() == ["1", "1.0"]
    assert labels_from_texts(["1", "1e400"]).tolist() == ["1", "1e400"]


@pytest.mark.parametrize(
    ("content", "wanted", "rows", "names"),
    [
        ("1,2,x\n2,3,y\n", Wanted("2"), [[1, 2], [2, 3]], None),  # labels in words make no header
        ("1,,0\n2,3,1\n", Wanted("2"), [[2, 3]], None),  # nor does a missing value
        ("0,1,kind\n5,6,x\n", Wanted("kind"), [[5, 6]], ["0", "1"]),  # names that look like numbers
        ("0,1,2\n5,6,7\n", Wanted(), [[5, 6, 7]], ["0", "1", "2"]),
        ("7,8\n5,6\n", Wanted(names=["8", "7"]), [[6, 5]], ["8", "7"]),  # a model knows its names
        ("7,8\n5,6\n", Wanted(header=True), [[5, 6]], ["7", "8"]),
        ("7,8\n5,6\n", Wanted(), [[7, 8], [5, 6]], None),
        ("0,1\n1,0\n", Wanted(), [[0, 1], [1, 0]], None),
        ("NA,1\n1,0\n", Wanted(), [[1, 0]], None),
        ("1,x,0\n", Wanted("1"), [[1, 0]], None),
        ('"a", "b"\n1,2\n', Wanted(), [[1, 2]], ["a", "b"]),
        ('"a, in, cm, or so";b\n1;2\n', Wanted(), [[1, 2]], ["a, in, cm, or so", "b"]),
        ('note,a\n12" disk,3\n "u,7,8",1e300\n', Wanted(names=["a"]), [[3], [1e300]], ["a"]),
        ('a,t\n "1e300",x\n', Wanted("t"), [[1e300]], ["a"]),
        ("a,t\n1e300,x\ry\n", Wanted("t"), [[1e300]], ["a"]),
        ("a,b\n5,6\n", Wanted(names=["b"]), [[6]], ["b"]),
        ("\ufeff1,2\n3,4", Wanted(), [[1, 2], [3, 4]], None),
        ("\n\r\n a ,b\r\n3,4\r\n", Wanted(), [[3, 4]], ["a", "b"]),
        ('"a,1",b,k\n1,2,x\n', Wanted("k"), [[1, 2]], ["a,1", "b"]),
        ("id,a,k\nnobody reads this,2,x\n", Wanted("k", names=["a"]), [[2]], ["a"]),
    ],
)
def test_headers_are_told_from_rows_and_columns_chosen_by_name(content, wanted, rows, names, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(content, encoding="utf-8", newline="")
    with open_data(str(path), wanted) as source:
        assert source.names == names
        (found,), _ = read(source, skip=True)
    np.testing.assert_array_equal(found.X, rows)


def test_labels_keep_their_quotes_and_every_letter(tmp_path):
    (tmp_path / "data.csv").write_text('a,k\n1,"say ""hi"""\n2, Bäume am Fluss \n3,"x,y"\n', encoding="utf-8")
    with open_data(str(tmp_path / "data.csv"), Wanted("k")) as source:
        (found,), _ = read(source)
    assert found.y.tolist() == ['say "hi"', "Bäume am Fluss", "x,y"]


def test_a_last_line_without_its_end_makes_no_batch_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 40)
    whole = "a,b\n" + "1,2\n" * 30
    for content in (whole, whole.rstrip()):
        (tmp_path / "data.csv").write_text(content)
        with open_data(str(tmp_path / "data.csv"), Wanted()) as source:
            found, _ = read(source)
        assert [len(one.X) for one in found] == [9, 10, 10, 1]


def test_short_lines_take_no_room_and_bad_ones_little_time(tmp_path):
    names = [f"f{j}" for j in range(2000)]
    content = ",".join(names) + "\n" + "1," * 1999 + "1\n" + "\n" * 500_000 + "1,2\n" * 100_000
    (tmp_path / "data.csv").write_text(content)
    with open_data(str(tmp_path / "data.csv"), Wanted()) as source:  # as rows, these lines would take gigabytes
        (found,), bad = read(source, skip=True)
    assert found.X.shape == (1, 2000)
    assert bad.count == 100_000


def test_bad_values_are_counted_without_looking_at_each(tmp_path, monkeypatch):
    monkeypatch.setattr(csv.CsvFile, "_fault", lambda *_: pytest.fail("a message that nobody reads was made"))
    (tmp_path / "data.csv").write_text("a,b\n" + "NA,1\n2,3\n" * 50)
    with open_data(str(tmp_path / "data.csv"), Wanted()) as source:
        (found,), bad = read(source, skip=True)
    assert bad.count == 50
    assert found.good.tolist() == [False, True] * 50


def test_libsvm_indices_begin_where_the_model_says(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:5 2:6\n")
    for zero_based, expected in ((True, [[0, 5, 6]]), (False, [[5, 6, 0]]), (None, [[5, 6, 0]])):
        with open_data(str(path), Wanted(n_features=3, zero_based=zero_based)) as source:
            (found,), _ = read(source)
        np.testing.assert_array_equal(found.X.toarray(), expected)
    path.write_text("1 0:5 2:6\n")
    with pytest.raises(DataFileError, match="an index 0"), open_data(str(path), Wanted(zero_based=False)):
        pass


def test_compressed_arrow_files_are_read_one_record_after_another(tmp_path, monkeypatch):
    table = pa.table({"a": np.arange(1000.0), "k": ["x", "y"] * 500})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=100)
    monkeypatch.setattr(columns, "BATCH_BYTES", 8 * 64)
    with open_data(str(tmp_path / "a.arrow"), Wanted("k")) as source:
        found, _ = read(source)
        assert [len(one.X) for one in found] == [64, 36] * 10
        np.testing.assert_array_equal(np.concatenate([one.X[:, 0] for one in found]), np.arange(1000))


@pytest.mark.parametrize("dtype", [np.float16, ">f8", np.int64, bool])
def test_numbers_of_every_width_are_read(dtype, tmp_path):
    rows = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    np.save(tmp_path / "a.npy", rows)
    with open_data(str(tmp_path / "a.npy"), Wanted("-1")) as source:
        (found,), _ = read(source)
    np.testing.assert_array_equal(found.X, rows[:, :1])
    assert found.X.dtype.isnative


def test_missing_booleans_and_halves_in_parquet(tmp_path):
    table = pa.table({"a": pa.array([True, None, False]), "b": pa.array(np.array([1, 2, 3], np.float16))})
    pq.write_table(table, tmp_path / "a.parquet")
    with open_data(str(tmp_path / "a.parquet"), Wanted()) as source:
        (found,), bad = read(source, skip=True)
    assert bad.count == 1
    np.testing.assert_array_equal(found.X, [[1, 1], [0, 3]])


def test_labels_of_a_file_are_found_among_classes_by_text_or_number(tmp_path):
    assert _codes_of(np.array(["2", "3.0", "zzz"], dtype=object), np.array([2, 3])).tolist() == [0, 1, -1]
    assert _codes_of(np.array([2.0, 5.0]), np.array([2, 3])).tolist() == [0, -1]
    assert _codes_of(np.array(["True", "False"], dtype=object), np.array([False, True])).tolist() == [1, 0]
    assert _codes_of(np.array([3, 2]), np.array(["2", "3"])).tolist() == [1, 0]
    assert _codes_of(np.array(["elm", "x"], dtype=object), np.array(["elm", "oak"], dtype=object)).tolist() == [0, -1]
    assert _codes_of(np.array([2.0, 2.5]), np.array(["2", "2.5"])).tolist() == [0, 1]
    pq.write_table(pa.table({"a": [1.0, 2.0], "k": [True, False]}), tmp_path / "a.parquet")
    seen = LabelsSeen("a.parquet")
    with open_data(str(tmp_path / "a.parquet"), Wanted("k")) as source:
        for batch in read(source)[0]:
            seen.add(batch.y)
    assert seen.labels(BadRows("a.parquet", skip=False)).classes.tolist() == [False, True]

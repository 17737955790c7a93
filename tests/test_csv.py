"""CSV files beyond numbers: quotes, line breaks within them, compression, and two paths that must agree."""

import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data import lines
from saccade.data.batches import BadRows, Wanted
from saccade.data.csv import CsvFile
from saccade.data.opening import open_data
from saccade.exceptions import DataFileError
from saccade.kernels.parsing import last_record


def read(data, start=0, *, skip=False):
    bad = BadRows(data.path, skip=skip)
    return list(data.batches(start, bad)), bad


TEXTS = st.text(alphabet='ab1 ,;"\t\n', max_size=8)
LABELS = TEXTS.map(str.strip).filter(bool)
RECORDS = st.lists(st.tuples(st.floats(-1e9, 1e9), TEXTS, LABELS), min_size=1, max_size=30)


@settings(deadline=None, max_examples=150)
@given(RECORDS, st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_what_python_writes_is_read_whatever_is_quoted(tmp_path_factory, records, separator, newline, quote_all):
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
        writer = csv.writer(file, delimiter=separator, lineterminator=newline, quoting=quoting)
        writer.writerows([("x", "note", "kind"), *records])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lines, "BLOCK", 40)
        with open_data(str(path), Wanted("kind", names=["x"])) as data:
            found, bad = read(data)
            for k in range(len(found) - 1):
                rest, _ = read(data, found[k].end)
                assert [one.end for one in rest] == [one.end for one in found[k + 1 :]]
                np.testing.assert_array_equal(rest[0].X, found[k + 1].X)
    assert bad.count == 0
    np.testing.assert_array_equal(np.concatenate([one.X[:, 0] for one in found]), [x for x, _, _ in records])
    assert [label for one in found for label in one.y] == [label for _, _, label in records]


def records_of(text):
    return [row for row in csv.reader(io.StringIO(text, newline=""), skipinitialspace=True) if row]


@settings(deadline=None, max_examples=500)
@given(st.text(alphabet='a, "\n', max_size=20))
def test_a_cut_falls_between_records(text):
    cut, quote = last_record(np.frombuffer(text.encode(), dtype=np.uint8), ord(","))
    assert records_of(text[:cut]) + records_of(text[cut:]) == records_of(text)
    try:
        list(csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True))
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            assert quote >= 0
    if quote < 0 and text.endswith("\n"):
        assert cut == len(text)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet='12.e-nax ,"\n\r_', max_size=25))
def test_the_fast_path_gives_what_the_slow_one_gives(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "two paths.csv"
    path.write_text("x,kind\n")
    data = CsvFile(str(path), Wanted("kind"))
    block = f"{text}\n".encode()
    fast = data._converted(block, len(block), *data._attempts[0])
    slow = data._record_by_record(block, 0, len(block), BadRows(data.path, skip=True))
    _, quote = last_record(np.frombuffer(block, dtype=np.uint8), ord(","))
    if fast is not None and quote < 0:  # else it is refused before it comes here
        np.testing.assert_array_equal(fast.X, slow.X)
        assert fast.y.tolist() == slow.y.tolist()
        assert fast.good.tolist() == slow.good.tolist()


@pytest.mark.parametrize("block", [60, 8_000_000])
def test_lines_are_numbered_as_an_editor_numbers_them(block, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", block)
    rows = '"two\nlines",1,elm\n' * 20 + "\n\n" + '"a\n\n\nb",tall,oak\n' + "c,2,elm\n"
    (tmp_path / "a.csv").write_text("note,x,kind\n" + rows)
    with open_data(str(tmp_path / "a.csv"), Wanted("kind", names=["x"])) as data:
        with pytest.raises(DataFileError, match=r"a\.csv, line 44: 'x' is 'tall', not a number"):
            read(data)
        found, bad = read(data, skip=True)
    assert bad.count == 1
    assert sum(len(one.X) for one in found) == 21
    assert np.concatenate([one.good for one in found]).tolist() == [True] * 20 + [False, True]


@pytest.mark.parametrize("spaces", ["", "  "])
@pytest.mark.parametrize("block", [30, 8_000_000])
def test_a_quote_that_is_never_closed_is_named(block, spaces, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", block)
    (tmp_path / "a.csv").write_text("note,x,kind\n" + "a,1,elm\n" * 10 + f'{spaces}"b,2,oak\n' + "c,3,elm\n" * 50)
    for longest in (64_000_000, 100):
        monkeypatch.setattr(lines, "LONGEST_QUOTED", longest)
        with (
            open_data(str(tmp_path / "a.csv"), Wanted("kind", names=["x"])) as data,
            pytest.raises(DataFileError, match="line 12: a quote opens a field that does not end"),
        ):
            read(data, skip=True)


def test_a_long_field_is_read_beside_a_bad_row_and_the_csv_module_stays_as_it_was(tmp_path):
    before = csv.field_size_limit()
    (tmp_path / "a.csv").write_text("note,x\n" + f"{'a' * 200_000},1\nb,tall\nc,3\n")
    with open_data(str(tmp_path / "a.csv"), Wanted(names=["x"])) as data:
        (batch,), bad = read(data, skip=True)
    assert batch.X.tolist() == [[1.0], [3.0]]
    assert bad.count == 1
    assert csv.field_size_limit() == before


def test_a_header_of_many_names_is_no_field_too_long(tmp_path):
    names = [f"feature number {j}" for j in range(10_000)]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    with open_data(str(tmp_path / "a.csv"), Wanted()) as data:
        (found,), _ = read(data)
    assert data.names == names
    assert found.X.shape == (1, 10_000)


def test_numbers_that_only_python_takes_are_none(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n1_0,2\n٣,2\n3,4\n", encoding="utf-8")
    with open_data(str(tmp_path / "a.csv"), Wanted()) as data:
        (found,), bad = read(data, skip=True)
    assert bad.count == 2
    np.testing.assert_array_equal(found.X, [[1, 2], [3, 4]])


@pytest.mark.parametrize("name", ["a.csv.gz", "a.svm.gz", "a.csv"])
def test_compressed_text_is_read_like_plain_text(name, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 200)
    rng = np.random.default_rng(0)
    rows = [(round(a, 6), round(b, 6), k) for a, b, k in zip(*rng.normal(size=(2, 100)), [0, 1] * 50, strict=True)]
    if "svm" in name:
        text, wanted = "".join(f"{k} 1:{a} 2:{b}\n" for a, b, k in rows), Wanted()
    else:
        text, wanted = "a,b,k\n" + "".join(f"{a},{b},{k}\n" for a, b, k in rows), Wanted("k")
    (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    with open_data(str(tmp_path / name), wanted) as data:
        found, _ = read(data)
        assert data.length == len(text) == found[-1].end
        assert data.size < len(text)
        for k in range(len(found) - 1):
            rest, _ = read(data, found[k].end)
            assert [one.end for one in rest] == [one.end for one in found[k + 1 :]]
    assert len(found) > 5
    dense = [one.X.toarray() if "svm" in name else one.X for one in found]
    np.testing.assert_array_equal(np.concatenate(dense), [row[:2] for row in rows])


def test_a_damaged_archive_is_named(tmp_path):
    content = gzip.compress(b"a,b\n" + b"1.25,2\n" * 20_000)
    (tmp_path / "a.csv.gz").write_bytes(content[: len(content) // 2])
    with (
        open_data(str(tmp_path / "a.csv.gz"), Wanted()) as data,
        pytest.raises(DataFileError, match=r"a\.csv\.gz is damaged"),
    ):
        read(data)
    long = gzip.compress(np.random.default_rng(0).bytes(2_000_000))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100) + long[: len(long) // 2])
    with (
        open_data(str(tmp_path / "b.csv.gz"), Wanted(header=True)) as data,
        pytest.raises(DataFileError, match=r"b\.csv\.gz is damaged"),
    ):
        read(data, skip=True)


def test_a_quote_after_spaces_opens_a_field_whether_another_row_is_bad_or_not(tmp_path):
    rows = '1,5,2,u\n2, "tall, old",3,v\n3,short,4,u\n'
    for last in ("5,x,6,u\n", "5,x,NA,u\n"):
        (tmp_path / "a.csv").write_text("a,note,b,y\n" + rows + last)
        with open_data(str(tmp_path / "a.csv"), Wanted("y", names=["a", "b"])) as data:
            (batch,), _ = read(data, skip=True)
        assert batch.X[:3].tolist() == [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]
        assert batch.good.size == 4


def test_blanks_around_quotes_are_no_part_of_a_field(tmp_path):
    (tmp_path / "a.csv").write_text('"x", "kind"\n1, "a,b"\n2, "c"\n "3" ,"d" \n')
    with open_data(str(tmp_path / "a.csv"), Wanted("kind")) as data:
        (found,), _ = read(data)
    np.testing.assert_array_equal(found.X, [[1], [2], [3]])
    assert found.y.tolist() == ["a,b", "c", "d"]

"""Labels of Parquet files by row group: the same as ``predict`` gives, whoever reads what, and however often."""

import json
import os
import shutil
import signal
import time
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attended import attended
from attended_trees import attended as attended_trees
from attended_trees import table as table_of_trees
from distributed import Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import saccade
from data import correlated
from saccade import Pegasos, Watch, attend
from saccade.cluster import labelling, parquet, parts
from saccade.cluster.parts import parts_of, tasks_of
from saccade.cluster.sources import SourceFile, source_files
from saccade.cluster.spreading import FOR_EACH_THREAD, spread
from saccade.dask import predict_parquet
from saccade.data import row_groups
from saccade.data.footers import Footer
from saccade.exceptions import CheckpointError, DataFileError, PromiseBrokenError, PromiseBrokenWarning
from saccade.watching.groups import AuditedGroups

N = 20
NAMES = [f"x{j}" for j in range(N)]


@cache
def by_columns():
    """Return a model whose plan asks for few columns, and rows that it was not certified on."""
    X, y = correlated(16_000, N, seed=3, separation=4.0)
    rows = pd.DataFrame(X, columns=NAMES)
    model = LogisticRegression(C=0.1, max_iter=500).fit(rows[:2000], y[:2000])
    return attend(model, rows[2000:6000], delta=0.05, fewest="columns", random_state=0), rows[6000:]


def write(path, rows, group=1000):
    path.parent.mkdir(parents=True, exist_ok=True)
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pandas(rows, preserve_index=False)
    pq.write_table(table, path, row_group_size=group)
    return path


def read(target):
    """Return what is in a folder, in the order of its files' names."""
    files = sorted(path for path in Path(target).rglob("*.parquet") if path.is_file())
    return pa.concat_tables(pq.read_table(path, partitioning=None) for path in files)


def files_of(target):
    """Return the files of labels, byte by byte."""
    files = [path for path in Path(target).rglob("*.parquet") if path.is_file()]
    return {path.relative_to(target): path.read_bytes() for path in sorted(files)}


def untimed(done):
    return asdict(done) | {"seconds": None, "target": None}


@pytest.fixture
def small_parts(monkeypatch):
    """Have every row group be a part, and two parts a task."""
    monkeypatch.setattr(parts, "MOST_ROWS", 1)
    monkeypatch.setattr(parts, "MOST_PARTS", 2)


@pytest.fixture
def source(tmp_path):
    """A folder with folders, files of several row groups, one without rows, and what other tools leave behind."""
    _, rows = by_columns()
    folder = tmp_path / "rows"
    write(folder / "a.parquet", rows[:3500], group=700)
    write(folder / "day=1" / "b.parquet", rows[3500:3500])
    write(folder / "day=1" / "c.parquet", rows[3500:4000].assign(note="x"))
    write(folder / "day=2" / "part" / "d.parquet", rows[4000:6000][NAMES[::-1]])
    for name in ("_metadata", "_SUCCESS", ".hidden.parquet", "notes.txt", "_old/e.parquet", ".cache/f.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("no rows")
    return folder


# What comes out


def linear_rows():
    attentive, rows = by_columns()
    return attentive, rows[:2000]


def several_classes():
    attentive, rows = attended("four classes")
    return attentive, rows


def texts():
    X, y = table_of_trees(n_rows=6000)
    X = X.assign(state=X["state"].astype(object))
    numbers = [name for name in X if name != "state"]
    encoded = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), ["state"]))
    model = make_pipeline(encoded, LogisticRegression()).fit(X[:2000], np.where(y[:2000], "bad", "good"))
    return attend(model, X[2000:5000], delta=0.05, random_state=0), X[5000:]


def trees():
    attentive, rows = attended_trees("lightgbm, gaps")
    return attentive, rows.assign(state=rows["state"].astype(str))


def learner():
    _, rows = by_columns()
    return Pegasos(max_iter=2, random_state=0).fit(rows[:2000], rows["x0"][:2000] > 0), rows[2000:4000]


def without_names():
    X, y = correlated(6000, N, seed=3, separation=4.0)
    model = LogisticRegression().fit(X[:2000], y[:2000])
    return attend(model, X[2000:5000], delta=0.05, random_state=0), X[5000:]


@pytest.mark.parametrize("made", [linear_rows, several_classes, texts, trees, learner, without_names])
@pytest.mark.parametrize("run_rows", [None, 170])
def test_labels_and_what_was_read_are_those_of_the_model_itself(made, run_rows, tmp_path, monkeypatch):
    if run_rows is not None:
        monkeypatch.setattr(row_groups, "FEWEST_ROWS", run_rows)
        monkeypatch.setattr(row_groups, "RUN_BYTES", 0)
    model, rows = made()
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, columns=[f"c{j}" for j in range(N)])
    done = predict_parquet(model, write(tmp_path / "rows.parquet", frame, group=400), tmp_path / "labels")
    labels = read(tmp_path / "labels")
    np.testing.assert_array_equal(labels["label"].to_numpy(), model.predict(rows))
    n_read = model.read(rows).n_read if hasattr(model, "certificate_") else N  # a learner predicts by all features
    np.testing.assert_array_equal(labels["n_read"].to_numpy(), n_read)
    assert labels.column_names == ["label", "n_read"]
    assert done.rows == len(rows)
    assert done.features_per_row == labels["n_read"].to_numpy().mean()


def test_files_lie_as_those_of_the_rows_do_and_have_their_row_groups(source, tmp_path):
    attentive, rows = by_columns()
    done = predict_parquet(attentive, source, tmp_path / "labels")
    assert sorted(map(str, files_of(tmp_path / "labels"))) == [
        "a.parquet/000000.parquet",
        "day=1/c.parquet/000000.parquet",
        "day=2/part/d.parquet/000000.parquet",
    ]
    for name, begin in (("a.parquet", 0), ("day=1/c.parquet", 3500), ("day=2/part/d.parquet", 4000)):
        file = pq.ParquetFile(tmp_path / "labels" / name / "000000.parquet")
        there = pq.ParquetFile(source / name).metadata
        sizes = [[of.row_group(k).num_rows for k in range(of.num_row_groups)] for of in (file.metadata, there)]
        assert sizes[0] == sizes[1]
        labels = file.read(["label"])["label"].to_numpy()
        np.testing.assert_array_equal(labels, attentive.predict(rows[begin : begin + there.num_rows]))
    assert (tmp_path / "labels" / "_SUCCESS").read_text().strip() == str(done)
    assert (done.rows, done.parts, done.parts_resumed, done.bad_rows) == (6000, 3, 0, 0)
    # Whatever reads folders passes over what is not labels.
    assert len(pd.read_parquet(tmp_path / "labels")) == 6000


def test_no_more_is_read_than_the_rows_of_a_group_ask_for(source, tmp_path):
    attentive, _ = by_columns()
    done = predict_parquet(attentive, source, tmp_path / "labels")
    files = list(source.rglob("[a-d].parquet"))
    metadata = [pq.ParquetFile(path).metadata for path in files]
    groups = [of.row_group(k) for of in metadata for k in range(of.num_row_groups)]
    columns = [group.column(j) for group in groups for j in range(group.num_columns)]
    demanded = sum(one.total_compressed_size for one in columns if one.path_in_schema in attentive.columns_)
    assert 0 < done.bytes_read <= demanded < done.bytes_total / 2
    assert done.bytes_total == sum(path.stat().st_size for path in files)
    assert f"{done.bytes_read:,} of {done.bytes_total:,} bytes read" in str(done)


def test_columns_that_the_plan_does_not_ask_for_may_be_missing_of_another_type_or_damaged(tmp_path):
    attentive, rows = by_columns()
    rows, spare = rows[:1000], [name for name in NAMES if name not in attentive.columns_]
    write(tmp_path / "rows" / "a.parquet", rows.drop(columns=spare[:2]))
    write(tmp_path / "rows" / "b.parquet", rows.astype({spare[2]: str}))
    damaged = write(tmp_path / "rows" / "c.parquet", rows)
    columns = [pq.ParquetFile(damaged).metadata.row_group(0).column(j) for j in range(N)]
    with open(damaged, "r+b") as file:
        for column in columns:
            if column.path_in_schema in spare:
                file.seek(column.dictionary_page_offset or column.data_page_offset)
                file.write(b"\xff" * column.total_compressed_size)
    predict_parquet(attentive, tmp_path / "rows", tmp_path / "labels")
    np.testing.assert_array_equal(read(tmp_path / "labels")["label"], np.tile(attentive.predict(rows), 3))


@pytest.mark.skipif(int(pa.__version__.split(".")[0]) < 23, reason="older versions of pyarrow hold a row group whole")
def test_a_row_group_need_not_fit_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(row_groups, "RUN_BYTES", 2**18)
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(100_000, 10))).add_prefix("x")
    model = Pegasos(max_iter=1, random_state=0).fit(rows[:100], rows["x0"][:100] > 0)
    held = []
    read_piece = labelling.read_piece

    def measured(*arguments):
        read = read_piece(*arguments)
        held.append(pa.total_allocated_bytes())
        return read

    monkeypatch.setattr(labelling, "read_piece", measured)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(rows), path, use_dictionary=False)  # which would be kept, 1 MB at the most
    before = pa.total_allocated_bytes()
    predict_parquet(model, path, tmp_path / "labels")
    assert len(held) == 13  # runs of 8192 rows
    assert max(held) - before < rows.to_numpy().nbytes / 2
    assert pa.total_allocated_bytes() <= before


def test_the_path_of_a_model_is_as_good_as_the_model(source, tmp_path):
    attentive, _ = by_columns()
    saccade.save(attentive, tmp_path / "model")
    predict_parquet(tmp_path / "model", source, tmp_path / "labels")
    assert predict_parquet(attentive, source, tmp_path / "labels").parts_resumed == 3


# Bad rows


def test_a_bad_row_is_named_by_file_and_number_or_has_no_label(tmp_path):
    attentive, rows = by_columns()
    first = attentive.columns_[0]
    rows = rows[:2000].reset_index(drop=True)
    rows.loc[1234, first] = np.nan
    path = write(tmp_path / "rows.parquet", rows, group=500)
    with pytest.raises(DataFileError, match=rf"rows.parquet, row 1235: .*'{first}' is missing.*skip_bad=True"):
        predict_parquet(attentive, path, tmp_path / "labels")
    done = predict_parquet(attentive, path, tmp_path / "others", skip_bad=True)
    labels = read(tmp_path / "others")
    good = np.arange(2000) != 1234
    np.testing.assert_array_equal(labels["label"].is_valid(), good)
    np.testing.assert_array_equal(labels["n_read"].is_valid(), good)
    np.testing.assert_array_equal(labels["label"].drop_null(), attentive.predict(rows[good]))
    assert (done.rows, done.bad_rows) == (2000, 1)
    assert "1 bad row has no label" in str(done)


# Checks, before anything is written


def changed(rows, change):
    return pa.Table.from_pandas(change(rows), preserve_index=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows, name: rows.astype({name: np.float32}), "column '{}' holds float, but double in .*a.parquet"),
        (lambda rows, name: rows.astype({name: str}), "column '{}' holds .*string, not numbers"),
        (lambda rows, name: rows.assign(**{name: [[1.0]] * len(rows)}), "column '{}' holds list.*, not numbers"),
        (lambda rows, name: rows.drop(columns=name), "has no column '{}'"),
    ],
)
def test_files_that_differ_where_it_matters_are_refused_by_name(change, message, source, tmp_path):
    attentive, rows = by_columns()
    name = attentive.columns_[-1]
    write(source / "day=2" / "odd.parquet", change(rows[:10], name))
    with pytest.raises(DataFileError, match="day=2/odd.parquet.* " + message.format(name)):
        predict_parquet(attentive, source, tmp_path / "labels")
    assert not (tmp_path / "labels").exists()


def test_what_is_no_work_is_refused(source, tmp_path):
    attentive, rows = by_columns()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    write(tmp_path / "none" / "rows.parquet", rows[:0])
    unnamed, _ = without_names()
    for model, path, target, kind, message in (
        (attentive, source, tmp_path / "full", CheckpointError, "full is not empty: it has 'mine.txt'"),
        (attentive, source, source / "a.parquet", DataFileError, "target .*a.parquet lies in"),
        (attentive, source / "a.parquet", source / "a.parquet", CheckpointError, "a.parquet is no folder"),
        (attentive, source, source / "labels", DataFileError, "target .*labels lies in .*rows"),
        (attentive, source / "day=2", source, DataFileError, "day=2/part, whose files are read, lies in the target"),
        (attentive, tmp_path / "none", tmp_path / "labels", DataFileError, "no rows"),
        (attentive, tmp_path / "full", tmp_path / "labels", DataFileError, "full has no Parquet files"),
        (attentive, tmp_path / "nowhere", tmp_path / "labels", DataFileError, "nowhere is no file"),
        (attentive, tmp_path / "no*where", tmp_path / "labels", DataFileError, "matches no file"),
        (attentive, [], tmp_path / "labels", DataFileError, "No data file"),
        (attentive, [source, source / "a.parquet"], tmp_path / "labels", DataFileError, "a.parquet is given twice"),
        (unnamed, source / "day=1/c.parquet", tmp_path / "labels", DataFileError, "21 columns, and the model knows 20"),
        (attentive.estimator_, source, tmp_path / "labels", TypeError, "saccade.attend"),
    ):
        with pytest.raises(kind, match=message):
            predict_parquet(model, path, target)
        assert not (tmp_path / "labels").exists()


def test_the_files_of_a_source(source):
    names = ["a.parquet", "day=1/b.parquet", "day=1/c.parquet", "day=2/part/d.parquet"]
    paths = [str(source / name) for name in names]
    assert source_files(source) == list(map(SourceFile, paths, names))
    assert source_files(f"{source}/day=*/*.parquet") == list(map(SourceFile, paths[1:3], ["b.parquet", "c.parquet"]))
    assert source_files(f"{source}/day=*") == list(map(SourceFile, paths[1:], names[1:]))
    assert [file.path for file in source_files(f"{source}/**/*.parquet")] == paths
    assert [file.path for file in source_files(f"{source}/[ad]*")] == paths
    assert source_files([source / names[3], source / names[0]]) == list(map(SourceFile, paths[::-3], names[::-3]))
    assert source_files(paths[0]) == [SourceFile(paths[0], "a.parquet")]
    assert source_files(source / ".hidden.parquet")[0].name == ".hidden.parquet"  # it was asked for
    for path in source.rglob("*.parquet"):
        path.rename(path.with_suffix(""))  # part-0, part-1 …
    assert [file.name for file in source_files(source)] == [name.removesuffix(".parquet") for name in names]


# Going on


@contextmanager
def interrupted(after):
    """Have the work be interrupted when so many pieces were read."""
    read_piece, count = labelling.read_piece, iter(range(after))

    def interrupted(*arguments):
        if next(count, None) is None:
            raise KeyboardInterrupt
        return read_piece(*arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(labelling, "read_piece", interrupted)
        yield


def test_an_interrupted_call_is_gone_on_with_and_what_is_there_is_not_done_again(source, tmp_path, small_parts):
    attentive, _ = by_columns()
    watches = [Watch(attentive, share=0.3, random_state=0) for _ in range(3)]
    whole = predict_parquet(attentive, source, tmp_path / "whole", watch=watches[0])
    with interrupted(after=4), pytest.raises(KeyboardInterrupt):
        predict_parquet(attentive, source, tmp_path / "pieces", watch=watches[1])
    assert watches[1].n_rows == 0  # an interrupted call counts nothing
    before = {path: path.stat() for path in (tmp_path / "pieces").rglob("0*.parquet")}
    assert len(before) == 4
    assert not (tmp_path / "pieces" / "_SUCCESS").exists()
    pieces = predict_parquet(attentive, source, tmp_path / "pieces", watch=watches[2])
    for path, was in before.items():
        assert (path.stat().st_ino, path.stat().st_mtime_ns) == (was.st_ino, was.st_mtime_ns)
    assert untimed(pieces) == untimed(whole) | {"parts_resumed": 4}
    assert files_of(tmp_path / "pieces") == files_of(tmp_path / "whole")
    assert watches[2].to_json() == watches[0].to_json()


def test_nothing_is_mixed(source, tmp_path):
    attentive, rows = by_columns()
    other = attend(attentive.estimator_.estimator, rows, delta=0.04, random_state=0)
    target = tmp_path / "labels"
    predict_parquet(attentive, source, target)
    before = files_of(target)
    for refused, message in (
        (lambda: predict_parquet(other, source, target), "with another model"),
        (lambda: predict_parquet(attentive, source, target, skip_bad=True), "with skip_bad=False"),
        (lambda: predict_parquet(attentive, source, target, watch=Watch(attentive)), "without a watch"),
        (lambda: predict_parquet(attentive, source / "a.parquet", target), "with 'day=1/b.parquet', too"),
        (lambda: predict_parquet(attentive, sorted(source.rglob("[a-d].parquet"))[::-1], target), "in another order"),
    ):
        with pytest.raises(CheckpointError, match=f"labels were begun .*{message}.* Give another target"):
            refused()
    write(source / "day=1" / "b.parquet", rows[:10])
    with pytest.raises(CheckpointError, match=r"labels were begun before 'day=1/b.parquet' was changed"):
        predict_parquet(attentive, source, target)
    assert files_of(target) == before


def test_of_two_calls_that_begin_at_a_time_one_is_refused(source, tmp_path, monkeypatch):
    first, _ = by_columns()
    second = learner()[0]
    survey = parquet._surveyed

    def overtaken(*arguments, **options):
        monkeypatch.setattr(parquet, "_surveyed", survey)
        predict_parquet(first, source, tmp_path / "labels")
        return survey(*arguments, **options)

    monkeypatch.setattr(parquet, "_surveyed", overtaken)
    with pytest.raises(CheckpointError, match=r"Another call has begun in .*labels at the same time"):
        predict_parquet(second, source, tmp_path / "labels")
    predict_parquet(first, source, tmp_path / "alone")
    assert files_of(tmp_path / "labels") == files_of(tmp_path / "alone")
    assert not list((tmp_path / "labels" / "_saccade").glob(".*"))


def test_a_call_that_was_killed_before_it_kept_the_model_is_gone_on_with(source, tmp_path):
    attentive, _ = by_columns()
    predict_parquet(attentive, source, tmp_path / "labels")
    expected = files_of(tmp_path / "labels")
    shutil.rmtree(tmp_path / "labels" / "day=1")
    (tmp_path / "labels" / "_saccade" / "model").unlink()
    predict_parquet(attentive, source, tmp_path / "labels")
    assert files_of(tmp_path / "labels") == expected


def test_another_share_or_version_is_refused_and_a_damaged_manifest_said_so(source, tmp_path):
    attentive, _ = by_columns()
    target = tmp_path / "labels"
    predict_parquet(attentive, source, target, watch=Watch(attentive, share=0.2))
    with pytest.raises(CheckpointError, match=r"begun with a watch over a share of 0.2 .* over 0.5"):
        predict_parquet(attentive, source, target, watch=Watch(attentive, share=0.5))
    with pytest.raises(CheckpointError, match="begun with a watch"):
        predict_parquet(attentive, source, target)
    manifest = target / "_saccade" / "manifest.json"
    kept = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(kept | {"saccade": "0.0.1"}))
    with pytest.raises(CheckpointError, match=r"begun by saccade 0.0.1"):
        predict_parquet(attentive, source, target, watch=Watch(attentive, share=0.2))
    for text in ("{", "[]", '{"model": 1}'):
        manifest.write_text(text)
        with pytest.raises(CheckpointError, match=r"manifest.json is .* Give another target"):
            predict_parquet(attentive, source, target)


def test_a_call_that_was_interrupted_before_it_began_is_begun_anew(source, tmp_path):
    attentive, _ = by_columns()
    (tmp_path / "labels" / "_saccade").mkdir(parents=True)
    assert predict_parquet(attentive, source, tmp_path / "labels").parts_resumed == 0


def test_a_row_group_without_rows_has_no_labels(tmp_path):
    attentive, rows = by_columns()
    tables = [pa.Table.from_pandas(rows[start:stop], preserve_index=False) for start, stop in ((0, 5), (5, 5), (5, 9))]
    with pq.ParquetWriter(tmp_path / "rows.parquet", tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    assert pq.ParquetFile(tmp_path / "rows.parquet").num_row_groups == 3
    predict_parquet(attentive, tmp_path / "rows.parquet", tmp_path / "labels")
    np.testing.assert_array_equal(read(tmp_path / "labels")["label"], attentive.predict(rows[:9]))


def test_a_file_of_labels_that_is_damaged_or_of_other_work_is_made_anew(source, tmp_path):
    attentive, _ = by_columns()
    predict_parquet(attentive, source, tmp_path / "labels")
    before = files_of(tmp_path / "labels")
    damaged, other = (tmp_path / "labels" / name for name in list(before)[:2])
    damaged.write_bytes(b"PAR1")
    pq.write_table(pa.table({"label": [1, 2]}), other)
    assert predict_parquet(attentive, source, tmp_path / "labels").parts_resumed == 1
    assert files_of(tmp_path / "labels") == before


def test_a_file_that_changes_while_it_is_read_is_an_error(source, tmp_path, monkeypatch):
    attentive, rows = by_columns()
    loaded = labelling._loaded

    def change_and_load(*arguments):
        write(source / "a.parquet", rows[:3400])
        return loaded(*arguments)

    monkeypatch.setattr(labelling, "_loaded", change_and_load)
    with pytest.raises(DataFileError, match=r"a.parquet was changed while it was read"):
        predict_parquet(attentive, source, tmp_path / "labels")


# The watch


@given(share=st.floats(0.001, 1), n_groups=st.integers(1, 60), seed=st.integers(0, 2**31 - 1))
def test_of_every_so_many_groups_one_is_audited_with_so_many_times_the_share(share, n_groups, seed):
    audited = AuditedGroups.of(seed, share, [100] * n_groups, draw=True)
    shares = np.array([audited.share_of(group) for group in range(n_groups)])
    assert set(shares) <= {0.0, min(1.0, share * audited.every)}
    whole = n_groups // audited.every * audited.every
    assert (shares[:whole].reshape(-1, audited.every) > 0).sum(axis=1).tolist() == [1] * (whole // audited.every)
    assert whole > 0  # so at least one is audited
    assert np.count_nonzero(shares[whole:]) <= 1
    assert audited.every * share <= 1 + 1e-9


def test_every_group_has_the_same_chance_and_none_is_audited_without_a_share():
    def shares(seed, share, *, draw=True):
        audited = AuditedGroups.of(seed, share, [100] * 12, draw=draw)
        return [audited.share_of(group) for group in range(12)]

    np.testing.assert_allclose(np.mean([shares(seed, 0.04) for seed in range(2000)], axis=0), 0.04, atol=0.008)
    assert shares(0, 0.04, draw=False) == [0.04] * 12
    assert not any(shares(0, 0.0))


def test_audited_rows_are_the_same_however_row_groups_are_put_together_and_have_the_full_label(
    source, tmp_path, monkeypatch
):
    attentive, rows = by_columns()
    rows, watches, tables = rows[:6000], [], []
    for number, most in enumerate((1, 2000, 2**20)):
        monkeypatch.setattr(parts, "MOST_ROWS", most)
        watches.append(Watch(attentive, share=0.2, random_state=1))
        done = predict_parquet(attentive, source, tmp_path / str(number), watch=watches[-1])
        tables.append(read(tmp_path / str(number)))
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    audited, early = tables[0]["audited"].to_numpy(), attentive.read(rows)
    full = attentive.classes_[(attentive.full_margin(rows) > 0).astype(int)]
    np.testing.assert_array_equal(tables[0]["label"].to_numpy(), np.where(audited, full, early.label))
    wrong = np.count_nonzero(early.label[audited] != full[audited])
    for watch in watches:
        assert (watch.n_rows, watch.n_audited, watch.n_disagreements) == (6000, np.count_nonzero(audited), wrong)
    assert 0.1 < audited.mean() < 0.3
    assert done.bytes_read < done.bytes_total  # of most groups few columns


def test_a_watch_goes_on_with_other_rows(source, tmp_path):
    attentive, _ = by_columns()
    watch = Watch(attentive, share=0.2, random_state=1)
    predict_parquet(attentive, source, tmp_path / "first", watch=watch)
    predict_parquet(attentive, source, tmp_path / "second", watch=watch)
    assert watch.n_rows == 12_000
    first, second = (read(tmp_path / name)["audited"].to_numpy() for name in ("first", "second"))
    assert not np.array_equal(first, second)
    assert watch.n_audited == np.count_nonzero(first) + np.count_nonzero(second)


def wrong_in_one_group_of_ten():
    """Return a model, and rows of which it labels many otherwise than its full model does, in every tenth group."""
    attentive, drifted = broken()
    rows = by_columns()[1][:6000].copy()
    bad = np.arange(6000) // 100 % 10 == 9
    rows[bad] = drifted[bad]
    return attentive, rows


def test_a_row_group_that_was_drawn_is_one_observation_whose_audited_rows_are_all_counted(tmp_path):
    attentive, rows = wrong_in_one_group_of_ten()
    path = write(tmp_path / "rows.parquet", rows, group=100)
    full = attentive.classes_[(attentive.full_margin(rows) > 0).astype(int)]
    assert np.mean(attentive.predict(rows) != full) > 1.2 * attentive.certificate_.delta
    for seed in range(5):
        watch = Watch(attentive, share=0.04, random_state=seed)
        predict_parquet(attentive, path, tmp_path / str(seed), watch=watch)
        assert watch.state == "open"  # twelve groups were drawn, and that is too few to say anything of the others
        assert watch.upper_bound > 0.05
        audited = read(tmp_path / str(seed))["audited"].to_numpy().reshape(-1, 100).sum(axis=1)
        stated = json.loads(watch.to_json())
        assert [rows[0] for _, rows, _ in stated["groups"]] == audited[audited > 0].tolist()
        assert sum(errors[0] for *_, errors in stated["groups"]) == watch.n_disagreements
        assert (watch.n_rows, watch.n_audited, stated["rows"][0]) == (6000, audited.sum(), 0)
        again = Watch.from_json(watch.to_json(), attentive)
        assert (again.lower_bound, again.by_class, again.to_json()) == (
            watch.lower_bound,
            watch.by_class,
            watch.to_json(),
        )


@pytest.mark.parametrize("share", [0.4, 0.01, 1e-6])
def test_groups_count_by_their_rows_though_of_small_ones_often_none_is_audited(share):
    sizes = [1, 2, 7, 100, 3000, 100_000]
    audited = AuditedGroups.of(0, share, sizes, draw=True)
    seen = -np.expm1(np.array(sizes) * np.log1p(-share * audited.every))
    weights = np.array([audited.weight_of(size) for size in sizes])
    np.testing.assert_allclose(weights * seen / sizes, seen[-1] / sizes[-1])
    assert weights[-1] == 1


def test_rows_that_can_be_compared_do_not_stand_in_for_those_that_cannot(tmp_path):
    attentive, rows = by_columns()
    lacking = rows[:2000].reset_index(drop=True)
    lacking.loc[lacking.index % 4 > 0, next(name for name in NAMES if name not in attentive.columns_)] = np.nan
    watch = Watch(attentive, share=0.04, random_state=0)
    predict_parquet(attentive, write(tmp_path / "rows.parquet", lacking, 400), tmp_path / "labels", watch=watch)
    [[weight, *_]] = json.loads(watch.to_json())["groups"]
    assert watch.n_incomparable > watch.n_audited
    assert weight == watch.n_audited / (watch.n_audited + watch.n_incomparable)


def test_a_plan_that_reads_most_columns_anyway_is_audited_by_a_coin_for_every_row(tmp_path):
    attentive, rows = trees()
    watch = Watch(attentive, share=0.25, random_state=0)  # of which every other group would be drawn
    predict_parquet(attentive, write(tmp_path / "rows.parquet", rows, 40), tmp_path / "labels", watch=watch)
    audited = read(tmp_path / "labels")["audited"].to_numpy()
    assert len(audited) == 400
    assert audited.reshape(-1, 40).any(axis=1).all()
    stated = json.loads(watch.to_json())
    assert (stated["rows"][0], stated["groups"]) == (np.count_nonzero(audited), [])


@pytest.mark.parametrize(
    "groups",
    [
        *([[0, [1], [0]]], [[1.5, [1], [0]]], [[float("nan"), [1], [0]]], [[[0.5], [1], [0]]]),
        *([[1, [1], [2]]], [[1, [0], [0]]], [[1, [9999], [0]]], [[1, [2.5], [0]]], [[1, [2**70], [0]]]),
        *([[1, [2**62], [0]]] * 4, [[1, [True], [False]]], [[1, [[1]], [[0]]]], [[1, [1]]], "rows", 5, {}, "", None),
    ],
)
def test_groups_that_cannot_have_been_drawn_are_refused(groups):
    attentive, _ = attended("two classes")
    stated = json.loads(Watch(attentive).to_json())
    size = len(stated["rows"])
    if isinstance(groups, list):
        groups = [[weight, *(values * size for values in both)] for weight, *both in groups]
    with pytest.raises(ValueError, match="This is no watch of this model"):
        Watch.from_json(json.dumps({**stated, "n_rows": 100, "groups": groups}), attentive)


@cache
def broken():
    """Return a model, and rows of which it labels many otherwise than its full model does."""
    attentive, rows = by_columns()
    drifted = rows[:6000].copy()
    last = [name for name in NAMES if name not in attentive.columns_]
    direction = np.sign(attentive.estimator_.coef_[0][[NAMES.index(name) for name in last]])
    drifted[last] += 3 * direction
    return attentive, drifted


def test_a_broken_promise_warns_raises_or_has_everything_read_in_full(tmp_path, small_parts):
    attentive, rows = broken()
    path = write(tmp_path / "rows.parquet", rows, group=500)
    full = attentive.classes_[(attentive.full_margin(rows) > 0).astype(int)]
    warning = Watch(attentive, share=0.5, random_state=0)
    with pytest.warns(PromiseBrokenWarning, match="The promise is broken") as caught:
        done = predict_parquet(attentive, path, tmp_path / "warned", watch=warning)
    assert caught[0].filename == __file__
    assert not done.in_full
    assert np.mean(read(tmp_path / "warned")["label"] != full) > 0.1

    raising = Watch(attentive, share=0.5, random_state=0, on_broken="raise")
    for _ in range(2):
        with pytest.raises(PromiseBrokenError, match="The promise is broken"):
            predict_parquet(attentive, path, tmp_path / "raised", watch=raising)
    assert raising.state == "broken"
    assert raising.n_rows < warning.n_rows
    assert not (tmp_path / "raised" / "_SUCCESS").exists()

    reading = Watch(attentive, share=0.5, random_state=0, on_broken="read")
    with pytest.warns(PromiseBrokenWarning, match="From here on every row is read in full"):
        done = predict_parquet(attentive, path, tmp_path / "read", watch=reading)
    labels = read(tmp_path / "read")
    np.testing.assert_array_equal(labels["label"], full)
    assert done.in_full
    assert labels["n_read"].to_numpy().min() == N
    assert reading.n_disagreements == warning.n_disagreements
    assert reading.n_audited == warning.n_audited
    # And so are later rows, from the beginning.
    done = predict_parquet(attentive, path, tmp_path / "later", watch=reading)
    assert done.in_full
    np.testing.assert_array_equal(read(tmp_path / "later")["label"], full)


def test_a_promise_that_was_broken_on_the_way_is_said_to_have_been_so(tmp_path, small_parts):
    attentive, rows = broken()
    _, good = by_columns()
    path = write(tmp_path / "rows.parquet", pd.concat([rows[:2000], good, good, good]), group=100)
    watch = Watch(attentive, share=0.1, random_state=0, on_broken="read")
    with pytest.warns(PromiseBrokenWarning, match="From here on every row is read in full") as caught:
        done = predict_parquet(attentive, path, tmp_path / "labels", watch=watch)
    assert (len(caught), caught[0].filename) == (1, __file__)
    assert watch.state == "open"  # by all rows, of which the later ones were good
    assert done.in_full
    assert watch._all_in_full


@pytest.mark.parametrize("on_broken", ["read", "raise"])
def test_a_promise_that_holds_is_left_alone(on_broken, source, tmp_path, small_parts):
    attentive, _ = by_columns()
    watch = Watch(attentive, share=0.5, random_state=0, on_broken=on_broken)
    done = predict_parquet(attentive, source, tmp_path / "labels", watch=watch)
    assert not done.in_full
    assert watch.n_rows == 6000
    assert watch.state != "broken"


def test_a_watch_must_be_of_the_model(source, tmp_path):
    attentive, _ = by_columns()
    other, _ = attended("two classes")
    for model, watch, kind in (
        (attentive, Watch(other), ValueError),
        (learner()[0], Watch(attentive), ValueError),
        (attentive, attentive, TypeError),
    ):
        with pytest.raises(kind, match=r"[Ww]atch"):
            predict_parquet(model, source, tmp_path / "labels", watch=watch)


# How work is cut


@given(
    files=st.lists(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8), min_size=1, max_size=6),
    most=st.tuples(st.integers(1, 100), st.integers(1, 100), st.integers(1, 4)),
)
def test_parts_and_tasks_have_every_row_group_once_and_stay_within_limits(files, most):
    footers = [Footer("p", 1, 1, {}, [rows for rows, _ in groups], [size for _, size in groups]) for groups in files]
    with pytest.MonkeyPatch.context() as patched:
        for name, value in zip(("MOST_ROWS", "MOST_BYTES", "MOST_PARTS"), most, strict=True):
            patched.setattr(parts, name, value)
        cut = parts_of([SourceFile("p", str(number)) for number in range(len(files))], footers)
        tasks = tasks_of(cut)
    assert [part for task in tasks for part in task] == cut
    every = [size for groups in files for size in groups]
    seen = [number for part in cut for number in range(part.before, part.before + part.groups[1] - part.groups[0])]
    assert [number for number in seen if every[number][0]] == [k for k, (rows, _) in enumerate(every) if rows]
    assert len({part.labels for part in cut}) == len(cut)
    for part in cut:
        groups = files[int(part.labels.split("/")[0])][slice(*part.groups)]
        assert part.n_rows == sum(rows for rows, _ in groups) > 0
        assert len(groups) == 1 or (part.n_rows <= most[0] and sum(size for _, size in groups) <= most[1])
    for task in tasks:
        assert len(task) == 1 or (sum(part.n_rows for part in task) <= most[0] and len(task) <= most[2])


# On a cluster


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two processes of one thread each."""
    folder = tmp_path_factory.mktemp("cluster")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", local_directory=folder
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def hundred(tmp_path_factory):
    """A folder of 100 row groups, their labels as one process gives them, and what it and its watch count."""
    attentive, rows = by_columns()
    folder = tmp_path_factory.mktemp("hundred")
    for number in range(4):
        write(folder / "rows" / f"{number}.parquet", rows[number * 2000 : (number + 1) * 2000], group=80)
    watch = Watch(attentive, share=0.1, random_state=0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parts, "MOST_ROWS", 1)
        done = predict_parquet(attentive, folder / "rows", folder / "labels", watch=watch)
    return folder / "rows", files_of(folder / "labels"), done, watch


def test_a_cluster_gives_the_same_bits(client, hundred, small_parts, tmp_path):
    attentive, _ = by_columns()
    rows, labels, expected, watch = hundred
    watched = Watch(attentive, share=0.1, random_state=0)
    done = predict_parquet(attentive, rows, tmp_path / "labels", watch=watched)  # by the default client
    assert done.parts == 100
    assert untimed(done) == untimed(expected)
    assert files_of(tmp_path / "labels") == labels
    assert watched.to_json() == watch.to_json()


def test_a_worker_that_dies_loses_nothing_and_changes_no_bit(client, hundred, small_parts, tmp_path):
    attentive, _ = by_columns()
    rows, labels, expected, watch = hundred
    died = str(tmp_path / "died")
    before = set(client.run(os.getpid).values())

    def die_once():
        from saccade.cluster import labelling

        read_piece, count = labelling.read_piece, iter(range(7))

        def dying(*arguments):
            if next(count, None) is None and not os.path.exists(died):
                with open(died, "x"):
                    os.kill(os.getpid(), signal.SIGKILL)
            return read_piece(*arguments)

        labelling.read_piece, labelling.before = dying, read_piece

    def mend():
        from saccade.cluster import labelling

        labelling.read_piece = getattr(labelling, "before", labelling.read_piece)

    client.run(die_once)
    watched = Watch(attentive, share=0.1, random_state=0)
    try:
        done = predict_parquet(attentive, rows, tmp_path / "labels", client, watch=watched)
    finally:
        client.wait_for_workers(2)
        client.run(mend)
    assert os.path.exists(died)
    assert len(before & set(client.run(os.getpid).values())) == 1
    assert untimed(done) == untimed(expected)
    assert files_of(tmp_path / "labels") == labels
    assert watched.to_json() == watch.to_json()
    assert not list((tmp_path / "labels").rglob(".*"))  # what the dead one had begun is cleared away


def test_nobody_still_writes_early_labels_when_all_is_read_in_full(client, small_parts, tmp_path):
    attentive, rows = broken()
    path = write(tmp_path / "rows.parquet", rows, group=500)
    full = attentive.classes_[(attentive.full_margin(rows) > 0).astype(int)]

    def linger():  # so that a part that is read by the plan is written after others have begun to read it in full
        import time

        from saccade.cluster import labelling

        read_piece, count = labelling.read_piece, iter(range(2))

        def slow(watch, *arguments):
            found = read_piece(watch, *arguments)
            if not watch._all_in_full and next(count, None) is None:
                time.sleep(1)
            return found

        labelling.read_piece, labelling.before = slow, read_piece

    def mend():
        from saccade.cluster import labelling

        labelling.read_piece = labelling.before

    client.run(linger)
    try:
        watch = Watch(attentive, share=0.9, random_state=0, on_broken="read")
        with pytest.warns(PromiseBrokenWarning):
            done = predict_parquet(attentive, path, tmp_path / "labels", client, watch=watch)
        client.run(time.sleep, 2)
    finally:
        client.run(mend)
    assert done.in_full
    np.testing.assert_array_equal(read(tmp_path / "labels")["label"], full)


def pending(client):
    """Return how many tasks a client waits for."""
    return sum(future.status == "pending" for future in client.futures.values())


def test_an_error_on_a_worker_is_raised_here_and_what_was_done_stays(client, small_parts, tmp_path):
    attentive, rows = by_columns()
    bad = rows[:2000].reset_index(drop=True)
    bad.loc[1500, attentive.columns_[0]] = np.inf
    write(tmp_path / "rows" / "0.parquet", rows[:2000], group=80)
    write(tmp_path / "rows" / "1.parquet", bad, group=80)
    with pytest.raises(DataFileError, match=r"1.parquet, row 1501: .* is inf"):
        predict_parquet(attentive, tmp_path / "rows", tmp_path / "labels", client)
    assert 10 <= len(files_of(tmp_path / "labels")) < 50
    assert not pending(client)


def test_the_scheduler_is_never_given_all_tasks_at_once(client):
    most, results = 0, {}
    for number, result in spread(client, float, list(range(100)), "floats"):
        results[number] = result
        most = max(most, pending(client))
    assert results == {number: float(number) for number in range(100)}
    assert 0 < most <= 2 * FOR_EACH_THREAD


def test_what_was_begun_is_finished_before_anything_else_begins(client, tmp_path):
    folder = str(tmp_path)

    def write_late(number):
        import time

        with open(os.path.join(folder, f"begun {number}"), "x"):
            time.sleep(0.3 if number else 0)
        with open(os.path.join(folder, f"done {number}"), "x"):
            return number

    results = spread(client, write_late, list(range(50)), "late")
    assert next(results)[0] == 0
    results.close()
    names = os.listdir(folder)
    assert sum(name.startswith("begun") for name in names) == sum(name.startswith("done") for name in names) < 50


def test_a_broken_promise_is_answered_alike_on_a_cluster(client, small_parts, tmp_path):
    attentive, rows = broken()
    path = write(tmp_path / "rows.parquet", rows, group=500)
    full = attentive.classes_[(attentive.full_margin(rows) > 0).astype(int)]
    watches = [Watch(attentive, share=0.5, random_state=0, on_broken="read") for _ in range(2)]
    for name, where, watch in (("here", None, watches[0]), ("there", client, watches[1])):
        with pytest.MonkeyPatch.context() as patched:
            if where is None:
                patched.setattr("saccade.cluster.parquet.client_or_default", lambda client: None)
            with pytest.warns(PromiseBrokenWarning, match="The promise is broken"):
                predict_parquet(attentive, path, tmp_path / name, where, watch=watch)
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")
    assert watches[0].to_json() == watches[1].to_json()
    np.testing.assert_array_equal(read(tmp_path / "there")["label"], full)


def test_a_client_that_cannot_be_waited_for_is_refused(source, tmp_path):
    class Asynchronous:
        asynchronous = True

    with pytest.raises(TypeError, match="asynchronous"):
        predict_parquet(by_columns()[0], source, tmp_path / "labels", Asynchronous())


def test_a_target_that_a_worker_does_not_see_is_said_so(source, tmp_path, monkeypatch):
    label_parts = labelling.label_parts

    def elsewhere(job, parts):
        shutil.rmtree(job.target)
        return label_parts(job, parts)

    monkeypatch.setattr("saccade.cluster.running.label_parts", elsewhere)
    with pytest.raises(DataFileError, match=r"labels is not there on .* the same path on all machines"):
        predict_parquet(by_columns()[0], source, tmp_path / "labels")


def test_the_door_names_what_is_missing(monkeypatch):
    import saccade.dask

    assert "predict_parquet" in dir(saccade.dask)
    with pytest.raises(AttributeError, match="predict_parket"):
        saccade.dask.predict_parket  # noqa: B018

    def missing(name):
        raise ModuleNotFoundError(name="pyarrow")

    monkeypatch.setattr(saccade.dask, "import_module", missing)
    with pytest.raises(ImportError, match=r"saccade.dask needs pyarrow. .*pip install 'saccade\[dask\]'"):
        saccade.dask.predict_parquet  # noqa: B018

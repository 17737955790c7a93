"""``saccade.rows`` and ``saccade.learn``: several files as one data set, and learning that goes on to the same bits."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import LogisticRegression

import saccade
from data import correlated
from saccade.data import checkpoints, columns, lines, sampling
from saccade.data.batches import BadRows, Wanted
from saccade.data.opening import data_files, open_data
from saccade.exceptions import CheckpointError, DataFileError
from saccade.kernels.state import CLOCK
from saccade.learners.passes import grow_older
from saccade.reading import samples

EVERY, CODES = correlated(900, 6, seed=5, separation=3.0)
NAMES = [f"f{j}" for j in range(6)]
FRAME = pd.DataFrame(EVERY, columns=NAMES).assign(kind=np.array(["elm", "oak"])[CODES])
PARTS = [FRAME[:300], FRAME[300:350], FRAME[350:]]


def write(frame, path):
    match path.suffix:
        case ".csv" | ".gz":
            frame.to_csv(path, index=False)
        case ".parquet":
            frame.to_parquet(path, row_group_size=100)
        case ".feather":
            frame.reset_index(drop=True).to_feather(path)
        case ".npy":
            np.save(path, np.column_stack([frame[NAMES], frame.kind == "oak"]))
        case ".svm":
            dump_svmlight_file(frame[NAMES].to_numpy(), frame.kind == "oak", str(path), zero_based=False)


SUFFIXES = ["csv", "csv.gz", "parquet", "feather", "npy", "svm"]
TARGETS = {"npy": "6", "svm": None}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder whose files are read in many small batches."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lines, "BLOCK", 5000)
    monkeypatch.setattr(columns, "BATCH_BYTES", 48 * 64)
    return tmp_path


def parts(suffix, folder="."):
    for number, part in enumerate(PARTS):
        write(part, Path(folder) / f"part-{number}.{suffix}")


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_several_files_are_one_data_set_and_are_read_on_from_any_batch(suffix, folder):
    parts(suffix)
    with open_data(f"part-*.{suffix}", Wanted(TARGETS.get(suffix, "kind"))) as data:
        found = list(data.batches(0, BadRows(data.path, skip=False)))
        np.testing.assert_allclose(np.concatenate([dense(one.X) for one in found]), EVERY, rtol=1e-15)
        assert found[-1].end == data.length
        assert data.size == sum(Path(file).stat().st_size for file in data_files(f"part-*.{suffix}"))
        assert len(found) > 6
        for k in range(len(found) - 1):
            rest = list(data.batches(found[k].end, BadRows(data.path, skip=False)))
            assert [one.end for one in rest] == [one.end for one in found[k + 1 :]]
            np.testing.assert_array_equal(dense(rest[0].X), dense(found[k + 1].X))


@pytest.mark.parametrize("path", ["parts", "parts/", "parts/part-?.csv", Path("parts"), "list", "list of folders"])
def test_rows_come_from_lists_patterns_and_folders(path, folder):
    (folder / "parts").mkdir()
    parts("csv", "parts")
    for name in ("_SUCCESS", ".part-0.csv.crc", ".hidden.csv", "_committed.csv", "notes.md"):
        (folder / "parts" / name).write_text("no data\n")
    given = [f"parts/part-{k}.csv" for k in range(3)] if path == "list" else path
    given = [Path("parts")] if path == "list of folders" else given
    found = list(saccade.rows(given, target="kind"))
    np.testing.assert_allclose(np.concatenate([one.X for one in found]), EVERY, rtol=1e-15)
    np.testing.assert_array_equal(np.concatenate([one.y for one in found]), FRAME.kind)


def test_rows_gives_the_columns_that_are_asked_for_and_passes_over_bad_ones(folder):
    Path("a.csv").write_text("a,b,c\n1,2,x\n3,tall,x\n5,6,x\n")
    with pytest.raises(DataFileError, match=r"a\.csv, line 3: 'b' is 'tall', not a number.*skip_bad=True"):
        list(saccade.rows("a.csv", columns=["b", "a"]))
    (batch,) = saccade.rows("a.csv", columns=np.array(["b", "a"], dtype=object), skip_bad=True)  # as models have names
    np.testing.assert_array_equal(batch.X, [[2, 1], [6, 5]])
    assert batch.y is None
    assert batch.good.tolist() == [True, False, True]
    Path("b.svm").write_text("1 1:5\n")
    (batch,) = saccade.rows("b.svm", n_features=3, zero_based=True)
    np.testing.assert_array_equal(batch.X.toarray(), [[0, 5, 0]])


def test_a_bad_row_is_named_in_its_own_file(folder):
    parts("csv")
    with open("part-1.csv", "a") as file:
        file.write("1,2\n")
    with pytest.raises(DataFileError, match=r"part-1\.csv, line 52: it has 2 fields, not 7"):
        list(saccade.rows("part-*.csv", target="kind"))
    assert sum(len(one.X) for one in saccade.rows("part-*.csv", target="kind", skip_bad=True)) == 900


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        ({}, "nothing.csv", "nothing.csv is no file"),
        ({}, "*.csv", r"\*.csv matches no file"),
        ({}, [], "No data file is given"),
        ({"d/notes.md": "x"}, "d", "d has no data files"),
        ({"a.csv": "a,b\n1,2\n", "b.csv": "a,c\n1,2\n"}, ["a.csv", "b.csv"], "b.csv and a.csv .* 'b', 'c'"),
        ({"a.csv": "a,b\n1,2\n", "b.csv": "1,2\n3,4\n"}, "*.csv", "a.csv has a header, but b.csv has none"),
        ({"a.csv": "5,6\n1,2\n", "b.csv": "a,b\n3,4\n"}, "*.csv", "b.csv has a header, but a.csv has none"),
        ({"a.csv": "5,6\n1,2\n", "b.csv": "7,8,9\n"}, "*.csv", "b.csv has 3 features, but a.csv has 2"),
        ({"a.csv": "a,b\n1,2\n", "b.svm": "1 1:2\n"}, "?.*", "a.csv is csv, but b.svm is libsvm"),
        ({"d/a.csv": "a,b\n1,2\n", "d/b.svm": "1 1:2\n"}, "d", "Give files of one kind"),
        ({"a.parquet.gz": "x"}, "a.parquet.gz", "what kind of file"),
    ],
)
def test_what_is_no_data_set_is_refused_when_it_is_opened(files, path, message, folder):
    for name, content in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(content)
    with pytest.raises(DataFileError, match=message):
        saccade.rows(path)


def test_a_format_chooses_among_the_files_of_a_folder(folder):
    Path("d").mkdir()
    Path("d/a.csv").write_text("a,b\n1,2\n")
    Path("d/b.svm").write_text("1 1:2\n")
    assert [one.X.tolist() for one in saccade.rows("d", format="csv")] == [[[1, 2]]]
    with pytest.raises(DataFileError, match="no data files of the format npy"):
        saccade.rows("d", format="npy")
    with pytest.raises(DataFileError, match="'xlsx' is no format"):
        saccade.rows("d", format="xlsx")


def test_columns_may_stand_in_another_order_in_another_file(folder):
    Path("a.csv").write_text("a,b,kind\n1,2,elm\n")
    Path("b.csv").write_text("kind,b,a\noak,4,3\n")
    found = list(saccade.rows("?.csv", target="kind"))
    np.testing.assert_array_equal(np.concatenate([one.X for one in found]), [[1, 2], [3, 4]])


def test_libsvm_files_agree_on_where_indices_begin_and_on_how_many_there_are(folder):
    Path("a.svm").write_text("1 1:5\n")
    Path("b.svm").write_text("0 0:6 3:7\n")
    found = [one.X.toarray().tolist() for one in saccade.rows(["a.svm", "b.svm"])]
    assert found == [[[0, 5, 0, 0]], [[6, 0, 0, 7]]]
    with pytest.raises(DataFileError, match=r"b\.svm has an index 0"):
        saccade.rows(["a.svm", "b.svm"], zero_based=False)
    with pytest.raises(DataFileError, match=r"b\.svm has features up to 4"):
        saccade.rows(["a.svm", "b.svm"], n_features=3)


def test_row_groups_of_several_parquet_files_follow_each_other(folder):
    parts("parquet")
    with open_data(".", Wanted("kind")) as data:
        pieces = data.pieces(BadRows(data.path, skip=False))  # each is there until the next one is asked for
        ends, columns, read = zip(*((p.end, p.source.column(2), p.bytes_read()) for p in pieces), strict=True)
        size = data.column_bytes()
    assert ends == (100, 200, 300, 350, 450, 550, 650, 750, 850, len(EVERY))
    np.testing.assert_array_equal(np.concatenate(columns), EVERY[:, 2])
    assert sum(read) == size["f2"]


def test_learning_from_several_files_is_learning_from_one(folder, monkeypatch):
    """With one batch per file, and no shuffling, cuts between files are all that differs."""
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    parts("parquet")
    write(FRAME, Path("whole.parquet"))
    model = saccade.Pegasos(shuffle=False, max_iter=3, random_state=0)
    one, several = (
        saccade.learn(model, path, target="kind", scale=False) for path in ("whole.parquet", "part-*.parquet")
    )
    np.testing.assert_array_equal(one.coef_, several.coef_)
    assert one.training_ == several.training_
    assert not hasattr(model, "coef_")
    assert list(one.feature_names_in_) == NAMES
    assert one.score(FRAME[NAMES], FRAME.kind) > 0.9


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_learning_that_is_interrupted_and_resumed_gives_the_same_bits(suffix, folder, monkeypatch):
    parts(suffix)
    told = {"path": f"part-*.{suffix}", "target": TARGETS.get(suffix, "kind")}
    model = saccade.Pegasos(max_iter=3, random_state=0)
    whole = saccade.learn(model, **told)
    keep, left = checkpoints.Checkpoint.keep, [0]

    def interrupted(self, *state):
        keep(self, *state)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints.Checkpoint, "keep", interrupted)
    interruptions = 0
    while True:
        left[0] = 5
        try:
            pieces = saccade.learn(model, **told, checkpoint="state", checkpoint_every=0, resume=True)
            break
        except KeyboardInterrupt:
            interruptions += 1
    assert interruptions > 3
    np.testing.assert_array_equal(whole.coef_, pieces.coef_)
    assert whole.training_ == pieces.training_
    saccade.save(whole, "whole")
    saccade.save(pieces, "pieces")
    assert Path("whole").read_bytes() == Path("pieces").read_bytes()


def test_a_checkpoint_knows_its_data_and_its_model(folder):
    parts("csv")
    model = saccade.Pegasos(random_state=0)
    told = {"target": "kind", "checkpoint": "state", "checkpoint_every": 0}
    saccade.learn(model, "part-*.csv", **told)
    with pytest.raises(CheckpointError, match=r"state exists already.*resume=True"):
        saccade.learn(model, "part-*.csv", **told)
    for other, path in (
        (model, "part-[01].csv"),
        (model, ["part-1.csv", "part-0.csv", "part-2.csv"]),
        (saccade.Pegasos(lam=0.5, random_state=0), "part-*.csv"),
        (saccade.Perceptron(random_state=0), "part-*.csv"),
    ):
        with pytest.raises(CheckpointError, match="other data, other options"):
            saccade.learn(other, path, **told, resume=True)
    with pytest.raises(CheckpointError, match="this is the data"):
        saccade.learn(model, "part-*.csv", target="kind", checkpoint="part-1.csv", resume=True)
    with pytest.raises(CheckpointError, match="name the checkpoint"):
        saccade.learn(model, "part-*.csv", target="kind", resume=True)


def test_what_cannot_learn_from_files_is_refused(folder):
    parts("csv")
    with pytest.raises(TypeError, match="LogisticRegression cannot learn from files"):
        saccade.learn(LogisticRegression(), "part-*.csv", target="kind")
    with pytest.raises(ValueError, match="balanced"):
        saccade.learn(saccade.Pegasos(class_weight="balanced"), "part-*.csv", target="kind")
    Path("one.csv").write_text("a,kind\n1,elm\n2,elm\n")
    with pytest.raises(DataFileError, match="1 classes"):
        saccade.learn(saccade.Pegasos(), "one.csv", target="kind")


def test_a_seed_that_was_drawn_repeats_the_run(folder):
    parts("csv")
    for state in (None, np.random.RandomState(3)):
        first = saccade.learn(saccade.Pegasos(random_state=state), "part-*.csv", target="kind")
        assert isinstance(first.random_state, int)
    again = saccade.learn(saccade.Pegasos(random_state=first.random_state), "part-*.csv", target="kind")
    np.testing.assert_array_equal(first.coef_, again.coef_)


def test_nothing_is_shown_where_there_is_no_terminal(folder, capsys):
    parts("csv")
    saccade.learn(saccade.Pegasos(random_state=0), "part-*.csv", target="kind")
    assert capsys.readouterr() == ("", "")


def test_a_sample_is_even_over_all_files(folder, monkeypatch):
    monkeypatch.setattr(samples, "MOST_ROWS", 90)
    Path("a.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"".join(b"%d,0\n" % k for k in range(700))))
    Path("b.csv").write_text("a,b\n" + "".join(f"{k},0\n" for k in range(700, 900)))
    counts = np.zeros(900)
    for seed in range(200):
        with open_data(["a.csv.gz", "b.csv"], Wanted()) as data:
            drawn = sampling.sample(data, BadRows(data.path, skip=False), np.random.default_rng(seed))[0][:, 0]
        assert drawn.size == 90
        assert (np.diff(drawn) > 0).all()
        counts[drawn.astype(int)] += 1
    # Each row is drawn with probability 0.1: every tenth of the file 1,800 times, with a deviation of about 40.
    np.testing.assert_allclose(counts.reshape(10, 90).sum(axis=1), 200 * 9, atol=5 * 40)


def test_a_sample_has_no_more_values_than_memory_allows(folder, monkeypatch):
    monkeypatch.setattr(samples, "MOST_VALUES", 2400)
    monkeypatch.setattr(samples, "FEWEST_ROWS", 10)
    write(FRAME, Path("a.csv"))
    with open_data("a.csv", Wanted("kind")) as data:
        drawn, _ = sampling.sample(data, BadRows(data.path, skip=False), np.random.default_rng(0))
    assert drawn.shape == (400, 6)


def test_a_first_file_of_bad_rows_is_passed_over_with_a_checkpoint_too(folder):
    Path("d").mkdir()
    Path("d/a.csv").write_text("x,y\ntall,u\nold,v\n")
    FRAME[["f0", "kind"]].rename(columns={"f0": "x", "kind": "y"}).to_csv("d/b.csv", index=False)
    options = {"target": "y", "skip_bad": True}
    plain = saccade.learn(saccade.Pegasos(random_state=0), "d", **options)
    kept = saccade.learn(saccade.Pegasos(random_state=0), "d", checkpoint="state", checkpoint_every=0, **options)
    np.testing.assert_array_equal(kept.coef_, plain.coef_)


def test_paths_may_come_from_a_generator(folder):
    parts("csv")
    paths = (f"part-{number}.csv" for number in range(3))
    model = saccade.learn(saccade.Pegasos(max_iter=1, random_state=0), paths, target="kind")
    assert model.training_.n_examples == 900


def test_a_format_is_enough_for_files_without_a_suffix(folder):
    Path("d").mkdir()
    for number, part in enumerate(PARTS):
        part.to_csv(f"d/part-{number}", index=False)
    assert sum(len(batch.y) for batch in saccade.rows("d", target="kind", format="csv")) == 900


@pytest.fixture
def few_rows_are_enough(monkeypatch):
    monkeypatch.setattr("saccade.learners.classifier.FEWEST_ROWS", 1)
    monkeypatch.setattr("saccade.learners.classifier.FEWEST_VALUES", 1)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "svm"])
def test_rows_of_files_are_remembered_over_passes_and_resumes(folder, suffix, few_rows_are_enough, monkeypatch):
    parts(suffix)
    given = saccade.Pegasos(max_iter=6, tol=None, audit=0.1, random_state=0), [f"part-{k}.{suffix}" for k in range(3)]
    target = TARGETS.get(suffix, "kind")
    whole = saccade.learn(*given, target=target)
    assert whole.training_.n_skipped > 900
    assert (whole.n_iter_, whole.training_.n_examples) == (6, 5400)
    keep, left = checkpoints.Checkpoint.keep, [17]

    def interrupted(self, *state):
        keep(self, *state)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints.Checkpoint, "keep", interrupted)
    options = {"target": target, "checkpoint": "state", "checkpoint_every": 0}
    with pytest.raises(KeyboardInterrupt):
        saccade.learn(*given, **options)
    resumed = saccade.learn(*given, **options, resume=True)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert resumed.training_ == whole.training_


def test_what_is_remembered_of_all_batches_grows_older_alike(folder, few_rows_are_enough, monkeypatch):
    ages = []

    def watched(learners, memories, *rest):
        before = [memory.copy() for memory in memories]
        clock = learners[0].state.scalars[CLOCK]
        grow_older(learners, memories, *rest)
        ages.append((clock, [new[0, :, 1] - old[0, :, 1] for old, new in zip(before, memories, strict=True)]))

    monkeypatch.setattr("saccade.data.learning.grow_older", watched)
    parts("csv")
    saccade.learn(saccade.Pegasos(max_iter=2, tol=None, random_state=0), "part-*.csv", target="kind")
    assert len(ages) == 2
    for clock, batches in ages:
        assert clock > 0
        assert len(batches) > 2
        for batch in batches:
            np.testing.assert_allclose(batch, clock, rtol=1e-3)

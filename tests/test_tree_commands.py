"""``saccade attend``, ``predict``, ``evaluate`` and ``inspect`` with trees, from LightGBM's and XGBoost's own files."""

import json
import random
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import xgboost
from effort import examples
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

import saccade
from saccade.cli.main import run
from saccade.models.categories import Categories
from saccade.models.coding import coder_of
from saccade.models.trees.apart import from_file

N = 7000
FITTED, HELD_OUT, NEW = slice(0, 2500), slice(2500, 6000), slice(6000, N)
rng = np.random.default_rng(1)
COLOURS = ["red", "green", "blue", "grey"]
SIZES = [10, 20, 40]
FRAME = pd.DataFrame(rng.normal(size=(N, 5)), columns=["a", "b", "c", "d", "e"])
FRAME["colour"] = pd.Categorical(rng.choice(COLOURS, N), categories=COLOURS)
FRAME["size"] = pd.Categorical(rng.choice(SIZES, N), categories=SIZES)
SCORE = FRAME["a"] + FRAME["b"] * FRAME["c"] + 2 * (FRAME["colour"] == "red") + (FRAME["size"] == 20)
LABELS = (SCORE + 0.2 * rng.normal(size=N) > 0.8).astype(int)
for name in ("a", "colour", "size"):
    FRAME.loc[rng.random(N) < 0.1, name] = np.nan
NUMBERS = FRAME[["a", "b", "c", "d", "e"]].to_numpy()


def fit_lightgbm(rows, labels):
    return lightgbm.LGBMClassifier(n_estimators=40, random_state=0, verbose=-1).fit(rows, labels)


def fit_xgboost(rows, labels):
    return xgboost.XGBClassifier(n_estimators=40, random_state=0, enable_categorical=True).fit(rows, labels)


FITTED_ON_TABLES = {
    "lightgbm": fit_lightgbm(FRAME[FITTED], LABELS[FITTED]),
    "xgboost": fit_xgboost(FRAME[FITTED], LABELS[FITTED]),
}


def save_native(model, path):
    (model.booster_ if hasattr(model, "booster_") else model).save_model(path)
    return path


FILES = {"model.txt": "lightgbm", "odd-name": "lightgbm", "model.json": "xgboost", "model.ubj": "xgboost"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(rows, labels, name):
    """Write rows, with texts that no model reads in one more column, and where the target is named, labels."""
    frame = rows.assign(comment="nothing", kind=labels)
    match name.rpartition(".")[2]:
        case "csv":
            frame.to_csv(name, index=False)
        case "parquet":
            frame.to_parquet(name, row_group_size=300)
        case "arrow":  # texts instead of categories, in several batches
            table = pa.Table.from_pandas(frame.assign(colour=frame["colour"].astype(object)), preserve_index=False)
            pyarrow.feather.write_feather(table, name, chunksize=400)
    return name


def prints(capsys, *arguments):
    assert run([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def certified(capsys, model, data, *more):
    prints(capsys, "attend", model, data, "-o", "fast.saccade", "--delta", 0.1, "--random-state", 0, "--force", *more)
    return saccade.load("fast.saccade")


@pytest.mark.parametrize("name", FILES)
def test_a_librarys_file_is_certified_and_read_alike_whatever_the_data_file(name, folder, capsys):
    model = FITTED_ON_TABLES[FILES[name]]
    save_native(model, "saved.json" if name.endswith("json") else "saved.ubj" if name.endswith("ubj") else name)
    if name.startswith("model.") and not name.endswith("txt"):
        (folder / f"saved.{name.rpartition('.')[2]}").rename(name)
    kept, printed = [], []
    for kind in ("csv", "parquet", "arrow"):
        held_out = write(FRAME[HELD_OUT], LABELS[HELD_OUT], f"held-out.{kind}")
        new = write(FRAME[NEW], LABELS[NEW], f"new.{kind}")
        attentive = certified(capsys, name, held_out)
        kept.append((folder / "fast.saccade").read_bytes())
        printed.append(prints(capsys, "predict", "fast.saccade", new))
    assert kept[0] == kept[1] == kept[2]
    assert printed[0] == printed[1] == printed[2]
    labels = [int(line.split(",")[0]) for line in printed[0].splitlines()[1:]]
    same = saccade.attend(model, FRAME[HELD_OUT], delta=0.1, random_state=0).read(FRAME[NEW])
    np.testing.assert_array_equal(labels, same.label)
    np.testing.assert_array_equal(attentive.full_margin(FRAME[NEW]) > 0, model.predict(FRAME[NEW]) == 1)


def test_a_file_that_nobody_compared_with_its_library_says_so(folder, capsys):
    save_native(FITTED_ON_TABLES["lightgbm"], "model.txt")
    write(FRAME[HELD_OUT], LABELS[HELD_OUT], "held-out.csv")
    assert run(["attend", "model.txt", "held-out.csv", "-o", "fast.saccade", "--delta", "0.1"]) == 0
    said = capsys.readouterr()
    assert "read as LightGBM's model format v4" in said.err
    assert "not compared with the library's own" in said.err
    assert "trees were read per row" in said.out
    assert run(["predict", "model.txt", "held-out.csv"]) == 2
    assert "Certify it first: saccade attend model.txt" in capsys.readouterr().err


def test_the_commands_speak_of_trees(folder, capsys):
    save_native(FITTED_ON_TABLES["lightgbm"], "model.txt")
    write(FRAME[HELD_OUT], LABELS[HELD_OUT], "held-out.csv")
    write(FRAME[NEW], LABELS[NEW], "new.parquet")
    attentive = certified(capsys, "model.txt", "held-out.csv")
    reading = attentive.read(FRAME[NEW])
    said = json.loads(prints(capsys, "evaluate", "fast.saccade", "new.parquet", "--target", "kind", "--json"))
    assert said["rows"] == len(reading)
    assert said["accuracy"] == np.mean(reading.label == LABELS[NEW])
    assert said["trees per row"] == reading.n_read.mean() < 40
    assert said["disagreement with the full read"] == np.mean(
        reading.label != FITTED_ON_TABLES["lightgbm"].predict(FRAME[NEW])
    )
    assert run(["predict", "fast.saccade", "new.parquet", "-o", "labels.csv"]) == 0
    assert f"{reading.n_read.mean():.1f} trees per row" in capsys.readouterr().err
    said = json.loads(prints(capsys, "inspect", "fast.saccade", "--json"))
    assert said["trees"] == 40
    assert sorted(said["order"]) == sorted(set(attentive.plan_.order.tolist()))
    assert said["columns"] == attentive.columns_
    shown = prints(capsys, "inspect", "fast.saccade", "--html", "plan.html")
    assert "Of 40 trees" in shown
    page = (folder / "plan.html").read_text()
    assert "trees were read per row" in page
    assert f"The trees can ask for {len(attentive.columns_)} columns" in page


def test_a_certified_file_is_certified_anew(folder, capsys):
    save_native(FITTED_ON_TABLES["xgboost"], "model.ubj")
    write(FRAME[HELD_OUT], LABELS[HELD_OUT], "held-out.csv")
    certified(capsys, "model.ubj", "held-out.csv")
    first = (folder / "fast.saccade").read_bytes()
    certified(capsys, "fast.saccade", "held-out.csv")
    assert (folder / "fast.saccade").read_bytes() == first
    moved = certified(capsys, "fast.saccade", "held-out.csv", "--threshold", 0.3)
    expected = FITTED_ON_TABLES["xgboost"].predict_proba(FRAME[NEW])[:, 1] >= 0.3
    assert np.mean((moved.full_margin(FRAME[NEW]) > 0) == expected) > 0.999  # XGBoost's probabilities are singles
    assert moved.threshold == 0.3


def test_missing_values_and_categories_of_a_file_are_those_of_the_table(folder, capsys):
    """However a file spells what is missing; an unknown category is missing, and numbers may be categories."""
    model = FITTED_ON_TABLES["lightgbm"]
    saccade.save(saccade.attend(model, FRAME[HELD_OUT], delta=0.1, random_state=0), "fast.saccade")
    some = FRAME[NEW][:8].reset_index(drop=True)
    expected = saccade.load("fast.saccade").read(
        some.assign(
            a=[np.nan] * 6 + [1.5, 2.5], colour=pd.Categorical([None] * 3 + ["red"] * 3 + ["blue"] * 2, COLOURS)
        )
    )
    written = some.assign(
        a=["", "NA", "nan", "NULL", "?", "<NA>", " 1.5", "2.5"],
        colour=["", "mauve", "NA", "red", " red", "red ", "blue", "blue"],
    )
    written.to_csv("new.csv", index=False)
    lines = prints(capsys, "predict", "fast.saccade", "new.csv").splitlines()[1:]
    assert [float(line.split(",")[1]) for line in lines] == expected.margin.tolist()
    written[:3].assign(a="").to_csv("fast.csv", index=False)  # nothing that pyarrow could not convert
    lines = prints(capsys, "predict", "fast.saccade", "fast.csv").splitlines()[1:]
    assert [float(line.split(",")[1]) for line in lines] == expected.margin[:3].tolist()
    written.assign(a="many").to_csv("bad.csv", index=False)
    assert run(["predict", "fast.saccade", "bad.csv"]) == 1
    assert "bad.csv, line 2: 'a' is 'many', not a number" in capsys.readouterr().err
    assert run(["predict", "fast.saccade", "bad.csv", "--skip-bad"]) == 0
    assert "8 bad rows" in capsys.readouterr().err


@pytest.mark.filterwarnings("default::saccade.exceptions.SuspectColumnWarning")
def test_a_column_with_none_of_the_categories_is_a_warning(folder, capsys):
    saccade.save(
        saccade.attend(FITTED_ON_TABLES["lightgbm"], FRAME[HELD_OUT], delta=0.1, random_state=0), "fast.saccade"
    )
    codes = FRAME[NEW].assign(colour=FRAME["colour"].cat.codes.astype(str)[NEW])
    codes.to_csv("codes.csv", index=False)
    codes.to_parquet("codes.parquet")
    for name in ("codes.csv", "codes.parquet"):
        assert run(["predict", "fast.saccade", name]) == 0
        assert "column 'colour' has none of the model's categories, but '-1', '0', '1'" in capsys.readouterr().err


KINDS = [
    ["u", "v"],
    [3, 70, 500],
    [False, True],
    [0.5, 1.5],
    [2**53, 2**53 + 1, 5],
    [" red", "red", "red "],
    ["1", "2"],
]


@pytest.mark.parametrize("categories", KINDS, ids=str)
@pytest.mark.parametrize("library", ["lightgbm", "histograms"])
def test_categories_of_any_kind_are_read_from_every_file(library, categories, folder, capsys):
    if library == "histograms" and isinstance(categories[0], bool):
        pytest.skip("scikit-learn refuses categories that are truth values")
    if library == "histograms" and 2**53 in categories:
        pytest.skip("data files are read in double precision, where these are not apart: refused, see below")
    code = rng.integers(0, len(categories), N)
    column = pd.Categorical.from_codes(np.where(rng.random(N) < 0.1, -1, code), categories=categories)
    frame = FRAME[["a", "b"]].assign(own=column)
    labels = ((code == 1) + frame["a"].fillna(0) > 0.7).astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=20, random_state=0, verbose=-1)
    if library == "histograms":
        model = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype", random_state=0)
    attentive = saccade.attend(model.fit(frame[FITTED], labels[FITTED]), frame[HELD_OUT], delta=0.1, random_state=0)
    saccade.save(attentive, "fast.saccade")
    expected = attentive.read(frame[NEW]).margin.tolist()
    plain = frame[NEW].assign(own=frame["own"][NEW].astype(object))
    plain.to_csv("new.csv", index=False)
    plain.to_parquet("new.parquet", row_group_size=300)
    frame[NEW].to_parquet("categories.parquet")
    names = ["new.csv", "new.parquet", "categories.parquet"]
    if categories == ["1", "2"]:  # texts that a file has as numbers
        plain.assign(own=plain["own"].astype(float)).to_parquet("numbers.parquet")
        names.append("numbers.parquet")
    for name in names:
        lines = prints(capsys, "predict", "fast.saccade", name).splitlines()[1:]
        assert [float(line.split(",")[1]) for line in lines] == expected, name
    again = certified(capsys, "fast.saccade", "new.csv", "--when-too-few", "read")
    np.testing.assert_array_equal(again.full_margin(frame[NEW]), attentive.full_margin(frame[NEW]))


def write_libsvm(sparse, labels, name):
    """Write stored values, NaN too, which scikit-learn refuses to write."""
    with open(name, "w") as file:
        for row, label in enumerate(labels.tolist()):
            stored = sparse[row]
            pairs = zip(stored.indices.tolist(), stored.data.tolist(), strict=True)
            file.write(" ".join([str(label), *(f"{index + 1}:{value!r}" for index, value in pairs)]) + "\n")


def test_rows_of_libsvm_and_numpy_files_are_arrays(folder, capsys):
    labels = LABELS
    for fit, absent in ((fit_lightgbm, 0.0), (fit_xgboost, np.nan)):
        sparse = sp.csr_matrix(np.where(rng.random(NUMBERS.shape) < 0.4, 0.0, NUMBERS))
        dense = np.where(sparse.toarray() == 0, absent, sparse.toarray())
        model = fit(sparse[FITTED] if absent != absent else dense[FITTED], labels[FITTED])
        attentive = saccade.attend(model, dense[HELD_OUT], delta=0.15, random_state=0)
        saccade.save(attentive, "fast.saccade")
        write_libsvm(sparse[NEW], labels[NEW], "new.svm")
        np.save("new.npy", dense[NEW])
        for name in ("new.svm", "new.npy"):
            lines = prints(capsys, "predict", "fast.saccade", name).splitlines()[1:]
            assert [float(line.split(",")[1]) for line in lines] == attentive.read(dense[NEW]).margin.tolist()
    text = (folder / "new.svm").read_text()
    assert "nan" in text
    saccade.save(saccade.Pegasos().fit(np.nan_to_num(NUMBERS), labels), "linear.saccade")
    assert run(["predict", "linear.saccade", "new.svm"]) == 1
    assert "a label or a value is not a number" in capsys.readouterr().err


def test_a_row_that_a_library_refuses_is_named_with_its_column_or_passed_over(folder, capsys):
    whole = pd.DataFrame(np.nan_to_num(NUMBERS), columns=["a", "b", "c", "d", "e"])
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(whole[FITTED], LABELS[FITTED])
    attentive = saccade.attend(model, whole[HELD_OUT], delta=0.15, random_state=0)
    saccade.save(attentive, "fast.saccade")
    first = attentive.columns_[0]
    holed = whole[NEW].reset_index(drop=True)
    holed.loc[[7, 400], first] = np.nan
    holed.to_csv("new.csv", index=False)
    holed.to_parquet("new.parquet", row_group_size=300)
    pyarrow.feather.write_feather(holed, "new.arrow")
    for name, where in (("new.csv", "line 9"), ("new.parquet", "row 8"), ("new.arrow", "row 8")):
        assert run(["predict", "fast.saccade", name, "-o", "labels.csv"]) == 1
        said = capsys.readouterr().err
        assert f"{name}, {where}" in said
        assert f"{first!r} is missing" in said
        assert not (folder / "labels.csv").exists()
        printed = prints(capsys, "predict", "fast.saccade", name, "--skip-bad").splitlines()[1:]
        assert [k for k, line in enumerate(printed) if line == ",,"] == [7, 400]


def test_parquet_is_read_by_the_columns_that_trees_ask_for(folder, capsys):
    model = FITTED_ON_TABLES["lightgbm"]
    attentive = saccade.attend(model, FRAME[HELD_OUT], delta=0.2, promise="rows", random_state=0)
    saccade.save(attentive, "fast.saccade")
    reading, plan = attentive.read(FRAME[NEW]), attentive.plan_
    early = FRAME[NEW][reading.n_read == plan.checkpoints[0]]
    parts = plan.order[: plan.checkpoints[0]].astype(np.intp)
    asked = [FRAME.columns[column] for column in attentive.additive_.columns_of(parts)]
    assert len(early) > 50
    assert len(asked) < FRAME.shape[1]
    unread = {name: "text that no tree reads" for name in FRAME.columns if name not in asked}
    early.assign(**unread).to_parquet("early.parquet", row_group_size=40)
    assert run(["predict", "fast.saccade", "early.parquet"]) == 0
    done = capsys.readouterr()
    assert len(done.out.splitlines()) == len(early) + 1
    metadata = pq.ParquetFile("early.parquet").metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    sizes = [
        column.total_compressed_size
        for group in groups
        for column in map(group.column, range(group.num_columns))
        if column.path_in_schema in asked
    ]
    assert f"; {sum(sizes):,} of " in done.err


def test_columns_that_no_tree_asks_for_need_not_be_there(folder, capsys):
    model = lightgbm.LGBMClassifier(n_estimators=2, num_leaves=3, random_state=0, verbose=-1)
    model.fit(FRAME[FITTED], LABELS[FITTED])
    save_native(model, "model.txt")
    read = from_file((folder / "model.txt").read_bytes(), "model.txt")[0].model
    used = [FRAME.columns[column] for column in read.walks.used]
    assert len(used) < FRAME.shape[1]
    FRAME[HELD_OUT][used].to_csv("held-out.csv", index=False)
    FRAME[NEW][used].assign(kind=LABELS[NEW]).to_parquet("new.parquet")
    attentive = certified(capsys, "model.txt", "held-out.csv", "--when-too-few", "read")
    np.testing.assert_array_equal(attentive.full_margin(FRAME[NEW]) > 0, model.predict(FRAME[NEW]) == 1)
    said = json.loads(prints(capsys, "evaluate", "fast.saccade", "new.parquet", "--target", "kind", "--json"))
    assert said["rows"] == N - 6000
    FRAME[HELD_OUT].drop(columns=used[0]).to_csv("fewer.csv", index=False)
    assert run(["attend", "model.txt", "fewer.csv", "-o", "other.saccade"]) == 1
    assert f"no column {used[0]!r}" in capsys.readouterr().err


def test_the_fewest_columns_are_refused_for_trees_with_what_to_do(folder, capsys):
    save_native(FITTED_ON_TABLES["lightgbm"], "model.txt")
    write(FRAME[HELD_OUT], LABELS[HELD_OUT], "held-out.parquet")
    assert run(["attend", "model.txt", "held-out.parquet", "-o", "few.saccade", "--fewest", "columns"]) == 1
    assert "chooses among parts of one column each" in capsys.readouterr().err
    assert not (folder / "few.saccade").exists()


def test_labels_that_a_file_does_not_know_are_named(folder, capsys):
    save_native(FITTED_ON_TABLES["lightgbm"], "model.txt")
    write(FRAME[HELD_OUT], np.array(["no", "yes"])[LABELS[HELD_OUT]], "held-out.csv")
    certified(capsys, "model.txt", "held-out.csv")
    assert run(["evaluate", "fast.saccade", "held-out.csv", "--target", "kind"]) == 1
    assert "does not know the labels 'no', 'yes'; it knows 0, 1" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["model.txt", "model.json", "model.ubj"])
def test_a_damaged_model_is_one_line_and_writes_nothing(name, folder, capsys):
    save_native(FITTED_ON_TABLES[FILES[name]], name)
    content, damage = (folder / name).read_bytes(), random.Random(name)
    FRAME[HELD_OUT][:50].to_csv("held-out.csv", index=False)
    attend = ["attend", name, "held-out.csv", "-o", "fast.saccade"]
    for _ in range(examples(200)):
        (folder / name).write_bytes(content[: damage.randrange(len(content) - 2)].rstrip())
        assert run(attend) == 1
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 1
        assert "--debug" not in said[0]
    assert not (folder / "fast.saccade").exists()
    for beginning in (
        b"{}",
        b"tree\nversion=v9\n",
        b'{"learner": {}, "gradient_booster": 1}',
        b"{L\0\0\0\0\0\0\0\7learner",
    ):
        (folder / name).write_bytes(beginning)
        assert run(attend) == 1
        assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("name", ["model.txt", "model.json", "model.ubj"])
def test_any_change_of_a_file_is_refused_or_makes_trees_that_predict(name, folder):
    save_native(FITTED_ON_TABLES[FILES[name]], name)
    content, damage = (folder / name).read_bytes(), random.Random(name)
    rows = FRAME[NEW][:50]
    for _ in range(examples(500)):
        changed = bytearray(content)
        at = damage.randrange(len(changed))
        changed[at : at + damage.choice([0, 1, 9])] = damage.choice([b"-1", b"9" * 9, b"nan", b"1e400", b"\xff", b""])
        try:
            read = from_file(bytes(changed), name)
        except (ValueError, TypeError):
            continue
        if read is not None and read[0].n_features_in_ == rows.shape[1]:
            assert np.isin(read[0].predict(rows), read[0].classes_).all()


class Own:
    """A storage of the user's own: it gives one column at a time."""

    def __init__(self, X):
        self.shape, self._X, self.given = X.shape, X, set()

    def fill(self, part, rows, size, out):
        self.given.add(part)
        out[:size] = self._X[rows[:size], part]

    def take(self, rows):
        return Own(self._X[rows])


def test_trees_are_read_from_any_storage_of_columns():
    model = fit_lightgbm(NUMBERS[FITTED], LABELS[FITTED])
    attentive = saccade.attend(model, NUMBERS[HELD_OUT], delta=0.15, random_state=0)
    own = Own(NUMBERS[NEW])
    expected = attentive.read(NUMBERS[NEW])
    np.testing.assert_array_equal(attentive.predict_source(own).margin, expected.margin)
    np.testing.assert_array_equal(attentive.predict_source(own).n_read, expected.n_read)
    np.testing.assert_array_equal(attentive.read_source(own, full=True).margin, attentive.full_margin(NUMBERS[NEW]))


def test_categories_that_are_written_alike_are_refused_where_they_cannot_be_told_apart():
    code = coder_of(Categories(np.array([1, "1", "b", 2.5], dtype=object), numbers_too=False))
    assert code(np.array(["b", "2.50", None], dtype=object)).tolist()[:2] == [2.0, 3.0]
    assert code(np.array([1, 2.5]))[0] == 0.0
    with pytest.raises(ValueError, match="'1' may be any of several categories"):
        code(np.array(["1"], dtype=object))
    with pytest.raises(ValueError, match="not apart in double precision"):
        coder_of(Categories(np.array([2**53, 2**53 + 1]), numbers_too=True))


def test_a_category_that_xgboost_refuses_is_an_error(folder, capsys):
    save_native(FITTED_ON_TABLES["xgboost"], "model.json")
    certified(capsys, "model.json", write(FRAME[HELD_OUT], LABELS[HELD_OUT], "held-out.parquet"))
    rows = FRAME[NEW].assign(colour=FRAME["colour"][NEW].astype(object))
    rows.iloc[5, rows.columns.get_loc("colour")] = None
    rows.to_csv("gaps.csv", index=False, na_rep="NA")
    assert run(["predict", "fast.saccade", "gaps.csv"]) == 0
    rows.iloc[2, rows.columns.get_loc("colour")] = "mauve"
    rows.to_parquet("new.parquet")
    rows.to_csv("new.csv", index=False)
    for name in ("new.parquet", "new.csv"):
        assert run(["predict", "fast.saccade", name]) == 1
        assert "'mauve' is none of the categories that the model was fitted on" in capsys.readouterr().err


def test_the_output_is_never_the_model(folder, capsys):
    model, data = save_native(FITTED_ON_TABLES["lightgbm"], "model.txt"), write(FRAME[NEW], LABELS[NEW], "new.csv")
    assert run(["attend", model, data, "-o", model, "--force"]) == 2
    assert "would replace the model" in capsys.readouterr().err
    assert run(["predict", model, data, "-o", model, "--force"]) == 2
    assert run(["ask", model]) == 2
    assert "Certify it first" in capsys.readouterr().err


def test_a_file_of_more_classes_than_trees_or_of_repeated_names_is_refused(folder, capsys):
    data = write(FRAME[NEW], LABELS[NEW], "new.csv")
    save_native(FITTED_ON_TABLES["xgboost"], "model.json")
    text = Path("model.json").read_text()
    many = text.replace('"num_class":"0"', '"num_class":"20000000"').replace("binary:logistic", "multi:softprob")
    Path("many.json").write_text(many)
    assert run(["attend", "many.json", data, "-o", "fast.saccade"]) == 1
    assert "20000000 classes, and 40 trees" in capsys.readouterr().err
    save_native(FITTED_ON_TABLES["lightgbm"], "model.txt")
    Path("twice.txt").write_text(Path("model.txt").read_text().replace("feature_names=a b", "feature_names=a a"))
    assert run(["attend", "twice.txt", data, "-o", "fast.saccade"]) == 1
    assert "several columns of one name" in capsys.readouterr().err

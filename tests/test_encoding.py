"""Learning from tables with texts: the encoding, against scikit-learn's, and models that take raw columns."""

import pickle
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tables import STATES, TARGET, census

import saccade
from saccade.data import checkpoints, columns, lines
from saccade.data.batches import BadRows, Wanted
from saccade.data.counting import CountedValues
from saccade.data.encoded import Opened, encoded_file
from saccade.data.encoding import FEWEST, coders_of
from saccade.data.opening import open_data
from saccade.exceptions import CheckpointError, DataFileError, ModelFileError, SuspectColumnWarning
from saccade.files.archive import read_archive, write_archive
from saccade.learners.tables import encoded_rows
from saccade.models.apart import take_apart
from saccade.models.tables import encoding as encoding_module
from saccade.models.tables.encoding import Encoding, LeftOut, Number, OneHot
from saccade.models.tables.storage import raw_columns

LEARNER = saccade.Pegasos(max_iter=3, random_state=0)
FRAME = census(3000)
X = FRAME.drop(columns=TARGET)
OTHERS = census(8000, seed=1).drop(columns=TARGET)
OPTIONS = {"target": TARGET, "ignore": ["name"], "categorical": ["size"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder whose files are read in many small batches."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lines, "BLOCK", 20_000)
    monkeypatch.setattr(columns, "BATCH_BYTES", 48 * 300)
    FRAME.to_csv("a.csv", index=False)
    FRAME.to_parquet("a.parquet", row_group_size=700)
    return tmp_path


def dense(rows):
    return rows.toarray() if hasattr(rows, "toarray") else rows


def as_scikit_learn(encoding, frame):
    """Return the features of a table by scikit-learn's steps, with the same categories."""
    steps = []
    for name, column in zip(encoding.names, encoding.columns, strict=True):
        if isinstance(column, Number):
            steps.append((name, make_pipeline(StandardScaler(), SimpleImputer()), [name]))
        elif isinstance(column, OneHot):
            kept = [*map(str, column.values[: column.n_kept]), "(other)", "(missing)"]
            steps.append((name, OneHotEncoder(categories=[kept], sparse_output=False), [name]))
    given = frame.copy()
    for name, column in zip(encoding.names, encoding.columns, strict=True):
        if isinstance(column, OneHot):
            kept = set(map(str, column.values[: column.n_kept]))
            missing = frame[name].isna() | frame[name].isin(["?"])
            texts = frame[name].map(str).map(lambda text, kept=kept: text if text in kept else "(other)")
            given[name] = texts.where(~missing, "(missing)")
    return ColumnTransformer(steps).fit(given[: len(FRAME)]).transform(given)


@pytest.fixture(params=["dense", "sparse"])
def stored(request, monkeypatch):
    """Have rows learned from in either way."""
    monkeypatch.setattr(encoding_module, "MOST_DENSE", 100 if request.param == "dense" else 0)
    return request.param


@pytest.mark.parametrize("data", ["a.csv", "a.parquet"])
def test_rows_are_encoded_as_scikit_learns_steps_encode_them(data, stored, folder):
    model = saccade.learn(LEARNER, data, **OPTIONS)
    encoding = model.encoding_
    assert [type(column) for column in encoding.columns] == [Number, OneHot, OneHot, OneHot, Number]
    assert encoding.columns[1].values.tolist() == sorted([*STATES, "Guam"])  # Palau is rare
    assert encoding.columns[2].values.tolist() == [1, 2, 3, 5]
    assert encoding.columns[3].values.tolist() == ["private", "public", "?"]
    both = pd.concat([X, OTHERS], ignore_index=True)
    expected = as_scikit_learn(encoding, both)
    features = dense(encoding.features(raw_columns(both[list(encoding.names)], encoding.kinds)))
    np.testing.assert_allclose(features, expected, atol=1e-12)
    assert encoding.is_sparse == (stored == "sparse")
    assert len(encoding.feature_names()) == expected.shape[1] == model.coef_.shape[1]
    margin = expected @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(both), margin, atol=1e-9)
    np.testing.assert_array_equal(model.predict(both), model.classes_[(margin > 0).astype(int)])


def test_csv_and_parquet_give_the_same_model_in_one_file_and_in_several(folder):
    learner = saccade.Pegasos(max_iter=3, random_state=0, shuffle=False)  # which would be by batch
    csv, parquet = (saccade.learn(learner, f"a.{suffix}", **OPTIONS) for suffix in ("csv", "parquet"))
    Path("parts").mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(FRAME)), 3)):
        FRAME.iloc[part].to_parquet(f"parts/{k}.parquet", index=False)
    several = saccade.learn(learner, "parts", **OPTIONS)
    for model in (parquet, several):  # means are taken over other batches, and differ in the last bits
        np.testing.assert_allclose(model.coef_, csv.coef_, rtol=1e-9)
        assert str(model.encoding_) == str(csv.encoding_)


def test_a_model_takes_raw_columns_of_any_table(folder):
    model = saccade.learn(LEARNER, "a.csv", **OPTIONS)
    names = list(model.feature_names_in_)
    assert names == ["age", "state", "size", "work", "hours"]
    assert model.n_features_in_ == 5
    margins = model.decision_function(OTHERS)
    narrow = OTHERS[names]
    for table in (narrow, pl.from_pandas(OTHERS), pa.Table.from_pandas(narrow), narrow.astype({"state": "category"})):
        np.testing.assert_array_equal(model.decision_function(table), margins)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(model.decision_function(narrow.to_numpy()), margins)
    with pytest.raises(ValueError, match="state"):
        model.predict(OTHERS.drop(columns="state"))
    reading = model.read(OTHERS)
    assert (reading.label == model.predict(OTHERS)).mean() > 0.95
    additive = take_apart(model)
    values = additive.values(narrow, np.arange(len(narrow)))
    np.testing.assert_allclose(values.sum(axis=1) + additive.intercept[0], margins, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_attend_reads_by_raw_column_and_refuses_rows_that_were_learned_from(classes, stored, folder):
    frame = census(6000, seed=3, classes=classes)
    frame.to_csv("b.csv", index=False)
    model = saccade.learn(saccade.Pegasos(max_iter=5, random_state=0), "b.csv", **OPTIONS)
    others = census(8000, seed=4, classes=classes)[list(model.feature_names_in_)]
    fast = saccade.attend(model, others, delta=0.05, random_state=0)
    assert fast.certificate_.n_features == 5
    margin = fast.full_margin(others)
    label = model.classes_[margin.argmax(axis=1) if classes > 2 else (margin > 0).astype(int)]
    np.testing.assert_array_equal(label, model.predict(others))
    assert (fast.predict(others) == label).mean() > 0.9
    with pytest.raises(ValueError, match="X has rows that Pegasos was fitted on"):
        saccade.attend(model, frame[list(model.feature_names_in_)], random_state=0)


@pytest.mark.parametrize("learner", [saccade.Perceptron, saccade.PassiveAggressive, saccade.ExponentiatedGradient])
def test_every_learner_learns_from_tables(learner, folder):
    model = saccade.learn(learner(max_iter=3, random_state=0), "a.csv", **OPTIONS)
    assert (model.predict(X) == FRAME[TARGET]).mean() > 0.8
    np.testing.assert_array_equal(take_apart(model).classes, model.classes_)


def test_a_threshold_moves_the_margin(folder):
    model = saccade.learn(LEARNER, "a.csv", **OPTIONS)
    fast = saccade.attend(model, OTHERS[list(model.feature_names_in_)], delta=0.05, threshold=0.5, random_state=0)
    narrow = OTHERS[list(model.feature_names_in_)]
    np.testing.assert_allclose(fast.full_margin(narrow), model.decision_function(narrow) - 0.5, atol=1e-6)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(OTHERS), model.predict(OTHERS))


def test_values_that_no_row_had_count_as_rare_ones_and_missing_ones_as_missing(folder):
    model = saccade.learn(LEARNER, "a.csv", **OPTIONS)
    row = {"age": 40.0, "state": "Ohio", "size": 2, "work": "public", "hours": 38.0}
    values = [row | change for change in ({}, {"state": "Palau"}, {"state": "Atlantis"}, {"work": "?"}, {"work": None})]
    values += [
        row | {"age": np.nan},
        row | {"age": model.encoding_.columns[0].mean},
        row | {"size": 77},
        row | {"size": 4},
    ]
    margin = model.decision_function(pd.DataFrame(values))
    assert margin[1] == margin[2]
    assert margin[3] == margin[4]
    assert margin[5] == pytest.approx(margin[6])
    assert margin[7] == margin[8]
    assert len(set(margin.round(9))) == 5
    with pytest.raises(ValueError, match=r"Row 1 .*'age'|inf"):
        model.predict(pd.DataFrame([row, row | {"age": np.inf}]))


@pytest.mark.parametrize("data", ["a.csv", "a.parquet"])
@pytest.mark.parametrize("stop", [1, 4, 8])
def test_learning_that_is_interrupted_and_resumed_gives_the_same_bits(data, stop, stored, folder, monkeypatch):
    options = {**OPTIONS, "checkpoint": "state", "checkpoint_every": 0}
    whole = saccade.learn(LEARNER, data, **OPTIONS)
    kept, save = [], checkpoints.save_with

    def dies(*args):
        save(*args)
        kept.append(args)
        if len(kept) == stop:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints, "save_with", dies)
    with pytest.raises(KeyboardInterrupt):
        saccade.learn(LEARNER, data, **options)
    monkeypatch.setattr(checkpoints, "save_with", save)
    with pytest.raises(CheckpointError, match="other options"):
        saccade.learn(LEARNER, data, **{**options, "categorical": []}, resume=True)
    resumed = saccade.learn(LEARNER, data, **options, resume=True)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    np.testing.assert_array_equal(resumed.intercept_, whole.intercept_)
    assert str(resumed.encoding_) == str(whole.encoding_)
    np.testing.assert_array_equal(resumed.predict(OTHERS), whole.predict(OTHERS))


def test_a_saved_model_is_the_same_and_goes_on_learning(folder):
    model = saccade.learn(LEARNER, "a.csv", **OPTIONS)
    saccade.save(model, "m")
    again = saccade.load("m")
    np.testing.assert_array_equal(again.decision_function(OTHERS), model.decision_function(OTHERS))
    assert again.encoding_.summary() == model.encoding_.summary()
    labels = model.predict(OTHERS)
    for one in (model, again):
        one.partial_fit(OTHERS, labels)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(OTHERS[:2].assign(hours=np.inf), labels[:2])
    assert (encoded_rows(model, OTHERS[:9][list(model.feature_names_in_)]).shape) == (9, model.coef_.shape[1])
    model.fit(np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2)  # forgets the table
    assert model.encoding_ is None
    assert model.coef_.shape == (1, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": []},
        {"names": ["a"]},
        {"names": 3},
        {"columns": [["number", 1.0, 2.0, 0.0]]},
        {"columns": [["number", 1.0, 2.0, 1.0]]},
        {"columns": [["number", 1, "x", 1.0]]},
        {"columns": [["left out", 3]]},
        {"columns": [["categories", [[0, True, False, "texts", ["a", "a"], True]], 2, 0]]},
        {"columns": [["categories", [[0, True, False, "texts", ["a"], True]], 2, 0]]},
        {"columns": [["categories", [], 0, 0]]},
    ],
)
def test_a_damaged_encoding_is_refused(change, folder):
    saccade.save(saccade.learn(LEARNER, "a.csv", **OPTIONS), "m")
    archive = read_archive("m")
    header = {name: value for name, value in archive.header.items() if name != "sha256"}
    write_archive("m", header | {"encoding": {**header["encoding"], **change}}, archive.arrays)
    with pytest.raises(ModelFileError, match="encoding"):
        saccade.load("m")


@given(
    st.lists(
        st.lists(st.one_of(st.sampled_from("abcdefgh"), st.none(), st.text("xyz", max_size=3)), max_size=60), max_size=8
    ),
    st.integers(1, 6),
)
@settings(max_examples=80, deadline=None)
def test_counts_are_right_or_too_small_by_a_known_number(batches, most):
    counted, rows = CountedValues(most), 0
    for batch in batches:
        values = np.array([*batch, None], dtype=object)
        counted.add(counted(values)[:-1])
        rows += len(batch)
        assert len(counted.counts) <= 2 * most
    every = pd.Series([value for batch in batches for value in batch], dtype=object)
    exact = every[every.notna() & (every != "")].value_counts().to_dict()
    assert counted.missing == rows - sum(exact.values())
    assert counted.n_different >= len(exact)
    for value, count in exact.items():
        assert count - rows / most <= counted.counts.get(value, 0) <= count
    if len(exact) <= 2 * most:
        assert counted.counts == exact


TEXTS = st.one_of(
    st.sampled_from(["ash", "elm", "oak", "?", "a, b", 'a "b"', "é", "x\ny"]), st.text("ab-", min_size=1, max_size=2)
)


@given(
    st.lists(
        st.tuples(st.one_of(st.none(), TEXTS), st.one_of(st.none(), st.floats(-1e6, 1e6)), st.booleans()),
        min_size=30,
        max_size=120,
    ),
    st.sampled_from(["csv", "parquet"]),
)
@settings(max_examples=40, deadline=None)
def test_a_row_has_the_same_features_in_a_file_and_in_a_table(rows, suffix):
    frame = pd.DataFrame(rows, columns=["text", "x", "y"]).astype({"text": object, "x": float})
    frame.loc[:1, "y"], frame.loc[:3, "text"] = [True, False], "common"
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a.{suffix}"
        frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
        model = saccade.learn(LEARNER, path, target="y", categorical=["text"])
        encoding = model.encoding_
        with open_data(path, Wanted("y")) as data:
            read = encoded_file(Opened(data, path, Wanted("y"), None), encoding)
            of_file = np.concatenate([dense(one.X) for one in read.batches(0, BadRows(path, skip=False))])
    of_table = dense(encoding.features(raw_columns(frame[["text", "x"]], encoding.kinds)))
    np.testing.assert_array_equal(of_file, of_table)
    margin = of_table @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(frame[["text", "x"]]), margin, atol=1e-9)


def test_a_column_of_millions_of_texts_needs_bounded_memory(tmp_path):
    random, path, n_rows = np.random.default_rng(0), tmp_path / "many.parquet", 600_000
    texts = np.char.add("a rather long text that is in no other row, number ", np.arange(n_rows).astype(str)).astype(
        object
    )
    texts[random.random(n_rows) < 0.6] = "common"
    frame = pd.DataFrame({"x": random.normal(size=n_rows), "text": texts, "y": random.integers(0, 2, n_rows)})
    frame.to_parquet(path, row_group_size=50_000)
    del frame, texts
    tracemalloc.start()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(columns, "BATCH_BYTES", 800_000)
        patched.setattr("saccade.data.encoding.MOST_COUNTED", 2_000)
        model = saccade.learn(saccade.Pegasos(max_iter=1, random_state=0), path, target="y")
        taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 40_000_000  # the texts alone are 30 MB, and a dict of them 60
    (column,) = (one for one in model.encoding_.columns if isinstance(one, OneHot))
    assert column.values.tolist() == ["common"]


def test_what_most_rows_have_alone_is_left_out_and_said(folder):
    options = {"target": TARGET, "categorical": ["size"]}
    with pytest.warns(
        SuspectColumnWarning, match=r"column 'name' is left out: 3,000 different texts in 3,000 rows.*--ignore"
    ):
        model = saccade.learn(LEARNER, "a.csv", **options)
    assert isinstance(model.encoding_.columns[-1], LeftOut)
    narrow = saccade.learn(LEARNER, "a.csv", **OPTIONS)
    np.testing.assert_array_equal(narrow.coef_, model.coef_)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.drop(columns="name")))
    assert "1 left out: name (3,000 different texts" in str(model.encoding_)
    forced = saccade.learn(LEARNER, "a.csv", target=TARGET, categorical=["name"])
    assert f"no value is in {FEWEST} rows or more" in forced.encoding_.summary()["left out"]["name"]


def test_whether_there_is_a_value_may_tell_where_values_do_not(folder):
    random = np.random.default_rng(0)
    cabin = np.array([f"C{row}" for row in range(2000)], dtype=object)
    y = random.random(2000) < 0.5
    cabin[y] = None
    pd.DataFrame({"cabin": cabin, "constant": "same", "x": random.normal(size=2000), "y": y}).to_csv(
        "b.csv", index=False
    )
    with pytest.warns(SuspectColumnWarning, match="'constant' is left out: nearly the same in all rows"):
        model = saccade.learn(LEARNER, "b.csv", target="y")
    assert model.encoding_.columns[0].n_kept == 0
    assert (model.predict(pd.read_csv("b.csv")[["cabin", "constant", "x"]]) == y.astype(str)).all()


def test_numbers_and_truth_values_that_are_categories_are_known_by_value(folder):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "flag": random.random(2000) < 0.5,
            "code": random.choice([1.5, 2.5, 10.0], 2000),
            "zip": random.choice(["01234", "1234"], 2000),
            "x": random.normal(size=2000),
        }
    )
    frame["y"] = (frame.flag | (frame.code == 2.5)) & (frame.zip == "1234")
    frame.to_csv("b.csv", index=False)
    model = saccade.learn(LEARNER, "b.csv", target="y", categorical=["code", "zip"])
    values = [column.values.tolist() for column in model.encoding_.columns[:3]]
    assert values == [[False, True], [1.5, 2.5, 10.0], ["01234", "1234"]]
    names = model.encoding_.feature_names()
    rows = dense(model.encoding_.features(raw_columns(frame.drop(columns="y"), model.encoding_.kinds)))
    assert rows[:, [k for k, name in enumerate(names) if name.endswith(("(other)", "(missing)"))]].sum() == 0
    coder = coders_of(model.encoding_)[0]
    assert coder(np.array(["True", "FALSE", "", "what"], dtype=object)).tolist() == [1, 0, 3, 2]


def test_a_table_of_numbers_is_learned_from_as_before_unless_a_column_is_named(folder):
    numbers = FRAME[["hours", "size", TARGET]]
    numbers.to_csv("b.csv", index=False)
    plain = saccade.learn(LEARNER, "b.csv", target=TARGET)
    assert plain.encoding_ is None
    assert plain.coef_.shape == (1, 2)
    named = saccade.learn(LEARNER, "b.csv", target=TARGET, numeric=["hours"])
    assert named.encoding_ is not None
    np.testing.assert_allclose(
        named.decision_function(numbers[["hours", "size"]]), plain.decision_function(numbers[["hours", "size"]])
    )
    FRAME[["age", "hours", TARGET]].to_csv("c.csv", index=False)
    with pytest.raises(DataFileError, match=r"'age' is missing.*--skip-bad.*--numeric"):
        saccade.learn(LEARNER, "c.csv", target=TARGET)
    assert saccade.learn(LEARNER, "c.csv", target=TARGET, numeric=["age"]).training_.n_examples == 9000


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_numbers_may_stay_as_they_are(scale, fit_intercept, folder):
    learner = saccade.Pegasos(max_iter=1, random_state=0, fit_intercept=fit_intercept)
    model = saccade.learn(learner, "a.csv", **OPTIONS, scale=scale)
    age, mean = model.encoding_.columns[0], X.age.mean()
    assert age.mean == pytest.approx(mean)
    assert age.centre == pytest.approx(mean if scale and fit_intercept else 0)
    spread = X.age.std(ddof=0) if fit_intercept else np.sqrt(np.mean(X.age**2))
    assert age.unit == pytest.approx(spread if scale else 1)
    assert model.intercept_.any() == fit_intercept


def test_a_few_texts_among_numbers_are_bad_rows_and_infinite_numbers_too(folder):
    frame = FRAME.astype({"hours": object}).copy()
    frame.loc[[5, 1500], "hours"] = "many"
    frame.loc[7, "age"] = np.inf
    frame.to_csv("b.csv", index=False)
    with pytest.raises(
        DataFileError, match=r"b.csv, line 7: 'hours' is 'many', not a number.*--skip-bad.*--categorical"
    ):
        saccade.learn(LEARNER, "b.csv", **OPTIONS)
    model = saccade.learn(LEARNER, "b.csv", **OPTIONS, skip_bad=True)
    clean = saccade.learn(LEARNER.set_params(), "a.csv", **OPTIONS)
    assert model.training_.n_examples == clean.training_.n_examples - 9
    frame.hours = FRAME.hours
    frame.to_csv("b.csv", index=False)
    with pytest.raises(DataFileError, match=r"b.csv, row 8: 'age' is inf"):
        saccade.learn(LEARNER, "b.csv", **OPTIONS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ignore": ["nam"]}, r"no column 'nam', which is named in ignore=.* It has name"),
        ({"ignore": [TARGET]}, "'income' is the target"),
        ({"numeric": ["size"], "categorical": ["size"]}, "'size' is to be numeric and categorical"),
        ({"numeric": ["size"], "ignore": ["size"]}, "'size' is to be left out and to be learned from"),
        ({"numeric": ["state"]}, "'state' is to be numeric, and holds texts such as"),
        ({"columns": ["age"], "categorical": ["size"]}, "'size' is to be left out"),
        ({"ignore": list(X.columns)}, "no column is left"),
    ],
)
def test_a_choice_of_columns_that_cannot_be_is_refused(options, message, folder):
    with pytest.raises(DataFileError, match=message):
        saccade.learn(LEARNER, "a.csv", target=TARGET, **options)


def test_libsvm_files_have_no_columns_to_choose(folder):
    Path("a.svm").write_text("1 1:2\n0 1:3\n" * 20)
    with pytest.raises(DataFileError, match="libsvm files have no columns"):
        saccade.learn(LEARNER, "a.svm", ignore=["1"])


def test_columns_without_names_are_chosen_by_their_numbers(folder):
    FRAME.to_csv("bare.csv", index=False, header=False)
    learner = saccade.Pegasos(max_iter=3, random_state=0, shuffle=False)  # which would be by batch
    bare = saccade.learn(learner, "bare.csv", target="6", ignore=["5"], categorical=["2"], header=False)
    named = saccade.learn(learner, "a.csv", **OPTIONS)
    np.testing.assert_allclose(bare.coef_, named.coef_, rtol=1e-9)  # blocks of the file end elsewhere
    assert bare.n_features_in_ == 6
    np.testing.assert_array_equal(bare.predict(X.to_numpy()), named.predict(X))
    np.save("a.npy", np.column_stack([FRAME[["hours", "size"]], FRAME[TARGET] == "high"]))
    narrow = saccade.learn(LEARNER, "a.npy", target="2", ignore=["0"])
    assert isinstance(narrow.encoding_.columns[0], LeftOut)
    with pytest.raises(DataFileError, match="hold no categories"):
        saccade.learn(LEARNER, "a.npy", target="2", categorical=["1"])


def test_an_encoding_says_what_it_is():
    values = np.array(["a", "b"], dtype=object)
    encoding = Encoding((Number(1.0, 1.0, 2.0), OneHot(values, 2, 3), LeftOut("ignored")), ("x", "kind", "key"))
    assert str(encoding) == (
        "Columns: 1 of numbers, with missing values at the mean: x. 1 of categories, one-hot, with missing as one of "
        "them: kind (2 and 3 rare together). 1 left out: key (ignored)."
    )
    assert encoding.feature_names() == ["x", "kind=a", "kind=b", "kind=(other)", "kind=(missing)"]
    many = Encoding(tuple(Number(0.0, 0.0, 1.0) for _ in range(20)))
    assert "column 11 and 8 more" in str(many)

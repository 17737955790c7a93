"""``saccade attend``, ``predict``, ``evaluate`` and ``inspect`` with models over raw columns, saved or from skops."""

import json
import sys
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import skops.io as skops
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from termed import KINDS, NAMES, STATES, estimator_of, rows_of

import saccade
from saccade.cli.main import run
from saccade.data.texts import Remembered, as_rows
from saccade.models.agreement import own_labels
from saccade.models.apart import take_apart
from saccade.models.categories import Categories
from saccade.models.coding import coder_of

CERTIFIED_ON, NEW = rows_of(5000), rows_of(2000, 1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@cache
def attended(classes=("no", "yes"), boundary="conditional"):
    return saccade.attend(
        estimator_of(classes=classes), CERTIFIED_ON, delta=0.1, when_too_few="read", boundary=boundary, random_state=0
    )


def write(frame, name):
    """Write rows, as texts, categories or numbers with nulls, to a file of the kind that its name says."""
    match name.rpartition(".")[2]:
        case "csv":
            frame.to_csv(name, index=False)
        case "parquet":  # texts and dictionaries, and whole numbers with nulls
            coded = frame.astype({"level": "category", "kind": "Int64"})
            pq.write_table(pa.Table.from_pandas(coded, preserve_index=False), name, row_group_size=300)
        case "arrow":
            table = pa.Table.from_pandas(frame, preserve_index=False)
            pyarrow.feather.write_feather(table, name, chunksize=400)
    return name


def predicted(name, *options, model="model.saccade"):
    assert run(["predict", model, name, "-o", "labels.csv", "--force", *options]) == 0
    return pd.read_csv("labels.csv")


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
@pytest.mark.parametrize("name", ["new.csv", "new.parquet", "new.arrow"])
def test_files_with_texts_and_gaps_are_predicted_as_in_memory(name, classes, folder):
    model = attended(classes)
    saccade.save(model, "model.saccade")
    write(NEW.assign(comment="nothing"), name)
    reading, got = model.read(NEW), predicted(name)
    np.testing.assert_array_equal(got["label"], reading.label)
    np.testing.assert_array_equal(got["n_read"], reading.n_read)
    margins = reading.margin if reading.margin.ndim == 1 else reading.margin.max(axis=1)
    np.testing.assert_allclose(got["margin"], margins, rtol=1e-12)


@pytest.mark.parametrize("name", ["new.csv", "new.parquet", "new.arrow"])
def test_evaluate_compares_with_the_labels_of_a_file_and_with_the_full_read(name, folder, capsys):
    model = attended()
    saccade.save(model, "model.saccade")
    labels = model.estimator_.predict(NEW)
    write(NEW.assign(label=labels), name)
    assert run(["evaluate", "model.saccade", name, "--target", "label", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == len(NEW)
    assert said["accuracy"] == np.mean(model.predict(NEW) == labels)
    assert said["disagreement with the full read"] == pytest.approx(1 - said["accuracy"])
    assert said["bad rows"] == 0


def test_only_the_columns_that_the_plan_asks_for_are_read_of_a_parquet_file(folder, capsys):
    model = attended()
    saccade.save(model, "model.saccade")
    demanded = set(model.columns_)
    assert "unused" not in demanded
    write(NEW.assign(unused="y" * 500), "new.parquet")
    whole = predicted("new.parquet")
    said = capsys.readouterr().err
    read, size = (int(word.replace(",", "")) for word in said.split("; ")[1].split(" bytes")[0].split(" of "))
    assert read < size
    write(NEW.drop(columns=[name for name in NAMES if name not in demanded]), "few.parquet")
    pd.testing.assert_frame_equal(predicted("few.parquet"), whole)


@pytest.mark.parametrize("name", ["new.csv", "new.parquet", "new.arrow"])
@pytest.mark.parametrize(("column", "said"), [("level", "no value"), ("income", "NaN")])
def test_a_row_that_the_model_refuses_is_a_bad_row_that_names_row_and_column(column, said, name, folder, capsys):
    model = attended(boundary="full")
    saccade.save(model, "model.saccade")
    frame = NEW.copy()
    frame.loc[41, column] = None
    write(frame, name)
    assert run(["predict", "model.saccade", name]) == 1
    err = capsys.readouterr().err
    assert "row 42" in err
    assert f"{said} in column '{column}'" in err
    got = predicted(name, "--skip-bad")
    assert got["label"].isna().to_numpy().nonzero()[0].tolist() == [41]
    np.testing.assert_array_equal(got["label"].drop(41), model.predict(NEW.drop(41)))
    assert "1 bad row was passed over" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_what_is_missing_where_it_is_not_read_is_no_bad_row(name, folder):
    model = attended()
    saccade.save(model, "model.saccade")
    reading = model.read(NEW)
    parts = [p for p, part in enumerate(model.plan_.order) if 3 in model.additive_.terms[part].columns]
    unread = reading.n_read <= min(parts)
    assert unread.any()
    frame = NEW.copy()
    frame.loc[unread, "level"] = None
    write(frame, name)
    np.testing.assert_array_equal(predicted(name)["label"], reading.label)


@pytest.mark.parametrize("word", ["", "NaN", "?", "none", " - ", "N/A"])
def test_words_for_missing_values_are_missing_and_categories_are_themselves(word, folder):
    """The category NA of this model is a category, whatever the word means elsewhere."""
    model = attended()
    saccade.save(model, "model.saccade")
    NEW.to_csv("new.csv", index=False, na_rep=word)
    np.testing.assert_array_equal(predicted("new.csv")["label"], model.predict(NEW))
    assert "NA" in STATES


@pytest.mark.filterwarnings("default::saccade.exceptions.SuspectColumnWarning")
def test_a_column_of_unknown_texts_is_a_warning(folder, capsys):
    saccade.save(attended(), "model.saccade")
    NEW.assign(state="nowhere").to_csv("new.csv", index=False)
    got = predicted("new.csv")
    said = capsys.readouterr().err
    assert "column 'state' has none of the model's categories, but 'nowhere'" in said
    assert "taken for values that it does not know" in said
    np.testing.assert_array_equal(got["label"], attended().predict(NEW.assign(state="nowhere")))


def test_npy_and_libsvm_files_hold_codes_of_texts_and_numbers_themselves(folder):
    model = attended()
    saccade.save(model, "model.saccade")
    codes = NEW.copy()
    codes["state"] = [np.nan if pd.isna(v) else {s: k for k, s in enumerate(STATES)}.get(v, 99) for v in NEW["state"]]
    codes["level"] = NEW["level"].map({"low": 0, "high": 1})
    codes["unused"] = 0
    X = codes.to_numpy(float)
    np.save("new.npy", X)
    np.testing.assert_array_equal(predicted("new.npy")["label"], model.predict(NEW))
    with open("new.svm", "w") as file:
        for row in X:
            file.write(" ".join(["0", *(f"{j}:{value!r}" for j, value in enumerate(row.tolist()) if value)]) + "\n")
    np.testing.assert_array_equal(predicted("new.svm")["label"], model.predict(NEW))


def test_inspect_names_columns_and_pairs(folder, capsys):
    saccade.save(attended(), "model.saccade")
    assert run(["inspect", "model.saccade"]) == 0
    said = capsys.readouterr().out
    assert "state & hours" in said
    assert run(["inspect", "model.saccade", "--json"]) == 0
    order = json.loads(capsys.readouterr().out)["order"]
    assert {"age & level", "income"} <= set(order)
    saccade.save(attended(("a", "b", "c")), "three.saccade")
    assert run(["inspect", "three.saccade", "--html", "plan.html"]) == 0
    assert len(order) == len(set(order))


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.arrow"])
def test_a_saved_model_is_certified_anew_on_files_to_the_same_plan(name, folder):
    model = attended()
    saccade.save(model, "model.saccade")
    write(CERTIFIED_ON, name)
    options = ["--delta", "0.1", "--when-too-few", "read", "--random-state", "0"]
    assert run(["attend", "model.saccade", name, "-o", "again.saccade", *options]) == 0
    again = saccade.load("again.saccade")
    np.testing.assert_array_equal(again.plan_.upper, model.plan_.upper)
    np.testing.assert_array_equal(again.read(NEW).margin, model.read(NEW).margin)


def test_rows_that_a_model_refuses_are_bad_rows_of_attend(folder, capsys):
    saccade.save(attended(), "model.saccade")
    frame = CERTIFIED_ON.copy()
    frame.loc[6, "level"] = None
    write(frame, "rows.csv")
    options = ["-o", "again.saccade", "--delta", "0.1", "--when-too-few", "read", "--random-state", "0"]
    assert run(["attend", "model.saccade", "rows.csv", *options]) == 1
    assert "line 8: 'level' is missing" in capsys.readouterr().err
    write(frame, "rows.parquet")
    assert run(["attend", "model.saccade", "rows.parquet", *options]) == 1
    assert "row 7: a value is missing or not finite ('level' is missing)" in capsys.readouterr().err
    assert run(["attend", "model.saccade", "rows.csv", "--skip-bad", *options]) == 0
    assert "1 bad row was passed over" in capsys.readouterr().err


N = 6000
rng = np.random.default_rng(3)
PEOPLE = pd.DataFrame(
    {
        "job": rng.choice(["clerk", "cook", "NA", "smith"], N).astype(object),
        "age": rng.normal(40, 10, N).round(1),
        "hours": rng.integers(10, 60, N),
        "grade": rng.choice([1, 2, 3], N),
        "note": rng.choice(["u", "v"], N).astype(object),
    }
)
LABELS = np.array(["poor", "rich"])[
    (PEOPLE["age"] / 20 + (PEOPLE["job"] == "cook") + (PEOPLE["grade"] == 2) + rng.normal(0, 0.4, N) > 2.7).astype(int)
]
for gappy in ("job", "age"):
    PEOPLE.loc[rng.random(N) < 0.1, gappy] = np.nan
FITTED, CERTIFY, FRESH = slice(0, 2000), slice(2000, 5000), slice(5000, N)


def logistic():
    return LogisticRegression(max_iter=2000)


def standard():
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    texts = OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    return ColumnTransformer(
        [("c", texts, ["job", "grade"]), ("n", numbers, make_column_selector(dtype_include=float))]
    )


def filled():
    texts = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder(handle_unknown="ignore"))
    curve = make_pipeline(SimpleImputer(strategy="median"), SplineTransformer(n_knots=4))
    bins = KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")
    return ColumnTransformer([("c", texts, ["job"]), ("s", curve, ["age"]), ("b", bins, ["hours"])])


def encoded():
    ranks = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    shape = make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=30))
    return ColumnTransformer(
        [
            ("t", TargetEncoder(), ["job"]),
            ("o", ranks, ["note"]),
            ("q", shape, ["age"]),
            ("p", PowerTransformer(), ["hours"]),
        ]
    )


PIPELINES = {
    "one-hot": lambda: make_pipeline(standard(), logistic()),
    "filled": lambda: make_pipeline(filled(), logistic()),
    "encoded": lambda: make_pipeline(encoded(), logistic()),
    "searched": lambda: GridSearchCV(make_pipeline(standard(), logistic()), {"logisticregression__C": [0.1, 1]}, cv=2),
    "threshold": lambda: FixedThresholdClassifier(make_pipeline(standard(), logistic()), threshold=0.4),
    "tuned": lambda: make_pipeline(filled(), TunedThresholdClassifierCV(logistic(), cv=2)),
    "calibrated": lambda: make_pipeline(standard(), CalibratedClassifierCV(logistic(), ensemble=False, cv=2)),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_skops_pipeline_is_certified_on_files_with_texts_and_reads_as_itself(name, folder):
    model = PIPELINES[name]().fit(PEOPLE[FITTED], LABELS[FITTED])
    skops.dump(model, "model.skops")
    PEOPLE[CERTIFY].to_csv("rows.csv", index=False)
    PEOPLE[CERTIFY].to_parquet("rows.parquet")
    fresh = PEOPLE[FRESH].assign(job=PEOPLE[FRESH]["job"].replace("smith", "unheard of"))
    fresh.assign(label=LABELS[FRESH]).to_csv("fresh.csv", index=False)
    options = ["-o", "fast.saccade", "--delta", "0.1", "--when-too-few", "read", "--random-state", "0", "--force"]
    plans = []
    for rows in ("rows.csv", "rows.parquet"):
        assert run(["attend", "model.skops", rows, *options]) == 0
        fast = saccade.load("fast.saccade")
        plans.append(fast.plan_)
        np.testing.assert_array_equal(fast.estimator_.predict(fresh), model.predict(fresh))
        got = predicted("fresh.csv", "--target", "label", model="fast.saccade")
        np.testing.assert_array_equal(got["label"], fast.predict(fresh))
    np.testing.assert_array_equal(plans[0].upper, plans[1].upper)
    in_memory = saccade.attend(model, PEOPLE[CERTIFY], delta=0.1, when_too_few="read", random_state=0)
    assert fast.certificate_.n_features == in_memory.certificate_.n_features


@pytest.mark.parametrize("named", [True, False])
def test_a_skops_pipeline_of_scalers_by_column_is_certified(named, folder):
    numbers = PEOPLE[["hours", "grade"]].astype(float)
    rows = numbers if named else numbers.to_numpy()
    steps = ColumnTransformer([("s", StandardScaler(), ["hours"] if named else [0])], remainder="passthrough")
    model = make_pipeline(steps, logistic()).fit(rows[FITTED], LABELS[FITTED])
    skops.dump(model, "model.skops")
    options = ["-o", "fast.saccade", "--delta", "0.2", "--when-too-few", "read", "--force"]
    numbers[CERTIFY].to_csv("rows.csv", index=False)
    np.save("rows.npy", numbers[CERTIFY].to_numpy())
    for data in ("rows.csv", "rows.npy"):
        assert run(["attend", "model.skops", data, *options]) == 0
        loaded = saccade.load("fast.saccade")
        np.testing.assert_array_equal(loaded.estimator_.predict(rows), model.predict(rows))


class Odd(TransformerMixin, BaseEstimator):
    """A type that skops does not trust."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


def test_a_skops_file_with_a_foreign_type_is_refused_by_its_name(folder, capsys):
    model = make_pipeline(Odd(), logistic()).fit(PEOPLE[["hours", "grade"]][FITTED], LABELS[FITTED])
    skops.dump(model, "model.skops")
    PEOPLE[CERTIFY].to_csv("rows.csv", index=False)
    assert run(["attend", "model.skops", "rows.csv", "-o", "fast.saccade"]) == 1
    said = capsys.readouterr().err
    assert "not trusted" in said
    assert "Odd" in said
    assert "dtype" not in said


def hypotenuse(X):
    return np.hypot(X, 1.0)


def test_a_function_that_cannot_be_saved_is_named_before_rows_are_read(folder, capsys, monkeypatch):
    steps = ColumnTransformer([("f", FunctionTransformer(hypotenuse), ["hours"]), ("c", OneHotEncoder(), ["grade"])])
    model = make_pipeline(steps, logistic()).fit(PEOPLE[FITTED], LABELS[FITTED])
    monkeypatch.setattr(saccade.cli.data, "_from_skops", lambda path: model)
    skops.dump(logistic().fit(PEOPLE[["hours"]][FITTED], LABELS[FITTED]), "model.skops")
    assert run(["attend", "model.skops", "there-is-no.csv", "-o", "fast.saccade"]) == 1
    said = capsys.readouterr().err
    assert "FunctionTransformer" in said
    assert "'hours'" in said
    assert "pickled" in said


def test_a_missing_pandas_is_said_where_a_pipeline_needs_it(monkeypatch):
    model = make_pipeline(standard(), logistic()).fit(PEOPLE[FITTED], LABELS[FITTED])
    additive = take_apart(model)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"The model takes its columns.*Install pandas"):
        own_labels(model, pa.table({"job": ["cook"]}), np.array([0]), additive, np.zeros((1, 5)))


def test_no_more_values_are_remembered_than_fit_into_memory(monkeypatch):
    monkeypatch.setattr("saccade.data.texts.MOST_OTHERS", 3)
    coder = Remembered(None, frozenset())
    codes = coder(np.array([f"user {k}" for k in range(9)], dtype=object))
    assert codes.tolist() == [0, 1, 2, 2, 2, 2, 2, 2, 2]
    assert as_rows(codes[:, None], ["id"], {0: coder}).column("id").to_pylist()[-1] == "user 2"


def test_the_fewest_columns_of_a_pipeline_are_chosen_by_their_bytes(folder, capsys):
    model = PIPELINES["one-hot"]().fit(PEOPLE[FITTED], LABELS[FITTED])
    skops.dump(model, "model.skops")
    PEOPLE[CERTIFY].to_parquet("rows.parquet", row_group_size=500)
    PEOPLE[FRESH].to_parquet("fresh.parquet", row_group_size=500)
    options = ["--fewest", "columns", "--delta", "0.2", "--random-state", "0"]
    assert run(["attend", "model.skops", "rows.parquet", "-o", "few.saccade", *options]) == 0
    few = saccade.load("few.saccade")
    assert len(few.columns_) < 5
    PEOPLE[FRESH][few.columns_].to_parquet("narrow.parquet")
    np.testing.assert_array_equal(predicted("narrow.parquet", model="few.saccade")["label"], few.predict(PEOPLE[FRESH]))


def test_codes_of_texts_are_texts_again():
    categories = Categories(np.array(["a", "b"], dtype=object), True, others_apart=True)
    coder = Remembered(categories, frozenset(["", "?"]))
    values = np.array(["b", "new", None, "?", "a", " b", "other", "new"], dtype=object)
    codes = coder(values)
    np.testing.assert_array_equal(codes, [1, 2, np.nan, np.nan, 0, 1, 3, 2])
    table = as_rows(np.column_stack([codes, codes]), ["t", "x"], {0: coder})
    assert table.column("t").to_pylist() == ["b", "new", None, None, "a", "b", "other", "new"]
    nameless = as_rows(np.column_stack([codes, codes]), None, {0: coder})
    assert nameless[:2].tolist() == [["b", 1.0], ["new", 2.0]]
    numbers = Remembered(Categories(KINDS, True, others_apart=True), frozenset(["na"]))
    codes = numbers(np.array(["1", "2.0", "9", "na", "text"], dtype=object))
    (made,) = as_rows(codes[:, None], ["k"], {0: numbers}).columns
    assert made.to_pylist()[:3] == [1.0, 2.0, 9.0]
    assert np.isnan(made.to_pylist()[3])
    assert made.to_pylist()[4] not in (1.0, 2.0, 5.0)


@pytest.mark.parametrize(
    ("values", "written", "expected"),
    [
        (["a", "b"], ["b", "c", "", None, "?", " a "], [1, 2, np.nan, np.nan, np.nan, 0]),
        (["a", "?"], ["?", "c"], [1, 2]),
        (["1", "2"], [1, 2.0, 3], [0, 1, 2]),
        ([1, 2, 5], ["5", "2.0", "7", "x", ""], [5, 2, 7, np.inf, np.nan]),
        ([], ["x", None], [0, np.nan]),
    ],
)
def test_other_values_have_a_number_of_their_own(values, written, expected):
    held = np.array(values) if values and isinstance(values[0], int) else np.array(values, dtype=object)
    coder = coder_of(Categories(held, True, others_apart=True), {"", "?"})
    codes = coder(np.array(written, dtype=object))
    np.testing.assert_array_equal(codes, expected)
    among = np.arange(len(values)) if held.dtype == object else held
    assert coder.are_known(codes).tolist() == [not values or bool(np.isin(code, among)) for code in codes]

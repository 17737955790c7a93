"""Pipelines over raw tables that were misread once: what is taken apart gives the margins of the pipeline itself."""

import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC

from saccade.models.apart import take_apart
from saccade.reading.texts import KnownTexts, texts_of

N = 400
TEXTS = np.array(["a", "b", "c", "d"], dtype=object)


def scores(model, rows):
    apart = take_apart(model)
    return apart.source(rows).values() @ apart.coef.T + apart.intercept


def check(model, rows):
    own = model.decision_function(rows).reshape(len(rows), -1)
    np.testing.assert_allclose(scores(model, rows), own, atol=1e-9)


def labels_of(model, rows):
    made = scores(model, rows)
    return model.classes_[(made[:, 0] > 0).astype(int) if made.shape[1] == 1 else made.argmax(axis=1)]


def numbers_and_texts(seed=0):
    random = np.random.default_rng(seed)
    rows = pd.DataFrame({"x": random.normal(size=N), "z": random.exponential(size=N), "c": random.choice(TEXTS, N)})
    return rows, rows["x"] + np.isin(rows["c"], ["a", "b"]) + random.normal(0, 0.5, N)


ENCODERS = [
    OneHotEncoder(handle_unknown="ignore"),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    TargetEncoder(),
]


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("shift", [0, 2**63], ids=["int64", "uint64"])
def test_whole_numbers_beyond_2_to_the_53_are_told_apart(encoder, shift):
    random = np.random.default_rng(0)
    number = random.choice([2**53 + 1, 2**53 + 2, 2**60, 2**60 + 1], N)
    held = number.astype(np.uint64) + np.uint64(shift) if shift else number
    rows = pd.DataFrame({"id": held, "x": random.normal(size=N), "c": random.choice(TEXTS, N)})
    y = (number % 2 == 0) ^ (random.random(N) < 0.1)
    only = make_pipeline(encoder, LogisticRegression()).fit(rows[["id"]], y)
    mixed = make_pipeline(
        ColumnTransformer([("e", encoder, ["id", "c"])], remainder="passthrough"), LogisticRegression()
    )
    mixed.fit(rows, y)
    check(only, rows[["id"]])
    check(mixed, rows)
    for unknown in (2**60 + 2, 7):
        new = rows.assign(id=np.array([unknown + shift] * N).astype(held.dtype))
        check(only, new[["id"]])
        check(mixed, new)
    objects = rows[["id"]].astype(object).to_numpy()
    check(make_pipeline(encoder, LogisticRegression()).fit(objects, y), objects)


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda step: type(step).__name__)
def test_encoders_may_be_fitted_on_arrays_of_texts(encoder):
    random = np.random.default_rng(0)
    texts = random.choice(["red", "green", "", "a longer one than these"], (N, 2))
    y = (texts[:, 0] == "red") ^ (random.random(N) < 0.1)
    model = make_pipeline(encoder, LogisticRegression()).fit(texts, y)
    check(model, texts)
    check(model, np.array([["blue", "red"], ["red", "re"]]))


def test_categories_that_are_times_are_refused_by_name():
    rows = pd.DataFrame({"day": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N) % 5, unit="D")})
    for given in (rows, rows - rows.min()):
        model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(given, np.arange(N) % 2)
        with pytest.raises(TypeError, match=r"OneHotEncoder\(\) has categories that are points or lengths of time"):
            take_apart(model)


def test_an_imputer_that_leaves_none_as_it_is():
    rows, score = numbers_and_texts()
    y, gaps = score > 0.5, np.random.default_rng(1).random(N) < 0.4
    frame = pl.DataFrame(
        {"c": [None if gap else text for text, gap in zip(rows["c"], gaps, strict=True)]}
    )  # of which scikit-learn makes None, not NaN
    for options in ({"strategy": "constant", "fill_value": "a"}, {"strategy": "constant", "fill_value": "other"}):
        model = make_pipeline(SimpleImputer(**options), OneHotEncoder(), LogisticRegression()).fit(frame, y)
        with pytest.raises(TypeError, match="the imputer before it leaves as they are"):
            take_apart(model)
    told = SimpleImputer(missing_values=None, strategy="constant", fill_value="a")
    check(make_pipeline(told, OneHotEncoder(), LogisticRegression()).fit(frame, y), frame)
    # None is the most frequent value, which stays what it is.
    frequent = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(), LogisticRegression())
    check(frequent.fit(frame, y), frame)


@pytest.mark.filterwarnings("ignore:Skipping features")
@pytest.mark.filterwarnings("ignore:Currently, when `keep_empty_feature:FutureWarning")  # scikit-learn 1.7
@pytest.mark.parametrize("keep", [True, False])
def test_imputers_of_constants_and_columns_without_any_value(keep):
    rows, score = numbers_and_texts()
    rows = rows[["x", "z"]].assign(nothing=np.nan)
    filled = SimpleImputer(strategy="constant", fill_value=3.0, keep_empty_features=keep)
    model = make_pipeline(filled, StandardScaler(), LogisticRegression()).fit(rows, score > 0.5)
    check(model, rows)
    check(model, rows.assign(nothing=1.0, x=np.nan))


WRAPPED = {
    "one against the rest, of a threshold": OneVsRestClassifier(
        FixedThresholdClassifier(LogisticRegression(), threshold=0.2)
    ),
    "one against the rest, of tuned ones": OneVsRestClassifier(
        TunedThresholdClassifierCV(LogisticRegression(class_weight="balanced"), scoring="f1")
    ),
    "calibrated, of a threshold": CalibratedClassifierCV(
        FixedThresholdClassifier(LogisticRegression(), threshold=0.2), ensemble=False
    ),
    "stacked, of a threshold": StackingClassifier(
        [("one", FixedThresholdClassifier(LogisticRegression(), threshold=0.2)), ("two", LinearSVC())],
        LogisticRegression(),
        stack_method="decision_function",
    ),
    "a threshold on the margin, of a threshold": FixedThresholdClassifier(
        FixedThresholdClassifier(LogisticRegression(), threshold=0.9),
        threshold=0.1,
        response_method="decision_function",
    ),
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("cuts", [[0.5], [0.0, 1.5]], ids=["two", "three"])
def test_thresholds_within_other_wrappers_do_not_count(name, cuts):
    if len(cuts) > 1 and not name.startswith("one against"):
        pytest.skip("a threshold is for two classes")
    rows, score = numbers_and_texts()
    before = ColumnTransformer([("texts", OneHotEncoder(), ["c"]), ("numbers", StandardScaler(), ["x", "z"])])
    model = make_pipeline(before, WRAPPED[name]).fit(rows, np.digitize(score, cuts))
    np.testing.assert_array_equal(labels_of(model, rows), model.predict(rows))


def test_one_against_the_rest_of_calibrated_models_is_refused_for_three_classes():
    rows, score = numbers_and_texts()
    before = ColumnTransformer([("texts", OneHotEncoder(), ["c"]), ("numbers", StandardScaler(), ["x", "z"])])
    model = make_pipeline(before, OneVsRestClassifier(CalibratedClassifierCV(LinearSVC(), ensemble=False)))
    model.fit(rows, score > 0.5)
    np.testing.assert_array_equal(labels_of(model, rows), model.predict(rows))
    with pytest.raises(TypeError, match="compares probabilities of its members"):
        take_apart(model.fit(rows, np.digitize(score, [0.0, 1.5])))


@pytest.mark.parametrize("degree", [0, 1])
@pytest.mark.parametrize("sparse", [True, False])
def test_linear_splines_that_scikit_learn_continues_otherwise_are_not_misread(degree, sparse):
    rows, score = numbers_and_texts()
    splines = SplineTransformer(degree=degree, extrapolation="linear", sparse_output=sparse)
    check(make_pipeline(splines, LogisticRegression()).fit(rows[["x"]], score > 0.5), 3 * rows[["x"]])
    model = make_pipeline(splines, LogisticRegression()).fit(rows[["x", "z"]], score > 0.5)
    single = clone(splines).fit_transform(rows[["z"]])
    if (
        abs(model[0].transform(rows[["x", "z"]])[:, -single.shape[1] :] - single).max() < 1e-9
    ):  # a later scikit-learn, perhaps
        check(model, rows[["x", "z"]])
    else:
        with pytest.raises(TypeError, match=r"SplineTransformer of its own"):
            take_apart(model)


def test_single_precision_is_compared_in_double_precision():
    rows, score = numbers_and_texts()
    tenths = pd.DataFrame({"tenth": rows["z"].round(1).clip(upper=0.9)})
    for given in (tenths, rows[["z"]].round(2).rename(columns={"z": "tenth"})):  # of a few categories, and of many
        model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(given, score > 0.5)
        check(model, given)
        check(model, given.astype(np.float32))  # 0.5 is the same, and 0.1 is not


def test_a_column_of_numbers_without_any_has_other_values_too():
    rows, score = numbers_and_texts()
    rows = rows[["c"]].assign(nothing=np.nan)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(C=100)).fit(rows, score > 0.5)
    check(model, rows)
    check(model, rows.assign(nothing=1.0))


STEPS = [
    MinMaxScaler(),
    MinMaxScaler(clip=True),
    RobustScaler(),
    SplineTransformer(),
    SplineTransformer(knots="quantile", degree=2),
    SplineTransformer(knots="quantile", extrapolation="continue"),
    make_pipeline(StandardScaler(), SplineTransformer(knots="quantile")),
    make_pipeline(MinMaxScaler(clip=True), PolynomialFeatures(2)),
]
COLUMNS = {
    "seconds since 1970": lambda x: 1.7e9 + x,
    "nanoseconds since 1970": lambda x: 1.7e18 + 1e9 * x,
    "large": lambda x: 1e150 * x,
    "small": lambda x: 1e-150 * x,
    "next to one another": lambda x: 1e5 + 1e-10 * x.round(),
}


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_far_from_0_that_differ_little_are_not_rounded_away(step, name):
    rows, score = numbers_and_texts()
    rows = rows.assign(x=COLUMNS[name](rows["x"].to_numpy()))
    if name == "next to one another" and isinstance(step, MinMaxScaler) and not step.clip:
        pytest.skip("what scikit-learn itself makes of these is rounded")
    before = ColumnTransformer([("number", step, ["x"]), ("text", OneHotEncoder(), ["c"])])
    model = make_pipeline(before, LogisticRegression()).fit(rows, score > 0.5)
    np.testing.assert_allclose(scores(model, rows)[:, 0], model.decision_function(rows), atol=1e-5)


def test_long_texts_that_differ_anywhere_are_found_soon():
    known = [f"https://example.org/{k:06d}/and-then-a-long-path-that-is-the-same-for-all.html" for k in range(20_000)]
    rows = np.arange(len(known), dtype=np.uint32)
    texts_of(pa.array(known[:9])).codes(KnownTexts(known[:3]), rows[:9])  # compiled
    begin = time.perf_counter()
    codes = texts_of(pa.array(known)).codes(KnownTexts(known), rows)
    assert time.perf_counter() - begin < 2  # with a hash of some bytes alone: half a minute
    np.testing.assert_array_equal(codes, rows)

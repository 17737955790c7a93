"""Pipelines over raw tables: what is taken apart gives the margins of the pipeline itself, whatever the values are."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC

import saccade
from saccade import attend
from saccade.models.apart import take_apart
from saccade.models.linear import LinearModel
from saccade.models.pipelines import encoders
from saccade.models.tables import blocks
from saccade.models.tables.model import TermModel

N = 300
LEVELS = ["red", "green", "blue", "rare", "rarer", "é"]
NUMERIC = ["width", "count", "height"]
TEXT = ["colour", "shape"]


def table(seed, n=N):
    """Return rows with numbers, some of them missing or equal, whole numbers, and texts, some of them missing."""
    random = np.random.default_rng(seed)
    colour = random.choice(LEVELS, n, p=[0.4, 0.3, 0.2, 0.05, 0.03, 0.02]).astype(object)
    shape = random.choice(["round", "square"], n).astype(object)
    width = random.normal(10, 3, n).round(1)
    made = pd.DataFrame(
        {
            "width": width,
            "colour": colour,
            "count": random.integers(0, 9, n),
            "shape": shape,
            "height": random.exponential(2, n),
        }
    )
    score = (width - 10) / 3 + (colour == "red") - (shape == "round") + 0.3 * made["count"] - 1 + random.normal(0, 1, n)
    return made, score


def with_gaps(rows, seed):
    random = np.random.default_rng(seed)
    gaps = rows.copy()
    for name in ["width", "colour"]:
        gaps.loc[random.random(len(rows)) < 0.15, name] = np.nan
    return gaps


def labels_of(score, n_classes):
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def margins(model, rows):
    """Return the scores that a model, taken apart, gives to rows, (rows, scores)."""
    additive = take_apart(model)
    if isinstance(additive, LinearModel):
        return np.asarray(rows, dtype=float) @ additive.coef.T + additive.intercept
    return additive.source(rows).values() @ additive.coef.T + additive.intercept


def assert_read_as_itself(model, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = model.decision_function(rows)
    own = own[:, None] if own.ndim == 1 else own
    np.testing.assert_allclose(margins(model, rows), own, rtol=1e-7, atol=1e-7)


IMPUTERS = [
    SimpleImputer(),
    SimpleImputer(strategy="median", add_indicator=True),
    SimpleImputer(strategy="constant", fill_value=-1.0),
    SimpleImputer(strategy="most_frequent"),
]
NUMERIC_STEPS = [
    "passthrough",
    StandardScaler(),
    StandardScaler(with_mean=False),
    RobustScaler(),
    MaxAbsScaler(),
    MinMaxScaler(feature_range=(-1, 2)),
    MinMaxScaler(clip=True),
    make_pipeline(StandardScaler(), KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf")),
    KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"),
    make_pipeline(StandardScaler(), KBinsDiscretizer(5, encode="onehot-dense", strategy="uniform"), StandardScaler()),
    SplineTransformer(n_knots=4),
    SplineTransformer(n_knots=3, degree=2, extrapolation="linear", include_bias=False),
    make_pipeline(StandardScaler(), SplineTransformer(n_knots=4, extrapolation="continue")),
    SplineTransformer(n_knots=4, extrapolation="periodic"),
    QuantileTransformer(n_quantiles=20),
    QuantileTransformer(n_quantiles=20, output_distribution="normal"),
    PowerTransformer(),
    PowerTransformer(standardize=False),
    make_pipeline(StandardScaler(), Binarizer(threshold=0.3)),
    PolynomialFeatures(2),
    make_pipeline(StandardScaler(), PolynomialFeatures(3, interaction_only=True), StandardScaler()),
    make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler()),
    make_pipeline(VarianceThreshold(), StandardScaler()),
    make_pipeline(FunctionTransformer(np.abs), FunctionTransformer(np.log1p), StandardScaler()),
    make_union(StandardScaler(), KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")),
    FeatureUnion([("a", MinMaxScaler()), ("b", "passthrough"), ("c", "drop")], transformer_weights={"a": 3.0}),
]
TEXT_STEPS = [
    OneHotEncoder(handle_unknown="ignore"),
    OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
    OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist", sparse_output=False),
    OneHotEncoder(max_categories=3, handle_unknown="ignore", drop="first"),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-2, encoded_missing_value=-1),
    make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-2), SimpleImputer(add_indicator=True)
    ),
    TargetEncoder(cv=2, random_state=0),
    make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"),
        OneHotEncoder(handle_unknown="ignore"),
        StandardScaler(with_mean=False),
    ),
    make_pipeline(SimpleImputer(strategy="most_frequent", add_indicator=False), OneHotEncoder(handle_unknown="ignore")),
    make_pipeline(OneHotEncoder(handle_unknown="ignore", sparse_output=False), SelectKBest(k=3)),
]


def pipeline(numeric, text, imputer, model):
    return make_pipeline(
        ColumnTransformer([("numeric", make_pipeline(imputer, numeric), NUMERIC), ("text", text, TEXT)]), model
    )


@pytest.mark.parametrize("step", [*NUMERIC_STEPS, make_pipeline(PowerTransformer(), KBinsDiscretizer(3))], ids=repr)
@pytest.mark.parametrize("fitted", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_steps_compute_in_the_precision_of_the_rows(step, fitted):
    """Values of one decimal lie on thresholds, and fall on another side of them in another precision."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(2000, 3)).round(1) + 10
    y = labels_of(rows.sum(axis=1) + random.normal(size=2000), 2)
    model = make_pipeline(step, LogisticRegression(C=0.01)).fit(rows.astype(fitted), y)
    single, frame = rows.astype(np.float32), pd.DataFrame(rows, columns=NUMERIC)
    for X in (rows, single, np.asfortranarray(single)):
        np.testing.assert_allclose(margins(model, X)[:, 0], model.decision_function(X), rtol=1e-3, atol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names
        for kinds in ({}, dict.fromkeys(NUMERIC, np.float32), {"width": np.float32}):
            X = frame.astype(kinds)
            for given in (X, pl.from_pandas(X), pa.Table.from_pandas(X)):
                own = model.decision_function(X)
                np.testing.assert_allclose(margins(model, given)[:, 0], own, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("single", [["width"], ["width", "count"], ["width", "height"], NUMERIC])
def test_each_step_of_a_column_transformer_has_the_precision_of_its_own_columns(single, tmp_path):
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(2000, 3)).round(1), columns=NUMERIC)
    first, second = Binarizer(threshold=0.3), make_pipeline(SimpleImputer(), Binarizer(threshold=0.1))
    steps = ColumnTransformer([("first", first, ["width", "count"]), ("second", second, ["height"])])
    model = make_pipeline(steps, LogisticRegression())
    model.fit(frame, labels_of(frame.sum(axis=1) + random.normal(size=2000), 2))
    X = frame.astype(dict.fromkeys(single, np.float32))
    np.testing.assert_allclose(margins(model, X)[:, 0], model.decision_function(X), rtol=1e-5)
    attentive = attend(model, X, delta=0.1, when_too_few="read", random_state=0)
    saccade.save(attentive, tmp_path / "model.saccade")
    np.testing.assert_array_equal(saccade.load(tmp_path / "model.saccade").full_margin(X), attentive.full_margin(X))


@settings(max_examples=examples(120))
@given(
    seed=st.integers(0, 2**16),
    numeric=st.sampled_from(NUMERIC_STEPS),
    text=st.sampled_from(TEXT_STEPS),
    imputer=st.sampled_from(IMPUTERS),
    n_classes=st.sampled_from([2, 3]),
)
def test_every_step_is_read_as_it_reads_itself(seed, numeric, text, imputer, n_classes):
    rows, score = table(seed)
    model = pipeline(numeric, text, imputer, LogisticRegression(max_iter=50))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(with_gaps(rows, seed), labels_of(score, n_classes))
    others = with_gaps(table(seed + 1)[0], seed + 1)
    others.loc[::17, "colour"] = "never seen"
    assert_read_as_itself(model, others)


@settings(max_examples=examples(60))
@given(
    values=st.lists(st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float), min_size=12, max_size=40),
    edges=st.sampled_from(["quantile", "uniform"]),
    scaler=st.sampled_from([StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler()]),
)
def test_bins_behind_scalers_are_met_to_the_bit(values, edges, scaler):
    X = np.array(values)[:, None]
    y = np.arange(X.size) % 2
    bins = KBinsDiscretizer(4, encode="ordinal", strategy=edges, quantile_method="averaged_inverted_cdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(scaler, bins, RidgeClassifier()).fit(X, y)
    beside = np.concatenate([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])
    assert_read_as_itself(model, beside)


@pytest.mark.parametrize("text", TEXT_STEPS[:3], ids=str)
def test_all_tables_are_read_alike(text):
    rows, score = table(1)
    rows = with_gaps(rows, 1)
    model = pipeline(StandardScaler(), text, SimpleImputer(), LogisticRegression()).fit(rows, score > 0)
    expected = margins(model, rows)
    arrow = pa.Table.from_pandas(rows, preserve_index=False)
    coded = rows.assign(colour=rows["colour"].astype("category"))
    encoded = arrow.set_column(1, "colour", arrow["colour"].dictionary_encode())
    polars = pl.from_pandas(rows)
    categorical = polars.with_columns(pl.col("colour").cast(pl.Categorical))
    for other in (arrow, coded, encoded, polars, categorical, rows.to_numpy(object)):
        np.testing.assert_allclose(margins(model, other), expected, rtol=1e-12)


def test_columns_may_be_chosen_in_every_way():
    rows, score = table(2)
    steps = [
        ("mask", StandardScaler(), [True, False, False, False, False]),
        ("slice", StandardScaler(), slice("count", "count")),
        ("selector", OneHotEncoder(), make_column_selector(dtype_include=object, pattern="colour")),
        ("number", OneHotEncoder(), [-2]),
        ("none", StandardScaler(), []),
    ]
    transformer = ColumnTransformer(steps, remainder=MinMaxScaler(), transformer_weights={"mask": 2.0})
    rows = rows.astype({"colour": object, "shape": object})
    model = make_pipeline(transformer, LogisticRegression()).fit(rows, score > 0)
    assert_read_as_itself(model, rows)
    for remainder in ("passthrough", "drop"):
        kept = ColumnTransformer([("text", OneHotEncoder(), TEXT)], remainder=remainder).set_output(transform="default")
        assert_read_as_itself(make_pipeline(kept, LogisticRegression()).fit(rows, score > 0), rows)


@pytest.mark.parametrize(
    "text",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False, min_frequency=9),
        make_pipeline(OneHotEncoder(handle_unknown="ignore"), StandardScaler(with_mean=False), SelectKBest(k=4)),
        make_pipeline(OneHotEncoder(sparse_output=False, handle_unknown="ignore"), StandardScaler()),
        TargetEncoder(cv=2),
    ],
    ids=str,
)
def test_tables_of_many_categories_are_kept_sparse_and_read_alike(text, monkeypatch):
    monkeypatch.setattr(encoders, "MOST_AT_ONCE", 10)
    rows, score = table(11)
    model = pipeline(StandardScaler(), text, SimpleImputer(), LogisticRegression())
    model.fit(with_gaps(rows, 11), (score > 0).astype(int))
    assert_read_as_itself(model, with_gaps(table(12)[0], 12))
    monkeypatch.setattr(blocks, "MOST_DENSE", 10)
    if "StandardScaler())" in str(text):
        with pytest.raises(TypeError, match=r"a step behind its encoder fills them all in.*with_mean=False"):
            take_apart(model)


def test_a_column_that_is_a_number_and_a_category_at_once():
    rows, score = table(3)
    steps = [("number", StandardScaler(), ["count"]), ("category", OneHotEncoder(handle_unknown="ignore"), ["count"])]
    model = make_pipeline(ColumnTransformer(steps), LogisticRegression()).fit(rows, score > 0)
    assert_read_as_itself(model, rows.assign(count=rows["count"] + 3))


def test_whole_numbers_may_be_categories():
    rows, score = table(4)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(rows[["count"]], score > 0)
    others = pd.DataFrame({"count": [0, 3, 99, -1]})
    assert_read_as_itself(model, others)
    assert_read_as_itself(model, others.astype("int8"))
    assert take_apart(model).categories[0].values.size == 9


def test_selectors_and_scalers_of_numbers_stay_a_linear_model():
    X = np.random.default_rng(0).normal(size=(200, 12))
    y = X[:, 0] + X[:, 3] > 0
    model = make_pipeline(StandardScaler(), SelectKBest(k=4), SelectFromModel(LinearSVC(), max_features=3), LinearSVC())
    additive = take_apart(model.fit(X, y))
    assert isinstance(additive, LinearModel)
    assert np.count_nonzero(additive.coef) <= 3
    assert_read_as_itself(model, X)


class Squared(TransformerMixin, BaseEstimator):
    """A transformer of a single column that nobody here knows."""

    def fit(self, X, y=None):
        self.n_features_in_ = 1
        return self

    def transform(self, X):
        values = np.asarray(X, dtype=float)
        return np.hstack([values, values**2])

    def get_feature_names_out(self, names=None):
        return np.array(["value", "square"])


def test_any_transformer_of_one_column_is_used_as_it_is():
    rows, score = table(5)
    steps = [("own", Squared(), ["height"]), ("text", OneHotEncoder(), ["colour"])]
    model = make_pipeline(ColumnTransformer(steps), LogisticRegression()).fit(rows, score > 0)
    assert_read_as_itself(model, rows)
    together = make_pipeline(ColumnTransformer([("own", Squared(), ["height", "width"])]), LogisticRegression())
    together.fit(rows, score > 0)
    with pytest.raises(TypeError, match=r"Squared\(\) is not known to work column by column.*one column at a time"):
        take_apart(together)


def test_a_vectorizer_is_to_be_applied_before():
    texts = pd.DataFrame({"text": ["red car", "blue car"] * 50})
    words = ColumnTransformer([("words", TfidfVectorizer(), "text")])
    model = make_pipeline(words, LogisticRegression()).fit(texts, [0, 1] * 50)
    with pytest.raises(TypeError, match=r"TfidfVectorizer.* words of a text.*Apply it first.*the model behind it"):
        take_apart(model)


@pytest.mark.parametrize("step", [PCA(2), Normalizer(), KNNImputer()], ids=str)
def test_what_mixes_columns_is_refused_by_name(step):
    rows, score = table(6)
    model = make_pipeline(make_pipeline(StandardScaler(), step), LogisticRegression()).fit(rows[NUMERIC], score > 0)
    with pytest.raises(TypeError, match=f"{type(step).__name__}.*mixes the columns of a row"):
        take_apart(model)


def test_a_function_that_mixes_columns_is_noticed_on_the_rows():
    X = np.random.default_rng(0).normal(size=(4000, 4)) + 1
    y = X[:, 0] - X[:, 1] > 0
    mixing = FunctionTransformer(lambda rows: rows / np.abs(rows).sum(axis=1, keepdims=True))
    model = make_pipeline(mixing, LogisticRegression()).fit(X[:1000], y[:1000])
    with pytest.raises(TypeError, match="not the sum"):
        attend(model, X[1000:], delta=0.1)


ROWS, SCORE = table(7, 1200)
PLAIN = pipeline(StandardScaler(), OneHotEncoder(handle_unknown="ignore"), SimpleImputer(), LogisticRegression())
LABELS = np.where(SCORE > 0, "yes", "no")


def members(*models):
    return [(str(k), model) for k, model in enumerate(models)]


WRAPPED = {
    "grid": GridSearchCV(PLAIN, {"logisticregression__C": [0.1, 1.0]}, cv=2),
    "pipeline of pipelines": Pipeline([("outer", PLAIN)]),
    "sigmoid": CalibratedClassifierCV(PLAIN, ensemble=False, cv=3),
    "isotonic": CalibratedClassifierCV(PLAIN, method="isotonic", ensemble=False, cv=3),
    "fixed threshold": FixedThresholdClassifier(PLAIN, threshold=0.3),
    "threshold of the first class": FixedThresholdClassifier(PLAIN, threshold=0.3, pos_label="no"),
    "threshold on a calibrated one": FixedThresholdClassifier(
        CalibratedClassifierCV(PLAIN, ensemble=False, cv=3), threshold=0.7
    ),
    "threshold of the first class on a calibrated one": FixedThresholdClassifier(
        CalibratedClassifierCV(PLAIN, ensemble=False, cv=3), threshold=0.3, pos_label="no"
    ),
    "tuned threshold": TunedThresholdClassifierCV(PLAIN, cv=2),
    "one against the rest": OneVsRestClassifier(PLAIN),
    "stacked": StackingClassifier(
        members(PLAIN, make_pipeline(ColumnTransformer([("n", MinMaxScaler(), NUMERIC)]), LinearSVC())),
        stack_method="decision_function",
        cv=2,
    ),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_wrappers_are_opened(name):
    model = WRAPPED[name].fit(ROWS, LABELS)
    additive = take_apart(FrozenEstimator(model))
    ours = additive.source(ROWS).values() @ additive.coef.T + additive.intercept
    np.testing.assert_array_equal(additive.classes[(ours[:, 0] > 0).astype(int)], model.predict(ROWS))


def test_one_against_the_rest_of_three_classes():
    labels = labels_of(SCORE, 3)
    model = OneVsRestClassifier(PLAIN).fit(ROWS, labels)
    np.testing.assert_array_equal(margins(model, ROWS).argmax(axis=1), model.predict(ROWS))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (VotingClassifier(members(PLAIN, PLAIN), voting="soft"), "VotingClassifier adds up votes"),
        (StackingClassifier(members(PLAIN), cv=2), "StackingClassifier adds up what its members predict"),
        (CalibratedClassifierCV(PLAIN, cv=2, ensemble=True), "CalibratedClassifierCV averages .* ensemble=False"),
        (GridSearchCV(PLAIN, {"logisticregression__C": [1.0]}, cv=2, refit=False), "GridSearchCV .*refit=True"),
    ],
    ids=["votes", "probabilities", "several calibrators", "no refit"],
)
def test_wrappers_that_are_no_sums_are_refused_by_name(model, message):
    with pytest.raises(TypeError, match=message):
        take_apart(model.fit(ROWS, LABELS))


def test_a_table_is_attended_by_its_raw_columns():
    rows, score = table(8, 9000)
    rows = with_gaps(rows, 8)
    model = clone_fit(PLAIN, rows[:3000], score[:3000] > 0)
    attentive = attend(model, rows[3000:], delta=0.05, random_state=0)
    assert isinstance(attentive.additive_, TermModel)
    assert attentive.plan_.n_units == 5
    assert set(attentive.columns_) <= set(rows.columns)
    reading = attentive.read(rows)
    assert (reading.n_read <= 5).all()
    assert np.mean(reading.label != model.predict(rows)) < 0.05
    np.testing.assert_array_equal(attentive.full_margin(rows) > 0, model.predict(rows))


def test_several_classes_buy_a_column_once():
    rows, score = table(9, 9000)
    model = clone_fit(PLAIN, rows[:3000], labels_of(score[:3000], 3))
    attentive = attend(model, rows[3000:], delta=0.1, costs={"colour": 5.0}, random_state=0)
    reading = attentive.read(rows)
    assert reading.n_read.max() <= 5
    np.testing.assert_array_equal(attentive.classes_[attentive.full_margin(rows).argmax(axis=1)], model.predict(rows))


def test_a_value_that_no_step_has_a_way_for_is_named_with_row_and_column():
    rows, score = table(10, 6000)
    strict = pipeline(StandardScaler(), OneHotEncoder(), "passthrough", LogisticRegression())
    attentive = attend(strict.fit(rows[:2000], score[:2000] > 0), rows[2000:], delta=0.1, random_state=0)
    first = attentive.columns_[0]
    others = rows[:50].copy()
    others.loc[7, first] = None
    with pytest.raises(ValueError, match=f"[Rr]ow 7 .*column '{first}'"):
        attentive.predict(others)
    others = rows[:50].astype({"colour": object})
    others.loc[9, "colour"] = "mauve"
    with pytest.raises(ValueError, match=r"[Rr]ow 9 .*none of .*'blue'.*column 'colour'"):
        attentive.full_margin(others)


def clone_fit(model, X, y):
    return clone(model).fit(X, y)

"""Saved models: the same bits after loading, whole files or none, and nothing that a hostile file can do."""

import contextlib
import functools
import os
import pickle
import random
import struct

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from interpret.glassbox import ExplainableBoostingClassifier
from lightgbm import LGBMClassifier
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from xgboost import XGBClassifier

import saccade
from data import correlated
from saccade import (
    AttentiveClassifier,
    Budget,
    ConstantSTST,
    CurvedSTST,
    ExponentiatedGradient,
    PassiveAggressive,
    Pegasos,
    Perceptron,
)
from saccade.exceptions import ModelFileError
from saccade.files.archive import read_archive, signed, write_archive

N, FITTED = 2000, 800  # rows, and how many of them fit a model; the others certify it
X, y = correlated(N, 20, seed=0, separation=2.0)
X4, kinds = correlated(N, 20, seed=1, separation=4.0, classes=4)
WOODS = np.array(["ash", "elm", "fir", "oak"])[kinds]
FRAME = pd.DataFrame(X, columns=[f"f{j}" for j in range(20)])

rng = np.random.default_rng(0)
CITIES = ["Bonn", "Kyiv", "Oslo", "Riga"]
TABLE = pd.DataFrame(
    {
        "city": rng.choice(CITIES, N).astype(object),
        "age": rng.integers(18, 80, N).astype(float),
        "debt": rng.normal(size=N).round(3),
        "hours": rng.uniform(0, 60, N).round(1),
        "income": rng.lognormal(3, 1, N).round(2),
        "visits": rng.integers(0, 6, N),
        "level": rng.integers(0, 6, N),
        "member": rng.random(N) < 0.3,
        **{f"unused {k}": rng.normal(size=N) for k in range(16)},
    }
)
SCORE = (TABLE.age - 45) / 12 + 2 * (TABLE.city == "Oslo") + TABLE.debt + (TABLE.visits == 3) + np.log(TABLE.income) - 3
TWO, THREE = np.where(SCORE > 0, "yes", "no"), np.digitize(SCORE, [-0.7, 0.8])
TABLE.loc[rng.random(N) < 0.1, "age"] = np.nan
NUMBERS = TABLE[["age", "debt", "hours", "income"]].to_numpy()
CODES = TABLE[["age", "debt", "income"]].assign(city=pd.Categorical(TABLE.city, CITIES))
CODES.loc[rng.random(N) < 0.1, "city"] = np.nan
WHOLE = CODES.notna().all(axis=1)


def pipeline():
    """Return a pipeline whose archive has every kind of map."""
    imputer = SimpleImputer(add_indicator=True)
    steps = [
        ("age", make_pipeline(StandardScaler(), imputer, FunctionTransformer(np.tanh)), ["age"]),
        ("bins", KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), ["income"]),
        ("curve", make_pipeline(SplineTransformer(4), SelectKBest(k=4)), ["income"]),
        ("power", make_pipeline(PowerTransformer(), MinMaxScaler(clip=True)), ["income"]),
        ("log", FunctionTransformer(np.log1p), ["income"]),
        ("above", Binarizer(threshold=20.0), ["income"]),
        ("rank", QuantileTransformer(n_quantiles=20, output_distribution="normal"), ["hours"]),
        ("products", make_pipeline(StandardScaler(), PolynomialFeatures(2)), ["debt", "hours"]),
        ("city", OneHotEncoder(handle_unknown="ignore"), ["city"]),
        ("level", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99), ["level"]),
        ("visits", OneHotEncoder(handle_unknown="ignore"), ["visits"]),
        ("rest", "passthrough", ["visits", "member"]),
    ]
    return make_pipeline(ColumnTransformer(steps), LogisticRegression(max_iter=1000))


TERMS = {"none", "table", "pieces", "formula"}
MAPS = {
    *("Bins", "Clip", "Elementwise", "Fill", "Indicate", "Match", "Monomials", "Power", "Quantiles", "Scale"),
    *("Select", "Splines", "Threshold"),
}
SMALL = {"n_estimators": 20, "random_state": 0, "n_jobs": 1}
LOOSE = {"delta": 0.2, "when_too_few": "read"}
LEARNERS = {
    "Pegasos": (Pegasos(random_state=0), X, y, None),
    "Pegasos, single": (Pegasos(random_state=0, average=False), X.astype(np.float32), y, None),
    "Pegasos, named": (Pegasos(0.1, boundary=ConstantSTST(0.2, "printed"), order="permuted"), FRAME, y > 0, None),
    "Pegasos, sampled": (Pegasos(order="sampled", random_state=2), X, y, None),
    "Pegasos, weighted": (Pegasos(class_weight={0: 1.0, 1: 3.0}, audit=0, random_state=0), X, y, None),
    "Perceptron, classes": (Perceptron(boundary=CurvedSTST(0.05), random_state=3), X4, WOODS, None),
    "passive-aggressive, budget": (PassiveAggressive(boundary=Budget(9), order="sampled", random_state=0), X, y, None),
    "exponentiated gradient": (ExponentiatedGradient(random_state=0), X, y, None),
}
LINEAR = {
    "own learner": (AttentiveClassifier(boundary=CurvedSTST(0.01), delta=0.1, random_state=0), X, y, None),
    "logistic": (LogisticRegression(), X, y, {"delta": 0.1}),
    "logistic, classes": (LogisticRegression(), X4, WOODS, {"delta": 0.1}),
    "logistic, levels": (LogisticRegression(), X, y, {"delta": {0: 0.1, 1: 0.3}}),
    "logistic, accuracy": (LogisticRegression(), X, y, {"delta": 0.1, "promise": "accuracy"}),
    "logistic, threshold": (LogisticRegression(), X, y, {"delta": 0.1, "threshold": 0.3}),
    "logistic, curved": (LogisticRegression(), X, y, {"delta": 0.1, "boundary": CurvedSTST(0.01)}),
    "logistic, columns": (LogisticRegression(), X, y, {"delta": 0.1, "fewest": "columns", "costs": [*range(1, 21)]}),
    "logistic, costs": (
        make_pipeline(StandardScaler(), LogisticRegression()),
        FRAME,
        y,
        {"delta": 0.1, "costs": {"sample": 5.0, "f7": 2.0}, "groups": {"sample": ["f1", "f2", "f3"]}},
    ),
}
TABLES = {
    "pipeline": (pipeline(), TABLE, TWO, LOOSE),
    "pipeline, classes": (pipeline(), TABLE, THREE, LOOSE),
    "naive Bayes": (GaussianNB(), np.nan_to_num(NUMBERS), THREE, LOOSE),
    "EBM": (
        ExplainableBoostingClassifier(interactions=1, max_rounds=20, outer_bags=1, n_jobs=1, random_state=0),
        CODES[WHOLE],
        TWO[WHOLE],
        {"delta": 0.3, "when_too_few": "read"},
    ),
}
TREES = {
    "LightGBM": (LGBMClassifier(**SMALL, verbose=-1), CODES, TWO, LOOSE),
    "LightGBM, zeros": (LGBMClassifier(**SMALL, zero_as_missing=True, verbose=-1), np.nan_to_num(NUMBERS), THREE, LOOSE),
    "XGBoost": (XGBClassifier(**SMALL, enable_categorical=True), CODES, THREE, LOOSE),
    "CatBoost": (CatBoostClassifier(20, verbose=0, allow_writing_files=False, thread_count=1), NUMBERS, THREE, LOOSE),
    "histograms": (
        HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype", random_state=0),
        CODES,
        TWO,
        LOOSE | {"threshold": 0.4},
    ),
    "forest": (RandomForestClassifier(**SMALL, max_depth=6), NUMBERS, TWO, LOOSE),
}
MODELS = LEARNERS | LINEAR | TABLES | TREES
CERTIFIED = [name for name, (*_, options) in MODELS.items() if options is not None]


@functools.cache
def fitted(name):
    """Return a fitted model that can be saved: a learner, or another model, certified on rows that did not fit it."""
    estimator, rows, labels, options = MODELS[name]
    if options is None:
        return estimator.fit(rows, labels)
    estimator.fit(rows[:FITTED], labels[:FITTED])
    model = saccade.attend(estimator, rows[FITTED:], labels[FITTED:], random_state=0, **options)
    assert model.plan_.checkpoints.size > 1
    return model


def saved_and_loaded(model, folder):
    saccade.save(model, folder / "model")
    return saccade.load(folder / "model")


def assert_same(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", MODELS)
def test_loaded_model_reads_the_same_bits_and_is_saved_to_the_same_bytes(name, tmp_path):
    model, rows = fitted(name), MODELS[name][1]
    loaded = saved_and_loaded(model, tmp_path)
    assert type(loaded) is type(model)
    assert_same(vars(loaded.read(rows)).values(), vars(model.read(rows)).values())
    assert_same([loaded.full_margin(rows), loaded.predict(rows)], [model.full_margin(rows), model.predict(rows)])
    plans = [one.plans_ if name in LEARNERS else [one.plan_] for one in (loaded, model)]
    for mine, theirs in zip(*plans, strict=True):
        assert_same(mine, theirs)
    mine, theirs = (
        {key: repr(value) for key, value in one.get_params(deep=False).items() if key != "estimator"}
        for one in (loaded, model)
    )
    assert mine == theirs
    assert (loaded.n_features_in_, loaded.classes_.dtype) == (model.n_features_in_, model.classes_.dtype)
    mine, theirs = (getattr(one, "feature_names_in_", np.array([])).tolist() for one in (loaded, model))
    assert mine == theirs
    saccade.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_loaded_learner_refuses_to_train_and_can_be_fitted_anew(name, tmp_path):
    model, (_, rows, labels, _) = fitted(name), MODELS[name]
    loaded = saved_and_loaded(model, tmp_path)
    assert_same([loaded.coef_, loaded.intercept_], [model.coef_, model.intercept_])
    assert (loaded.training_, loaded.n_iter_, loaded.t_) == (model.training_, model.n_iter_, model.t_)
    with pytest.raises(ValueError, match="was loaded from a model file"):
        loaded.partial_fit(rows, labels)
    with pytest.raises(ValueError, match="was loaded from a model file"):
        loaded.set_params(warm_start=True).fit(rows, labels)
    assert_same([loaded.coef_], [model.coef_])
    if model.random_state is not None:
        np.testing.assert_array_equal(loaded.set_params(warm_start=False).fit(rows, labels).coef_, model.coef_)


@pytest.mark.parametrize("name", CERTIFIED)
def test_loaded_model_is_certified_again_to_the_same_plan(name, tmp_path):
    model, (estimator, rows, labels, options) = fitted(name), MODELS[name]
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.certificate_ == pickle.loads(pickle.dumps(loaded)).certificate_ == model.certificate_
    assert loaded.columns_ == model.columns_
    np.testing.assert_array_equal(loaded.estimator_.predict(rows), np.ravel(model.estimator_.predict(rows)))
    assert_same([loaded.estimator_.decision_function(rows)], [model.full_margin(rows)])
    again = saccade.attend(loaded.estimator_, rows[FITTED:], labels[FITTED:], random_state=0, **options)
    assert_same(again.plan_, model.plan_)
    assert again.certificate_ == model.certificate_
    with pytest.raises(ValueError, match="only the weights at threshold"):
        saccade.attend(loaded.estimator_, rows[FITTED:], labels[FITTED:], **options | {"threshold": 0.55})
    with pytest.raises(TypeError, match="cannot be fitted again"):
        loaded.estimator_.estimator.fit(rows, labels)


def answers(inquiry, row):
    """Answer what an inquiry asks, and return all that it says then."""
    while (feature := inquiry.wanted) is not None:
        inquiry.tell(None if pd.isna(row[feature]) else row[feature])
    return inquiry.label, inquiry.asked, inquiry.spent, inquiry.confidence, inquiry.certified, inquiry.outside


@pytest.mark.parametrize("name", CERTIFIED)
def test_loaded_model_asks_the_same_questions_and_resumes_inquiries(name, tmp_path):
    model, rows = fitted(name), pd.DataFrame(MODELS[name][1])
    loaded = saved_and_loaded(model, tmp_path)
    for k in range(20):
        assert answers(loaded.inquire(), rows.iloc[k]) == answers(model.inquire(), rows.iloc[k])
    inquiry = model.inquire()
    inquiry.tell(rows.iloc[0][inquiry.wanted])
    resumed = loaded.resume(inquiry.to_json())
    assert (resumed.wanted, resumed.spent, resumed.confidence) == (inquiry.wanted, inquiry.spent, inquiry.confidence)
    assert answers(resumed, rows.iloc[0]) == answers(inquiry, rows.iloc[0])
    column = model.columns_[0] if name not in ("EBM", "pipeline, classes") else "debt"
    if np.issubdtype(rows[column].dtype, np.number):
        assert loaded.inquire(known={column: 1e9}).outside == {column: 1e9}


def test_loaded_model_knows_which_categories_certified_it(tmp_path):
    rows = CODES[FITTED:]
    model = saccade.attend(fitted("LightGBM").estimator_, rows[rows["city"] != "Oslo"], random_state=0, **LOOSE)
    loaded = saved_and_loaded(model, tmp_path)
    for city in CITIES:
        outside = loaded.inquire(known={"age": 40.0, "debt": 0.0, "income": 20.0, "city": city}).outside
        assert outside == ({"city": "Oslo"} if city == "Oslo" else {})


@pytest.mark.parametrize("dtype", ["U10", "U1", object, np.int8, np.float32, bool])
def test_labels_keep_their_type(dtype, tmp_path):
    labels = np.array(["a", "b"], dtype=dtype)[y] if dtype in ("U10", "U1", object) else y.astype(dtype)
    loaded = saved_and_loaded(Pegasos(random_state=0).fit(X, labels), tmp_path)
    assert loaded.classes_.dtype == loaded.predict(X).dtype == np.dtype(dtype)


def test_archive_has_every_kind_of_map_and_weights_once(tmp_path):
    saccade.save(fitted("pipeline"), tmp_path / "model")
    terms = read_archive(tmp_path / "model").header["terms"]["terms"]
    assert {term["kind"] for term in terms} == TERMS
    maps = [step["map"] for term in terms for block in term.get("blocks", []) for step in block["maps"]]
    assert set(maps) == MAPS
    saccade.save(fitted("logistic, classes"), tmp_path / "model")
    assert [array.shape for array in read_archive(tmp_path / "model").arrays.values()].count((4, 20)) == 1


def behind(step):
    """Return a certified model in which a step makes features of the column f0."""
    model = make_pipeline(ColumnTransformer([("step", step, ["f0"]), ("rest", "passthrough", ["f1"])]), LogisticRegression())
    return saccade.attend(model.fit(FRAME[:FITTED], y[:FITTED]), FRAME[FITTED:], random_state=0, **LOOSE)


def by_intervals():
    """Return a certified model with categories that JSON cannot hold."""
    rows = pd.DataFrame({"f0": X[:, 0], "f1": pd.cut(X[:, 1], 3)})
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    return saccade.attend(model.fit(rows[:FITTED], y[:FITTED]), rows[FITTED:], random_state=0, **LOOSE)


UNSAVEABLE = {
    "learner that is not fitted": (Pegasos, NotFittedError, "not fitted"),
    "classifier that is not fitted": (AttentiveClassifier, NotFittedError, "not fitted"),
    "estimator of scikit-learn": (lambda: LogisticRegression().fit(X, y), TypeError, "only Pegasos.*saccade.attend"),
    "random state": (lambda: Pegasos(random_state=np.random.RandomState(0)).fit(X, y), TypeError, "random_state=.*None"),
    "odd groups": (
        lambda: saccade.attend(LogisticRegression().fit(X, y), X, delta=0.1, groups={("a", 1): [1, 2]}),
        TypeError,
        "groups",
    ),
    "labels that are dates": (
        lambda: Pegasos(random_state=0).fit(X, np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")[y]),
        TypeError,
        "classes .* only numbers and texts",
    ),
    "function": (
        lambda: behind(FunctionTransformer(lambda values: values**3)),
        TypeError,
        r"FunctionTransformer\(func=<function .*lambda.*column 'f0'.*pickled",
    ),
    "transformer used as it is": (lambda: behind(PCA()), TypeError, "PCA makes features of column 'f0'.*pickled"),
    "categories that are intervals": (by_intervals, TypeError, "categories of column 1 cannot be saved"),
}


@pytest.mark.parametrize("what", UNSAVEABLE)
def test_unsaveable_model_is_refused_and_nothing_is_written(what, tmp_path):
    make, error, reason = UNSAVEABLE[what]
    with pytest.raises(error, match=reason):
        saccade.save(make(), tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_crash_while_saving_leaves_the_old_file(tmp_path, monkeypatch):
    saccade.save(fitted("Pegasos"), tmp_path / "model")
    before = (tmp_path / "model").read_bytes()

    def crash(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        saccade.save(fitted("logistic"), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_link_is_written_through_with_the_permissions_of_the_user(tmp_path):
    saccade.save(fitted("Pegasos"), tmp_path / "model")
    (tmp_path / "link").symlink_to(tmp_path / "model")
    umask = os.umask(0o027)
    try:
        saccade.save(fitted("logistic"), tmp_path / "link")
    finally:
        os.umask(umask)
    assert (tmp_path / "link").is_symlink()
    assert isinstance(saccade.load(tmp_path / "model"), AttentiveClassifier)
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["Perceptron, classes", "pipeline"])
def test_file_with_one_wrong_bit_is_refused(name, tmp_path):
    path = tmp_path / "model"
    saccade.save(fitted(name), path)
    content, random_bits = path.read_bytes(), random.Random(name)
    for bit in [*range(8 * 130), *random_bits.sample(range(8 * len(content)), 500)]:  # the digest ends before byte 130
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            saccade.load(path)


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 7, b"\xff" * 100, b"{}", pickle.dumps({"a": 1}), struct.pack("<Q", 2**62) + b"{}"]
)
def test_file_that_is_no_model_is_refused(content, tmp_path):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match="model cannot be loaded"):
        saccade.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        saccade.load(tmp_path / "nothing")


def forged(name, change, folder):
    """Return what is loaded from a model's archive after a change, with a digest that is right."""
    saccade.save(fitted(name), folder / "model")
    archive = read_archive(folder / "model")
    archive.header.pop("sha256")
    change(archive)
    write_archive(folder / "forged", archive.header, archive.arrays)
    return saccade.load(folder / "forged")

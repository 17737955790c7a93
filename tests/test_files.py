"""Saved models: the same bits after loading, whole files or none, and nothing that a hostile file can do."""

import collections
import contextlib
import functools
import os
import pickle
import random
import re
import struct
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import sklearn.preprocessing as sp
from catboost import CatBoostClassifier
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from interpret.glassbox import ExplainableBoostingClassifier
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

import saccade
from data import correlated
from saccade import AttentiveClassifier, CurvedSTST, Pegasos
from saccade.exceptions import ModelFileError
from saccade.files.archive import read_archive, signed, write_archive

N, FITTED = 2000, 800  # rows, and how many of them fit a model; the others certify it
X, y = correlated(N, 20, seed=0, separation=2.0)
X4, kinds = correlated(N, 20, seed=1, separation=4.0, classes=4)
FRAME = pd.DataFrame(X).add_prefix("f")
WOODS, OBJECTS = np.array(["ash", "elm", "fir", "oak"])[kinds], np.array(["no", "yes"], dtype=object)[y]

rng = np.random.default_rng(0)
CITIES = ["Bonn", "Kyiv", "Oslo", "Riga"]
NAMES = "city age debt hours income visits level member".split()
TABLE = pd.DataFrame(rng.normal(size=(N, 24)).round(3), columns=[*NAMES, *(f"unused{k}" for k in range(16))])
TABLE["city"], TABLE["member"] = rng.choice(CITIES, N).astype(object), rng.random(N) < 0.3
TABLE["age"], TABLE["income"] = rng.integers(18, 80, N).astype(float), np.exp(3 + TABLE.income)
TABLE["visits"], TABLE["level"] = rng.integers(0, 6, (2, N))
SCORE = (TABLE.age - 45) / 12 + 2 * (TABLE.city == "Oslo") + TABLE.debt + (TABLE.visits == 3) + np.log(TABLE.income) - 3
TWO, THREE = np.where(SCORE > 0, "yes", "no"), np.digitize(SCORE, [-0.7, 0.8])
TABLE.loc[rng.random(N) < 0.1, "age"] = np.nan
NUMBERS, WHOLE = TABLE[NAMES[1:5]].to_numpy(), TABLE[NAMES[1:5]].fillna(0.0).to_numpy()
CODES = TABLE[["age", "debt", "income"]].assign(city=pd.Categorical(TABLE.city, CITIES))
CODES.loc[rng.random(N) < 0.1, "city"] = np.nan


def pipeline():
    """Return a pipeline whose archive has every kind of map."""
    age = make_pipeline(sp.StandardScaler(), SimpleImputer(add_indicator=True), sp.FunctionTransformer(np.tanh))
    steps = make_column_transformer(
        (age, ["age"]),
        (sp.OneHotEncoder(handle_unknown="ignore"), ["city", "visits"]),
        (sp.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99), ["level"]),
        (make_pipeline(sp.StandardScaler(), sp.PolynomialFeatures(2)), ["debt", "hours"]),
        (sp.QuantileTransformer(n_quantiles=20, output_distribution="normal"), ["hours"]),
        (sp.FunctionTransformer(np.log1p), ["income"]),
        (sp.KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), ["income"]),
        (make_pipeline(sp.SplineTransformer(4), SelectKBest(k=4)), ["income"]),
        (make_pipeline(sp.PowerTransformer(), sp.MinMaxScaler(clip=True)), ["income"]),
        (sp.Binarizer(threshold=20.0), ["income"]),
        ("passthrough", ["visits", "member"]),
    )
    return make_pipeline(steps, LogisticRegression(max_iter=1000))


SMALL, LOOSE = {"n_estimators": 20, "random_state": 0, "n_jobs": 1}, {"delta": 0.2, "when_too_few": "read"}
EBM = ExplainableBoostingClassifier(interactions=1, max_rounds=200, outer_bags=1, n_jobs=1, random_state=0)
CATBOOST = CatBoostClassifier(20, verbose=0, allow_writing_files=False, thread_count=1)
HISTOGRAMS = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype", random_state=0)
PRICES = {"costs": {"sample": 5.0, "f7": 2.0}, "groups": {"sample": ["f1", "f2", "f3"]}}
PRINTED = {"boundary": saccade.ConstantSTST(0.2, "printed"), "order": "permuted"}
FEW = {"boundary": saccade.Budget(9), "order": "sampled"}
# The model, all of its rows and labels, and what attend is given; None for models that are saved as fit leaves them.
MODELS = {
    "Pegasos": (Pegasos(random_state=0), X, y, None),
    "Pegasos, single": (Pegasos(random_state=0, average=False), X.astype(np.float32), y.astype(np.float32), None),
    "Pegasos, named": (Pegasos(0.1, random_state=1, **PRINTED), FRAME, y > 0, None),
    "Pegasos, weighted": (Pegasos(class_weight={0: 1.0, 1: 3.0}, audit=0, random_state=0), X, y.astype(np.int8), None),
    "Perceptron, classes": (saccade.Perceptron(boundary=CurvedSTST(0.05), random_state=3), X4, WOODS, None),
    "passive-aggressive": (saccade.PassiveAggressive(random_state=0, **FEW), X, OBJECTS.astype("U10"), None),
    "exponentiated gradient": (saccade.ExponentiatedGradient(random_state=0), X, OBJECTS, None),
    "own learner": (AttentiveClassifier(delta=0.1, random_state=0), X, y, None),
    "logistic": (LogisticRegression(), X, y, {"delta": 0.1}),
    "logistic, classes": (LogisticRegression(), X4, WOODS, {"delta": 0.1}),
    "logistic, levels": (LogisticRegression(), X, y, {"delta": {0: 0.1, 1: 0.3}}),
    "logistic, accuracy": (LogisticRegression(), X, y, {"delta": 0.1, "promise": "accuracy"}),
    "logistic, threshold": (LogisticRegression(), X, y, {"delta": 0.1, "threshold": 0.3}),
    "logistic, curved": (LogisticRegression(), X, y, {"delta": 0.1, "boundary": CurvedSTST(0.01)}),
    "logistic, columns": (LogisticRegression(), X, y, {"delta": 0.1, "fewest": "columns", "costs": [*range(1, 21)]}),
    "logistic, costs": (make_pipeline(sp.StandardScaler(), LogisticRegression()), FRAME, y, {"delta": 0.1, **PRICES}),
    "pipeline": (pipeline(), TABLE, TWO, LOOSE),
    "pipeline, classes": (pipeline(), TABLE, THREE, LOOSE),
    "naive Bayes": (GaussianNB(), WHOLE, THREE, LOOSE),
    "EBM": (EBM, CODES.fillna({"age": 40, "city": "Oslo"}), TWO, LOOSE),
    "LightGBM": (LGBMClassifier(**SMALL, verbose=-1), CODES, TWO, LOOSE),
    "LightGBM, zeros": (LGBMClassifier(**SMALL, verbose=-1, zero_as_missing=True), WHOLE, THREE, LOOSE),
    "XGBoost": (XGBClassifier(**SMALL, enable_categorical=True), CODES, THREE, LOOSE),
    "CatBoost": (CATBOOST, NUMBERS, THREE, LOOSE),
    "histograms": (HISTOGRAMS, CODES, TWO, LOOSE | {"threshold": 0.4}),
    "forest": (RandomForestClassifier(**SMALL, max_depth=6), NUMBERS, TWO, LOOSE),
}
LEARNERS = list(MODELS)[:7]
CERTIFIED = [name for name, (*_, options) in MODELS.items() if options is not None]


def made(estimator, rows, labels, options):
    """Return a model that is fitted, and certified by rows that it was not fitted on if there are options."""
    if options is None:
        return estimator.fit(rows, labels)
    estimator.fit(rows[:FITTED], labels[:FITTED])
    return saccade.attend(estimator, rows[FITTED:], labels[FITTED:], random_state=0, **options)


@functools.cache
def fitted(name):
    return made(*MODELS[name])


def reloaded(model, folder):
    saccade.save(model, folder / "model")
    return saccade.load(folder / "model")


def assert_same(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", MODELS)
def test_loaded_model_reads_the_same_bits_and_is_saved_to_the_same_bytes(name, tmp_path):
    model, rows = fitted(name), MODELS[name][1]
    loaded = reloaded(model, tmp_path)
    assert type(loaded) is type(model)
    assert name in LEARNERS or model.plan_.checkpoints.size > 1
    assert_same(vars(loaded.read(rows)).values(), vars(model.read(rows)).values())
    assert_same([loaded.full_margin(rows), loaded.classes_], [model.full_margin(rows), model.classes_])
    plans = [one.plans_ if name in LEARNERS else [one.plan_] for one in (loaded, model)]
    for mine, theirs in zip(*plans, strict=True):
        assert_same(mine, theirs)
    kept, given = ({**one.get_params(deep=False), "estimator": None} for one in (loaded, model))
    assert {key: repr(value) for key, value in kept.items()} == {key: repr(value) for key, value in given.items()}
    assert list(getattr(loaded, "feature_names_in_", [])) == list(getattr(model, "feature_names_in_", []))
    saccade.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_loaded_learner_refuses_to_go_on_learning_but_can_be_fitted_anew(name, tmp_path):
    model, (_, rows, labels, _) = fitted(name), MODELS[name]
    loaded = reloaded(model, tmp_path)
    assert (loaded.training_, loaded.n_iter_, loaded.t_) == (model.training_, model.n_iter_, model.t_)
    for go_on in (loaded.partial_fit, loaded.set_params(warm_start=True).fit):
        with pytest.raises(ValueError, match="was loaded from a model file"):
            go_on(rows, labels)
    assert_same([loaded.coef_, loaded.intercept_], [model.coef_, model.intercept_])
    assert_same([loaded.set_params(warm_start=False).fit(rows, labels).coef_], [model.coef_])


@pytest.mark.parametrize("name", CERTIFIED)
def test_loaded_model_is_certified_again_to_the_same_plan(name, tmp_path):
    model, (_, rows, labels, options) = fitted(name), MODELS[name]
    loaded = reloaded(model, tmp_path)
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
    """Answer what an inquiry asks, and return all that it says in the end."""
    while (feature := inquiry.wanted) is not None:
        inquiry.tell(None if pd.isna(row[feature]) else row[feature])
    return inquiry.label, inquiry.asked, inquiry.spent, inquiry.confidence, inquiry.certified, inquiry.outside


@pytest.mark.parametrize("name", CERTIFIED)
def test_loaded_model_asks_the_same_questions_and_resumes_inquiries(name, tmp_path):
    model, rows = fitted(name), pd.DataFrame(MODELS[name][1])
    loaded = reloaded(model, tmp_path)
    for k in range(20):
        assert answers(loaded.inquire(), rows.iloc[k]) == answers(model.inquire(), rows.iloc[k])
    inquiry = model.inquire()
    inquiry.tell(rows.iloc[0][inquiry.wanted])
    resumed = loaded.resume(inquiry.to_json())
    assert (resumed.wanted, resumed.spent, resumed.confidence) == (inquiry.wanted, inquiry.spent, inquiry.confidence)
    assert answers(resumed, rows.iloc[0]) == answers(inquiry, rows.iloc[0])


def test_loaded_model_knows_the_values_that_certified_it(tmp_path):
    rows, usual = CODES[FITTED:], {"age": 40.0, "debt": 0.0, "income": 20.0, "city": "Riga"}
    model = saccade.attend(fitted("LightGBM").estimator_, rows[rows["city"] != "Oslo"], random_state=0, **LOOSE)
    loaded = reloaded(model, tmp_path)
    for unseen in ({}, {"city": "Oslo"}, {"age": 81.0}, {"debt": -9.0}):
        inquiry = loaded.inquire(known=usual | unseen)
        assert (inquiry.outside, inquiry.certified) == (unseen, not unseen)


def test_archive_of_pipeline_has_all_13_kinds_of_maps(tmp_path):
    saccade.save(fitted("pipeline"), tmp_path / "model")
    assert len(set(re.findall(rb'map\\": \\"(\w+)', (tmp_path / "model").read_bytes()))) == 13


class OwnScaler(sp.StandardScaler):
    """A transformer that saccade does not know, and uses as it is."""


def of_features(step):
    return make_pipeline(step, LogisticRegression())


DATES = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")
UNSAVEABLE = {
    "LogisticRegression cannot be saved, only Pegasos.*saccade.attend": (LogisticRegression(), X, y, None),
    "random_state=.* cannot be saved": (Pegasos(random_state=np.random.RandomState(0)), X, y, None),
    "classes .* only numbers and texts": (Pegasos(), X, DATES[y], None),
    "groups=.* cannot be saved": (LogisticRegression(), X, y, LOOSE | {"groups": {("a", 1): [1, 2]}}),
    "<function .*lambda.* of column 'f": (of_features(sp.FunctionTransformer(lambda X: X**3)), FRAME, y, LOOSE),
    "OwnScaler makes features of column 'f0'.*pickled": (of_features(OwnScaler()), FRAME[["f0"]], y, LOOSE),
    "categories of column 1 cannot be saved": (HISTOGRAMS, FRAME.assign(f1=pd.cut(FRAME.f1, 3)), y, LOOSE),
}


@pytest.mark.parametrize("reason", UNSAVEABLE)
def test_unsaveable_model_is_refused_and_nothing_is_written(reason, tmp_path):
    model = made(*UNSAVEABLE[reason])
    with pytest.raises(TypeError, match=reason):
        saccade.save(model, tmp_path / "model")
    with pytest.raises(NotFittedError):
        saccade.save(Pegasos(), tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_crash_while_saving_leaves_the_old_file(tmp_path, monkeypatch):
    saccade.save(fitted("Pegasos"), tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    monkeypatch.setattr(os, "replace", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        saccade.save(fitted("logistic"), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_link_is_written_through_with_usual_permissions(tmp_path):
    saccade.save(fitted("Pegasos"), tmp_path / "model")
    (tmp_path / "link").symlink_to(tmp_path / "model")
    saccade.save(fitted("logistic"), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert isinstance(saccade.load(tmp_path / "model"), AttentiveClassifier)
    (tmp_path / "other").touch()
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_file_with_one_wrong_bit_is_refused(tmp_path):
    path = tmp_path / "model"
    saccade.save(fitted("Perceptron, classes"), path)
    content, random_bits = path.read_bytes(), random.Random(0)
    for bit in [*range(8 * 130), *random_bits.sample(range(8 * len(content)), 500)]:  # the digest ends before byte 130
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            saccade.load(path)


@pytest.mark.parametrize("content", [b"", b"\0" * 7, b"\xff" * 100, b"{}", pickle.dumps({}), struct.pack("<Q", 2**62)])
def test_file_that_is_no_model_is_refused(content, tmp_path):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match="model cannot be loaded"):
        saccade.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        saccade.load(tmp_path / "nothing")


def forged(name, change, path):
    """Write the archive of a model with a change, signed as if nothing had happened, and return the path."""
    saccade.save(fitted(name), path)
    archive = read_archive(path)
    del archive.header["sha256"]
    change(archive)
    write_archive(path, archive.header, {own: array for own, array in archive.arrays.items() if array is not None})
    return path


def put(path, *values):
    """Return changes that put a value into the header, or into the arrays, of an archive; None removes an array."""
    *way, last = (int(key) if key.lstrip("-").isdigit() else key for key in path.split("/"))

    def change(value, archive):
        place = archive.arrays if (*way, last)[0] in archive.arrays else archive.header
        functools.reduce(lambda inside, key: inside[key], way, place)[last] = value

    return [functools.partial(change, value) for value in values]


def together(*changes):
    return [lambda archive: [change(archive) for change in changes]]


def stops(*values):
    """Return a change of a plan's checkpoints to others, which seem to follow from one another."""
    first = np.append(0, values[:-1])
    return together(*put("plan.checkpoints", np.array(values)), *put("plan.first", first), *put("plan.begins", first))


NESTED = functools.reduce(lambda block, _: {"maps": [], "inputs": [block]}, range(400), {"maps": [], "column": 4})
ODD_BOUNDARIES = {"boundary": "os.system", "parameters": {}}, {"boundary": "Budget", "parameters": {"colour": 1}}
LONG = {"dtype": "<U1", "labels": ["x" * 10**6, *map(str, range(3000))]}
TERM, MAP = "terms/terms/24", "terms/terms/1/blocks/0/maps/2"  # the products of two columns, and np.tanh
COUNTS = [[1, 1, 0, 0]], [[-1, 1, 0, 0], [1, 1, 0, 0]]
EMPTY = put("population.codes", np.zeros(0)) + put("population.coded", np.zeros(0, int))
ODD_CATEGORIES = [[77, True, False, "texts", []]], [[3, True, False, "O,O", [1]]]
# What is saved, the reason for which a changed file is refused, and the changes.
HOSTILE = [
    ("Pegasos", "has format", put("format", 2, True, 1.0, None)),
    ("Pegasos", "holds a 'Exec'", put("class", "Exec")),
    ("Pegasos", "its field", put("class", ["Pegasos"]) + put("parameters", []) + put("training", {})),
    ("Pegasos", "its field", put("n_iter_", -1, None) + put("t_", 1.5, 2**63, True)),
    ("Pegasos", "not those of Pegasos", put("parameters/colour", "red") + put("parameters/lam", 10**400, -1.0)),
    ("Pegasos", "its (lam|b.*) is", put("parameters/lam", {"path": "/"}) + put("parameters/boundary", *ODD_BOUNDARIES)),
    ("Pegasos", "its classes", put("classes/labels", ["a", "b"], [1, 0], [0, 0], [0], [0, 10**400], [0, {}])),
    ("Pegasos", "its classes", put("classes/dtype", "", "<f8,<f8", "O", "<U1") + put("classes", LONG, None)),
    ("Pegasos", "its names", put("names", ["a"], ["twice"] * 20, [*range(20)])),
    ("Pegasos", "no array", put("coef", None) + put("plan.0.order", None)),
    ("Pegasos", "not finite", put("coef/0/3", np.nan) + put("plan.0.weights/0/0", np.inf)),
    ("Pegasos", "not float64", put("coef", np.zeros((1, 20), int)) + put("intercept", np.zeros(2))),
    ("Pegasos", "no features", put("coef", np.zeros((1, 0)))),
    ("logistic", "of the kind 'pickle'", put("kind", "pickle")),
    ("logistic", "not those of Attentive", put("parameters/delta", -1) + put("parameters/order", "system")),
    ("logistic", "plan is impossible", put("plan.order/0", 10**9) + put("plan.order", np.arange(60, dtype=np.uint32))),
    ("logistic", "plan is impossible", put("plan.checkpoints/0", -5) + put("plan.checkpoints/-1", 21)),
    ("logistic", "plan is impossible", stops(2**62, -(2**63), -(2**62), 2) + stops(3, 4, 5, -(2**63))),
    ("logistic", "plan is", put("plan.begins/1", 7) + put("plan.first/1", 9) + put("plan.weights", np.zeros((1, 1)))),
    ("logistic", "regression is imp", put("regression.order/0", 999, -1) + put("regression.factor/0", 0.0)),
    ("logistic", "prices are impossible", put("prices.purchase/0", 10**6, -1) + put("prices.price/0", -1.0)),
    ("logistic", "certificate", put("certificate/delta", 10**400, 1e-12) + put("certificate/confidence", 1.0)),
    ("logistic", "certificate", put("certificate/promise", "all") + put("certificate/disagreement", -0.1)),
    ("logistic", "certificate", put("certificate/by_class", *COUNTS) + put("certificate/by_stage", [[1, 2, 3]])),
    ("logistic", "certificate", put("certificate/worse", 0.5) + put("certificate/features_per_row", 10**400, 21.0)),
    ("CatBoost", "about (19|60) trees", put("certificate/n_features", 19, 60)),  # of 20 with three outputs each
    ("LightGBM", "codes", put("population.coded/3", 4, 2) + put("population.coded/0", -1) + together(*EMPTY)),
    ("LightGBM", "codes", put("population.codes/0", 2.0, 1.0, np.nan) + put("population.codes/3", np.inf)),
    ("LightGBM", "coded", put("population.coded", np.full(3, 3), np.full(4, 3.0), None)),
    ("LightGBM", "children", put("nodes.left/0", 2**31 - 2, -5, 1000) + put("nodes.left/1", 0)),  # 1000: another tree's
    ("LightGBM", "one after another", put("nodes.root/-1", 2**31 - 1) + put("nodes.root/0", 1)),
    ("LightGBM", "columns that there are not", put("nodes.column/0", 4, -1)),
    ("LightGBM", "leaves that", put("nodes.threshold/-1", 0.0) + put("nodes.missing_left/-1", False)),
    ("LightGBM", "leaves that", put("nodes.first_word/-1", 0)),
    ("LightGBM", "beyond their words", put("nodes.first_word/0", 2**31 - 1) + put("nodes.n_words/0", 2**31 - 1)),
    ("LightGBM", "scores that there are not", put("score/0", 9)),
    ("LightGBM", "its number", put("least_category/0", -1e300) + put("sum.divisor/0", 0.0)),
    ("LightGBM", "not finite", put("nodes.value/0/0", np.nan) + put("nodes.threshold/0", np.nan)),
    ("LightGBM", "prices.purchase", put("trees/n_columns", 0, 2**31)),
    (
        "LightGBM",
        "its categories|sum_dtype",
        put("trees/categories", *ODD_CATEGORIES) + put("trees/sum_dtype", "object"),
    ),
    ("EBM", "terms.[04]", put("terms.4.table", np.zeros((6, 3, 1))) + put("terms.0.edges.0/1", -1e9)),
    ("pipeline", "terms.0.table", put("terms.0.table", np.zeros((5, 1)), np.zeros((6, 2)), np.full((6, 1), np.inf))),
    ("pipeline", "not finite", put("intercept/0", np.nan) + put("terms.5.edges/0", np.nan)),
    ("pipeline", "column (0|2)", put("terms/terms/0/kind", "pieces") + put("terms/terms/2/kind", "table")),
    ("pipeline", "terms.5", put("terms.5.edges/1", -1e9, 0.0) + put("terms.5.origin", np.zeros(9))),
    ("pipeline", "without a constant", put("terms.5.coefficients", np.zeros((13, 1, 0)))),
    ("pipeline", "needs the columns", put(f"{TERM}/columns", [2, 77], [2, 2], [2])),
    ("pipeline", "no term that", put("terms/terms/0/kind", "pickle") + put("terms/terms/1/columns", [2])),
    ("pipeline", "has no features", put(f"{TERM}/blocks", [])),
    ("pipeline", "no block", put(f"{TERM}/blocks", [{"lookup": 0}]) + put("terms/terms/4/blocks", [NESTED])),
    ("pipeline", "prices.purchase", put("terms/n_columns", 0, 2**31)),
    ("pipeline", "terms", put("terms", []) + put("terms/terms", [{"kind": "none"}])),
    ("pipeline", "and 16384 scores", put("classes", {"dtype": "<i8", "labels": [*range(2**14)]})),
    ("pipeline", "its categories", put("terms/categories/0", [0, 1], [0, True, False, "texts", CITIES])),
    ("pipeline", "not all different", put("terms/categories/0/4/1", "Bonn", "\ud800")),
    ("pipeline", "no (map|function) that", put(MAP, {"map": "Foreign"}) + put(f"{MAP}/function", "save")),
]
# Arrays of maps, by their last name, and what none of them may hold.
IMPOSSIBLE = {
    "places": [77],
    "powers": [[1, -1]],
    "knots": [0.0, 1.0],
    "over": [0.0],
    "quantiles": np.arange(20.0)[::-1],
    "references": [0.0, 1.0],
    "exponents": [0.4, 0.5],
}


@pytest.mark.parametrize(("name", "reason", "change"), [(*row, own) for *row, changes in HOSTILE for own in changes])
def test_hostile_file_is_refused_with_the_reason(name, reason, change, tmp_path):
    with pytest.raises(ModelFileError, match=f"forged cannot be loaded: .*({reason})"):
        saccade.load(forged(name, change, tmp_path / "forged"))


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_map_is_refused_by_its_path(name, tmp_path):
    def change(archive):
        path = next(own for own in archive.arrays if own.endswith(f".{name}") and ".maps." in own)
        archive.arrays[path] = np.array(IMPOSSIBLE[name])

    with pytest.raises(ModelFileError, match=r"terms\.\d+\.blocks"):
        saccade.load(forged("pipeline", change, tmp_path / "forged"))


def test_term_of_many_columns_takes_little_memory(tmp_path):
    columns = [2, 3, *range(8, 24)]
    block = {"maps": [], "inputs": [{"maps": [], "column": column} for column in columns]}
    wide = put(f"{TERM}/columns", columns) + put(f"{TERM}/blocks", [block])
    (change,) = together(*wide, *put("terms.24.weights.0", np.ones((1, 18))))
    assert saccade.load(forged("pipeline", change, tmp_path / "forged")).inquire().wanted is not None


def is_refused(path, name):
    """Return whether a file is no model; else read some rows, which may have become too large to sum."""
    try:
        model = saccade.load(path)
    except ModelFileError:
        return True
    rows = MODELS[name][1][:40]
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows).set_axis(model.feature_names_in_, axis=1)
    with contextlib.suppress(ValueError):
        model.read(rows)
    with contextlib.suppress(ValueError):
        name in LEARNERS or answers(model.inquire(), collections.defaultdict(float))
    return False


def ways(entry, path=""):
    """Yield the path of everything in a header."""
    for key, inside in (
        entry.items() if isinstance(entry, dict) else enumerate(entry) if isinstance(entry, list) else ()
    ):
        yield f"{path}{key}"
        yield from ways(inside, f"{path}{key}/")


ODD = [0, 1, -1, 2, 3, 7, 31, 32, 33, 255, 2**15, 2**31 - 1, -(2**31), 2**32 - 1, 2**62]
ODD_REALS = [0.0, -1.0, 0.5, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan, 2.0**31, 3.0]
ODD_FIELDS = [None, True, -1, 0, 1, 3, 2**31, 1e300, "Scale", "Splines", "Select", "none", "table", (), {}, (0, 0)]
RANDOM = ["Perceptron, classes", "logistic, costs", "pipeline", "EBM", "LightGBM", "CatBoost"]


def mutated(array, draw):
    """Return an array with another length, shape, type or entry."""
    others = [array[:0], array[:-1], np.concatenate([array, array]), array.ravel(), array.astype(np.float32)]
    if array.size == 0 or draw(st.booleans()):
        return draw(st.sampled_from(others))
    odd = np.array(ODD_REALS if array.dtype.kind == "f" else ODD).astype(array.dtype)
    array.ravel()[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from(list(odd)))
    return array


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:X has feature names")  # huge numbers, lost names
@pytest.mark.parametrize("name", RANDOM)
@settings(max_examples=examples(1500))
@given(data=st.data())
def test_file_with_random_changes_is_refused_or_reads_rows(name, tmp_path_factory, data):
    def change(archive):
        for _ in range(data.draw(st.integers(1, 2))):
            if data.draw(st.booleans()):
                own = data.draw(st.sampled_from(sorted(archive.arrays)))
                archive.arrays[own] = mutated(archive.arrays[own], data.draw)
            else:
                path, value = (data.draw(st.sampled_from(of)) for of in ([*ways(archive.header)], ODD_FIELDS))
                put(path, value)[0](archive)

    is_refused(forged(name, change, tmp_path_factory.getbasetemp() / "forged"), name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:X has feature names")
@pytest.mark.parametrize("name", RANDOM)
def test_file_with_random_bytes_is_refused_or_reads_rows(name, tmp_path):
    saccade.save(fitted(name), tmp_path / "model")
    content, draw, refused = (tmp_path / "model").read_bytes(), random.Random(name), 0
    for _ in range(examples(2500)):
        mutant = bytearray(content)
        for _ in range(draw.randint(1, 3)):  # half of the changes are made in the header
            at = draw.randrange(draw.choice([len(content), 8 + struct.unpack("<Q", content[:8])[0]]))
            mutant[at : at + draw.choice([0, 1, 1, 1, 9, 10**9])] = draw.randbytes(draw.choice([0, 1, 1, 1, 9]))
        with contextlib.suppress(ValueError):  # no digest is left
            mutant = signed(bytes(mutant))
        (tmp_path / "model").write_bytes(mutant)
        refused += is_refused(tmp_path / "model", name)
    assert refused > examples(1000)

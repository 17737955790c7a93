"""XGBoost's models, taken apart, give XGBoost's own margins to the last bit."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_trees import margins_of
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from tree_rows import rows

from saccade.models.trees.xgboost import ACCEPTED, take_apart

VERSION = tuple(map(int, xgboost.__version__.split(".")[:2]))
QUIET = {"n_jobs": 1, "random_state": 0, "max_depth": 3}
NATIVE = {"nthread": 1, "seed": 0, "max_depth": 3}
TYPES = ["q", "q", "q", "c", "q"]


@cache
def data():
    """Return rows of numbers, some of them zero or missing, with a column of 60 categories, and three classes."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.2] = 0.0
    X[:, 3] = rng.integers(0, 60, len(X))
    X[:, 2] = np.round(rng.normal(size=len(X)), 1)  # never missing
    score = np.nan_to_num(X[:, 0]) - np.isnan(X[:, 1]) + X[:, 2] + np.sin(X[:, 3] * 7) + (X[:, 4] == 0)
    return X, np.digitize(score, [-0.7, 0.7])


def classifier(n_classes=2, kind=xgboost.XGBClassifier, **parameters):
    X, y = data()
    return kind(**{"n_estimators": 12, **QUIET, **parameters}).fit(X, np.minimum(y, n_classes - 1))


def booster(n_classes=2, types=None, **parameters):
    X, y = data()
    rows = xgboost.DMatrix(X, np.minimum(y, n_classes - 1), feature_types=types, enable_categorical=True, nthread=1)
    return xgboost.train({**NATIVE, **parameters}, rows, num_boost_round=8)


PARTITIONS = {"enable_categorical": True, "feature_types": TYPES, "max_cat_to_onehot": 1}
ONE_HOT = {"enable_categorical": True, "feature_types": TYPES, "max_cat_to_onehot": 100}
DART = {"booster": "dart", "rate_drop": 0.5, "one_drop": 1}
# Booster.predict refuses what single precision cannot hold.
FINITE = ("dart", "dart, several", "booster", "booster, raw", "booster, softmax", "booster, two", "booster, pruned")
MODES = {
    "trees": lambda: classifier(),
    "base score": lambda: classifier(base_score=0.1),
    "raw": lambda: classifier(objective="binary:logitraw"),
    "dart": lambda: classifier(**DART),
    "dart, several": lambda: classifier(3, **DART),
    "forest": lambda: classifier(kind=xgboost.XGBRFClassifier),
    "forest, several": lambda: classifier(3, kind=xgboost.XGBRFClassifier),
    "boosted forests": lambda: classifier(num_parallel_tree=3, subsample=0.5, n_estimators=4),
    "partitions": lambda: classifier(**PARTITIONS),
    "one-hot": lambda: classifier(**ONE_HOT),
    "softprob": lambda: classifier(3),
    "softmax": lambda: classifier(3, objective="multi:softmax"),
    "softmax of two": lambda: classifier(2, objective="multi:softmax", num_class=2),
    "several, partitions": lambda: classifier(3, **PARTITIONS),
    "by leaves": lambda: classifier(grow_policy="lossguide", max_leaves=6, max_depth=0),
    "booster": lambda: booster(objective="binary:logistic", types=TYPES, max_cat_to_onehot=1),
    "booster, raw": lambda: booster(objective="binary:logitraw"),
    "booster, softmax": lambda: booster(3, objective="multi:softmax", num_class=3),
    "booster, two": lambda: booster(objective="multi:softprob", num_class=2),
    "booster, pruned": lambda: booster(objective="binary:logistic", tree_method="exact", gamma=3.0),
}


@cache
def taken(mode):
    model = MODES[mode]()
    return model, take_apart(model)


def assert_same(imported, X):
    assert np.array_equal(margins_of(imported.ensemble, X), imported.margins(X))


@pytest.mark.parametrize("mode", MODES)
def test_margins_are_xgboosts_to_the_last_bit(mode):
    _, imported = taken(mode)

    @settings(max_examples=12, deadline=None)
    @given(rows(imported.ensemble, infinite=mode not in FINITE))
    def check(X):
        assert_same(imported, X)

    check()
    assert_same(imported, data()[0][:40])


@pytest.mark.parametrize("mode", MODES)
def test_labels_follow_from_margins(mode):
    _, imported = taken(mode)
    X = data()[0][:100]
    margins = margins_of(imported.ensemble, X)
    if imported.ensemble.n_scores == 1:
        codes = (margins[:, 0] >= imported.ensemble.sum.positive_from).astype(int)
    else:
        codes = margins.argmax(axis=1)
    assert np.array_equal(imported.classes[codes], imported.labels(X))


@pytest.mark.parametrize("mode", ["trees", "partitions", "dart", "booster"])
def test_a_value_that_a_csr_matrix_does_not_store_is_missing(mode):
    _, imported = taken(mode)
    X = data()[0][:50]
    stored = np.where(X == 0, imported.absent, X)
    assert np.array_equal(margins_of(imported.ensemble, stored), imported.margins(csr_matrix(X)))


def test_sets_hold_more_than_32_categories():
    nodes = taken("partitions")[1].ensemble.nodes
    assert nodes.n_words.max() == 2
    assert set(nodes.column[nodes.first_word >= 0]) == {3}


def test_pruned_nodes_are_left_out():
    model, imported = taken("booster, pruned")
    trees = json.loads(bytes(model.save_raw("json")))["learner"]["gradient_booster"]["model"]["trees"]
    deleted = sum(int(tree["tree_param"]["num_deleted"]) for tree in trees)
    assert deleted > 0
    assert imported.ensemble.nodes.left.size == sum(len(tree["left_children"]) for tree in trees) - deleted


@pytest.mark.parametrize("mode", ["booster", "booster, raw", "booster, two"])
def test_a_tie_goes_to_the_first_class_as_in_xgboost(mode):
    """Rows whose margin is given, as what the trees are added to, around the one that makes the second label."""
    model, imported = taken(mode)
    beside = [np.float32(imported.ensemble.sum.positive_from)]
    for _ in range(3):
        beside = [np.nextafter(beside[0], np.float32(-1)), *beside, np.nextafter(beside[-1], np.float32(1))]
    margins = np.array(beside, dtype=np.float32)
    base = np.stack([np.zeros_like(margins), margins], axis=1) if mode == "booster, two" else margins
    empty = xgboost.train({**NATIVE, **objective_of(model)}, xgboost.DMatrix(*two_rows()), num_boost_round=0)
    predicted = empty.predict(xgboost.DMatrix(np.zeros((len(margins), 1)), base_margin=base))
    second = predicted.argmax(axis=1) if predicted.ndim == 2 else predicted > (0 if mode == "booster, raw" else 0.5)
    assert second.any()
    assert not second.all()
    assert np.array_equal(second, margins >= imported.ensemble.sum.positive_from)


def two_rows():
    return np.zeros((2, 1)), np.array([0, 1])


def objective_of(model):
    learner = json.loads(model.save_config())["learner"]
    n_classes = learner["learner_model_param"]["num_class"]
    return {"objective": learner["objective"]["name"], **({"num_class": n_classes} if n_classes != "0" else {})}


@settings(max_examples=40, deadline=None)
@given(st.floats(2**-24, 1 - 2**-20, width=32))
def test_a_sum_starts_at_the_base_score(base_score):
    model = xgboost.train({**NATIVE, "objective": "binary:logistic", "base_score": base_score, "gamma": 1e9},
                          xgboost.DMatrix(*two_rows(), nthread=1), num_boost_round=1)  # fmt: skip
    assert_same(take_apart(model), two_rows()[0])


def test_a_model_without_splits_gives_its_constant():
    imported = take_apart(classifier(gamma=1e9, n_estimators=2))
    assert imported.ensemble.nodes.left.tolist() == [0, 1]  # leaves, which lead to themselves
    assert_same(imported, data()[0][:3])
    assert imported.labels(data()[0][:3]).tolist() == [1, 1, 1]


def test_a_classifier_of_one_class_is_refused():
    model = xgboost.XGBClassifier(n_estimators=2, base_score=0.5, **QUIET).fit(data()[0], np.zeros(400))
    with pytest.raises(ValueError, match="fitted on 1 classes"):
        take_apart(model)


@pytest.mark.skipif(VERSION < (3, 2), reason="older versions refuse labels of a single class")
@pytest.mark.parametrize("label", [0, 1])
def test_a_booster_of_a_single_class_is_read(label):
    rows = xgboost.DMatrix(data()[0], np.full(400, label), nthread=1)
    imported = take_apart(xgboost.train({**NATIVE, "objective": "binary:logistic"}, rows, num_boost_round=2))
    assert_same(imported, data()[0][:3])
    assert imported.labels(data()[0][:3]).tolist() == [label] * 3


@pytest.mark.parametrize("extra", [{}, {"num_parallel_tree": 2, "subsample": 0.5}, DART])
def test_a_wrapper_stops_at_the_best_iteration_and_a_booster_does_not(extra):
    X, y = data()
    noise = np.random.default_rng(0).integers(0, 3, len(y))
    model = xgboost.XGBClassifier(n_estimators=30, early_stopping_rounds=3, **QUIET, **extra)
    model.fit(X, y, eval_set=[(X, noise)], verbose=False)
    imported = take_apart(model)
    booster = model.get_booster()
    per_round = 3 * extra.get("num_parallel_tree", 1)
    assert imported.ensemble.nodes.root.size == (model.best_iteration + 1) * per_round
    assert take_apart(booster).ensemble.nodes.root.size == booster.num_boosted_rounds() * per_round
    assert model.best_iteration + 1 < booster.num_boosted_rounds()
    assert_same(imported, X[:30])
    assert_same(take_apart(booster), X[:30])


# Names and categories


def framed(values):
    X, y = data()
    table = pd.DataFrame(X, columns=list("abcde"))
    order = values[::-1].copy()  # XGBoost reads them as they lie in memory, also where they do not lie side by side
    table["d"] = pd.Categorical(values[X[:, 3].astype(int)], categories=order)
    return table, (y > 0).astype(int)


@pytest.mark.parametrize("values", [np.array([f"v{k}" for k in range(60)]), np.arange(60) * 10])
def test_categories_of_data_frames_are_known(values):
    table, y = framed(values)
    model = xgboost.XGBClassifier(n_estimators=5, enable_categorical=True, max_cat_to_onehot=1, **QUIET).fit(table, y)
    imported = take_apart(model)
    assert imported.columns == ("a", "b", "c", "d", "e")
    codes = table.assign(d=table["d"].cat.codes).to_numpy(float)
    assert np.array_equal(margins_of(imported.ensemble, codes[:40]), imported.margins(table[:40]))
    if VERSION < (3, 1):
        assert imported.categories == {}  # codes are what they are at predict
        return
    assert list(imported.categories) == [3]
    assert imported.categories[3].values.tolist() == values[::-1].tolist()
    assert not imported.categories[3].numbers_too


@pytest.mark.skipif(VERSION < (3, 1), reason="before 3.1 categories are not stored")
def test_categories_beyond_ascii_are_refused_for_xgboost_cuts_them():
    table, y = framed(np.array([f"{k}ö" for k in range(60)]))
    model = xgboost.XGBClassifier(n_estimators=2, enable_categorical=True, **QUIET).fit(table, y)
    with pytest.raises(ValueError, match="letters beyond ASCII"):
        take_apart(model)


def test_columns_have_no_names_where_a_user_gave_none():
    assert taken("trees")[1].columns is None
    assert taken("partitions")[1].categories == {}


# Other models


@pytest.mark.parametrize("estimator", [xgboost.XGBRegressor, xgboost.XGBRFRegressor, xgboost.XGBRanker])
def test_regressors_and_rankers_are_refused_by_name(estimator):
    with pytest.raises(TypeError, match=f"{estimator.__name__} is none of the classifiers.*Accepted are"):
        take_apart(estimator())


@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:hinge", "count:poisson"])
def test_objectives_that_make_no_labels_are_refused_by_name(objective):
    with pytest.raises(TypeError, match=f"the objective {objective}.*Accepted are"):
        take_apart(booster(objective=objective))


def test_linear_boosters_are_refused_by_name():
    with pytest.raises(TypeError, match="gblinear, which has no trees"):
        take_apart(booster(booster="gblinear", objective="binary:logistic", verbosity=0))


def test_trees_of_several_outputs_are_refused_by_name():
    with pytest.raises(TypeError, match="multi_output_tree"):
        take_apart(booster(3, objective="multi:softprob", num_class=3, multi_strategy="multi_output_tree"))


def test_several_targets_are_refused():
    X, y = data()
    model = xgboost.XGBClassifier(n_estimators=2, **QUIET).fit(X, np.stack([y > 0, y > 1], axis=1).astype(int))
    with pytest.raises(TypeError, match="several targets"):
        take_apart(model)


def test_another_missing_value_is_refused():
    with pytest.raises(ValueError, match=r"takes 0\.0 for a missing value"):
        take_apart(classifier(missing=0.0))


def test_a_wrapper_that_predicts_a_matrix_is_refused():
    with pytest.raises(ValueError, match="predicts a matrix instead of labels"):
        take_apart(classifier(objective="multi:softprob", num_class=2))


def test_models_of_others_are_left_to_others():
    assert take_apart(LogisticRegression()) is None
    assert take_apart(b"{}") is None
    assert "XGBClassifier" in ACCEPTED


# Contents that no version at hand writes


class Written(xgboost.Booster):
    """A Booster that saves a given content."""

    def __init__(self, content):
        self._content = content

    def __del__(self):
        pass

    def save_raw(self, raw_format):
        assert raw_format == "json"
        return json.dumps(self._content).encode()


def content_of(mode):
    model = taken(mode)[0]
    return json.loads(bytes(getattr(model, "get_booster", lambda: model)().save_raw("json")))


def assert_same_arrays(read, imported):
    assert all(np.array_equal(a, b) for a, b in zip(read.ensemble.nodes, imported.ensemble.nodes, strict=True))
    assert np.array_equal(read.ensemble.score, imported.ensemble.score)
    assert np.array_equal(read.ensemble.sum.start, imported.ensemble.sum.start)
    assert read.ensemble.sum.positive_from == imported.ensemble.sum.positive_from


@pytest.mark.parametrize("version", [[1, 5, 2], [4, 0, 0]])
def test_another_version_is_refused_with_the_remedy(version):
    with pytest.raises(ValueError, match=rf"XGBoost {version[0]}\.{version[1]}\.\d is not supported.*1\.6 to 3"):
        take_apart(Written(content_of("booster") | {"version": version}))


def test_categorical_splits_of_1_6_are_refused():
    with pytest.raises(ValueError, match=r"categorical splits of XGBoost 1\.6"):
        take_apart(Written(content_of("booster") | {"version": [1, 6, 2]}))


def test_a_base_score_without_brackets_is_that_of_versions_before_3_1():
    content = content_of("booster")
    content["learner"]["learner_model_param"]["base_score"] = "2.5E-1"
    read = take_apart(Written(content))
    assert read.ensemble.sum.start == np.float32(-np.log(3))


@pytest.mark.parametrize("since", ["1.6", "3.4"])
def test_the_weights_of_dart_are_found_where_either_version_of_a_file_keeps_them(since):
    content = content_of("dart")
    booster = content["learner"]["gradient_booster"]
    inner = booster.get("gbtree", booster)["model"]
    weights = booster.pop("weight_drop", None) or inner.pop("weight_drop")
    assert min(weights) < 1
    if since == "3.4":
        written = {"name": "gbtree", "model": {**inner, "weight_drop": weights}}
    else:
        written = {"name": "dart", "gbtree": {"name": "gbtree", "model": inner}, "weight_drop": weights}
    content["learner"]["gradient_booster"] = written
    assert_same_arrays(take_apart(Written(content)), take_apart(taken("dart")[0].get_booster()))

"""LightGBM's models, taken apart, give LightGBM's own margins to the last bit."""

import json
from functools import cache
from inspect import signature
from math import nextafter

import lightgbm
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_trees import margins_of
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from tree_rows import rows

from saccade import attend
from saccade.models.trees.lightgbm import ACCEPTED, take_apart

QUIET = {"n_jobs": 1, "verbose": -1, "random_state": 0, "min_child_samples": 5}
NATIVE = {"num_threads": 1, "verbose": -1, "seed": 0, "min_data_in_leaf": 5}


@cache
def data():
    """Return rows of numbers, some of them zero, missing or tiny, with a column of 60 categories, and three classes."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.2] = 0.0
    X[:, 3] = rng.integers(0, 60, len(X))
    X[:, 2] = np.round(rng.normal(size=len(X)), 1)  # never missing
    score = np.nan_to_num(X[:, 0]) - np.isnan(X[:, 1]) + X[:, 2] + np.sin(X[:, 3] * 7) + (X[:, 4] == 0)
    return X, np.digitize(score, [-0.7, 0.7])


def classifier(n_classes=2, **parameters):
    X, y = data()
    fit = {"categorical_feature": parameters.pop("categorical_feature", "auto")}
    model = lightgbm.LGBMClassifier(**{"n_estimators": 12, "num_leaves": 7, **QUIET, **parameters})
    return model.fit(X, np.minimum(y, n_classes - 1), **fit)


def booster(n_classes=2, **parameters):
    X, y = data()
    rows = lightgbm.Dataset(X, np.minimum(y, n_classes - 1), params={"verbose": -1})
    return lightgbm.train({"num_leaves": 7, **NATIVE, **parameters}, rows, num_boost_round=12)


CATEGORICAL = {"categorical_feature": [3], "max_cat_to_onehot": 1, "min_data_per_group": 1, "cat_smooth": 1.0}
BAGGED = {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}
MODES = {
    "gbdt": lambda: classifier(),
    "sigmoid": lambda: classifier(sigmoid=0.7, is_unbalance=True),
    "dart": lambda: classifier(boosting_type="dart", drop_rate=0.5),
    "rf": lambda: classifier(**BAGGED),
    "goss": lambda: classifier(data_sample_strategy="goss"),
    "zero_as_missing": lambda: classifier(zero_as_missing=True),
    "no missing": lambda: classifier(use_missing=False),
    "categories": lambda: classifier(**CATEGORICAL),
    "categories, zero_as_missing": lambda: classifier(zero_as_missing=True, **CATEGORICAL),
    "one category": lambda: classifier(categorical_feature=[3], max_cat_to_onehot=100, min_data_per_group=1),
    "softmax": lambda: classifier(3),
    "one against all": lambda: classifier(3, objective="multiclassova", sigmoid=0.5),
    "several, rf": lambda: classifier(3, **BAGGED),
    "several, dart": lambda: classifier(3, boosting_type="dart", drop_rate=0.5),
    "booster": lambda: booster(objective="binary"),
    "booster, softmax": lambda: booster(3, objective="multiclass", num_class=3),
    "booster, softmax of two": lambda: booster(objective="multiclass", num_class=2),
}


@cache
def taken(mode):
    model = MODES[mode]()
    return model, take_apart(model)


def assert_same(imported, X):
    assert np.array_equal(margins_of(imported.ensemble, X), imported.margins(X))


@pytest.mark.parametrize("mode", MODES)
def test_margins_are_lightgbms_to_the_last_bit(mode):
    _, imported = taken(mode)

    @settings(max_examples=12, deadline=None)
    @given(rows(imported.ensemble))
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


@pytest.mark.parametrize("mode", ["gbdt", "zero_as_missing", "no missing", "categories"])
def test_a_value_that_a_csr_matrix_does_not_store_is_zero(mode):
    _, imported = taken(mode)
    X = data()[0][:50]
    assert imported.absent == 0.0
    assert np.array_equal(margins_of(imported.ensemble, X), imported.margins(csr_matrix(X)))


def test_sets_hold_more_than_32_categories():
    _, imported = taken("categories")
    assert imported.ensemble.nodes.n_words.max() == 2
    assert not (imported.ensemble.nodes.column[imported.ensemble.nodes.first_word >= 0] != 3).any()


@settings(max_examples=20, deadline=None)
@given(st.sampled_from([0.05, 0.3, 0.7, 1.0, 2.5, 20.0]), st.integers(-3, 3))
def test_a_tie_goes_to_the_first_class_as_in_lightgbm(sigmoid, steps):
    """A model of one leaf, whose value is the margin from which on the second label is given, and those beside it."""
    text = constant_model(0.0, sigmoid)
    start = take_apart(Written(text)).ensemble.sum.positive_from
    margin = start
    for _ in range(abs(steps)):
        margin = nextafter(margin, np.inf if steps > 0 else -np.inf)
    model = lightgbm.Booster(model_str=constant_model(margin, sigmoid))
    imported = take_apart(model)
    assert imported.margins(np.zeros((1, 1))) == margin
    assert imported.labels(np.zeros((1, 1)))[0] == (margin >= imported.ensemble.sum.positive_from) == (steps >= 0)


def constant_model(margin, sigmoid=1.0):
    return f"""tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=0
objective=binary sigmoid:{sigmoid!r}
feature_names=Column_0
feature_infos=none
tree_sizes=62

Tree=0
num_leaves=1
num_cat=0
leaf_value={margin!r}
is_linear=0
shrinkage=1


end of trees

pandas_categorical:null
"""


def test_a_model_without_splits_gives_its_constant():
    model = lightgbm.LGBMClassifier(n_estimators=3, **QUIET | {"min_child_samples": 300}).fit(data()[0], data()[1] > 0)
    imported = take_apart(model)
    assert imported.ensemble.nodes.left.tolist() == [0]  # a leaf, which leads to itself
    assert_same(imported, data()[0][:3])
    assert imported.labels(data()[0][:3]).tolist() == [True] * 3


def test_a_booster_of_a_single_class_is_read():
    rows = lightgbm.Dataset(data()[0], np.zeros(400), params={"verbose": -1})
    imported = take_apart(lightgbm.train({"objective": "binary", **NATIVE}, rows, num_boost_round=3))
    assert_same(imported, data()[0][:3])
    assert imported.labels(data()[0][:3]).tolist() == [0, 0, 0]


def test_a_classifier_of_one_class_is_refused():
    model = lightgbm.LGBMClassifier(n_estimators=3, **QUIET).fit(data()[0], np.zeros(400))
    with pytest.raises(ValueError, match="fitted on 1 classes"):
        take_apart(model)


@pytest.mark.parametrize("native", [False, True])
def test_the_best_iteration_is_the_last(native):
    X, y = data()
    y = (y > 1).astype(int)
    noise = np.random.default_rng(0).integers(0, 2, len(y))
    stop = [lightgbm.early_stopping(3, verbose=False)]
    if native:
        rows, held_out = lightgbm.Dataset(X, y, params={"verbose": -1}), lightgbm.Dataset(X, noise)
        keep = {"valid_sets": [held_out], "callbacks": stop, "keep_training_booster": True}
        model = lightgbm.train({"objective": "binary", **NATIVE}, rows, 30, **keep)
        best = model.best_iteration
        assert best < model.num_trees()
    else:
        model = lightgbm.LGBMClassifier(n_estimators=30, **QUIET)
        before_4_7 = "eval_X" not in signature(model.fit).parameters
        held_out = {"eval_set": [(X, noise)]} if before_4_7 else {"eval_X": X, "eval_y": noise}
        model.fit(X, y, **held_out, callbacks=stop)
        best = model.best_iteration_
    imported = take_apart(model)
    assert imported.ensemble.nodes.root.size == best < 30
    assert_same(imported, X[:30])


# Names, classes and categories


def test_classes_are_those_of_the_wrapper():
    X, y = data()
    names = np.array(["low", "middle", "top"])
    model = lightgbm.LGBMClassifier(n_estimators=3, **QUIET).fit(X, names[y])
    imported = take_apart(model)
    assert imported.classes.tolist() == names.tolist()
    assert np.array_equal(imported.labels(X[:20]), names[margins_of(imported.ensemble, X[:20]).argmax(axis=1)])


def test_columns_have_names_where_a_user_gave_some():
    X, y = data()
    assert taken("gbdt")[1].columns is None
    table = pd.DataFrame(X, columns=list("abcde"))
    model = lightgbm.LGBMClassifier(n_estimators=2, **QUIET).fit(table, y > 0)
    assert take_apart(model).columns == ("a", "b", "c", "d", "e")


def framed(values):
    """Return a data frame whose columns d and b are categorical."""
    X, y = data()
    table = pd.DataFrame(X, columns=list("abcde"))
    table["d"] = pd.Categorical(values[X[:, 3].astype(int)])
    table["b"] = pd.Categorical(np.where(np.isnan(X[:, 1]), "none", "some"))
    return table, (y > 0).astype(int)


@pytest.mark.parametrize("values", [np.array([f"v{k}" for k in range(60)]), np.arange(60) * 10])
def test_categories_of_data_frames_are_told(values):
    table, y = framed(values)
    model = lightgbm.LGBMClassifier(n_estimators=5, **QUIET, max_cat_to_onehot=1, min_data_per_group=1).fit(table, y)
    imported = take_apart(model)
    assert sorted(imported.categories) == [1, 3]
    assert imported.categories[3].values.tolist() == sorted(values.tolist())
    assert imported.categories[1].values.tolist() == ["none", "some"]
    assert not imported.categories[3].numbers_too
    codes = table.assign(b=table["b"].cat.codes, d=table["d"].cat.codes).to_numpy(float)
    assert np.array_equal(margins_of(imported.ensemble, codes[:40]), imported.margins(table[:40]))


def test_ordered_categories_are_refused_for_nothing_tells_their_column():
    table, y = framed(np.arange(60))
    table["b"] = table["b"].cat.as_ordered()
    model = lightgbm.LGBMClassifier(n_estimators=2, **QUIET).fit(table, y)
    with pytest.raises(ValueError, match="2 columns of categories, of which it takes 1 as categorical"):
        take_apart(model)


# Other models


@pytest.mark.parametrize("estimator", [lightgbm.LGBMRegressor, lightgbm.LGBMRanker])
def test_regressors_and_rankers_are_refused_by_name(estimator):
    with pytest.raises(TypeError, match=f"{estimator.__name__} is none of the classifiers.*Accepted are"):
        take_apart(estimator())


@pytest.mark.parametrize("objective", ["regression", "cross_entropy", "poisson"])
def test_objectives_that_make_no_labels_are_refused_by_name(objective):
    with pytest.raises(TypeError, match=f"the objective {objective}, which is not one of a classifier.*Accepted are"):
        take_apart(booster(objective=objective))


def test_an_objective_of_ones_own_is_refused():
    model = classifier(objective=lambda y, raw: (raw - y, np.ones_like(raw)))
    with pytest.raises(TypeError, match="has a custom objective"):
        take_apart(model)


def test_linear_trees_are_refused_by_name():
    with pytest.raises(TypeError, match="linear_tree"):
        take_apart(booster(objective="binary", linear_tree=True))


def test_models_of_others_are_left_to_others():
    assert take_apart(LogisticRegression()) is None
    assert take_apart("model.txt") is None
    assert "LGBMClassifier" in ACCEPTED


# Texts that no model at hand writes


class Written(lightgbm.Booster):
    """A Booster that writes a given text."""

    def __init__(self, text):
        self._text = text

    def __del__(self):
        pass

    def model_to_string(self):
        return self._text


def text_of(model):
    return getattr(model, "booster_", model).model_to_string()


def test_another_format_is_refused_with_those_that_can_be_read():
    text = text_of(taken("gbdt")[0]).replace("version=v4", "version=v9")
    with pytest.raises(ValueError, match=r"the format 'v9'.*v3, v4"):
        take_apart(Written(text))


def test_a_model_without_trees_is_refused():
    text = text_of(taken("gbdt")[0])
    with pytest.raises(ValueError, match="has no trees"):
        take_apart(Written(text[: text.index("\nTree=0")] + "\nend of trees\n"))


def test_zeros_that_are_missing_in_some_trees_only_are_refused_naming_the_column():
    with_zeros = text_of(taken("zero_as_missing")[0])
    before, _, last = with_zeros.rpartition("\ndecision_type=")
    kinds, _, after = last.partition("\n")
    changed = " ".join(str(int(kind) & 3 | 8) for kind in kinds.split())
    with pytest.raises(ValueError, match=r"zeros of column \d \(Column_\d\) as missing values in some trees"):
        take_apart(Written(before + "\ndecision_type=" + changed + "\n" + after))


def test_mixed_categories_keep_their_types():
    text = text_of(taken("categories")[0])
    values = [1, "a", 2.5, True]
    read = take_apart(Written(text.replace("categorical:null", f"categorical:{json.dumps([values])}")))
    assert read.categories[3].values.tolist() == values


def test_names_that_lightgbm_makes_up_for_arrays_are_none(monkeypatch):
    """As versions 4.5 and 4.6 do in ``feature_names_in_``; the library reads frames of any names by their places."""
    made_up = property(lambda model: np.array(model.booster_.feature_name()))
    monkeypatch.setattr(lightgbm.LGBMClassifier, "feature_names_in_", made_up, raising=False)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=3000) > 0).astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1).fit(X[:1000], y[:1000])
    named = pd.DataFrame(X, columns=["age", "height", "weight"])
    by_place = attend(model, X[1000:], delta=0.1, random_state=0)
    by_name = attend(model, named[1000:], delta=0.1, random_state=0)
    np.testing.assert_array_equal(by_name.predict(named), by_place.predict(X))
    assert by_place.additive_.columns is None
    assert by_name.additive_.columns == ("age", "height", "weight")

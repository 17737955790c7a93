"""CatBoost's models, taken apart: its own margins to the last bit, and its own labels."""

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoost, CatBoostClassifier, CatBoostRanker, CatBoostRegressor, Pool
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import INFINITE, PAST_SINGLE, assert_probabilities, assert_same, rows
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from saccade.models.trees.catboost import take_apart

QUIET = {"iterations": 25, "verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}


def some(n=300):
    """Rows of five columns, the second rounded, with missing values in the first three, and a score of them."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 5))
    X[:, 1] = np.round(X[:, 1], 1)
    score = X[:, 0] + X[:, 1] * X[:, 3] + 0.3 * rng.normal(size=n)
    X[:, :3][rng.random((n, 3)) < 0.1] = np.nan
    return X, score


X, SCORE = some()
TWO, THREE = (SCORE > 0.3).astype(int), np.array(["a", "b", "c"])[np.digitize(SCORE, [-0.5, 0.6])]

# By name: what else the model is given, and the labels.
MODELS = {
    "symmetric": ({"depth": 4}, TWO),
    "symmetric, NaN as largest": ({"depth": 4, "nan_mode": "Max"}, TWO),
    "symmetric, of more leaves than a byte counts": ({"depth": 9, "iterations": 5}, TWO),
    "symmetric, several": ({"depth": 4}, THREE),
    "lossguide": ({"grow_policy": "Lossguide", "max_leaves": 9, "nan_mode": "Max"}, TWO),
    "lossguide, several": ({"grow_policy": "Lossguide", "max_leaves": 9}, THREE),
    "depthwise": ({"grow_policy": "Depthwise", "depth": 4}, TWO),
    "depthwise, several": ({"grow_policy": "Depthwise", "depth": 4, "nan_mode": "Max"}, THREE),
    "from the average": ({"depth": 3, "boost_from_average": True}, np.where(TWO, "yes", "no")),
    "cross-entropy": ({"depth": 3, "loss_function": "CrossEntropy"}, TWO),
    "softmax of two": ({"depth": 3, "loss_function": "MultiClass"}, TWO > 0),
    "one against all": ({"depth": 3, "loss_function": "MultiClassOneVsAll"}, THREE),
}
every_model = pytest.mark.parametrize("name", MODELS)


@cache
def fitted(name):
    parameters, y = MODELS[name]
    return CatBoostClassifier(**(QUIET | parameters)).fit(X, y)


@cache
def imported(name):
    return take_apart(fitted(name))


@every_model
def test_rows_of_the_data_have_the_librarys_bits(name):
    made = imported(name)
    assert_same(made, X)
    assert_array_equal(made.classes, np.unique(MODELS[name][1]))


@every_model
@settings(max_examples=20)
@given(data=st.data())
def test_rows_on_the_borders_have_the_librarys_bits(name, data):
    made = imported(name)
    assert_same(made, data.draw(rows(made.ensemble, also=INFINITE + PAST_SINGLE)))


@pytest.mark.parametrize("name", [name for name, (_, y) in MODELS.items() if len(np.unique(y)) == 2])
def test_a_margin_of_two_classes_stands_for_the_librarys_probability(name):
    assert_probabilities(imported(name), X[:50], fitted(name).predict_proba(X[:50])[:, 1])


@pytest.mark.parametrize("y", [np.where(TWO, "yes", "no"), THREE], ids=["two", "several"])
def test_the_native_object_is_read_like_the_classifier(y):
    loss = "Logloss" if len(np.unique(y)) == 2 else "MultiClass"
    made = take_apart(CatBoost(QUIET | {"depth": 3, "loss_function": loss}).fit(X, y))
    assert_array_equal(made.classes, np.unique(y))
    assert_same(made, X)


def test_a_model_that_was_loaded_is_read_like_the_one_that_was_saved(tmp_path):
    fitted("symmetric, several").save_model(str(tmp_path / "model.cbm"))
    made = take_apart(CatBoost().load_model(str(tmp_path / "model.cbm")))
    assert_array_equal(made.classes, ["a", "b", "c"])
    assert_same(made, X)


@pytest.mark.parametrize("probability", [0.5, 0.3, 0.9, 1e-9, 0.123456789, 0.0, 1.0])
def test_the_probability_threshold_decides_as_in_the_library(probability):
    model = fitted("symmetric").copy()
    model.set_probability_threshold(probability)
    made = take_apart(model)
    assert_same(made, X)
    least = made.ensemble.sum.positive_from
    for margin in {least, math.nextafter(least, -math.inf)} - {math.inf, -math.inf}:
        model.set_scale_and_bias(0.0, margin)  # every row has this margin
        made = take_apart(model)
        assert made.margins(X[:1]) == margin
        assert (made.labels(X[:1]) == 1) == (margin >= least)
        assert_same(made, X[:1])


def test_scale_and_bias_are_those_of_the_model():
    for name, bias in (("symmetric", 0.1), ("depthwise, several", [0.1, -0.3, 0.7])):
        model = fitted(name).copy()
        model.set_scale_and_bias(0.3, bias)
        assert_same(take_apart(model), X)


def test_the_best_iteration_is_what_the_model_keeps():
    model = CatBoostClassifier(**(QUIET | {"iterations": 200, "depth": 6, "use_best_model": True}))
    model.fit(X[:100], TWO[:100], eval_set=(X[100:], TWO[100:]))
    made = take_apart(model)
    assert made.ensemble.score.size == model.tree_count_ < 200
    assert_same(made, X)


def test_trees_without_a_split():
    model = CatBoostClassifier(**(QUIET | {"iterations": 3, "boost_from_average": True}))
    rows_of = np.column_stack([np.arange(100) % 2, np.zeros(100)])
    made = take_apart(model.fit(rows_of, np.arange(100) // 2 % 2))
    assert_same(made, rows_of)


def test_names_of_columns_are_those_of_the_table():
    table = pd.DataFrame(X, columns=list("abcde"))
    model = CatBoostClassifier(**QUIET, ignored_features=["b"]).fit(table, TWO)
    made = take_apart(model)
    assert made.columns == tuple("abcde")
    assert imported("symmetric").columns is None
    assert_array_equal(made.margins(table), made.margins(X))
    assert_same(made, X)


def test_what_a_sparse_matrix_does_not_store_is_zero():
    made = imported("symmetric, several")
    zeros = np.where(abs(X) < 1, 0, X)
    assert_array_equal(made.margins(csr_matrix(zeros)), made.margins(zeros))
    assert made.absent == 0


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (CatBoostRegressor(**QUIET), SCORE, "CatBoostRegressor was fitted with the loss RMSE.*Fit a classifier"),
        (CatBoost(QUIET), SCORE, "the loss RMSE"),
        (CatBoostClassifier(**QUIET, loss_function="MultiLogloss"), np.column_stack([TWO, 1 - TWO]), "MultiLogloss"),
        (CatBoostClassifier(**QUIET, loss_function="MultiClassOneVsAll"), TWO, "on two classes"),
        (CatBoostClassifier(**QUIET, allow_const_label=True), np.zeros(len(X)), "single class"),
    ],
)
def test_other_tasks_are_refused_by_name(model, y, message):
    model.fit(X, y)
    with pytest.raises(TypeError, match=message):
        take_apart(model)


def test_rankers_are_refused_by_name():
    model = CatBoostRanker(**QUIET).fit(X, TWO, group_id=np.arange(len(X)) // 10)
    with pytest.raises(TypeError, match="CatBoostRanker was fitted with the loss"):
        take_apart(model)


@pytest.mark.parametrize("kind", ["categorical", "text"])
def test_features_that_are_no_numbers_are_refused_by_name(kind):
    words = np.where(TWO, "this one", "that one")
    table = pd.DataFrame({"x": X[:, 3], "word": words})
    given_as = {"cat_features": ["word"]} if kind == "categorical" else {"text_features": ["word"]}
    model = CatBoostClassifier(**(QUIET | {"iterations": 3})).fit(table, TWO, **given_as)
    with pytest.raises(TypeError, match=f"{kind} features \\(column 1\\)"):
        take_apart(model)


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError, match="CatBoostClassifier is not fitted"):
        take_apart(CatBoostClassifier())


def test_models_of_other_kinds_are_left_to_others():
    assert take_apart(LogisticRegression()) is None
    assert take_apart(Pool(X, TWO)) is None

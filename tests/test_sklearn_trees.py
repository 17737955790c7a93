"""scikit-learn's tree ensembles, taken apart: its own margins to the last bit, and its own labels."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import INFINITE, PAST_SINGLE, assert_probabilities, assert_same, rows
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn._loss.loss import HalfBinomialLoss
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from saccade.models.trees import adaboost, forests, gradient_boosting, hist_gradient_boosting

IMPORTERS = (adaboost, forests, gradient_boosting, hist_gradient_boosting)


def take_apart(model):
    """Return what the one importer makes of a model that knows it."""
    (imported,) = (made for importer in IMPORTERS if (made := importer.take_apart(model)) is not None)
    return imported


def some(n=300):
    """Rows of five columns, two of them rounded, and a score of them."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 5))
    X[:, 1], X[:, 2] = np.round(X[:, 1], 1), rng.integers(-2, 7, n)
    return X, X[:, 0] + X[:, 1] * X[:, 3] + 0.5 * (X[:, 2] % 3) + 0.3 * rng.normal(size=n)


X, SCORE = some()
TWO, THREE = np.where(SCORE > 0.5, "yes", "no"), np.digitize(SCORE, [-0.3, 1.2]) * 10
WITH_NAN = np.where(np.random.default_rng(6).random(X.shape) < 0.1, np.nan, X)
RATE = {"n_estimators": 12, "random_state": 0}
DEEP = DecisionTreeClassifier(max_depth=3, random_state=0)

# By name: the model, and whether it is fitted on rows with missing values.
MODELS = {
    "forest": (RandomForestClassifier(**RATE), True),
    "forest of complete rows": (RandomForestClassifier(**RATE, class_weight="balanced", criterion="entropy"), False),
    "forest in threads": (RandomForestClassifier(**RATE, n_jobs=2, bootstrap=False, max_features=2), False),
    "pruned forest": (RandomForestClassifier(**RATE, ccp_alpha=0.01), False),
    "extra trees": (ExtraTreesClassifier(**RATE), True),
    "boosting": (GradientBoostingClassifier(**RATE, learning_rate=0.3, subsample=0.7), False),
    "boosting from zero": (GradientBoostingClassifier(**RATE, init="zero", max_leaf_nodes=6), False),
    "boosting from a guess": (GradientBoostingClassifier(**RATE, init=DummyClassifier(strategy="uniform")), False),
    "adaboost": (AdaBoostClassifier(**RATE), False),
    "adaboost of deep trees": (AdaBoostClassifier(DEEP, **RATE, learning_rate=0.5), False),
    "adaboost of extra trees": (AdaBoostClassifier(ExtraTreeClassifier(max_depth=2, random_state=0), **RATE), False),
    "histograms": (HistGradientBoostingClassifier(max_iter=12, random_state=0), True),
    "histograms of few bins": (HistGradientBoostingClassifier(max_iter=12, max_bins=7, max_depth=3), False),
}
ONLY_TWO = {
    "exponential": (GradientBoostingClassifier(**RATE, loss="exponential"), False),
    "monotonic forest": (RandomForestClassifier(**RATE, monotonic_cst=[1, 0, 0, 0, -1]), False),
}
CASES = [(name, classes) for name in MODELS for classes in (2, 3)] + [(name, 2) for name in ONLY_TWO]
every_case = pytest.mark.parametrize(("name", "classes"), CASES)


@cache
def fitted(name, classes):
    model, with_nan = (MODELS | ONLY_TWO)[name]
    return clone(model).fit(WITH_NAN if with_nan else X, TWO if classes == 2 else THREE)


@cache
def imported(name, classes):
    return take_apart(fitted(name, classes))


@every_case
def test_rows_of_the_data_have_the_librarys_bits(name, classes):
    made = imported(name, classes)
    assert_same(made, WITH_NAN if made.ensemble.takes_missing else X)
    assert_array_equal(made.classes, ["no", "yes"] if classes == 2 else [0, 10, 20])


@every_case
@settings(max_examples=10)
@given(data=st.data())
def test_rows_on_the_thresholds_have_the_librarys_bits(name, classes, data):
    made = imported(name, classes)
    takes_infinite = isinstance(fitted(name, classes), HistGradientBoostingClassifier)
    assert_same(made, data.draw(rows(made.ensemble, also=INFINITE + PAST_SINGLE if takes_infinite else ())))


@pytest.mark.parametrize("name", [name for name, classes in CASES if classes == 2])
def test_a_margin_of_two_classes_stands_for_the_librarys_probability(name):
    assert_probabilities(imported(name, 2), X[:50], fitted(name, 2).predict_proba(X[:50])[:, 1])


@pytest.mark.parametrize("name", MODELS | ONLY_TWO)
def test_missing_values_are_taken_where_the_library_takes_them(name):
    made = imported(name, 2)
    if made.ensemble.takes_missing:
        made.labels(np.full((1, 5), np.nan))
    else:
        with pytest.raises(ValueError, match="contains NaN"):
            made.labels(np.full((1, 5), np.nan))


@pytest.mark.parametrize("name", ["forest", "extra trees", "boosting", "adaboost"])
def test_what_a_sparse_matrix_does_not_store_is_zero(name):
    made = imported(name, 3)
    zeros = np.where(abs(X) < 1, 0, X)
    assert_array_equal(made.margins(csr_matrix(zeros)), made.margins(zeros))
    assert made.absent == 0


def test_only_forests_in_threads_add_in_any_order():
    assert [name for name in MODELS if not imported(name, 2).same_bits] == ["forest in threads"]


TIED = np.zeros((4, 1)), np.array(["a", "b", "a", "b"])


@pytest.mark.parametrize(
    ("model", "label"),
    [
        (RandomForestClassifier(3, bootstrap=False), "a"),
        (GradientBoostingClassifier(n_estimators=2), "b"),
        (GradientBoostingClassifier(n_estimators=2, init="zero"), "b"),
        (HistGradientBoostingClassifier(max_iter=2), "a"),
    ],
)
def test_a_tie_has_the_librarys_label(model, label):
    made = take_apart(model.fit(*TIED))
    assert made.margins(np.zeros((1, 1))) == 0
    assert made.labels(np.zeros((1, 1))) == label
    assert_same(made, np.zeros((1, 1)))


def test_a_tie_of_votes_has_the_librarys_label():
    model = AdaBoostClassifier(n_estimators=2).fit(X, TWO)
    model.estimator_weights_[:] = 1.0
    made = take_apart(model)
    assert (made.margins(X) == 0).any()
    assert_same(made, X)


def test_adaboost_may_end_before_its_weights():
    model = AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=5).fit(X, TWO)
    assert len(model.estimators_) < len(model.estimator_weights_)
    assert_same(take_apart(model), X)


def test_boosting_that_stopped_early_has_the_trees_that_it_kept():
    model = GradientBoostingClassifier(n_estimators=200, n_iter_no_change=2, random_state=0).fit(X, TWO)
    made = take_apart(model)
    assert made.ensemble.score.size == model.n_estimators_ < 200
    assert_same(made, X)


@pytest.mark.parametrize("name", ["forest of complete rows", "boosting", "adaboost", "histograms of few bins"])
def test_names_of_columns_are_those_of_the_table(name):
    table = pd.DataFrame(X, columns=list("abcde"))
    assert imported(name, 2).columns is None
    assert take_apart(clone(MODELS[name][0]).fit(table, TWO)).columns == tuple("abcde")


@cache
def of_numbers(classes):
    """A model that puts its categorical columns, 0 and 3, before the others; the categories are numbers, or missing."""
    rng = np.random.default_rng(7)
    kinds = np.where(rng.random(X.shape[0]) < 0.1, np.nan, rng.integers(-3, 30, X.shape[0]))
    table = np.column_stack([X[:, 2], X[:, 0], X[:, 1], kinds, X[:, 3]])
    model = HistGradientBoostingClassifier(max_iter=12, categorical_features=[0, 3], random_state=0)
    return model.fit(table, TWO if classes == 2 else THREE), table


def as_codes(made, columns):
    """Look up the categories of a table's columns, as plainly as possible."""
    coded = []
    for column, values in enumerate(columns):
        if column in made.categories:
            known = {value: float(code) for code, value in enumerate(made.categories[column].values.tolist())}
            values = [known.get(value, np.nan) for value in values]
        coded.append(np.asarray(values, dtype=np.float64))
    return np.column_stack(coded)


@pytest.mark.parametrize("classes", [2, 3])
def test_categories_that_are_numbers(classes):
    model, table = of_numbers(classes)
    made = take_apart(model)
    assert set(made.categories) == {0, 3}
    assert all(categories.numbers_too for categories in made.categories.values())
    assert (made.ensemble.nodes.first_word >= 0).any()
    assert_same(made, table, as_codes(made, table.T))


@pytest.mark.parametrize("classes", [2, 3])
@settings(max_examples=20)
@given(data=st.data())
def test_categories_that_were_never_seen_are_missing(classes, data):
    made = take_apart(of_numbers(classes)[0])
    drawn = data.draw(rows(made.ensemble))
    for column in made.categories:
        value = st.integers(-6, 40) | st.sampled_from([np.nan, -0.0, 0.5, -1.5, 255.0, 256.0, 1e300])
        drawn[:, column] = data.draw(st.lists(value, min_size=len(drawn), max_size=len(drawn)))
    assert_same(made, drawn, as_codes(made, drawn.T))


def texts(missing):
    rng = np.random.default_rng(8)
    return [missing if rng.random() < 0.1 else kind for kind in rng.choice(["ab", "b", "c", "é"], X.shape[0])]


def test_categories_of_a_pandas_table():
    table = pd.DataFrame({"x": X[:, 0], "kind": pd.Categorical(texts(None)), "number": pd.Categorical(X[:, 2])})
    made = take_apart(HistGradientBoostingClassifier(max_iter=12).fit(table, THREE))
    assert made.columns == ("x", "kind", "number")
    assert made.categories[1].values.tolist() == ["ab", "b", "c", "é"]
    other = table.assign(kind=pd.Categorical(["new", "ab"] * (len(table) // 2)))
    for rows_of in (table, other):
        codes = as_codes(made, [rows_of["x"], rows_of["kind"].tolist(), rows_of["number"].tolist()])
        assert_same(made, rows_of, codes)


def test_a_null_of_a_polars_table_is_a_category_if_the_model_was_fitted_on_it():
    table = pl.DataFrame({"x": X[:, 0], "kind": texts(None)})
    made = take_apart(HistGradientBoostingClassifier(max_iter=12, categorical_features=["kind"]).fit(table, TWO))
    assert made.categories[1].values.tolist() == ["ab", "b", "c", "é", None]
    assert_same(made, table, as_codes(made, [table["x"], table["kind"].to_list()]))


def test_models_of_other_kinds_are_left_to_others():
    others = (
        LogisticRegression(),
        BaggingClassifier(),
        DecisionTreeClassifier(),
        RandomForestRegressor(),
        GradientBoostingRegressor(),
        HistGradientBoostingRegressor(),
        "a text",
    )
    assert all(importer.take_apart(model) is None for importer in IMPORTERS for model in others)


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (RandomForestClassifier(2), np.column_stack([TWO, TWO]), "2 targets"),
        (ExtraTreesClassifier(2), np.zeros(len(X)), "single class"),
        (GradientBoostingClassifier(n_estimators=2, init=DecisionTreeClassifier(max_depth=1)), TWO, "init=Decision"),
        (
            GradientBoostingClassifier(n_estimators=2, init=DummyClassifier(strategy="stratified", random_state=0)),
            TWO,
            "stratified",
        ),
        (HistGradientBoostingClassifier(max_iter=2, loss=HalfBinomialLoss()), TWO, "loss="),
        (AdaBoostClassifier(GaussianNB(), n_estimators=2), TWO, "of GaussianNB"),
    ],
)
def test_models_that_cannot_be_taken_apart_are_refused_by_name(model, y, message):
    model.fit(X, y)
    with pytest.raises(TypeError, match=message):
        take_apart(model)


@pytest.mark.parametrize("name", MODELS)
def test_models_must_be_fitted(name):
    with pytest.raises(NotFittedError):
        take_apart(clone(MODELS[name][0]))

"""What learners warn of: features of uneven scales, and models that decide nothing."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

from data import correlated
from reproduction.mnist import load_mnist
from saccade import Full, PassiveAggressive, Pegasos, Perceptron
from saccade.exceptions import OneLabelWarning, UnevenScalesWarning

X, y = correlated(600, 8, seed=70, separation=3.0)
UNEVEN = X * 10.0 ** np.array([0, 0, 3, 0, 0, -2, 0, 0])


@pytest.mark.filterwarnings("ignore::saccade.exceptions.OneLabelWarning")
@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sp.csr_matrix, np.float32])
@pytest.mark.parametrize("learner", [Pegasos(), Perceptron(boundary=Full()), PassiveAggressive()], ids=repr)
def test_the_two_most_uneven_features_are_named(learner, storage):
    with pytest.warns(UnevenScalesWarning, match=r"feature 2 has .* feature 5 of about.*StandardScaler") as given:
        learner.fit(storage(UNEVEN), y)
    assert given[0].filename == __file__
    named = pd.DataFrame(UNEVEN, columns=[f"f{j}" for j in range(8)])
    with pytest.warns(UnevenScalesWarning, match=r"feature 'f2' has .* feature 'f5' of about"):
        learner.fit(named, y)


@pytest.mark.filterwarnings("error")
def test_scaled_rare_and_constant_features_are_no_reason_to_warn():
    Pegasos(random_state=0).fit(X, y)
    rare = np.column_stack([X, np.where(np.arange(600) % 200 == 0, 1e-6, 0.0), np.zeros(600), np.ones(600)])
    Pegasos(random_state=0).fit(rare, y)
    Pegasos(random_state=0).fit(sp.csr_matrix(rare), y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("pair", [(2, 3), (4, 9)])
def test_digits_are_no_reason_to_warn(pair):
    pixels, digits, _, _ = load_mnist(pair)
    Pegasos(random_state=0).fit(pixels, digits)
    Pegasos(random_state=0).fit(np.divide(pixels, 255, dtype=np.float32), digits)


def test_a_stream_is_looked_at_once():
    model = Pegasos(random_state=0)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for start in range(0, 600, 50):
            model.partial_fit(UNEVEN[start : start + 50], y[start : start + 50], [0, 1])
    assert [warning.category for warning in given] == [UnevenScalesWarning]


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine], ids=["two classes", "three"])
def test_a_model_that_decides_nothing_is_said_to(load):
    rows, kinds = load(return_X_y=True)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        model = Pegasos(1e-2, max_iter=1, random_state=0).fit(rows, kinds)
    assert set(model.predict(rows)) == {1}
    assert [warning.category for warning in given] == [UnevenScalesWarning, OneLabelWarning]
    assert f"one label, 1: it does so with each of {len(rows)} training rows" in str(given[1].message)
    assert given[1].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Pegasos(max_iter=3, random_state=0).fit(StandardScaler().fit_transform(rows), kinds)


def test_a_rare_class_that_is_lost_is_noticed_and_one_that_is_found_is_not():
    rng = np.random.default_rng(0)
    rare = (np.arange(5000) % 250 == 0).astype(int)
    noise = rng.normal(size=(5000, 4)) * 0.1
    with pytest.warns(OneLabelWarning, match="label, 'no': it does so with each of 1,044 training rows"):
        Pegasos(random_state=0).fit(noise, np.array(["no", "yes"])[rare])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Pegasos(random_state=0, max_iter=5).fit(noise + 3.0 * np.outer(rare, [1, 0, 0, 0]), rare)
        Pegasos(random_state=0).fit(X, y, sample_weight=(y == 1).astype(float))  # one class alone has weight


def test_a_stream_may_begin_with_one_label():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Pegasos(random_state=0).partial_fit(X[y == 1], y[y == 1], [0, 1])

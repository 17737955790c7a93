"""A model that is misread is refused: its own labels are compared with those of its weights on the calibration rows."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, NuSVC

import saccade
from data import correlated
from saccade import AttentiveClassifier, attend
from saccade.models.agreement import own_labels
from saccade.models.apart import take_apart

X, y = correlated(3000, 12, seed=0, separation=3.0)
SORTS, sort = correlated(3000, 12, seed=0, separation=3.0, classes=3)
TAUGHT, HELD_OUT = slice(0, 800), slice(800, None)
NAMES = [f"f{j}" for j in range(12)]
FRAME = pd.DataFrame(X, columns=NAMES)


def labels(model, rows):
    additive, every = take_apart(model), np.arange(rows.shape[0])
    return own_labels(model, rows, every, additive, additive.values(rows, every))


class Cautious(LogisticRegression):
    """Calls a row positive only where it is nearly sure."""

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.9).astype(int)]


class Undecided(LogisticRegression):
    """Gives a label that is none of its classes."""

    def predict(self, X):
        return np.where(self.decision_function(X) > 9, 7, super().predict(X))


@pytest.mark.parametrize(
    ("model", "rows", "target", "message"),
    [
        (SVC(kernel="linear"), SORTS, sort, "SVC decides between 3 classes one against one.*LinearSVC"),
        (NuSVC(kernel="linear", nu=0.1), SORTS, sort, "NuSVC decides between 3 classes one against one"),
        (RidgeClassifier(), SORTS, np.eye(3, dtype=int)[sort], "RidgeClassifier .* several targets"),
        (
            Cautious(),
            X,
            y,
            "Cautious is not the sum.*row [0-9]+ of X is 0 for its own predict, and 1 for its weights, by",
        ),
        (make_pipeline(StandardScaler(), Cautious()), X, y, "Cautious is not the sum"),
        (Undecided(), X, y, "Undecided.predict returns .*7.*none of its classes_"),
    ],
)
def test_a_model_that_would_be_misread_is_refused(model, rows, target, message):
    with pytest.raises(TypeError, match=message):
        attend(model.fit(rows[TAUGHT], target[TAUGHT]), rows[HELD_OUT], delta=0.1)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_support_vector_machines_of_two_classes_are_read(kind, sparse):
    model = kind(kernel="linear").fit(sp.csr_array(X[TAUGHT]) if sparse else X[TAUGHT], y[TAUGHT])
    np.testing.assert_array_equal(labels(model, X[HELD_OUT]), model.predict(X[HELD_OUT]))


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    "rows",
    [X, X.astype(np.float32), sp.csr_array(X), FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)],
    ids=["float64", "float32", "CSR", "pandas", "polars", "Arrow"],
)
def test_labels_are_the_model_s_own_whatever_the_rows_are_kept_in_and_nothing_is_warned_of(rows, named):
    model = FrozenEstimator(make_pipeline(StandardScaler(with_mean=False), LogisticRegression()))
    given = (np.array(["no", "yes"])[y])[TAUGHT]
    model.estimator.fit((FRAME if named else X)[TAUGHT], given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes = labels(model, rows)
        assert attend(model, rows, delta=0.1, random_state=0).classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(codes, model.predict(FRAME if named else X) == "yes")


def test_ties_and_rounding_are_no_misreading():
    """Rows on the boundary itself, and single precision next to large means."""
    model = LogisticRegression().fit(X[TAUGHT], y[TAUGHT])
    coef, intercept = model.coef_[0], model.intercept_[0]
    on_it = X - ((X @ coef + intercept) / (coef @ coef))[:, None] * coef
    assert 0 < labels(model, on_it).mean() < 1
    shifted = (X * 3 + 1000).astype(np.float32)
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(shifted[TAUGHT], y[TAUGHT])
    np.testing.assert_array_equal(labels(scaled, shifted), scaled.predict(shifted))


def test_several_classes_are_compared_by_the_two_labels_scores():
    model = LogisticRegression().fit(SORTS[TAUGHT], sort[TAUGHT])
    np.testing.assert_array_equal(labels(model, SORTS), model.predict(SORTS))
    additive = take_apart(model)
    model.coef_[[0, 1]] = model.coef_[[1, 0]]
    with pytest.raises(TypeError, match="by a margin of"):
        own_labels(model, SORTS, np.arange(3000), additive, SORTS)


def test_what_happens_to_a_model_afterwards_changes_nothing(tmp_path):
    model = LogisticRegression().fit(X[TAUGHT], y[TAUGHT])
    attentive = attend(model, X[HELD_OUT], delta=0.1, random_state=0)
    saccade.save(attentive, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    margin, reading = attentive.full_margin(X), attentive.read(X)
    model.coef_ *= -1
    model.intercept_ += 3
    model.classes_ += 1
    for certified in (attentive, loaded):
        np.testing.assert_array_equal(certified.full_margin(X), margin)
        np.testing.assert_array_equal(certified.read(X).margin, reading.margin)
        np.testing.assert_array_equal(certified.predict(X), reading.label)


@pytest.mark.parametrize("ranking", ["decision_function", "predict_proba"])
def test_nothing_ranks_and_asking_for_it_says_why(ranking):
    attentive = attend(LogisticRegression().fit(X[TAUGHT], y[TAUGHT]), X[HELD_OUT], delta=0.1, random_state=0)
    assert not hasattr(attentive, ranking)
    why = rf"no {ranking}: .*which side.*full_margin.*estimator_\.predict_proba.*read\(X\)\.margin"
    with pytest.raises(AttributeError, match=why):
        getattr(attentive, ranking)(X)


def test_scikit_learn_scores_labels_and_refuses_to_rank():
    model = AttentiveClassifier(LogisticRegression(), delta=0.1, random_state=0)
    assert cross_val_score(model, X, y, cv=3, scoring="accuracy").min() > 0.7
    with pytest.raises(AttributeError, match="none of the following attributes: decision_function, predict_proba"):
        cross_val_score(model, X, y, cv=3, scoring="roc_auc", error_score="raise")
    with pytest.raises(AttributeError, match="none of the following attributes: predict_proba, decision_function"):
        FixedThresholdClassifier(model.fit(X, y), threshold=0.2).predict(X)

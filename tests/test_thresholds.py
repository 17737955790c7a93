"""Thresholds other than 0 and one half: part of the plan, and the same labels as scikit-learn's own wrappers give."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import saccade
from data import correlated
from saccade import AttentiveClassifier, attend
from saccade.models.apart import take_apart

X, y = correlated(4000, 12, seed=0)
X = X * np.arange(1, 13) + 3
TAUGHT, HELD_OUT = slice(0, 1500), slice(1500, None)
LOGISTIC = LogisticRegression(max_iter=2000).fit(X[TAUGHT], y[TAUGHT])


def full_labels(model):
    found = take_apart(model)
    return found.classes[((X @ found.coef.T + found.intercept)[:, 0] > 0).astype(int)]


@pytest.mark.parametrize(
    ("model", "threshold"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression()), 0.2),
        (LinearDiscriminantAnalysis(), 0.9),
        (make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)), 0.3),
        (make_pipeline(StandardScaler(), SGDClassifier(loss="modified_huber", random_state=0)), 0.3),
    ],
)
def test_a_threshold_is_a_probability_where_the_model_has_one(model, threshold):
    model.fit(X[TAUGHT], y[TAUGHT])
    attentive = attend(model, X[HELD_OUT], delta=0.1, threshold=threshold, random_state=0)
    expected = (model.predict_proba(X)[:, 1] >= threshold).astype(int)
    assert np.mean(expected != model.predict(X)) > 0.02
    np.testing.assert_array_equal(attentive.full_margin(X) > 0, expected)
    np.testing.assert_array_equal(attentive.estimator_.predict(X), expected)
    np.testing.assert_array_equal(attentive.estimator_.predict_proba(X), model.predict_proba(X))
    assert np.mean(attentive.predict(X[HELD_OUT]) != expected[HELD_OUT]) < 0.12


def test_a_threshold_is_a_margin_where_there_are_no_probabilities():
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X[TAUGHT], y[TAUGHT])
    attentive = attend(model, X[HELD_OUT], delta=0.1, threshold=-0.5, random_state=0)
    np.testing.assert_allclose(attentive.full_margin(X), model.decision_function(X) + 0.5, atol=1e-8)
    inquiry = attentive.inquire(known=dict(enumerate(X[0])))
    assert inquiry.margin == attentive.read(X[:1]).margin[0]


@pytest.mark.parametrize("positive", [None, 0, 1])
@pytest.mark.parametrize("method", ["auto", "predict_proba", "decision_function"])
@pytest.mark.parametrize("threshold", ["auto", 0.3])
def test_a_fixed_threshold_is_opened(threshold, method, positive):
    wrapper = FixedThresholdClassifier(LOGISTIC, threshold=threshold, response_method=method, pos_label=positive)
    for model in (
        wrapper,
        FrozenEstimator(wrapper),
        make_pipeline(StandardScaler(), wrapper).fit(X[TAUGHT], y[TAUGHT]),
    ):
        np.testing.assert_array_equal(full_labels(model), model.predict(X))
    attentive = attend(wrapper, X[HELD_OUT], delta=0.1, random_state=0)
    assert np.mean(attentive.predict(X[HELD_OUT]) != wrapper.predict(X[HELD_OUT])) < 0.12


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1", make_scorer(f1_score, pos_label=0)])
@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()])
def test_a_tuned_threshold_is_opened(model, scoring):
    tuned = TunedThresholdClassifierCV(make_pipeline(StandardScaler(), model), scoring=scoring, cv=3)
    tuned.fit(X[TAUGHT], y[TAUGHT])
    np.testing.assert_array_equal(full_labels(tuned), tuned.predict(X))
    attend(tuned, X[HELD_OUT], delta=0.1, random_state=0)


def test_the_wrapper_s_private_scorer_still_names_the_positive_label():
    """Without it the second class would be taken, and the model refused where that is wrong."""
    scoring = make_scorer(f1_score, pos_label=0)
    tuned = TunedThresholdClassifierCV(LogisticRegression(max_iter=2000), scoring=scoring, cv=2).fit(X[:300], y[:300])
    assert tuned._curve_scorer._get_pos_label() == 0
    tuned._curve_scorer = None
    with pytest.raises(TypeError, match="not the sum"):
        attend(TunedWithoutScorer(tuned), X[HELD_OUT], delta=0.1)


class TunedWithoutScorer:
    """A wrapper of a future version, which keeps its scorer elsewhere."""

    response_method = "auto"

    def __init__(self, tuned):
        self.estimator = self.estimator_ = tuned.estimator_
        self.best_threshold_, self.classes_ = 0.2, tuned.classes_

    def fit(self, X, y):
        return self

    def predict(self, X):
        return (self.estimator.predict_proba(X)[:, 0] < self.best_threshold_).astype(int)


def test_scores_that_equal_the_threshold_have_reached_it():
    counts = np.random.default_rng(0).integers(0, 3, (3000, 4)).astype(float)
    model = LinearSVC().fit(counts, (counts.sum(axis=1) > 4).astype(int))
    model.coef_[:], model.intercept_[:] = [[0.1, 0.2, 0.3, 0.7]], -1.7
    wrapper = FixedThresholdClassifier(model, threshold=0.1 * 2 + 0.3 - 1.7)
    assert np.sum(np.isclose(model.decision_function(counts), wrapper.threshold)) > 50
    attentive = attend(wrapper, counts, delta=0.1, random_state=0)
    assert (attentive.full_margin(counts)[np.isclose(model.decision_function(counts), wrapper.threshold)] > 0).all()


def test_a_fitted_estimator_is_read_at_the_threshold_too():
    model = AttentiveClassifier(LogisticRegression(max_iter=2000), threshold=0.9, delta=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.full_margin(X) > 0, model.estimator_.predict_proba(X)[:, 1] >= 0.9)
    wrapped = FixedThresholdClassifier(LogisticRegression(max_iter=2000), threshold=0.9)
    other = AttentiveClassifier(wrapped, delta=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "threshold", "message"),
    [
        (LOGISTIC, 1.5, "LogisticRegression has predict_proba.*above 0 and below 1"),
        (LOGISTIC, 0, "above 0 and below 1"),
        (LOGISTIC, float("nan"), "threshold"),
        (LOGISTIC, "auto", "threshold"),
        (FixedThresholdClassifier(LOGISTIC, threshold=0.2), 0.3, "a threshold of its own, that of FixedThresholdCl"),
        (FixedThresholdClassifier(LOGISTIC, threshold=2.0), None, "above 0 and below 1"),
        (LogisticRegression(max_iter=2000).fit(X[:500], np.arange(500) % 3), 0.3, "two classes.*has 3"),
    ],
)
def test_thresholds_that_cannot_be_are_refused(model, threshold, message):
    with pytest.raises(ValueError, match=message):
        attend(model, X[HELD_OUT], threshold=threshold)


def test_probabilities_that_are_no_logistic_function_of_the_margin_are_noticed():
    class Steep(LogisticRegression):
        def predict_proba(self, X):
            p = super().predict_proba(X) ** 4
            return p / p.sum(axis=1, keepdims=True)

    model = make_pipeline(StandardScaler(), Steep()).fit(X[TAUGHT], y[TAUGHT])
    attend(model, X[HELD_OUT], delta=0.1)
    with pytest.raises(TypeError, match="no logistic function"):
        attend(model, X[HELD_OUT], delta=0.1, threshold=0.9)
    with pytest.raises(NotFittedError):
        attend(FixedThresholdClassifier(SVC(kernel="linear")), X)


def test_a_file_keeps_the_threshold_and_certifies_anew_at_it(tmp_path):
    attentive = attend(LOGISTIC, X[HELD_OUT], delta=0.1, threshold=0.8, random_state=0)
    saccade.save(attentive, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    assert loaded.threshold == 0.8
    np.testing.assert_array_equal(loaded.full_margin(X), attentive.full_margin(X))
    np.testing.assert_array_equal(loaded.estimator_.predict(X), attentive.estimator_.predict(X))
    loaded.fit(X[HELD_OUT])
    np.testing.assert_array_equal(loaded.predict(X), attentive.predict(X))
    for other in (0.3, None):
        with pytest.raises(ValueError, match=r"only the weights at threshold=0\.8"):
            loaded.set_params(threshold=other).fit(X[HELD_OUT])

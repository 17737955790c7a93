"""Naive Bayes as additive models: the scores and labels are scikit-learn's own, by column."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

from saccade import attend
from saccade.models.agreement import own_labels
from saccade.models.apart import take_apart
from saccade.models.bayes import steps_and_weights
from saccade.models.linear import LinearModel
from saccade.models.tables.model import TermModel

MODELS = [
    GaussianNB(),
    GaussianNB(var_smoothing=1e-3, priors=[0.2, 0.8]),
    BernoulliNB(),
    BernoulliNB(binarize=1.5, fit_prior=False),
    BernoulliNB(binarize=None),
    MultinomialNB(),
    MultinomialNB(alpha=0.01, class_prior=[0.3, 0.7]),
    ComplementNB(),
    ComplementNB(norm=True, alpha=2.0),
    CategoricalNB(),
    CategoricalNB(alpha=0.1, min_categories=6),
]


def ahead(model, X):
    """Return the model's own scores: by how much the second of two classes is ahead, or one for each of several."""
    scores = model.predict_joint_log_proba(X)
    return scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores


def scores_of(additive, X):
    return additive.values(X, np.arange(X.shape[0])) @ additive.coef.T + additive.intercept


def table(model, seed, n_classes, n_rows=80):
    """Return rows that a kind of model takes, and labels that have to do with them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X = rng.poisson(1 + 2 * rng.random((n_classes, 5))[y]).clip(0, 4).astype(float)
    X[:5] = np.arange(5)[:, None]  # every code
    if isinstance(model, GaussianNB):
        X = X * 10.0 ** rng.integers(-3, 4, 5) + rng.normal(size=X.shape) + rng.normal(scale=100, size=5)
    if isinstance(model, BernoulliNB) and model.binarize is None:
        X = (X > 1).astype(float)
    return X, np.array(["no", "yes", "perhaps"])[y]


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**20), n_classes=st.sampled_from([2, 3]), frame=st.booleans())
def test_scores_and_labels_are_the_model_s_own(model, seed, n_classes, frame):
    if n_classes == 3:
        model = type(model)()
    X, y = table(model, seed, n_classes)
    X = pd.DataFrame(X, columns=list("abcde")) if frame else X
    fitted = model.fit(X, y)
    additive, rows = take_apart(fitted), np.arange(len(X))
    assert additive.columns == (tuple("abcde") if frame else None)
    assert_allclose(scores_of(additive, X), ahead(fitted, X), rtol=1e-9, atol=1e-9)
    values = additive.values(X, rows)
    assert_array_equal(additive.classes[own_labels(fitted, X, rows, additive, values)], fitted.predict(X))


def test_gaussians_of_large_numbers_that_differ_little_are_not_rounded_away():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = 1.7e9 + y[:, None] + rng.normal(size=(300, 4))
    fitted = GaussianNB(var_smoothing=1e-12).fit(X, y)
    assert_allclose(scores_of(take_apart(fitted), X), ahead(fitted, X), rtol=1e-5)


@pytest.mark.parametrize("model", [MultinomialNB(), ComplementNB()], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_text_models_on_csr_rows_are_linear_and_read_by_stored_values(model, n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(6000) % n_classes
    X = sp.csr_matrix(rng.poisson(np.exp(rng.normal(-1, 1.5, (n_classes, 120))))[y] * (rng.random((6000, 120)) < 0.3))
    X = X.astype(float)
    fitted = model.fit(X[:1000], y[:1000])
    additive = take_apart(fitted)
    assert isinstance(additive, LinearModel)
    assert_allclose(X @ additive.coef.T + additive.intercept, ahead(fitted, X))
    attentive = attend(fitted, X[1000:], delta=0.05, promise="rows", random_state=0)
    assert np.mean(attentive.predict(X[1000:]) == fitted.predict(X[1000:])) > 0.95


def test_bernoulli_takes_csr_rows_and_a_value_at_its_threshold_is_0():
    X = np.array([[0.5, 0.0], [0.5000001, 0.5], [np.nextafter(0.5, 1), 2.0], [-1.0, 0.0]])
    fitted = BernoulliNB(binarize=0.5).fit(X, [0, 1, 1, 0])
    assert isinstance(take_apart(fitted), TermModel)
    for rows in (X, sp.csr_matrix(X), X.astype(np.float32).astype(np.float64)):
        assert_allclose(scores_of(take_apart(fitted), rows), ahead(fitted, rows))
    assert isinstance(take_apart(BernoulliNB(binarize=None).fit(X > 0.5, [0, 1, 1, 0])), LinearModel)
    assert steps_and_weights(fitted).coef.shape == (1, 2)


def test_codes_are_cut_off_at_the_point_and_unknown_ones_are_refused():
    X = np.array([[0, 1], [1, 2], [2, 0], [1, 1]])
    fitted = CategoricalNB().fit(X, [0, 1, 1, 0])
    additive = take_apart(fitted)
    rows = np.array([[0.9, 1.0], [-0.9, 2.99], [2.5, 0.0]])
    assert_allclose(scores_of(additive, rows), ahead(fitted, rows))
    for bad in (3.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"Row 1 of X has (NaN|-?\d\.0|inf) in column 1, and the model has no way"):
            additive.values(np.array([[0.0, 1.0], [1.0, bad]]), np.arange(2))


@pytest.mark.parametrize("model", [GaussianNB(), BernoulliNB(), MultinomialNB(), CategoricalNB()], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_features_may_come_in_blocks_from_the_steps_of_a_pipeline(model, n_classes):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"number": rng.integers(0, 3, 90).astype(float), "text": rng.choice(["a", "b", "c"], 90)})
    powers, encoder = PolynomialFeatures(2, include_bias=False), OneHotEncoder(sparse_output=False)
    features = ColumnTransformer([("powers", powers, ["number"]), ("text", encoder, ["text"])])
    fitted = make_pipeline(features, model).fit(X, np.arange(90) % n_classes)
    additive = take_apart(fitted)
    assert additive.each_needs_one
    assert_allclose(scores_of(additive, X), ahead(fitted[-1], features.transform(X)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("threshold", [0.05, 0.7])
def test_thresholds_move_the_margin(threshold):
    X, y = table(GaussianNB(), 3, 2, 300)
    model = FixedThresholdClassifier(GaussianNB(), threshold=threshold, response_method="predict_proba").fit(X, y)
    additive = take_apart(FrozenEstimator(make_pipeline("passthrough", model)))
    labels = additive.classes[(scores_of(additive, X)[:, 0] > 0).astype(int)]
    assert_array_equal(labels, model.predict(X))


def test_what_cannot_be_added_up_is_refused():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), [0, 1, 0]
    with np.errstate(divide="ignore"):
        certain = MultinomialNB(alpha=0.0, force_alpha=True).fit(X, y)
    with pytest.raises(TypeError, match=r"a probability of 0.*Fit it with alpha"):
        take_apart(certain)
    with pytest.raises(TypeError, match="Fit it with priors"):
        take_apart(GaussianNB(priors=[0.0, 1.0]).fit(X, y))
    with pytest.raises(TypeError, match="one class only"):
        take_apart(GaussianNB().fit(X, [1, 1, 1]))
    with pytest.raises(NotFittedError):
        take_apart(GaussianNB())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_attend_reads_a_few_columns_of_a_table(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(6000) % n_classes
    X = pd.DataFrame(
        rng.normal(size=(6000, 12)) + 3 * y[:, None] / np.arange(1, 13) ** 0.7, columns=list("abcdefghijkl")
    )
    fitted = GaussianNB().fit(X[:1000], y[:1000])
    attentive = attend(fitted, X[1000:], delta=0.05, random_state=0)
    assert attentive.certificate_.features_per_row < 8
    assert np.mean(attentive.predict(X) == fitted.predict(X)) > 0.95
    assert attentive.plan_.n_units == 12
    assert "a" in attentive.plan_.describe(attentive.additive_.unit_names)

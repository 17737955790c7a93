"""Taking fitted models apart: weights that give the model's own scores from unscaled rows."""

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from xgboost import XGBRegressor

from saccade import Pegasos, attend
from saccade.models.apart import take_apart

X, y = make_classification(300, 8, n_informative=6, n_classes=3, random_state=0)
X = X * np.arange(1, 9) + 3

MODELS = [
    LinearSVC(),
    LogisticRegression(),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
    LinearDiscriminantAnalysis(),
    SGDClassifier(penalty="l1", random_state=0),
]
SCALERS = [
    [],
    [StandardScaler()],
    [StandardScaler(with_mean=False)],
    [StandardScaler(with_std=False)],
    [MinMaxScaler(feature_range=(-1, 2))],
    [MaxAbsScaler()],
    [RobustScaler()],
    [RobustScaler(with_centering=False, with_scaling=False)],
    [MinMaxScaler(), StandardScaler(), "passthrough"],
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scalers", SCALERS, ids=str)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_weights_give_the_model_s_own_scores(model, scalers, classes):
    rows = y < classes
    fitted = make_pipeline(*scalers, model).fit(X[rows], y[rows])
    found = take_apart(fitted)
    scores = X @ found.coef.T + found.intercept
    expected = fitted.decision_function(X)
    np.testing.assert_allclose(scores[:, 0] if classes == 2 else scores, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(found.classes, fitted.classes_)


def test_frozen_models_sparse_weights_and_our_own_learners():
    rows = y < 2
    sparse = SGDClassifier(random_state=0).fit(X[rows], y[rows]).sparsify()
    assert take_apart(FrozenEstimator(sparse)).coef.shape == (1, 8)
    ours = Pegasos(random_state=0).fit(X, y)
    np.testing.assert_allclose(X @ take_apart(ours).coef.T + take_apart(ours).intercept, ours.full_margin(X))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KNeighborsClassifier().fit(X, y), "KNeighborsClassifier is no model that can be read part by part"),
        (make_pipeline(Normalizer(), LogisticRegression()).fit(X, y), r"Normalizer\(\) mixes the columns"),
        (make_pipeline(PCA(2), LogisticRegression()).fit(X, y), "PCA.* mixes the columns"),
        (3, "not an estimator"),
    ],
)
def test_other_models_are_refused_with_what_is_accepted(model, message):
    with pytest.raises(TypeError, match=message) as caught:
        take_apart(model)
    assert "LinearSVC" in str(caught.value)


@pytest.mark.parametrize(
    "regressor", [Ridge(), make_pipeline(RandomForestRegressor(2)), LGBMRegressor(verbose=-1), XGBRegressor()]
)
def test_the_error_for_a_regressor_names_the_way_out(regressor):
    with pytest.raises(
        TypeError, match=r"is a regressor, which gives no labels to keep.*Fit a classifier, for example"
    ):
        attend(regressor.fit(X, y), X)


def test_a_model_that_was_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        take_apart(LinearSVC())

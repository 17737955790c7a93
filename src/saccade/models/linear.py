"""What a fitted linear model is made of: weights and intercepts in terms of the columns that a user passes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["LinearModel", "LoadedLinear", "linear_model"]

Reals = NDArray[np.float64]

_ACCEPTED = (
    "Accepted are fitted linear classifiers with coef_, intercept_ and classes_ (LinearSVC, LogisticRegression, "
    "SGDClassifier, RidgeClassifier, LinearDiscriminantAnalysis, saccade's own), alone or at the end of a Pipeline of "
    "StandardScaler, MinMaxScaler(clip=False), MaxAbsScaler and RobustScaler."
)


@dataclass(frozen=True)
class LinearModel:
    """One score per row of ``coef``: two classes have one, others one each."""

    coef: Reals  # (scores, n_features)
    intercept: Reals  # (scores,)
    classes: NDArray[Any]
    names: NDArray[Any] | None  # of the features, where the model knows them


class LoadedLinear(ClassifierMixin, BaseEstimator):
    """A linear classifier of which only the weights are known: it predicts, and cannot be fitted."""

    def __init__(
        self, coef: Reals, intercept: Reals, classes: NDArray[Any], names: Sequence[str] | None = None
    ) -> None:
        self.coef = coef
        self.intercept = intercept
        self.classes = classes
        self.names = names
        self.coef_, self.intercept_, self.classes_ = coef, intercept, classes
        self.n_features_in_ = coef.shape[1]
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def fit(self, X: Any, y: Any = None) -> Self:
        raise TypeError("This model was loaded from a file, with its weights alone: it cannot be fitted again.")

    def decision_function(self, X: Any) -> Reals:
        """Return one margin per row for two classes, else one per row and class."""
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        scores: Reals = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        scores = self.decision_function(X)
        label: NDArray[Any] = self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)]
        return label


def linear_model(model: Any) -> LinearModel:
    """Take a fitted model apart; the scaling of a pipeline becomes part of the weights."""
    names = getattr(model, "feature_names_in_", None)
    scalers: list[Any] = []
    while isinstance(model, Pipeline | FrozenEstimator):
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        else:
            steps = [step for _, step in model.steps if step not in (None, "passthrough")]
            scalers, model = [*scalers, *steps[:-1]], steps[-1]
        names = getattr(model, "feature_names_in_", None) if names is None else names
    if not hasattr(model, "fit"):
        raise TypeError(f"{model!r} is not an estimator. {_ACCEPTED}")
    check_is_fitted(model)
    missing = [name for name in ("coef_", "intercept_", "classes_") if not hasattr(model, name)]
    if missing:
        raise TypeError(
            f"{type(model).__name__} is not a linear classifier: it has no {', '.join(missing)}. {_ACCEPTED}"
        )
    coef = np.atleast_2d(np.asarray(_dense(model.coef_), dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (coef.shape[0],))
    classes = np.asarray(model.classes_)
    if coef.shape[0] != (1 if classes.size == 2 else classes.size):
        raise TypeError(f"{type(model).__name__} has {coef.shape[0]} scores for {classes.size} classes. {_ACCEPTED}")
    for scaler in reversed(scalers):
        factor, shift = _scaling(scaler)
        intercept, coef = intercept + coef @ shift, coef * factor
    return LinearModel(np.ascontiguousarray(coef), np.array(intercept), classes, names)


def _dense(coef: Any) -> Any:
    return coef.toarray() if hasattr(coef, "toarray") else coef


def _scaling(scaler: Any) -> tuple[Reals, Reals]:
    """Return what a feature is multiplied with, and what is then added."""
    check_is_fitted(scaler)
    n = scaler.n_features_in_
    one, zero = np.ones(n), np.zeros(n)
    if type(scaler) is StandardScaler:
        factor = 1 / scaler.scale_ if scaler.with_std else one
        return factor, -factor * scaler.mean_ if scaler.with_mean else zero
    if type(scaler) is RobustScaler:
        factor = 1 / scaler.scale_ if scaler.with_scaling else one
        return factor, -factor * scaler.center_ if scaler.with_centering else zero
    if type(scaler) is MaxAbsScaler:
        return 1 / scaler.scale_, zero
    if type(scaler) is MinMaxScaler and not scaler.clip:
        return scaler.scale_, scaler.min_
    raise TypeError(f"{scaler!r} does not scale each feature by itself. {_ACCEPTED}")

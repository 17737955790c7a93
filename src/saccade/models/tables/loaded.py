"""Terms without the model that they were taken from: those of a file."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from saccade.models.tables.model import TermModel
from saccade.models.thresholds import step_inside, threshold_of
from saccade.reading.plan import decided

__all__ = ["ACCEPTED", "LoadedTerms", "take_apart"]

Reals = NDArray[np.float64]

ACCEPTED = "models over raw columns that were loaded from a file of saccade's"


class LoadedTerms(ClassifierMixin, BaseEstimator):
    """Terms from a file: they predict, and cannot be fitted."""

    def __init__(self, model: TermModel, threshold: float | None = None) -> None:
        self.model = model
        self.threshold = threshold
        self.classes_ = np.array(model.classes)
        self.n_features_in_ = model.n_columns
        if model.columns is not None:
            self.feature_names_in_ = np.array(model.columns, dtype=object)

    @property
    def threshold_(self) -> float | None:
        """The threshold from which the terms count."""
        return self.threshold

    def fit(self, X: Any, y: Any = None) -> Self:
        raise TypeError("This model was loaded from a file, with its terms alone: it cannot be fitted again.")

    def decision_function(self, X: Any) -> Reals:
        """Return one margin per row for two classes, else one per row and class."""
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        label: NDArray[Any] = self.classes_[decided(self._margins(X))]
        return label

    def _margins(self, X: Any) -> Reals:
        checked = validate_data(self, X, reset=False, skip_check_array=True)
        values = self.model.values(checked, np.arange(checked.shape[0]))
        margins: Reals = values.reshape(len(values), -1, self.model.n_scores).sum(axis=1) + self.model.intercept
        return margins


def take_apart(model: Any) -> TermModel | None:
    """Return the terms of a model that was loaded from a file; None for other models."""
    threshold = threshold_of(model)
    while (inside := step_inside(model)) is not None:
        model = inside
        threshold = threshold_of(model) if threshold is None else threshold
    if not isinstance(model, LoadedTerms):
        return None
    terms = model.model
    if threshold is None:
        return terms
    margin = threshold.margin(model, terms.classes, _no_probability)
    return replace(terms, intercept=terms.intercept - margin)


def _no_probability(probability: float) -> float:
    raise TypeError("A model over raw columns that was loaded from a file knows margins, and no probabilities.")

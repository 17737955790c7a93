"""The model behind a saved AttentiveClassifier."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from saccade.models.additive import Additive
from saccade.reading.inputs import read_checked
from saccade.reading.plan import Plan, Reading
from saccade.reading.reader import read_plan

__all__ = ["ACCEPTED", "SavedModel", "take_apart"]

ACCEPTED = "models loaded by saccade.load"


class SavedModel(ClassifierMixin, BaseEstimator):
    """A model of which only weights, terms or trees were saved: it predicts, but cannot be fitted again."""

    def __init__(self, additive: Additive, threshold: float | None = None) -> None:
        self.additive = additive
        self.threshold = threshold
        self.classes_ = np.array(additive.classes)
        self.n_features_in_ = additive.n_columns
        if additive.columns is not None:
            self.feature_names_in_ = np.array(additive.columns, dtype=object)

    @property
    def additive_(self) -> Additive:
        """The parts of the model."""
        return self.additive

    @property
    def threshold_(self) -> float | None:
        """The decision threshold with which the model was certified; its margins are measured from it."""
        return self.threshold

    def fit(self, X: Any, y: Any = None) -> Self:
        raise TypeError("This model was loaded from a file, without its training state: it cannot be fitted again.")

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return one margin per row for two classes, else one per row and class."""
        return self._read(X).margin

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        return self._read(X).label

    def _read(self, X: Any) -> Reading:
        additive = self.additive
        plan = Plan.in_full(additive.coef, additive.intercept, additive.unit, additive.of_trees)
        return read_checked(self, additive.as_taken(X), additive.source, lambda source: read_plan(plan, source))


def take_apart(model: Any) -> Additive | None:
    """Return the parts of a loaded model; None for other models."""
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    return model.additive if isinstance(model, SavedModel) else None

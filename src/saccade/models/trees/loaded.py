"""Trees of which a file has kept the arrays."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from saccade.models.trees.model import TreeModel
from saccade.reading.plan import decided

__all__ = ["LoadedTrees"]

Reals = NDArray[np.float64]


class LoadedTrees(ClassifierMixin, BaseEstimator):
    """Trees from a file: they predict, and cannot be fitted."""

    def __init__(self, model: TreeModel, threshold: float | None = None) -> None:
        self.model = model
        self.threshold = threshold
        self.classes_ = np.array(model.classes)
        self.n_features_in_ = model.n_columns
        if model.columns is not None:
            self.feature_names_in_ = np.array(model.columns, dtype=object)

    @property
    def threshold_(self) -> float | None:
        """The threshold from which the margins count."""
        return self.threshold

    def fit(self, X: Any, y: Any = None) -> Self:
        raise TypeError("This model was loaded from a file, with its trees alone: it cannot be fitted again.")

    def decision_function(self, X: Any) -> Reals:
        """Return one margin per row for two classes, else one per row and class."""
        margins = self.model.margins(self.model.sums(X))
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        label: NDArray[Any] = self.classes_[decided(self.model.margins(self.model.sums(X)))]
        return label

"""Trees without the model that they were taken from: of a file, saccade's own or a library's."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from saccade.models.trees.model import TreeModel
from saccade.models.trees.probabilities import probabilities_at
from saccade.reading.plan import decided

__all__ = ["LoadedTrees"]

Reals = NDArray[np.float64]


class LoadedTrees(ClassifierMixin, BaseEstimator):
    """Trees from a file: they predict, and cannot be fitted."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.classes_ = np.array(model.classes)
        self.n_features_in_ = model.n_columns
        if model.columns is not None:
            self.feature_names_in_ = np.array(model.columns, dtype=object)

    def fit(self, X: Any, y: Any = None) -> Self:
        raise TypeError("This model was loaded from a file, with its trees alone: it cannot be fitted again.")

    def decision_function(self, X: Any) -> Reals:
        """Return one margin per row for two classes, else one per row and class, measured from the threshold."""
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        label: NDArray[Any] = self.classes_[decided(self._margins(X))]
        return label

    @available_if(lambda self: self.classes_.size == 2)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Reals:
        """Return the probabilities of two classes, whatever the threshold."""
        return probabilities_at(self.model.raw(self.model.sums(X))[:, 0], self.model.ensemble.slope)

    def _margins(self, X: Any) -> Reals:
        return self.model.margins(self.model.sums(X))

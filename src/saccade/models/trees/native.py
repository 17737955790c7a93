"""Trees without their library's classifier around them, as a classifier."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from saccade.models.trees.imported import Imported

__all__ = ["NativeClassifier"]


class NativeClassifier(ClassifierMixin, BaseEstimator):
    """A library's native model, such as a Booster, that gives labels as the library's own classifier would."""

    def __init__(self, model: Any, imported: Imported) -> None:
        self.model = model
        self.imported = imported
        self.classes_ = imported.classes
        self.n_features_in_ = imported.ensemble.n_columns
        if imported.columns is not None:
            self.feature_names_in_ = np.array(imported.columns, dtype=object)

    def fit(self, X: Any, y: Any = None) -> Self:
        raise TypeError(f"A {type(self.model).__name__} cannot be fitted here: fit it with its own library.")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        assert self.imported.labels is not None
        return self.imported.labels(X)

"""Trees without their library's classifier around them, as a classifier."""

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from saccade.models.trees.imported import Imported
from saccade.models.trees.importing import imported_from

__all__ = ["NativeClassifier"]


class NativeClassifier(ClassifierMixin, BaseEstimator):
    """A library's native model, such as a Booster, that gives labels as the library's own classifier would."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @cached_property
    def imported(self) -> Imported:
        imported = imported_from(self.model)
        assert imported is not None
        return imported

    @property
    def classes_(self) -> NDArray[Any]:
        return self.imported.classes

    @property
    def n_features_in_(self) -> int:
        return self.imported.ensemble.n_columns

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        if self.imported.columns is None:
            raise AttributeError(f"A {type(self.model).__name__} that was fitted without names has none.")
        return np.array(self.imported.columns, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Self:
        raise TypeError(f"A {type(self.model).__name__} cannot be fitted here: fit it with its own library.")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        assert self.imported.labels is not None
        return self.imported.labels(X)

    @available_if(lambda self: self.classes_.size == 2)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of two classes."""
        assert self.imported.margins is not None
        margins = np.asarray(self.imported.margins(X), np.float64).reshape(-1)
        return _probabilities_at(margins, self.imported.ensemble.slope)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is taken apart again when it is asked for."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "imported"}


def _probabilities_at(margin: NDArray[np.float64], slope: float | None) -> NDArray[np.float64]:
    """Return (rows, 2) probabilities at margins; ``slope`` is that of ``Ensemble``."""
    second = (1 + margin) / 2 if slope is None else expit(slope * margin)
    return np.stack([1 - second, second], axis=1)

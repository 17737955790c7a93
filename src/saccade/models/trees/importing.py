"""Which library's model is this? Each is asked in turn to take it apart."""

from typing import Any

from saccade.models.trees import (
    adaboost,
    catboost,
    forests,
    gradient_boosting,
    hist_gradient_boosting,
    lightgbm,
    xgboost,
)
from saccade.models.trees.imported import Imported

__all__ = ["ACCEPTED", "imported_from"]

# Each has take_apart(model), which returns None for a model of another kind, and ACCEPTED, in words.
LIBRARIES = (lightgbm, xgboost, catboost, hist_gradient_boosting, gradient_boosting, forests, adaboost)
ACCEPTED = ", ".join(library.ACCEPTED for library in LIBRARIES)


def imported_from(model: Any) -> Imported | None:
    """Return a fitted model, taken apart; None where it is of no library."""
    taken = (library.take_apart(model) for library in LIBRARIES)
    return next((imported for imported in taken if imported is not None), None)

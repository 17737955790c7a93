"""Which kind of model is this? Each kind is asked in turn to take it apart."""

from typing import Any

from sklearn.base import RegressorMixin

from saccade.models import ebm, saved
from saccade.models.additive import Additive
from saccade.models.pipelines import apart as pipelines
from saccade.models.thresholds import innermost
from saccade.models.trees import apart as trees
from saccade.models.trees.boosting import FIT_A_CLASSIFIER

__all__ = ["ACCEPTED", "take_apart"]

# A kind is a module with take_apart(model), which returns None for a model of another kind, and ACCEPTED, in words.
KINDS = (saved, trees, ebm, pipelines)
ACCEPTED = "; ".join(kind.ACCEPTED for kind in KINDS)


def take_apart(model: Any) -> Additive:
    """Return a fitted model as a sum of parts, or raise with what is accepted."""
    inner = innermost(model)
    if isinstance(inner, RegressorMixin):
        raise TypeError(f"{type(inner).__name__} is a regressor, which gives no labels to keep. {FIT_A_CLASSIFIER}")
    for kind in KINDS:
        additive: Additive | None = kind.take_apart(model)
        if additive is not None:
            return additive
    what = type(inner).__name__ if hasattr(inner, "fit") else f"{inner!r} is not an estimator, and"
    raise TypeError(f"{what} is no model that can be read part by part. Accepted are {ACCEPTED}.")

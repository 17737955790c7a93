"""Which kind of model is this? Each kind is asked in turn to take it apart."""

from typing import Any

from saccade.models import linear
from saccade.models.additive import Additive

__all__ = ["take_apart"]

# A kind is a module with take_apart(model), which returns None for a model of another kind, and ACCEPTED, in words.
KINDS = (linear,)


def take_apart(model: Any) -> Additive:
    """Return a fitted model as a sum of parts, or raise with what is accepted."""
    for kind in KINDS:
        additive: Additive | None = kind.take_apart(model)
        if additive is not None:
            return additive
    accepted = "; ".join(kind.ACCEPTED for kind in KINDS)
    what = type(model).__name__ if hasattr(model, "fit") else f"{model!r} is not an estimator, and"
    raise TypeError(f"{what} is no model that can be read part by part. Accepted are {accepted}.")

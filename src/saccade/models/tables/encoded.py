"""Linear models that learned from encoded tables, as models over the raw columns."""

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from saccade.models.tables.encoding import Encoding
from saccade.models.tables.model import TermModel
from saccade.models.thresholds import step_inside, threshold_of

__all__ = ["ACCEPTED", "take_apart"]

ACCEPTED = "saccade's learners after saccade.learn from tables with text columns"


def take_apart(model: Any) -> TermModel | None:
    """Return the terms of a learner with an encoding, alone or with a threshold around it; None for other models."""
    threshold = threshold_of(model)
    while (inside := step_inside(model)) is not None:
        if not isinstance(model, FrozenEstimator) and threshold_of(model) is None:
            return None
        model = inside
        threshold = threshold_of(model) if threshold is None else threshold
    encoding = getattr(model, "encoding_", None)
    if not isinstance(encoding, Encoding) or not hasattr(model, "coef_"):
        return None
    intercept = np.array(model.intercept_, dtype=np.float64)
    if threshold is not None:
        intercept = intercept - threshold.margin(model, model.classes_, _no_probability)
    return encoding.model(np.array(model.coef_, dtype=np.float64), intercept, np.array(model.classes_))


def _no_probability(probability: float) -> float:
    raise TypeError("A learner knows margins, and no probabilities: give the threshold as a margin.")

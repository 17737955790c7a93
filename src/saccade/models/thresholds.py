"""Where the label of two classes changes: a threshold on a probability, or on a margin.

scikit-learn's own wrappers hold such a threshold, FixedThresholdClassifier and TunedThresholdClassifierCV, and a
threshold that a user passes becomes such a wrapper. Taking the model apart turns it into a margin, from which the
additive model then counts: a margin of 0 is the threshold.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from saccade.models.tables.pieces import least_numbers

__all__ = ["Threshold", "at_threshold", "innermost", "step_inside", "threshold_of"]

# A score that equals the threshold has reached it, in scikit-learn, and a margin of 0 stands for the first class here.
# Moving the threshold by this share gives equal scores the positive label in spite of rounding.
NEXT_TO = 1e-9


class Threshold(NamedTuple):
    """The score from which on a row gets the positive label."""

    value: float
    on_probability: bool  # else on the margin
    positive: Any = None  # a label; None for the second class

    def margin(self, model: Any, classes: NDArray[Any], at: Callable[[float], float], *, exact: bool = False) -> float:
        """Return the margin of the second class above which a row gets this class, for the model that decides.

        ``at`` gives the margin at which the second class has a probability: the least one, to the bit, if it is
        ``exact``.
        """
        if classes.size != 2:
            raise ValueError(
                f"A threshold is for two classes, and {type(model).__name__} has {classes.size}. Pass the model "
                "without a threshold."
            )
        first = self.positive is not None and self.positive == classes[0]
        if self.on_probability:
            probability = self._checked(model)
            if first:  # the second class has the rest
                probability = float(least_numbers(lambda second: 1 - second < self.value, 1)[0])
            margin = at(probability)
        else:
            margin = -self.value if first else self.value
        if exact:
            return float(np.nextafter(margin, -np.inf))
        beside = NEXT_TO * max(1.0, abs(margin))
        return margin + beside if first else margin - beside

    def _checked(self, model: Any) -> float:
        if not 0 < self.value < 1:
            raise ValueError(
                f"threshold={self.value:g}: {type(model).__name__} has predict_proba, so that the threshold is a "
                "probability. Pass a number above 0 and below 1."
            )
        return self.value


def at_threshold(model: Any, threshold: float | None) -> Any:
    """Return a fitted model that labels by this threshold, on a probability where it has one, else on its margin."""
    inner = model
    while (inside := step_inside(inner)) is not None:
        if threshold is not None and threshold_of(inner) is not None:
            raise ValueError(
                f"threshold={threshold:g}: the model has a threshold of its own, that of {type(inner).__name__}. Leave "
                "one of the two out."
            )
        inner = inside
    if hasattr(inner, "threshold_"):  # loaded from a file, with weights that count from this threshold
        if threshold != inner.threshold_:
            raise ValueError(
                f"threshold={threshold}: of this model, which was loaded from a file, only the weights at "
                f"threshold={inner.threshold_} are known. Pass that one, or certify the original model."
            )
        return model
    if threshold is None:
        return model
    from sklearn.model_selection import FixedThresholdClassifier  # here, because its import takes a second

    return FixedThresholdClassifier(model, threshold=float(threshold))


def step_inside(model: Any) -> Any:
    """Return the model within a wrapper that leaves its scores as they are, or at the end of a pipeline; else None."""
    if isinstance(model, Pipeline):
        return next((step for _, step in reversed(model.steps) if step not in (None, "passthrough")), None)
    if isinstance(model, FrozenEstimator):
        return model.estimator
    if hasattr(model, "best_estimator_"):  # GridSearchCV and its kin
        return model.best_estimator_
    if hasattr(model, "calibrated_classifiers_"):
        return model.calibrated_classifiers_[0].estimator
    return _inside(model) if threshold_of(model) is not None else None


def innermost(model: Any) -> Any:
    """Return the model that decides, which an error is to name."""
    while (inside := step_inside(model)) is not None:
        model = inside
    return model


def threshold_of(wrapper: Any) -> Threshold | None:
    """Return the threshold that one of scikit-learn's two wrappers holds; None for other models."""
    if isinstance(wrapper, FrozenEstimator):  # which shows the attributes of what it holds
        return None
    method = getattr(wrapper, "response_method", None)
    value = getattr(wrapper, "best_threshold_", getattr(wrapper, "threshold", None))
    if method is None or value is None:
        return None
    has_probability = hasattr(_inside(wrapper), "predict_proba")
    on_probability = has_probability if method == "auto" else method == "predict_proba"
    if value == "auto":
        value = 0.5 if on_probability else 0.0
    return Threshold(float(value), on_probability, _positive(wrapper))


def _inside(wrapper: Any) -> Any:
    return getattr(wrapper, "estimator_", wrapper.estimator)  # a wrapper need not be fitted if its estimator is


def _positive(wrapper: Any) -> Any:
    """Return the label that a wrapper calls positive, or None.

    TunedThresholdClassifierCV keeps it in a private scorer (scikit-learn 1.7 to 1.9). Without that the second class is
    taken, and where this is wrong the model's own labels tell.
    """
    kept = getattr(getattr(wrapper, "_curve_scorer", None), "_get_pos_label", None)
    return getattr(wrapper, "pos_label", None) if kept is None else kept()

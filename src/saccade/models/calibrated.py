"""Calibrated probabilities of two classes: a monotone calibrator only moves the margin at which the label changes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.validation import check_is_fitted

from saccade.models.pipelines.features import RefusedError
from saccade.models.tables.pieces import least_numbers

__all__ = ["calibration_of", "margin_of_half", "margin_reaching", "probability_of"]

Reals = NDArray[np.float64]
# What something makes of margins.
OfMargins = Callable[[Reals], NDArray[np.floating]]


def calibration_of(model: CalibratedClassifierCV) -> tuple[Any, Any]:
    """Return the model within, and the calibrator of its margins where there are two classes."""
    check_is_fitted(model)
    inside = model.calibrated_classifiers_
    if len(inside) != 1:
        raise RefusedError(
            model,
            f"averages the probabilities of {len(inside)} calibrated models, which are no sum over columns or trees. "
            "Fit it with ensemble=False.",
        )
    calibrated = inside[0]
    if len(model.classes_) > 2 and calibrated.method != "temperature":
        raise RefusedError(model, "calibrates each of several classes by itself. Pass the model that it calibrates.")
    return calibrated.estimator, calibrated


def probability_of(calibrated: Any, seen: OfMargins, *, by_margin: bool) -> OfMargins:
    """Return the calibrated probability of the second class, as a function of the margin.

    ``seen`` gives what the calibrator sees: the model's decision function, or its probability of the second class.
    """

    def probability(margin: Reals) -> NDArray[np.floating]:
        score = seen(margin)
        if calibrated.method == "temperature":
            pairs = score if by_margin else np.stack([1 - score, score], axis=1)
            given: Reals = calibrated.calibrators[0].predict(pairs)[:, 1]
            return given
        return np.asarray(calibrated.calibrators[0].predict(score))

    return probability


def margin_reaching(model: Any, probability: OfMargins, least: float) -> float:
    """Return the least margin at which a probability that never falls is reached."""
    margin = float(least_numbers(lambda margins: probability(margins) >= least, 1)[0])
    if not abs(margin) < np.finfo(np.float64).max:  # never, or from the least number on
        raise RefusedError(
            model, "is calibrated so that all rows get one label, or that a higher margin gets a lower probability."
        )
    return margin


def margin_of_half(at: Callable[[float], float]) -> float:
    """Return the margin above which the second class has a higher probability than the first.

    ``at`` gives the least margin at which a probability is reached.
    """
    return float(np.nextafter(at(float(np.nextafter(0.5, 1))), -np.inf))

"""Calibrated probabilities: a calibrator over the margin of two classes moves where the label changes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.validation import check_is_fitted

from saccade.models.pipelines.features import RefusedError
from saccade.models.tables.pieces import least_numbers

__all__ = ["calibration_of", "margin_reaching", "probability_of"]

Reals = NDArray[np.float64]


def calibration_of(model: CalibratedClassifierCV) -> tuple[Any, Any]:
    """Return the model within, and the calibrator of its margins where there are two classes."""
    check_is_fitted(model)
    inside = model.calibrated_classifiers_
    if len(inside) != 1:
        raise RefusedError(
            model,
            f"averages the probabilities of {len(inside)} calibrated models, which are no sum over columns. Fit it "
            "with ensemble=False.",
        )
    calibrated = inside[0]
    if len(model.classes_) > 2 and calibrated.method != "temperature":
        raise RefusedError(model, "calibrates each of several classes by itself. Pass the model that it calibrates.")
    return calibrated.estimator, calibrated


def probability_of(calibrated: Any, model: Any) -> Callable[[Reals], Reals]:
    """Return the calibrated probability of the second class, as a function of the margin of the model within."""
    by_margin = hasattr(model, "decision_function")

    def probability(margin: Reals) -> Reals:
        seen = margin if by_margin else 1 / (1 + np.exp(-margin))
        if calibrated.method == "temperature":
            pairs = seen if by_margin else np.stack([1 - seen, seen], axis=1)
            given: Reals = calibrated.calibrators[0].predict(pairs)[:, 1]
            return given
        return np.asarray(calibrated.calibrators[0].predict(seen), dtype=np.float64)

    return probability


def margin_reaching(probability: Callable[[Reals], Reals], least: float) -> float:
    """Return the least margin at which a probability that never falls is reached."""
    return float(least_numbers(lambda margin: probability(margin) >= least, 1)[0])

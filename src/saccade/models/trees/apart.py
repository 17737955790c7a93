"""Trees of any library, or of a file, as an additive model."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline

from saccade.models.calibrated import calibration_of, margin_of_half, margin_reaching, probability_of
from saccade.models.pipelines.features import RefusedError
from saccade.models.thresholds import step_inside, threshold_of
from saccade.models.trees.imported import Imported
from saccade.models.trees.importing import ACCEPTED, imported_from
from saccade.models.trees.lightgbm import are_default
from saccade.models.trees.model import TreeModel
from saccade.models.trees.native import NativeClassifier

__all__ = ["ACCEPTED", "as_classifier", "take_apart"]

# Models that libraries keep beside their classifiers, without labels: LightGBM's and XGBoost's, and CatBoost's.
NATIVE = ("Booster", "CatBoost")
# Up to here the margin from which on a library gives the second label is zero but for rounding.
NEXT_TO_ZERO = 1e-6


def take_apart(model: Any) -> TreeModel | None:
    """Return the trees of a model; None for other models. They are copies: what happens to it later changes nothing."""
    names, threshold = getattr(model, "feature_names_in_", None), threshold_of(model)
    steps: list[Any] = []
    calibrators: list[Any] = []
    while (inside := step_inside(model)) is not None:
        if isinstance(model, CalibratedClassifierCV):
            calibrators.append(model)
        if isinstance(model, Pipeline):
            steps += [step for _, step in model.steps if step not in (None, "passthrough", inside)]
        model = inside
        if threshold is None and not calibrators:  # calibrators see scores, whatever thresholds there are within
            threshold = threshold_of(model)
    trees = _trees(model, names)
    if trees is None:
        return None
    if steps:
        raise TypeError(
            f"{type(steps[0]).__name__} stands before the trees of {type(model).__name__} in a Pipeline. Pass the "
            "classifier alone, and rows as the steps before it make them."
        )
    calibrations = [calibration_of(calibrator)[1] for calibrator in calibrators]
    if calibrations and trees.classes.size == 2:  # one temperature for several classes changes no label
        trees, at = _calibrated(trees, model, calibrations)
        margin = margin_of_half(at) if threshold is None else threshold.margin(model, trees.classes, at, exact=True)
        return trees.counted_from(margin)
    if threshold is None:
        return trees
    return trees.counted_from(threshold.margin(model, trees.classes, trees.margin_at))


def _calibrated(trees: TreeModel, model: Any, calibrations: list[Any]) -> tuple[TreeModel, Callable[[float], float]]:
    """Return trees, and the margin that reaches a calibrated probability. The last calibration is of the trees."""
    assert trees.witness is not None
    by_margin, probability = hasattr(model, "decision_function"), trees.witness.probability
    if by_margin:
        probability = _itself
    elif trees.ensemble.slope is None:
        trees, probability = _second_alone(trees, model), _itself
    if probability is None:
        raise RefusedError(model, "has two scores, and what is calibrated is no function of their difference.")
    for calibrated in reversed(calibrations):
        probability, by_margin = probability_of(calibrated, probability, by_margin=by_margin), False
    return trees, partial(margin_reaching, model, probability)


def _second_alone(trees: TreeModel, model: Any) -> TreeModel:
    """Return a forest with the probability of the second class as its margin, rather than the two's difference."""
    ensemble = trees.ensemble
    value = np.ascontiguousarray(ensemble.nodes.value[:, 1:])
    ensemble = replace(
        ensemble, nodes=ensemble.nodes._replace(value=value), sum=replace(ensemble.sum, start=ensemble.sum.start[1:])
    )
    assert trees.witness is not None
    witness = replace(trees.witness, ensemble=ensemble, margins=lambda X: model.predict_proba(X)[:, 1:])
    return replace(trees, ensemble=ensemble, witness=witness)


def _itself(margin: NDArray[np.float64]) -> NDArray[np.float64]:
    return margin


def _trees(model: Any, names: Any) -> TreeModel | None:
    imported = model.imported if isinstance(model, NativeClassifier) else imported_from(model)
    if imported is None:
        return None
    # LightGBM 4.5 and 4.6 have feature_names_in_ even where arrays without names were fitted.
    given = None if names is None or are_default(names) else tuple(map(str, names))
    return replace(_model_of(imported, imported.columns or given), witness=imported)


def _model_of(imported: Imported, columns: tuple[str, ...] | None) -> TreeModel:
    trees = TreeModel(imported.ensemble, imported.classes, columns, imported.categories, imported.absent)
    second_from = imported.ensemble.sum.positive_from
    if imported.ensemble.n_scores > 1 or abs(second_from) <= NEXT_TO_ZERO:
        return trees
    # CatBoost's probability threshold, or XGBClassifier with binary:logitraw: the label changes elsewhere.
    return trees.counted_from(math.nextafter(second_from, -math.inf))


def as_classifier(model: Any) -> Any:
    """Return a model that gives labels: itself, unless it is a library's native one, which gives probabilities."""
    if type(model).__name__ not in NATIVE:
        return model
    return NativeClassifier(model) if imported_from(model) is not None else model

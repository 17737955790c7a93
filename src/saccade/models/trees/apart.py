"""Trees of any library, or of a file, as an additive model."""

import math
from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

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
    calibrated = False
    while (inside := step_inside(model)) is not None:
        calibrated = calibrated or hasattr(model, "calibrated_classifiers_")
        if isinstance(model, Pipeline):
            steps += [step for _, step in model.steps if step not in (None, "passthrough", inside)]
        model = inside
        threshold = threshold_of(model) if threshold is None else threshold
    trees = _trees(model, names)
    if trees is None:
        return None
    if calibrated:
        raise TypeError(
            f"CalibratedClassifierCV changes the probabilities of {type(model).__name__}. Pass the classifier alone, "
            "with threshold= where the label is to change elsewhere."
        )
    if steps:
        raise TypeError(
            f"{type(steps[0]).__name__} stands before the trees of {type(model).__name__} in a Pipeline. Pass the "
            "classifier alone, and rows as the steps before it make them."
        )
    if threshold is None:
        return trees
    return trees.counted_from(threshold.margin(model, trees.classes, trees.margin_at))


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

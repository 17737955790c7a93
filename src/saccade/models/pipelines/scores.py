"""The classifier at the end of a pipeline, and the wrappers around classifiers: scores as weighted features."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from saccade.models.bayes import steps_and_weights
from saccade.models.calibrated import calibration_of, margin_of_half, margin_reaching, probability_of
from saccade.models.linear import check_scores, margin_at, weights_of
from saccade.models.pipelines.features import Blocks, RefusedError, concatenated, counted
from saccade.models.pipelines.steps import transformed
from saccade.models.thresholds import step_inside, threshold_of

__all__ = ["Scored", "scored"]

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores that are sums of features: one for two classes, else one for each."""

    blocks: Blocks
    coef: Reals  # (scores, features)
    intercept: Reals  # (scores,)
    classes: NDArray[Any]
    decides: Any  # the classifier itself, without what stands around or before it
    # The margin from which on the second of two classes has this probability.
    margin_at: Callable[[float], float]
    moved: float = 0.0  # by how much thresholds have lowered the intercept

    @property
    def unmoved(self) -> "Scored":
        """The scores as the model's decision function gives them, which knows nothing of thresholds."""
        at, moved = self.margin_at, self.moved
        return replace(
            self, intercept=self.intercept + moved, margin_at=lambda probability: at(probability) + moved, moved=0.0
        )

    def minus(self, threshold: float, margin_at: Callable[[float], float] | None = None) -> "Scored":
        """Return the scores as they count from a threshold, with probabilities of their own or those before."""
        before = margin_at or self.margin_at
        return replace(
            self,
            intercept=self.intercept - threshold,
            margin_at=lambda probability: before(probability) - threshold,
            moved=self.moved + threshold,
        )


def scored(model: Any, blocks: Blocks) -> Scored | None:
    """Return what a fitted classifier, in whatever wrappers, makes of some features; None for one of another kind."""
    if isinstance(model, Pipeline):
        *before, last = [step for _, step in model.steps if step not in (None, "passthrough")] or [None]
        for step in before:
            blocks = transformed(step, blocks, None)
        return None if last is None else scored(last, blocks)
    if isinstance(model, FrozenEstimator):
        return scored(model.estimator, blocks)
    threshold = threshold_of(model)
    if threshold is not None:
        inside = scored(step_inside(model), blocks)
        if inside is None:
            return None
        inside = inside.unmoved
        return inside.minus(threshold.margin(inside.decides, inside.classes, inside.margin_at))
    if isinstance(model, CalibratedClassifierCV):
        return _calibrated(model, blocks)
    if hasattr(model, "best_estimator_"):  # GridSearchCV and its kin
        return scored(model.best_estimator_, blocks)
    if isinstance(model, OneVsRestClassifier):
        return _one_vs_rest(model, blocks)
    if isinstance(model, StackingClassifier):
        return _stacked(model, blocks)
    if isinstance(model, VotingClassifier):
        raise RefusedError(
            model,
            "adds up votes or probabilities, which are no sums over columns. Pass one of its members, or stack them by "
            "their decision functions (StackingClassifier with stack_method='decision_function').",
        )
    if isinstance(model, OutputCodeClassifier):
        raise RefusedError(model, "compares codes, and has no score for each class.")
    return _bare(model, blocks)


def _bare(model: Any, blocks: Blocks) -> Scored | None:
    if hasattr(model, "fit"):
        check_is_fitted(model)
    likelihoods = steps_and_weights(model)
    if likelihoods is not None:
        _check_width(model, len(likelihoods.maps), blocks)
        coef, intercept, classes = likelihoods[1:]
        return Scored(likelihoods.behind(blocks), coef, intercept, classes, model, partial(margin_at, model))
    weights = weights_of(model)
    if weights is None:
        return None
    coef, intercept, classes = weights
    _check_width(model, coef.shape[1], blocks)
    return Scored(blocks, coef, intercept, classes, model, partial(margin_at, model))


def _check_width(model: Any, width: int, blocks: Blocks) -> None:
    if width != counted(blocks):
        raise RefusedError(model, f"has weights for {width} features, and gets {counted(blocks)}.")


def _calibrated(model: CalibratedClassifierCV, blocks: Blocks) -> Scored | None:
    estimator, calibrated = calibration_of(model)
    inside = scored(estimator, blocks)
    if inside is None or inside.classes.size > 2:  # one temperature for all classes changes no label
        return inside
    inside = inside.unmoved
    by_margin = hasattr(inside.decides, "decision_function")
    probability = probability_of(calibrated, _itself if by_margin else _logistic, by_margin=by_margin)
    at = partial(margin_reaching, model, probability)
    return inside.minus(margin_of_half(at), at)


def _itself(margin: Reals) -> Reals:
    return margin


def _logistic(margin: Reals) -> Reals:
    return 1 / (1 + np.exp(-margin))


def _one_vs_rest(model: OneVsRestClassifier, blocks: Blocks) -> Scored | None:
    check_is_fitted(model)
    if getattr(model, "multilabel_", False):
        raise RefusedError(model, "was fitted on several targets (multilabel). Fit a model for each.")
    by_margin = [hasattr(member, "decision_function") for member in model.estimators_]
    if len(by_margin) > 1 and not all(by_margin):
        raise RefusedError(model, "compares probabilities of its members, which are no sums over columns.")
    members = [scored(member, blocks) for member in model.estimators_]
    known = [member for member in members if member is not None]
    if len(known) < len(members):
        return None
    for member in known:
        if not hasattr(member.decides, "decision_function"):
            raise RefusedError(model, "compares probabilities of its members, which are no sums over columns.")
    # Else the only member is calibrated, and half is the probability that counts.
    known = [member.unmoved if by else member for member, by in zip(known, by_margin, strict=True)]
    return _joined(
        [member.blocks for member in known],
        [member.coef for member in known],
        np.concatenate([member.intercept for member in known]),
        np.array(model.classes_),
        model,
    )


def _stacked(model: StackingClassifier, blocks: Blocks) -> Scored | None:
    check_is_fitted(model)
    methods = {method for method in model.stack_method_ if method is not None}
    if methods != {"decision_function"} or model.passthrough:
        raise RefusedError(
            model,
            "adds up what its members predict, which are no sums over columns unless stack_method='decision_function' "
            "and passthrough=False.",
        )
    last = weights_of(model.final_estimator_)
    members = [scored(member, blocks) for member in model.estimators_]
    known = [member.unmoved for member in members if member is not None]
    if last is None or len(known) < len(members):
        return None
    coef, intercept, _ = last
    check_scores(model.final_estimator_, coef, np.array(model.classes_))
    own = np.split(coef, np.cumsum([member.intercept.size for member in known])[:-1], axis=1)
    total = intercept + sum(weight @ member.intercept for weight, member in zip(own, known, strict=True))
    weighed = [weight @ member.coef for weight, member in zip(own, known, strict=True)]
    together = concatenated([member.blocks for member in known])
    return Scored(
        together,
        np.concatenate(weighed, axis=1),
        total,
        np.array(model.classes_),
        model.final_estimator_,
        partial(margin_at, model.final_estimator_),
    )


def _joined(
    blocks: Sequence[Blocks], coefs: Sequence[Reals], intercept: Reals, classes: NDArray[Any], decides: Any
) -> Scored:
    """Return scores of several models side by side, each over its own features."""
    widths = np.cumsum([0, *(coef.shape[1] for coef in coefs)])
    heights = np.cumsum([0, *(coef.shape[0] for coef in coefs)])
    coef = np.zeros((int(heights[-1]), int(widths[-1])))
    for k, own in enumerate(coefs):
        coef[heights[k] : heights[k + 1], widths[k] : widths[k + 1]] = own
    return Scored(concatenated(blocks), coef, intercept, classes, decides, partial(margin_at, decides))

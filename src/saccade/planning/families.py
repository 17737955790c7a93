"""Families of plans, from the safest to the boldest, and what they are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.planning.narrowed import Narrowed
from saccade.planning.orders import magnitude
from saccade.planning.paths import PathPrices
from saccade.planning.prices import Prices
from saccade.planning.regression import Regression
from saccade.promises.labels import Labels
from saccade.promises.promise import Allowed, Promise
from saccade.reading.plan import Plan

__all__ = ["Families", "Family", "Goal", "Predictor", "Priced", "Scores", "lead", "plain_sums", "plan_of", "whole_plan"]

Reals = NDArray[np.float64]


class Scores(Protocol):
    """What planning sees of an additive model: how each part counts in each score."""

    @property
    def coef(self) -> Reals:
        """(scores, parts)."""

    @property
    def intercept(self) -> Reals:
        """(scores,)."""

    @property
    def unit(self) -> NDArray[np.uint32]:
        """(parts,) the unit that each part is read and counted with; empty where each is one of its own."""

    @property
    def each_needs_one(self) -> bool:
        """Whether the parts of each unit need one column, the one in its place."""

    @property
    def of_trees(self) -> bool:
        """Whether a part is a tree, or an output of one."""


@dataclass(frozen=True)
class Priced:
    """An additive model's scores, and what each of its parts costs."""

    scores: Scores
    prices: Prices | PathPrices
    purchases: Prices  # of columns
    looking: bool  # whether a checkpoint costs anything, too
    narrowed: Narrowed | None = None  # the scores themselves, where they are over some of the columns alone

    @property
    def magnitude(self) -> Reals:
        """Return how much each part that can be read weighs in the decision, for the orders that go by it."""
        return magnitude(self.scores.coef[:, : self.scores.coef.shape[1] - self.unread])

    @property
    def unread(self) -> int:
        """How many parts, the last ones, no plan reads by themselves."""
        return 0 if self.narrowed is None else self.narrowed.unread


@dataclass(frozen=True)
class Family:
    """Plans by a setting, such as the multiple z of σ_k that a margin must reach; the safest setting comes first."""

    settings: Reals
    plan: Callable[[float], Plan]


@dataclass(frozen=True)
class Families:
    """Plans for any level of a promise; what does not depend on the level is done once for all."""

    regression: Regression  # of the scores on the parts
    tuned: Callable[[Promise], Family]


@dataclass(frozen=True)
class Goal:
    """What plans are tuned for: labels of the planning rows, and the calibration that they will have to pass."""

    labels: Labels
    n_calibration: int
    confidence: float

    def allowed(self, promise: Promise) -> Allowed:
        """Return which errors the calibration rows are expected to allow."""
        shares = np.bincount(self.labels.full, minlength=self.labels.n_classes) / self.labels.full.size
        return promise.allowed(shares, self.n_calibration, self.confidence)


def lead(margin: Reals) -> Reals:
    """Return how far each row (rows, scores) is from the decision: |margin|, or the gap between the two best scores."""
    if margin.shape[1] == 1:
        return np.abs(margin[:, 0])
    best: Reals = np.partition(margin, -2, axis=1)[:, -2:]
    gap: Reals = best[:, 1] - best[:, 0]
    return gap


@dataclass(frozen=True)
class Predictor:
    """Affine predictor of the scores at a checkpoint: weights · values[first:size] + shift."""

    size: int
    first: int
    weights: Reals  # (scores, size - first)
    shift: Reals  # (scores,)


def plain_sums(coef: Reals, expected: Reals, sizes: list[int]) -> list[Predictor]:
    """Return predictors that sum what was read and add what is expected of the rest; arrays in reading order."""
    predictors, first = [], 0
    for size in sizes:
        shift = expected[:, size:].sum(axis=1) if first == 0 else -expected[:, first:size].sum(axis=1)
        predictors.append(Predictor(size, first, coef[:, first:size], shift))
        first = size
    return predictors


def plan_of(scores: Scores, order: NDArray[np.intp], predictors: list[Predictor], demanded: Reals) -> Plan:
    """Return the plan that looks at a row by each predictor in turn.

    ``demanded`` says by how much a row must be clear at each checkpoint: for all classes alike, or, with a row per
    class, by the class that it would be decided for.
    """
    last = predictors[-1].size if predictors else 0
    shift = [predictor.shift + (0.0 if predictor.first else scores.intercept) for predictor in predictors]
    weighed = np.array([0, *(predictor.size - predictor.first for predictor in predictors)], dtype=np.int64)
    none = np.zeros((scores.intercept.size, 0))
    lower, upper = _thresholds(demanded, scores.intercept.size)
    return Plan(
        order=order[:last].astype(np.uint32),
        checkpoints=np.array([predictor.size for predictor in predictors], dtype=np.int64),
        first=np.array([predictor.first for predictor in predictors], dtype=np.int64),
        begins=np.cumsum(weighed)[: len(predictors)],
        weights=np.ascontiguousarray(np.concatenate([none, *(predictor.weights for predictor in predictors)], axis=1)),
        shift=np.ascontiguousarray(np.stack(shift, axis=1)) if predictors else none,
        lower=lower,
        upper=upper,
        coef=scores.coef,
        intercept=scores.intercept,
        unit=scores.unit,
        of_trees=scores.of_trees,
    )


def _thresholds(demanded: Reals, scores: int) -> tuple[Reals, Reals]:
    """Return lower and upper thresholds (scores, checkpoints): of one score's two sides, or of the lead of each."""
    by_class = np.broadcast_to(demanded, (2 if scores == 1 else scores, demanded.shape[-1]))
    if scores == 1:
        return -by_class[:1], by_class[1:].copy()
    return np.full(by_class.shape, -np.inf), by_class.copy()


def whole_plan(scores: Scores) -> Plan:
    """Return the plan that reads every part."""
    return Plan.in_full(scores.coef, scores.intercept, scores.unit, scores.of_trees)

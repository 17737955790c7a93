"""Families of plans, from the safest to the boldest, and what they are made of."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.planning.prices import Prices
from saccade.planning.regression import Regression
from saccade.reading.plan import Plan

__all__ = ["Family", "Line", "Scores", "lead", "plain_sums", "plan_of_lines"]

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """Linear scores, one or one per class, and what each of their features costs."""

    coef: Reals  # (scores, n_features)
    intercept: Reals  # (scores,)
    prices: Prices
    looking: bool  # whether looking at what was read costs anything, too

    @property
    def magnitude(self) -> Reals:
        """Return how much each feature weighs in the decision, for the orders that go by it."""
        if self.coef.shape[0] == 1:
            weight: Reals = self.coef[0]
            return weight
        apart: Reals = np.sqrt(((self.coef - self.coef.mean(axis=0)) ** 2).sum(axis=0))
        return apart


@dataclass(frozen=True)
class Family:
    """Plans by how clear a margin must be; ``settings`` begin with the safest."""

    settings: Reals
    plan: Callable[[float], Plan]
    regression: Regression  # what the features tell about the scores and about each other


def lead(margin: Reals) -> Reals:
    """Return how far each row (rows, scores) is from the decision: the one margin, or the gap between the two best."""
    if margin.shape[1] == 1:
        return np.abs(margin[:, 0])
    best: Reals = np.partition(margin, -2, axis=1)[:, -2:]
    gap: Reals = best[:, 1] - best[:, 0]
    return gap


@dataclass(frozen=True)
class Line:
    """What one checkpoint weighs: the values from a position on, and what it adds, for each score."""

    size: int
    first: int
    weights: Reals  # (scores, size - first)
    shift: Reals  # (scores,)


def plain_sums(coef: Reals, expected: Reals, sizes: list[int]) -> list[Line]:
    """Return checkpoints that sum what was read and add what is expected of the rest; arrays in reading order."""
    lines, first = [], 0
    for size in sizes:
        shift = expected[:, size:].sum(axis=1) if first == 0 else -expected[:, first:size].sum(axis=1)
        lines.append(Line(size, first, coef[:, first:size], shift))
        first = size
    return lines


def plan_of_lines(scores: Scores, features: NDArray[np.intp], lines: list[Line], upper: Reals) -> Plan:
    last = lines[-1].size if lines else 0
    shift = [line.shift + (0.0 if line.first else scores.intercept) for line in lines]
    weighed = np.array([0, *(line.size - line.first for line in lines)], dtype=np.int64)
    none = np.zeros((scores.intercept.size, 0))
    return Plan(
        order=features[:last].astype(np.uint32),
        checkpoints=np.array([line.size for line in lines], dtype=np.int64),
        first=np.array([line.first for line in lines], dtype=np.int64),
        begins=np.cumsum(weighed)[: len(lines)],
        weights=np.ascontiguousarray(np.concatenate([none, *(line.weights for line in lines)], axis=1)),
        shift=np.ascontiguousarray(np.stack(shift, axis=1)) if lines else none,
        lower=-upper,
        upper=upper,
        coef=scores.coef,
        offset=scores.intercept,
    )

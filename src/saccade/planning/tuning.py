"""Thresholds and checkpoints of least expected cost among those whose errors a promise allows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.planning.changes import Changes
from saccade.planning.trials import Trial
from saccade.promises.promise import Allowed, Promise

__all__ = ["Choice", "tune"]

Reals = NDArray[np.float64]

# Multiples z of the residual standard deviation σ_k that a margin must reach, from the safest to the boldest. The first
# never stops.
Z_GRID = np.concatenate([[np.inf], np.geomspace(8.0, 0.25, 40)])
# Up to this number of classes have thresholds of their own; each of more would have a few rows.
MOST_APART = 32
# The same while checkpoints are chosen: with more, that would take minutes.
MOST_APART_BEFORE = 3


@dataclass(frozen=True)
class Choice:
    """Some of the candidate checkpoints, and what each class demands there."""

    checkpoints: NDArray[np.intp]
    z: Reals  # (classes,) the smallest multiples of σ_k, by the class decided for, whose errors are allowed

    def thresholds(self, factor: float, sigma: Reals) -> Reals:
        """Return the thresholds (classes, checkpoints) at a multiple of those that were tuned."""
        return factor * self.z[:, None] * sigma[self.checkpoints]


def tune(trial: Trial, promise: Promise, allowed: Allowed) -> Choice:
    """Choose checkpoints and thresholds by class for the least cost among those whose errors are allowed.

    This is backward elimination, from all candidates on: a checkpoint is dropped if that costs no more, again and
    again. A look costs time, and is a chance to be wrong.
    """
    changes = Changes.of(trial, promise)
    best = _Thresholds(trial, changes, allowed, np.arange(trial.sizes.size)).lowered(MOST_APART_BEFORE)
    dropped = True
    while dropped:
        dropped = False
        for k in best.checkpoints[:-1]:
            chosen = best.checkpoints
            after = chosen[np.searchsorted(chosen, k) + 1]
            if not trial.continues[after]:
                fewer = _Thresholds(trial, changes, allowed, chosen[chosen != k]).lowered(MOST_APART_BEFORE)
                if fewer.cost() <= best.cost():
                    best, dropped = fewer, True
    return Choice(best.checkpoints, Z_GRID[best.lowered(MOST_APART).steps])


class _Thresholds:
    """The place of each class in the grid, from the safest on, at some checkpoints."""

    def __init__(self, trial: Trial, changes: Changes, allowed: Allowed, checkpoints: NDArray[np.intp]) -> None:
        self.checkpoints, self._allowed = checkpoints, allowed
        self._label = trial.predicted.label[:, checkpoints]
        self._reached = trial.predicted.lead[:, checkpoints] / trial.predicted.sigma[checkpoints]
        looks = np.cumsum(trial.checking[checkpoints])
        everything = trial.everything[:, None] + looks[-1]
        self._spent = np.concatenate([trial.spent[:, checkpoints] + looks, everything], axis=1)
        self._rows = np.arange(trial.spent.shape[0]) if trial.spent.shape[0] > 1 else 0
        self._curves = changes.by_threshold(self._reached, checkpoints, Z_GRID)
        self.steps = np.zeros(trial.labels.n_classes, dtype=np.intp)

    def lowered(self, most_apart: int) -> "_Thresholds":
        """Lower thresholds while errors are allowed: first of all classes together, then of each of a few alone."""
        n = self.steps.size
        together, alone = [np.ones(n, dtype=bool)], list(np.eye(n, dtype=bool)) if n <= most_apart else []
        for moves in (together, alone):
            while moves:
                moves = [move for move in moves if self._lower(move)]
        return self

    def _lower(self, move: NDArray[np.bool_]) -> bool:
        lower = np.minimum(self.steps + move, Z_GRID.size - 1)
        if (lower == self.steps).all() or not self._allowed(self._curves.at(lower)):
            return False
        self.steps = lower
        return True

    def cost(self) -> float:
        """Return the mean cost of a row."""
        stops = self._reached >= Z_GRID[self.steps][self._label]
        at = np.where(stops.any(axis=1), stops.argmax(axis=1), stops.shape[1])
        return float(self._spent[self._rows, at].mean())

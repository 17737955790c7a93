"""Thresholds and checkpoints of least expected cost among those whose errors a promise allows."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saccade.planning.changes import Changes
from saccade.planning.trials import Trial
from saccade.promises.promise import Allowed, Promise

__all__ = ["Choice", "tune"]

Reals = NDArray[np.float64]

# Exponents p in the threshold τ_k = z·σ_k·(k/16)^p after k features.
EXPONENTS = (-0.1, 0.0, 0.1)
# Multiples z of the residual standard deviation σ_k that a margin must reach, from the safest to the boldest. The first
# never stops.
Z_GRID = np.concatenate([[np.inf], np.geomspace(8.0, 0.25, 40)])
# The last checkpoint may decide every row (a forced decision) if that uses at most this share of the allowed errors.
CLOSING = 0.1
# The forced-decision threshold is annealed to 0 between these multiples of the thresholds that were tuned for.
CLOSING_BEGINS, CLOSING_ENDS = 2.5, 1.5
# A forced decision is made after at least so many features.
FEWEST_AT_THE_CLOSE = 16
# By so many steps of the grid one class's threshold is raised, to see whether lower ones for the others pay for it.
TRADED = 3
# So many classes have thresholds of their own; of more, all go on together, because each would have a few rows.
MOST_APART = 32
# So many have them already while checkpoints are chosen: with more, that would take minutes.
MOST_APART_BEFORE = 3


@dataclass(frozen=True)
class Choice:
    """Some of the candidate checkpoints, whether the last of them is a forced decision, and what each class demands."""

    exponent: float
    checkpoints: NDArray[np.intp]
    closes: bool
    z: Reals  # (classes,) the boldest multiples of σ_k, by the class decided for, whose errors are allowed

    def thresholds(self, factor: float, demanded: Reals) -> Reals:
        """Return the thresholds (classes, checkpoints) at a multiple of those that were tuned for.

        The forced-decision threshold is annealed to 0 well before: where it errs too often, settings before that are
        certified, and few rows are read to the end.
        """
        upper = factor * self.z[:, None] * demanded
        if self.closes:
            kept = np.clip((factor - CLOSING_ENDS) / (CLOSING_BEGINS - CLOSING_ENDS), 0.0, 1.0)
            upper[:, -1] = kept * upper[:, -1] if kept else 0.0
        return upper


def tune(trial: Trial, promise: Promise, allowed: Allowed) -> Choice:
    """Choose exponent, checkpoints and thresholds by class for the least cost among those whose errors are allowed.

    First the exponent and the last checkpoint, with all others before it; then backward elimination: each checkpoint
    in turn is dropped if that costs no more, again and again. A look costs time, and is a chance to be wrong.
    At the end the classes' thresholds are traded against each other.
    """
    changes = Changes.of(trial, promise)
    never = np.full(trial.labels.n_classes, np.inf)

    def tried(choice: Choice) -> "_Thresholds":
        return _Thresholds(trial, changes, allowed, choice).gone_on(MOST_APART_BEFORE)

    may_close = [
        int(k) for k in np.flatnonzero(trial.sizes[:-1] >= FEWEST_AT_THE_CLOSE) if allowed(changes.at(int(k)) / CLOSING)
    ]
    best = min(
        (
            tried(Choice(exponent, np.arange(last + 1), last in may_close, never))
            for exponent in EXPONENTS
            for last in [*may_close, trial.sizes.size - 1]
        ),
        key=_Thresholds.cost,
    )
    dropped = True
    while dropped:
        dropped = False
        for k in best.choice.checkpoints[:-1]:
            chosen = best.choice.checkpoints
            after = chosen[np.searchsorted(chosen, k) + 1]
            if not trial.continues[after]:
                fewer = tried(replace(best.choice, checkpoints=chosen[chosen != k]))
                if fewer.cost() <= best.cost():
                    best, dropped = fewer, True
    return best.gone_on(MOST_APART).traded().choice_made()


class _Thresholds:
    """How many steps of the grid each class has gone, from the safest on, at the checkpoints of a choice."""

    def __init__(self, trial: Trial, changes: Changes, allowed: Allowed, choice: Choice) -> None:
        chosen = choice.checkpoints
        self.choice, self._allowed = choice, allowed
        self._label = trial.predicted.label[:, chosen]
        self._reached = trial.predicted.lead[:, chosen] / trial.demanded(choice.exponent)[chosen]
        looks = np.cumsum(trial.checking[chosen])
        everything = trial.everything[:, None] + looks[-1]
        self._spent = np.concatenate([trial.spent[:, chosen] + looks, everything], axis=1)
        self._rows = np.arange(trial.spent.shape[0]) if trial.spent.shape[0] > 1 else 0
        self._curves = changes.by_threshold(self._reached, chosen, Z_GRID)
        self._closing = changes.at(int(chosen[-1])) if choice.closes else 0.0
        self.steps = np.zeros(trial.labels.n_classes, dtype=np.intp)

    def gone_on(self, most_apart: int) -> "_Thresholds":
        """Go on while errors are allowed: up to so many classes each as far as it can."""
        self.steps = self._boldest(self.steps, np.ones(self.steps.size, dtype=bool), most_apart)
        return self

    def cost(self) -> float:
        """Return the mean cost of a row."""
        return self._cost(self.steps)

    def traded(self) -> "_Thresholds":
        """Raise one class's threshold, to lower the others', while that saves anything."""
        least, saved = self.cost(), True
        while saved:
            saved = False
            for c in range(self.steps.size if self.steps.size <= MOST_APART else 0):
                raised = self.steps.copy()
                raised[c] = max(raised[c] - TRADED, 0)
                steps = self._boldest(raised, np.arange(raised.size) != c, MOST_APART)
                if self._cost(steps) < least:
                    self.steps, least, saved = steps, self._cost(steps), True
        return self

    def choice_made(self) -> Choice:
        return replace(self.choice, z=Z_GRID[self.steps])

    def _boldest(self, steps: NDArray[np.intp], free: NDArray[np.bool_], most_apart: int) -> NDArray[np.intp]:
        """Go on with some classes while errors are allowed: first all of them together, then each alone."""
        alone = list(np.eye(steps.size, dtype=bool)[free]) if steps.size <= most_apart else []
        for moves in ([free], alone):
            going_on = moves
            while going_on:
                moves, going_on = going_on, []
                for move in moves:
                    bolder = np.minimum(steps + move, Z_GRID.size - 1)
                    if (bolder > steps).any() and self._allows(bolder):
                        steps = bolder
                        going_on.append(move)
        return steps

    def _allows(self, steps: NDArray[np.intp]) -> bool:
        return self._allowed(self._curves.at(steps) + self._closing)

    def _cost(self, steps: NDArray[np.intp]) -> float:
        stops = self._reached >= Z_GRID[steps][self._label]
        last = stops.shape[1] - 1
        at = np.where(stops.any(axis=1), stops.argmax(axis=1), last if self.choice.closes else last + 1)
        return float(self._spent[self._rows, at].mean())

"""Which thresholds and which checkpoints: what would have cost least on rows that the regression did not see."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.families import Predictor, Priced, lead
from saccade.planning.regression import emphasis
from saccade.reading.plan import decided

__all__ = ["CLEARNESS", "Choice", "Trial", "try_predictors", "tune"]

Reals = NDArray[np.float64]

# By which power of the number of features read the thresholds may fall beyond the spread, or rise.
TILTS = (-0.1, 0.0, 0.1)
# How clear a margin must be, in spreads, from the safest to the boldest.
CLEARNESS = np.geomspace(8.0, 0.25, 120)
# A plan may decide every row at its last checkpoint where this uses at most this share of the errors allowed.
CLOSING = 0.1
# Closing begins and ends at these multiples of the clearness that was tuned for.
CLOSING_BEGINS, CLOSING_ENDS = 2.5, 1.5
# A last checkpoint that decides every row has read at least so many features.
FEWEST_AT_THE_CLOSE = 16
# What it costs to look at a row, and to weigh one value, where reading a feature costs 1: roughly as measured, in time.
LOOKING, WEIGHING = 0.8, 0.05


@dataclass(frozen=True)
class Trial:
    """What every candidate checkpoint would say of some rows, and what it costs to come to it."""

    clear: Reals  # (rows, checkpoints) how far from the decision the row seems
    wrong: NDArray[np.bool_]  # (rows, checkpoints) whether the label would be another than the full one
    spread: Reals  # (checkpoints,) how far off the prediction is, in the mean square of rows near the decision
    sizes: NDArray[np.int64]  # features read
    spent: Reals  # what these features cost
    checking: Reals  # what looking costs
    everything: float  # what reading every feature costs
    carries_on: NDArray[np.bool_]  # whether a checkpoint needs the one before it

    def demanded(self, tilt: float) -> Reals:
        """Return what each checkpoint demands of a margin, up to a factor."""
        product: Reals = self.spread * (self.sizes / 16.0) ** tilt
        return product


def try_predictors(
    priced: Priced,
    predictors: list[Predictor],
    features: NDArray[np.intp],
    X: NDArray[np.floating[Any]],
    full: Reals,
    focus: float,
) -> Trial:
    """Look at rows at every checkpoint, and at how far off each prediction is of what it decides by."""
    labels, rows, count = decided(full), np.arange(X.shape[0]), len(predictors)
    clear, off = np.empty((rows.size, count)), np.empty((rows.size, count))
    wrong = np.empty((rows.size, count), dtype=bool)
    predicted = np.zeros_like(full)
    for k, one in enumerate(predictors):
        before = predicted if one.first else priced.scores.intercept
        predicted = before + X[:, features[one.first : one.size]] @ one.weights.T + one.shift
        said = decided(predicted)
        clear[:, k], wrong[:, k] = lead(predicted), said != labels
        if full.shape[1] == 1:
            off[:, k] = predicted[:, 0] - full[:, 0]
        else:
            best, second = np.argsort(predicted, axis=1)[:, [-1, -2]].T
            off[:, k] = clear[:, k] - (full[rows, best] - full[rows, second])
    sizes = np.array([one.size for one in predictors], dtype=np.int64)
    weighed = np.array([one.size - one.first for one in predictors])
    return Trial(
        clear=clear,
        wrong=wrong,
        spread=np.sqrt(np.maximum(emphasis(lead(full), focus) @ off**2, 1e-300)),
        sizes=sizes,
        spent=priced.prices.spent(features)[sizes - 1],
        checking=priced.looking * (LOOKING + WEIGHING * weighed * priced.scores.intercept.size),
        everything=float(priced.prices.price.sum()),
        carries_on=np.array([one.first > 0 for one in predictors]),
    )


@dataclass(frozen=True)
class Choice:
    """Some of the candidate checkpoints, and whether the last of them decides every row."""

    tilt: float
    checkpoints: NDArray[np.intp]
    closes: bool
    clearness: float = np.inf  # the boldest at which the errors are allowed

    def thresholds(self, clearness: float, demanded: Reals) -> Reals:
        """Return what the checkpoints demand at a clearness.

        A last checkpoint that closes does so by and by, well before the clearness that was tuned for: where its errors
        turn out to be too many, settings before that are certified, and few rows are read to the end.
        """
        upper = clearness * demanded
        if self.closes:
            begun, done = CLOSING_BEGINS * self.clearness, CLOSING_ENDS * self.clearness
            upper[-1] *= np.clip((clearness - done) / (begun - done), 0.0, 1.0)
        return upper


def tune(trial: Trial, allowed: float) -> Choice:
    """Choose tilt and checkpoints for the least cost among those whose share of errors is allowed.

    First the tilt and the last checkpoint, with all others before it; then, one after another, the checkpoints are
    dropped whose absence saves most: each look costs time, and is one more chance to be wrong.
    """
    count = trial.sizes.size
    may_close = (trial.sizes >= FEWEST_AT_THE_CLOSE) & (trial.wrong.mean(axis=0) <= CLOSING * allowed)
    choices = [
        Choice(tilt, np.arange(last + 1), closes)
        for tilt in TILTS
        for last, closes in [*((int(k), True) for k in np.flatnonzero(may_close[:-1])), (count - 1, False)]
    ]
    cost, choice = min((_tried(trial, choice, allowed) for choice in choices), key=lambda one: one[0])
    while choice.checkpoints.size > 1:
        droppable = choice.checkpoints[:-1][~trial.carries_on[choice.checkpoints[1:]]]
        if droppable.size == 0:
            break
        fewer = [Choice(choice.tilt, np.setdiff1d(choice.checkpoints, [k]), choice.closes) for k in droppable]
        best, dropped = min((_tried(trial, one, allowed) for one in fewer), key=lambda one: one[0])
        if best > cost:
            break
        cost, choice = best, dropped
    return choice


def _tried(trial: Trial, choice: Choice, allowed: float) -> tuple[float, Choice]:
    """Return the mean cost of a row with the boldest thresholds, coming from the safest, that err rarely enough."""
    chosen = choice.checkpoints
    demanded = trial.demanded(choice.tilt)[chosen]
    clear = np.maximum.accumulate(trial.clear[:, chosen] / demanded, axis=1)
    wrong, looks = trial.wrong[:, chosen], np.cumsum(trial.checking[chosen])
    spent = np.append(trial.spent[chosen] + looks, trial.everything + looks[-1])
    rows, last = np.arange(clear.shape[0]), chosen.size - 1
    best, boldest = float(spent[-1]), np.inf
    for clearness in CLEARNESS[::4]:
        stop = (clear < clearness).sum(axis=1)
        if choice.closes:
            stop = np.minimum(stop, last)
        errors = wrong[rows, np.minimum(stop, last)] & (stop <= last)
        if errors.mean() > allowed:
            break
        best, boldest = min((best, boldest), (float(spent[stop].mean()), float(clearness)))
    return best, replace(choice, clearness=boldest)

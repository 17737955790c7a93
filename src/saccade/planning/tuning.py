"""Thresholds and checkpoints of least expected cost, tuned on rows that the regression did not see."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.families import Predictor, Priced, lead
from saccade.planning.regression import emphasis
from saccade.reading.plan import decided

__all__ = ["Z_GRID", "Choice", "Trial", "try_predictors", "tune"]

Reals = NDArray[np.float64]

# Exponents p in the threshold τ_k = z·σ_k·(k/16)^p after k features.
EXPONENTS = (-0.1, 0.0, 0.1)
# Multiples z of the residual standard deviation σ_k that a margin must reach, from the safest to the boldest.
Z_GRID = np.geomspace(8.0, 0.25, 120)
# The last checkpoint may decide every row (a forced decision) if that uses at most this share of the allowed errors.
CLOSING = 0.1
# The forced-decision threshold is annealed to 0 between these multiples of the z that was tuned for.
CLOSING_BEGINS, CLOSING_ENDS = 2.5, 1.5
# A forced decision is made after at least so many features.
FEWEST_AT_THE_CLOSE = 16
# What it costs to look at a row, and to weigh one value, where reading a feature costs 1: roughly as measured, in time.
LOOKING, WEIGHING = 0.8, 0.05


@dataclass(frozen=True)
class Trial:
    """What every candidate checkpoint would decide on some rows, and what it costs to reach it."""

    lead: Reals  # (rows, checkpoints) predicted distance from the decision
    wrong: NDArray[np.bool_]  # (rows, checkpoints) whether the label would differ from the full one
    sigma: Reals  # (checkpoints,) σ_k, root mean square of the residuals, rows near the decision weighted most
    sizes: NDArray[np.int64]  # features read
    spent: Reals  # what these features cost
    checking: Reals  # what looking costs
    everything: float  # what reading every feature costs
    continues: NDArray[np.bool_]  # whether a checkpoint goes on from the sums of the one before

    def demanded(self, exponent: float) -> Reals:
        """Return the thresholds for z = 1."""
        product: Reals = self.sigma * (self.sizes / 16.0) ** exponent
        return product


def try_predictors(
    priced: Priced,
    predictors: list[Predictor],
    features: NDArray[np.intp],
    X: NDArray[np.floating[Any]],
    full: Reals,
    focus: float,
) -> Trial:
    """Predict the scores of rows at every checkpoint, and measure the residuals of what a checkpoint decides by."""
    labels, rows, count = decided(full), np.arange(X.shape[0]), len(predictors)
    leads, residual = np.empty((rows.size, count)), np.empty((rows.size, count))
    wrong = np.empty((rows.size, count), dtype=bool)
    predicted = np.zeros_like(full)
    for k, predictor in enumerate(predictors):
        before = predicted if predictor.first else priced.scores.intercept
        predicted = before + X[:, features[predictor.first : predictor.size]] @ predictor.weights.T + predictor.shift
        leads[:, k], wrong[:, k] = lead(predicted), decided(predicted) != labels
        if full.shape[1] == 1:
            residual[:, k] = predicted[:, 0] - full[:, 0]
        else:
            best, second = np.argsort(predicted, axis=1)[:, [-1, -2]].T
            residual[:, k] = leads[:, k] - (full[rows, best] - full[rows, second])
    sizes = np.array([predictor.size for predictor in predictors], dtype=np.int64)
    weighed = np.array([predictor.size - predictor.first for predictor in predictors])
    return Trial(
        lead=leads,
        wrong=wrong,
        sigma=np.sqrt(np.maximum(emphasis(lead(full), focus) @ residual**2, 1e-300)),
        sizes=sizes,
        spent=priced.prices.spent(features)[sizes - 1],
        checking=priced.looking * (LOOKING + WEIGHING * weighed * priced.scores.intercept.size),
        everything=float(priced.prices.price.sum()),
        continues=np.array([predictor.first > 0 for predictor in predictors]),
    )


@dataclass(frozen=True)
class Choice:
    """Some of the candidate checkpoints, and whether the last of them is a forced decision."""

    exponent: float
    checkpoints: NDArray[np.intp]
    closes: bool
    z: float = np.inf  # the smallest at which the errors are allowed

    def thresholds(self, z: float, demanded: Reals) -> Reals:
        """Return the thresholds at a multiple z of those for z = 1.

        The forced-decision threshold is annealed to 0 well before the z that was tuned for: where it errs too often,
        settings before that are certified, and few rows are read to the end.
        """
        upper = z * demanded
        if self.closes:
            begun, done = CLOSING_BEGINS * self.z, CLOSING_ENDS * self.z
            upper[-1] *= np.clip((z - done) / (begun - done), 0.0, 1.0)
        return upper


def tune(trial: Trial, allowed: float) -> Choice:
    """Choose exponent and checkpoints for the least cost among those whose share of errors is allowed.

    First the exponent and the last checkpoint, with all others before it; then backward elimination: the checkpoint
    whose absence saves most is dropped, while that saves anything. A look costs time, and is a chance to be wrong.
    """
    count = trial.sizes.size
    may_close = (trial.sizes >= FEWEST_AT_THE_CLOSE) & (trial.wrong.mean(axis=0) <= CLOSING * allowed)
    choices = [
        Choice(exponent, np.arange(last + 1), closes)
        for exponent in EXPONENTS
        for last, closes in [*((int(k), True) for k in np.flatnonzero(may_close[:-1])), (count - 1, False)]
    ]
    cost, choice = min((_tried(trial, choice, allowed) for choice in choices), key=_cost)
    while choice.checkpoints.size > 1:
        droppable = choice.checkpoints[:-1][~trial.continues[choice.checkpoints[1:]]]
        if droppable.size == 0:
            break
        fewer = [Choice(choice.exponent, np.setdiff1d(choice.checkpoints, [k]), choice.closes) for k in droppable]
        best, dropped = min((_tried(trial, choice, allowed) for choice in fewer), key=_cost)
        if best > cost:
            break
        cost, choice = best, dropped
    return choice


def _cost(tried: tuple[float, Choice]) -> float:
    return tried[0]


def _tried(trial: Trial, choice: Choice, allowed: float) -> tuple[float, Choice]:
    """Return the mean cost of a row at the smallest z, coming from above, whose errors are allowed; and that z."""
    chosen = choice.checkpoints
    demanded = trial.demanded(choice.exponent)[chosen]
    reached = np.maximum.accumulate(trial.lead[:, chosen] / demanded, axis=1)
    wrong, looks = trial.wrong[:, chosen], np.cumsum(trial.checking[chosen])
    spent = np.append(trial.spent[chosen] + looks, trial.everything + looks[-1])
    rows, last = np.arange(reached.shape[0]), chosen.size - 1
    least, best_z = float(spent[-1]), np.inf
    for z in Z_GRID[::4]:
        stop = (reached < z).sum(axis=1)
        if choice.closes:
            stop = np.minimum(stop, last)
        errors = wrong[rows, np.minimum(stop, last)] & (stop <= last)
        if errors.mean() > allowed:
            break
        least, best_z = min((least, best_z), (float(spent[stop].mean()), float(z)))
    return least, replace(choice, z=best_z)

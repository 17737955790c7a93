"""What candidate checkpoints would decide on rows that the regression did not see, and what it costs to reach them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.families import Predictor, Priced, lead
from saccade.planning.regression import emphasis
from saccade.promises.labels import Labels
from saccade.reading.plan import decided

__all__ = ["Predicted", "Trial", "predict_scores", "try_predictors"]

Reals = NDArray[np.float64]

# What it costs to look at a row, and to weigh one value, where reading a feature, or a step down a tree, costs 1:
# roughly as measured, in time. After a look at trees the columns of the rows that are left are brought together again.
LOOKING, WEIGHING = 0.8, 0.05
LOOKING_IN_STEPS, WEIGHING_IN_STEPS = 8.0, 0.1


@dataclass(frozen=True)
class Predicted:
    """What each of several predictors says of some rows, one column each."""

    lead: Reals  # (rows, checkpoints) predicted distance from the decision
    label: NDArray[np.intp]  # (rows, checkpoints)
    sigma: Reals  # (checkpoints,) σ_k, root mean square of the residuals, rows near the decision weighted most

    @classmethod
    def pooled(cls, folds: "list[Predicted]") -> "Predicted":
        """Return what was predicted of all rows, fold by fold."""
        lead, label = (np.concatenate([getattr(fold, name) for fold in folds]) for name in ("lead", "label"))
        return cls(lead, label, np.sqrt(np.mean([fold.sigma**2 for fold in folds], axis=0)))


@dataclass(frozen=True)
class Trial:
    """What every candidate checkpoint would decide on some rows, and what it costs to reach it."""

    predicted: Predicted
    labels: Labels
    sizes: NDArray[np.int64]  # features read
    spent: Reals  # (rows, checkpoints) what these features cost; one row where that is the same for all
    checking: Reals  # what looking costs
    everything: Reals  # (rows,) what reading every feature costs; one entry likewise
    continues: NDArray[np.bool_]  # whether a checkpoint goes on from the sums of the one before


def predict_scores(
    priced: Priced,
    predictors: list[Predictor],
    features: NDArray[np.intp],
    X: NDArray[np.floating[Any]],
    full: Reals,
    focus: float,
) -> Predicted:
    """Predict the scores of rows at every checkpoint, and measure the residuals of what a checkpoint decides by."""
    rows, count = np.arange(X.shape[0]), len(predictors)
    leads, residual = np.empty((rows.size, count)), np.empty((rows.size, count))
    label = np.empty((rows.size, count), dtype=np.intp)
    predicted = np.zeros_like(full)
    for k, predictor in enumerate(predictors):
        before = predicted if predictor.first else priced.scores.intercept
        predicted = before + X[:, features[predictor.first : predictor.size]] @ predictor.weights.T + predictor.shift
        leads[:, k], label[:, k] = lead(predicted), decided(predicted)
        if full.shape[1] == 1:
            residual[:, k] = predicted[:, 0] - full[:, 0]
        else:
            best, second = np.argsort(predicted, axis=1)[:, [-1, -2]].T
            residual[:, k] = leads[:, k] - (full[rows, best] - full[rows, second])
    sigma = np.sqrt(np.maximum(emphasis(lead(full), focus) @ residual**2, 1e-300))
    return Predicted(leads, label, sigma)


def try_predictors(
    priced: Priced,
    predictors: list[Predictor],
    features: NDArray[np.intp],
    predicted: Predicted,
    labels: Labels,
    rows: slice,
) -> Trial:
    """Return what the predictors would decide, and what it costs to come to each; ``rows`` of those that plan."""
    sizes = np.array([predictor.size for predictor in predictors], dtype=np.int64)
    weighed = np.array([predictor.size - predictor.first for predictor in predictors]) * priced.scores.intercept.size
    in_steps = priced.scores.of_trees
    looking, weighing = (LOOKING_IN_STEPS, WEIGHING_IN_STEPS) if in_steps else (LOOKING, WEIGHING)
    return Trial(
        predicted=predicted,
        labels=labels,
        sizes=sizes,
        spent=priced.prices.spent(features, sizes, rows),
        checking=priced.looking * (looking + weighing * weighed),
        everything=priced.prices.everything(rows),
        continues=np.array([predictor.first > 0 for predictor in predictors]),
    )

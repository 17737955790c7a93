"""Predictors of the scores after ever more parts, and what they say of rows that the regression did not see.

These rows tune a plan: on those that a regression saw its residuals are too small.
"""

import functools
import itertools
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.boundaries import Conditional
from saccade.planning.covariance import Sums, sums_by_fold
from saccade.planning.families import Predictor, Priced, lead, plain_sums
from saccade.planning.orders import reading_order
from saccade.planning.paths import PathPrices
from saccade.planning.prices import Prices
from saccade.planning.regression import Regression, emphasis, regress, regress_again, regress_by
from saccade.planning.threads import one_blas_thread
from saccade.planning.trials import Predicted, predict_scores

__all__ = ["Prediction", "predict_rows", "regression_of", "with_the_rest"]

Reals = NDArray[np.float64]
Values = NDArray[np.floating[Any]]  # (rows, parts)

# After how many features the predicted margin may be looked at: the first ones, and from then on ever more by a factor.
FIRST_LOOKS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16)
NEXT_LOOK = 1.15
# So many features are regressed on; of trees all, as far as their whole covariance is computed.
MOST_REGRESSED = 384
# The covariance of so many parts is computed as a whole, if there are as many rows, or few. All rows then regress and
# tune, because each fold of them is predicted by a regression on the others (cross-fitting).
MOST_JOINT = 2048
FOLDS = 4
# The ridge of few rows is at least what so many rows of noise would add: weights of a hundred rows are mostly noise.
FEW, ROWS_OF_NOISE = 1000, 20
# The share of the rows that the regression sees where there are more parts; thresholds are tuned on the others.
REGRESSED_SHARE = 0.7
# The ridge of trees is at least this multiple of their number over that of the rows, counted by weight: the trees that
# were boosted last fit noise, and go together on few rows as they do not on others.
RIDGE_PER_TREE = 0.4


def predict_rows(priced: Priced, X: Values, full: Reals, boundary: Conditional, order: str, seed: int) -> "Prediction":
    """Return predictors, and what they, or others of their kind, say of rows that they did not see."""
    n_rows, n_parts = X.shape
    joint = n_parts <= MOST_JOINT and (n_parts <= n_rows or n_rows <= FEW) and n_rows >= 2 * FOLDS
    return (_joint_prediction if joint else _split_prediction)(priced, X, full, boundary, order, seed)


def regression_of(priced: Priced, X: Values, full: Reals, boundary: Conditional, order: str, seed: int) -> Regression:
    size = min(MOST_REGRESSED, priced.magnitude.size)
    given = _given_order(priced, order, seed)[:size] if order != "greedy" else None
    weight, ridge = emphasis(lead(full), boundary.focus), _ridge(boundary, X.shape[0])
    options: dict[str, Any] = {"ridge": ridge, "prices": priced.prices, "order": given, "unread": priced.unread}
    return regress(X, priced.scores.coef, weight, size, **options)


def _ridge(boundary: Conditional, n_rows: int) -> float:
    return max(boundary.ridge, ROWS_OF_NOISE / n_rows) if n_rows <= FEW else boundary.ridge


def _given_order(priced: Priced, order: str, seed: int) -> NDArray[np.intp]:
    if order.startswith("sampled"):
        raise ValueError(f"order={order!r} reads features more than once: Conditional needs another, such as 'greedy'.")
    return reading_order(order, priced.magnitude, seed)[0]


@dataclass(frozen=True)
class Prediction:
    """A regression, the predictors that come of it, and what predictors say of rows that they did not see."""

    regression: Regression
    features: NDArray[np.intp]  # in reading order
    predictors: list[Predictor]
    predicted: Predicted | None  # None where no feature explains anything
    rows: slice  # those that are predicted


def _split_prediction(
    priced: Priced, X: Values, full: Reals, boundary: Conditional, order: str, seed: int
) -> Prediction:
    """Regress on most of the rows and predict the others: features that were selected leave too small residuals."""
    known = round(REGRESSED_SHARE * X.shape[0])
    regression = regression_of(priced, X[:known], full[:known], boundary, order, seed)
    features = with_the_rest(regression.order, priced, "sorted" if order == "greedy" else order, seed)
    predictors = _predictors(priced, regression, features, X[:known].mean(axis=0, dtype=np.float64))
    others = slice(known, None)
    predicted = (
        predict_scores(priced, predictors, features, X[others], full[others], boundary.focus) if predictors else None
    )
    return Prediction(regression, features, predictors, predicted, others)


@one_blas_thread()
def _joint_prediction(
    priced: Priced, X: Values, full: Reals, boundary: Conditional, order: str, seed: int
) -> Prediction:
    """Regress on all rows, and predict each fold of them by a regression on the others, in the same order.

    With more rows than parts the choice of the order owes little to the fold; with few rows, of which a share would be
    too small to regress on or to tune by, it may.
    """
    coef, prices = priced.scores.coef, priced.prices
    weight = emphasis(lead(full), boundary.focus)
    ridge, size = _ridge(boundary, X.shape[0]), min(MOST_REGRESSED, priced.magnitude.size)
    if priced.scores.of_trees:
        ridge, size = max(ridge, RIDGE_PER_TREE * X.shape[1] * float(weight @ weight)), X.shape[1]
    edges = np.linspace(0, X.shape[0], FOLDS + 1).round().astype(int).tolist()
    folds = [slice(*ends) for ends in itertools.pairwise(edges)]
    sums = sums_by_fold(X, weight, folds)
    total = functools.reduce(operator.add, sums)
    given = _given_order(priced, order, seed)[:size] if order != "greedy" else None
    options: dict[str, Any] = {"ridge": ridge, "prices": prices, "order": given, "unread": priced.unread}
    regression = regress_by(total.joint(), coef, size, **options)
    features = with_the_rest(regression.order, priced, "sorted" if order == "greedy" else order, seed)
    mean = X.mean(axis=0, dtype=np.float64)
    predictors = _predictors(priced, regression, features, mean)
    if not predictors:
        return Prediction(regression, features, predictors, None, slice(None))

    def predicted(fold: slice, held_out: Sums) -> Predicted:
        others = regress_again(regression, (total - held_out).joint(), coef, ridge=ridge)
        by_others = _predictors(priced, others, features, mean)
        return predict_scores(priced, by_others, features, X[fold], full[fold], boundary.focus)

    pooled = Predicted.pooled([predicted(fold, held_out) for fold, held_out in zip(folds, sums, strict=True)])
    return Prediction(regression.leading(MOST_REGRESSED), features, predictors, pooled, slice(None))


def _predictors(priced: Priced, regression: Regression, features: NDArray[np.intp], mean: Reals) -> list[Predictor]:
    """Return what predicts the scores at every candidate checkpoint: by regression, and beyond it by plain sums."""
    regressed = regression.order.size
    predictors = [Predictor(size, 0, *regression.weights(size)) for size in _looks(priced.prices, regression.order)]
    return predictors + (_beyond(priced, mean, features, regressed) if features.size > regressed > 0 else [])


def _looks(prices: Prices | PathPrices, features: NDArray[np.intp]) -> list[int]:
    """Return after how many features a plan may look: only where every purchase so far is complete."""
    sizes = [float(size) for size in FIRST_LOOKS]
    while NEXT_LOOK * sizes[-1] < features.size:
        sizes.append(NEXT_LOOK * sizes[-1])
    ends = prices.complete(features)
    by_number = {int(ends[k]) for k in np.searchsorted(ends, np.round([*sizes, features.size])) if k < ends.size}
    return sorted(by_number.union(prices.looks(features).tolist()))


def _beyond(priced: Priced, mean: Reals, features: NDArray[np.intp], regressed: int) -> list[Predictor]:
    """Return predictors beyond the regression: plain sums, plus the mean of the unread rest."""
    sizes, size = [], max(regressed + 1, 3 * regressed // 2)
    while size < 0.75 * features.size:
        sizes.append(size)
        size = max(size + 1, 3 * size // 2)
    coef = priced.scores.coef[:, features]
    return plain_sums(coef, coef * mean[features], sizes)


def with_the_rest(first: NDArray[np.intp], priced: Priced, order: str, seed: int) -> NDArray[np.intp]:
    """Return these features, and then all others in their order."""
    every = reading_order(order, priced.magnitude, seed)[0]
    rest = every[~np.isin(every, first)]
    begun = np.isin(priced.prices.purchase[rest], priced.prices.purchase[first])  # paid for already
    return np.concatenate([first, rest[begun], rest[~begun]])

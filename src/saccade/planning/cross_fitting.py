"""Predictions of rows by regressions that did not see them, where rows are few.

Many rows are split: some are regressed on, and thresholds are tuned on the others. Of a few hundred, each share would
be too small. So all of them are regressed on, and all of them tune: for tuning, the rows of each fold are predicted by
a regression on the other folds, in the order that all rows chose (cross-fitting).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from saccade.planning.boundaries import Conditional
from saccade.planning.families import Priced, lead
from saccade.planning.prices import Prices
from saccade.planning.regression import Regression, emphasis, regress
from saccade.planning.trials import Predicted

__all__ = ["FEW", "cross_fitted", "regress_in_order", "ridge_of"]

Reals = NDArray[np.float64]
Rows = NDArray[np.intp]

# Of more rows, the share that tunes is large enough, and one regression takes less time than several.
FEW = 1000
FOLDS = 5
# The ridge of few rows is at least what so many rows of noise would add: weights of a hundred rows are mostly noise.
ROWS_OF_NOISE = 20


def ridge_of(boundary: Conditional, n_rows: int) -> float:
    """Return the ridge for a regression on so many rows."""
    return max(boundary.ridge, ROWS_OF_NOISE / n_rows) if n_rows <= FEW else boundary.ridge


def cross_fitted(n_rows: int, predict: Callable[[Rows, Rows], Predicted]) -> Predicted:
    """Return what ``predict`` says of each fold, given all rows outside of it and the rows of the fold."""
    rows = np.arange(n_rows)
    folds = [fold for fold in np.array_split(rows, FOLDS) if fold.size]
    said = [predict(np.setdiff1d(rows, fold), fold) for fold in folds]
    share = np.array([fold.size / n_rows for fold in folds])
    return Predicted(
        lead=np.concatenate([predicted.lead for predicted in said]),
        label=np.concatenate([predicted.label for predicted in said]),
        sigma=np.sqrt(share @ np.stack([predicted.sigma for predicted in said]) ** 2),
    )


def regress_in_order(
    priced: Priced, X: NDArray[np.floating], full: Reals, order: NDArray[np.intp], boundary: Conditional
) -> Regression:
    """Regress on features in an order that is given.

    What the other features add to each score stands for all of them, so that time does not grow with their number.
    """
    coef = priced.scores.coef[:, order]
    rest = full - priced.scores.intercept - X[:, order] @ coef.T
    n = order.size + rest.shape[1]
    values = np.concatenate([X[:, order], rest.astype(X.dtype)], axis=1)
    with_rest = np.concatenate([coef, np.eye(rest.shape[1])], axis=1)
    each = Prices(np.arange(n), np.ones(n))
    weight, ridge = emphasis(lead(full), boundary.focus), ridge_of(boundary, X.shape[0])
    return regress(values, with_rest, weight, order.size, ridge=ridge, prices=each, order=np.arange(order.size))

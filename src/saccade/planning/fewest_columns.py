"""Plans for data that is stored in columns: a column is read for many rows at once, so few columns must do for all.

Backward elimination from the features that the greedy order takes first: each time the feature goes whose loss costs
least for its price. With P the inverse of the covariance and beta = P cov(x, S), dropping feature j adds beta_j^2/P_jj
to the residual variance, and what is left is again a regression (Optimal Brain Surgeon, Hassibi and Stork 1993).
Forward selection cannot take back a feature that later ones make redundant.

The last checkpoint decides every row. How few columns this may be, the calibration rows say.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.families import Family, Predictor, Priced, plan_of, whole_plan
from saccade.planning.paths import PathPrices
from saccade.planning.prices import Prices
from saccade.planning.regression import Regression
from saccade.planning.trials import predict_scores
from saccade.planning.worth import centred
from saccade.reading.plan import Plan

__all__ = ["column_family"]

Reals = NDArray[np.float64]

# So many features compete, those that a greedy choice takes first. With more, those that happen to suit the planning
# rows win: on MNIST 2 vs 3, 192 to 256 gave the fewest errors on other rows, and 384 a sixth more.
CANDIDATES = 224
# After so many columns rows may stop that are so many residual standard deviations from the decision.
LOOKS = np.array([4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256])
UNDISPUTED = 3.0
# The next setting has fewer columns by this factor, or by one.
STEP = 0.95


def column_family(
    priced: Priced, X: NDArray[np.floating[Any]], full: Reals, regression: Regression, focus: float
) -> tuple[Regression, Family]:
    """Return the regression on the columns by importance, and plans by their number, from all of them down to one."""
    ranked = regression.reordered(_by_importance(regression, priced.prices))
    features, complete = ranked.order, priced.prices.complete(ranked.order)
    looks = np.unique(complete[np.searchsorted(complete, LOOKS[complete.max(initial=0) >= LOOKS])])
    predictors = [Predictor(int(size), 0, *ranked.weights(size)) for size in looks]
    undisputed = UNDISPUTED * predict_scores(priced, predictors, features, X, full, focus).sigma

    def plan(columns: float) -> Plan:
        if np.isinf(columns):
            return whole_plan(priced.scores)
        size, before = int(columns), int(np.searchsorted(looks, columns))
        last = Predictor(size, 0, *ranked.weights(size))
        return plan_of(priced.scores, features, [*predictors[:before], last], np.append(undisputed[:before], 0.0))

    return ranked, Family(np.concatenate([[np.inf], _thinned(complete)]), plan)


def _by_importance(regression: Regression, prices: Prices | PathPrices) -> NDArray[np.intp]:
    """Return the positions of the regressed features, those that are dropped last first; groups are dropped whole."""
    complete = prices.complete(regression.order)
    cut = int(complete[complete <= max(CANDIDATES, complete[0])][-1]) if complete.size else 0
    inverse: Reals = np.linalg.inv(regression.covariance[:cut, :cut]).astype(np.float64, copy=False)
    beta = inverse @ centred(regression.factor[:cut, :cut] @ regression.gains[:cut])
    purchase = prices.purchase[regression.order[:cut]]
    members = {int(number): np.flatnonzero(purchase == number) for number in np.unique(purchase)}
    dropped: list[int] = []
    while members:
        loss = {
            number: _per_price(_loss(beta, inverse, those), prices.price[number]) for number, those in members.items()
        }
        least = min(loss, key=lambda number: loss[number])
        those = members.pop(least)
        by_themselves = [_loss(beta, inverse, those[[k]]) for k in range(those.size)]
        dropped += those[np.argsort(by_themselves, kind="stable")].tolist()
        through = np.linalg.solve(inverse[np.ix_(those, those)], inverse[those])
        beta = beta - through.T @ beta[those]
        inverse = inverse - inverse[:, those] @ through
    return np.concatenate([np.array(dropped[::-1], dtype=np.intp), np.arange(cut, regression.order.size)])


def _loss(beta: Reals, inverse: Reals, those: NDArray[np.intp]) -> float:
    """Return by how much the unexplained variance grows without these features."""
    weight = beta[those]
    return float(np.sum(weight * np.linalg.solve(inverse[np.ix_(those, those)], weight)))


def _per_price(loss: float, price: float) -> tuple[bool, float]:
    """Return what is compared to find the column to drop: those that are free are dropped last."""
    return (False, loss / price) if price > 0 else (True, loss)


def _thinned(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return sizes from the largest to the smallest, with steps that grow with the size."""
    kept, most = [], np.inf
    for size in sizes[::-1].tolist():
        if size <= most:
            kept.append(size)
            most = min(STEP * size, size - 1)
    return np.array(kept, dtype=np.intp)

"""Plans for data that is stored in columns: a column is read for many rows at once, so few columns must do for all.

Of the features that explain the scores best one after another is given up, each time the one whose loss costs least for
its price: with P the inverse of the covariance and beta = P cov(x, S), giving up feature j adds beta_j^2 / P_jj to the
variance that is not explained, and what is left is again a regression (as in Optimal Brain Surgeon, Hassibi and Stork
1993). Features that were chosen first and are made up for by later ones go early, which a greedy choice cannot do.

The last checkpoint decides every row. How few columns this may be, the calibration rows say.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.families import Family, Predictor, Priced, plan_of
from saccade.planning.prices import Prices
from saccade.planning.regression import Regression, freed_of_mean
from saccade.planning.tuning import try_predictors
from saccade.reading.plan import Plan

__all__ = ["column_family"]

Reals = NDArray[np.float64]

# So many features compete, those that a greedy choice takes first. With more, those that happen to suit the planning
# rows win: on MNIST 2 vs 3, 192 to 256 gave the fewest errors on other rows, and 384 a sixth more.
CANDIDATES = 224
# After so many columns rows may stop that are clear beyond dispute: so many spreads from the decision.
LOOKS = np.array([4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256])
UNDISPUTED = 3.0
# The next setting has fewer columns by this factor, or by one.
STEP = 0.95


def column_family(priced: Priced, X: NDArray[np.floating[Any]], full: Reals, found: Regression, focus: float) -> Family:
    """Return plans by the number of columns that they read, from all of them down to one."""
    ranked = found.reordered(_by_importance(found, priced.prices))
    features, whole = ranked.order, priced.prices.complete(ranked.order)
    looks = np.unique(whole[np.searchsorted(whole, LOOKS[whole.max(initial=0) >= LOOKS])])
    predictors = [Predictor(int(size), 0, *ranked.weights(size)) for size in looks]
    undisputed = UNDISPUTED * try_predictors(priced, predictors, features, X, full, focus).spread

    def plan(columns: float) -> Plan:
        if np.isinf(columns):
            return plan_of(priced.scores, features, [], np.zeros(0))
        size, before = int(columns), int(np.searchsorted(looks, columns))
        last = Predictor(size, 0, *ranked.weights(size))
        return plan_of(priced.scores, features, [*predictors[:before], last], np.append(undisputed[:before], 0.0))

    return Family(np.concatenate([[np.inf], _thinned(whole)]), plan, ranked)


def _by_importance(found: Regression, prices: Prices) -> NDArray[np.intp]:
    """Return the positions of the regressed features, those that are given up last first; groups go as a whole."""
    whole = prices.complete(found.order)
    cut = int(whole[whole <= max(CANDIDATES, whole[0])][-1]) if whole.size else 0
    inverse: Reals = np.linalg.inv(found.covariance[:cut, :cut]).astype(np.float64, copy=False)
    beta = inverse @ freed_of_mean(found.factor[:cut, :cut] @ found.gains[:cut])
    purchase = prices.purchase[found.order[:cut]]
    members = {int(one): np.flatnonzero(purchase == one) for one in np.unique(purchase)}
    given_up: list[int] = []
    while members:
        loss = {one: _loss(beta, inverse, those) / prices.price[one] for one, those in members.items()}
        least = min(loss, key=lambda one: loss[one])
        those = members.pop(least)
        by_themselves = [_loss(beta, inverse, those[[k]]) for k in range(those.size)]
        given_up += those[np.argsort(by_themselves, kind="stable")].tolist()
        through = np.linalg.solve(inverse[np.ix_(those, those)], inverse[those])
        beta = beta - through.T @ beta[those]
        inverse = inverse - inverse[:, those] @ through
    return np.concatenate([np.array(given_up[::-1], dtype=np.intp), np.arange(cut, found.order.size)])


def _loss(beta: Reals, inverse: Reals, those: NDArray[np.intp]) -> float:
    """Return by how much the unexplained variance grows without these features."""
    weight = beta[those]
    return float(np.sum(weight * np.linalg.solve(inverse[np.ix_(those, those)], weight)))


def _thinned(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return sizes from the largest to the smallest, with steps that grow with the size."""
    kept, most = [], np.inf
    for size in sizes[::-1].tolist():
        if size <= most:
            kept.append(size)
            most = min(STEP * size, size - 1)
    return np.array(kept, dtype=np.intp)

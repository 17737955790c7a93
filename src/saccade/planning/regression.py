"""Predicting the full margin from the features read so far, under correlation.

At a checkpoint of k features the best linear prediction of a score S is E S + beta_k . (x_read - mu_read). Which
feature is read next is chosen greedily: the one that explains most of what is still unexplained, for its cost. This is
a Cholesky decomposition of the covariance whose pivots are the features read, and it needs only the columns of the
covariance that it picks.

Several classes have a score each, all predicted from the same features. A label depends on their differences alone, so
what is to be explained is what sets them apart from their mean.

Rows near the decision count more: 1 / (1 + (S / s)^2), s a share of the median |S|, where S is the score of two
classes or the gap between the two best of several.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from saccade.planning.prices import Prices

__all__ = ["Regression", "emphasis", "freed_of_mean", "regress"]

Reals = NDArray[np.float64]

# A feature whose unexplained variance is below this share of its own adds nothing but rounding errors.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Regression:
    """The features in reading order, and what is needed to predict the margin from any number of the first of them."""

    order: NDArray[np.intp]
    mean: Reals  # of the features in reading order
    factor: Reals  # (k, k) the Cholesky factor of their covariance
    gains: Reals  # (k, scores) covariance with each feature, freed of those before it, in units of its spread
    expected: Reals  # (scores,) the mean scores
    spread: Reals  # (scores, scores) their covariance

    def weights(self, size: int) -> tuple[Reals, Reals]:
        """Return what the first features weigh in each score's prediction, (scores, size), and what is added."""
        beta = solve_triangular(self.factor[:size, :size], self.gains[:size], lower=True, trans="T").T
        return beta, self.expected - beta @ self.mean[:size]

    def given(self, known: NDArray[np.intp], values: Reals) -> tuple[Reals, Reals]:
        """Return the mean and the covariance of the scores given the values at some positions, under a normal law."""
        deviation = values - self.mean[known]
        with_scores = self.factor[known] @ self.gains
        slope = np.linalg.solve(self.covariance[np.ix_(known, known)], with_scores)
        return self.expected + deviation @ slope, self.spread - with_scores.T @ slope

    def imputation(self, absent: NDArray[np.intp], known: NDArray[np.intp]) -> tuple[Reals, Reals, Reals]:
        """Return how the values at some positions follow from those at others.

        That is, slopes (known, absent), what is expected where the others are zero, and the covariance that is left.
        """
        across = self.covariance[np.ix_(known, absent)]
        slope = np.linalg.solve(self.covariance[np.ix_(known, known)], across).astype(np.float64)
        left = self.covariance[np.ix_(absent, absent)] - across.T @ slope
        return slope, self.mean[absent] - self.mean[known] @ slope, left

    def reordered(self, positions: NDArray[np.intp]) -> "Regression":
        """Return the regression on the same features in another order."""
        if positions.size == 0:  # older versions of SciPy refuse to solve an empty system
            return self
        factor: Reals = np.linalg.cholesky(self.covariance[np.ix_(positions, positions)]).astype(np.float64, copy=False)
        gains = solve_triangular(factor, (self.factor @ self.gains)[positions], lower=True)
        return replace(self, order=self.order[positions], mean=self.mean[positions], factor=factor, gains=gains)

    @cached_property
    def covariance(self) -> Reals:
        """Return the covariance of the features, in reading order, with the ridge."""
        covariance: Reals = self.factor @ self.factor.T
        return covariance


def emphasis(clear: Reals, focus: float) -> Reals:
    """Return how much each row counts, from how far it is from the decision; the weights sum to one."""
    scale = focus * float(np.median(np.abs(clear)))
    weight = 1 / (1 + (clear / scale) ** 2) if scale > 0 else np.ones_like(clear)
    share: Reals = weight / weight.sum()
    return share


def regress(
    X: NDArray[np.floating[Any]],
    coef: Reals,
    weight: Reals,
    size: int,
    *,
    ridge: float,
    prices: Prices,
    order: NDArray[np.intp] | None = None,
) -> Regression:
    """Regress the scores X @ coef.T on ever more features: the given ones in turn, or the best for their cost.

    ``ridge`` is added to every variance, as a share of it, so that no unit of measurement matters.
    """
    scores, n = coef.shape
    weight32 = weight.astype(X.dtype)
    centre = weight32 @ X
    X = X - centre  # a copy, because single precision would drown in the rounding of means that are large
    mean = centre.astype(np.float64) + (weight32 @ X).astype(np.float64)
    variance = _variance(X, weight32)
    penalty = ridge * np.maximum(variance, 0)
    margin = X @ coef.T.astype(X.dtype)
    apart = weight @ margin.astype(np.float64)  # what rounding has left of zero
    expected = coef @ mean
    open_variance = np.maximum(variance, 0) + penalty
    smallest = NEGLIGIBLE * open_variance
    constant = variance <= (8 * np.finfo(X.dtype).eps * mean) ** 2
    # cov(x_j, S); the ridge stands for noise of its own in every feature, which S contains with its weight.
    deviation = weight32[:, None] * (margin - apart).astype(X.dtype)
    unexplained = (X.T @ deviation).astype(np.float64) + penalty[:, None] * coef.T
    spread_of_scores = (margin - apart).T.astype(np.float64) @ deviation + (penalty * coef) @ coef.T
    groups = {int(group): _within(X, weight32, prices.members(int(group)), penalty) for group in prices.groups}
    bought: list[int] = []  # features that come with one that was picked, still to be read
    loadings = np.zeros((n, size))
    gains = np.zeros((size, scores))
    picked = np.zeros(n, dtype=bool)
    chosen: list[int] = []
    for k in range(size):
        useless = picked | constant | (open_variance <= smallest)
        if order is None:
            explained = np.full(n, -1.0)
            np.divide(_apart(unexplained), open_variance, out=explained, where=~useless)
            bought = [feature for feature in bought if not useless[feature]]
            if not bought:
                worth = _worth(explained, unexplained, loadings[:, :k], useless, prices, groups)
                best = int(np.argmax(worth))
                if worth[best] <= 0:
                    break
                bought = [int(feature) for feature in prices.members(best) if not useless[feature]]
            pivot = max(bought, key=lambda feature: explained[feature])
        else:
            pivot = int(order[k])
        picked[pivot] = True
        chosen.append(pivot)
        if useless[pivot]:  # it is read, because it was given, and weighs nothing
            loadings[pivot, k] = 1.0
            continue
        spread = np.sqrt(max(open_variance[pivot], 1e-300))
        covariance = (X.T @ (weight32 * X[:, pivot])).astype(np.float64)
        covariance[pivot] += penalty[pivot]
        loading = (covariance - loadings[:, :k] @ loadings[pivot, :k]) / spread
        loading[np.array(chosen[:-1], dtype=np.intp)] = 0
        gain = unexplained[pivot] / spread
        loadings[:, k], gains[k] = loading, gain
        open_variance = open_variance - loading**2
        unexplained = unexplained - loading[:, None] * gain
    reading = np.array(chosen, dtype=np.intp)
    factor = np.tril(loadings[reading][:, : reading.size])
    return Regression(reading, mean[reading], factor, gains[: reading.size], expected, spread_of_scores)


def _within(
    X: NDArray[np.floating[Any]],
    weight: NDArray[np.floating[Any]],
    members: NDArray[np.intp],
    ridge: Reals,
) -> tuple[NDArray[np.intp], Reals]:
    """Return the features of a group and their covariance."""
    centred = X[:, members]
    return members, (centred.T @ (weight[:, None] * centred)).astype(np.float64) + np.diag(ridge[members])


def _worth(
    explained: Reals,
    unexplained: Reals,
    loadings: Reals,
    useless: NDArray[np.bool_],
    prices: Prices,
    groups: dict[int, tuple[NDArray[np.intp], Reals]],
) -> Reals:
    """Return what each purchase would explain for its price; a group's features explain jointly."""
    worth = np.full(prices.price.size, -1.0)
    np.maximum.at(worth, prices.purchase, explained)
    for group, (members, covariance) in groups.items():
        open_ones = ~useless[members]
        if open_ones.any():
            those = members[open_ones]
            left = covariance[np.ix_(open_ones, open_ones)] - loadings[those] @ loadings[those].T
            target = freed_of_mean(unexplained[those])
            worth[group] = np.sum(target * np.linalg.solve(left + 1e-9 * np.diag(np.diag(left)), target))
    return worth / prices.price


def _apart(unexplained: Reals) -> Reals:
    """Return by how much each feature would explain the one score, or what sets several apart."""
    total: Reals = (freed_of_mean(unexplained) ** 2).sum(axis=1)
    return total


def freed_of_mean(unexplained: Reals) -> Reals:
    """Return what each feature tells of the one score, or of what sets several apart from their mean."""
    several = unexplained.shape[1] > 1
    return unexplained - unexplained.mean(axis=1, keepdims=True) if several else unexplained


def _variance(X: NDArray[np.floating[Any]], weight: NDArray[np.floating[Any]]) -> Reals:
    """Return the weighted variances of centred values, without a second array of X's size."""
    variance = np.empty(X.shape[1])
    for start in range(0, X.shape[1], 1024):
        part = X[:, start : start + 1024]
        variance[start : start + 1024] = weight @ (part * part)
    return variance

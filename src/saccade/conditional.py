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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

__all__ = ["Regression", "emphasis", "regress"]

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

    def weights(self, size: int) -> tuple[Reals, Reals]:
        """Return what the first features weigh in each score's prediction, (scores, size), and what is added."""
        beta = solve_triangular(self.factor[:size, :size], self.gains[:size], lower=True, trans="T").T
        return beta, self.expected - beta @ self.mean[:size]


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
    costs: Reals,
    order: NDArray[np.intp] | None = None,
) -> Regression:
    """Regress the scores X @ coef.T on ever more features: the given ones in turn, or the best for their cost.

    ``ridge`` is added to every variance, as a share of the mean variance.
    """
    scores, n = coef.shape
    weight32 = weight.astype(X.dtype)
    mean = (weight32 @ X).astype(np.float64)
    variance = (weight32 @ (X * X)).astype(np.float64) - mean**2 if n < 4096 else _variance_by_parts(X, weight32, mean)
    penalty = ridge * float(np.maximum(variance, 0).mean())
    margin = X @ coef.T.astype(X.dtype)
    expected = weight @ margin.astype(np.float64)
    open_variance = np.maximum(variance, 0) + penalty
    smallest = NEGLIGIBLE * open_variance
    constant = variance <= NEGLIGIBLE**2 * mean**2
    # cov(x_j, S); the ridge stands for noise of its own in every feature, which S contains with its weight.
    deviation = weight32[:, None] * (margin - expected).astype(X.dtype)
    unexplained = (X.T @ deviation).astype(np.float64) + penalty * coef.T
    loadings = np.zeros((n, size))
    gains = np.zeros((size, scores))
    picked = np.zeros(n, dtype=bool)
    chosen: list[int] = []
    for k in range(size):
        if order is None:
            worth = _apart(unexplained) / np.maximum(open_variance, 1e-300) / costs
            worth[picked | constant | (open_variance <= smallest)] = -1
            pivot = int(np.argmax(worth))
            if worth[pivot] <= 0:
                break
        else:
            pivot = int(order[k])
        spread = np.sqrt(max(open_variance[pivot], 1e-300))
        column = X.T @ (weight32 * (X[:, pivot] - X.dtype.type(mean[pivot])))
        covariance = column.astype(np.float64)
        covariance[pivot] += penalty
        loading = (covariance - loadings[:, :k] @ loadings[pivot, :k]) / spread
        loading[picked] = 0
        gain = unexplained[pivot] / spread
        loadings[:, k], gains[k] = loading, gain
        open_variance = open_variance - loading**2
        unexplained = unexplained - loading[:, None] * gain
        picked[pivot] = True
        chosen.append(pivot)
    reading = np.array(chosen, dtype=np.intp)
    factor = np.tril(loadings[reading][:, : reading.size])
    return Regression(reading, mean[reading], factor, gains[: reading.size], expected)


def _apart(unexplained: Reals) -> Reals:
    """Return by how much each feature would explain the one score, or what sets several apart."""
    if unexplained.shape[1] > 1:
        unexplained = unexplained - unexplained.mean(axis=1, keepdims=True)
    total: Reals = (unexplained**2).sum(axis=1)
    return total


def _variance_by_parts(X: NDArray[np.floating[Any]], weight: NDArray[np.floating[Any]], mean: Reals) -> Reals:
    """Return the weighted variances without a second array of X's size."""
    variance = np.empty(mean.size)
    for start in range(0, mean.size, 1024):
        part = X[:, start : start + 1024]
        variance[start : start + 1024] = weight @ (part * part)
    difference: Reals = variance - mean**2
    return difference

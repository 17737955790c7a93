"""Predicting the full margin from the features read so far, under correlation.

At a checkpoint of k features the best linear prediction of a score S is E S + beta_k . (x_read - mu_read). The next
feature is chosen greedily: the one that explains most residual variance for its cost. This is a pivoted Cholesky
decomposition of the covariance, and it needs only the columns of the covariance that it picks.

Several classes have a score each, all predicted from the same features. Only score differences matter, so scores are
centred across classes.

Rows near the decision count more: 1 / (1 + (S / s)^2), s a share of the median |S|, where S is the score of two
classes or the gap between the two best of several.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from saccade.planning.covariance import Covariance, OfRows
from saccade.planning.paths import PathPrices
from saccade.planning.prices import Prices
from saccade.planning.threads import one_blas_thread
from saccade.planning.worth import Groups, explained_by_each, worth_of

__all__ = ["Regression", "emphasis", "regress", "regress_again", "regress_by"]

Reals = NDArray[np.float64]

# Of a group of so many features, the covariances with all others are computed at once.
MOST_AT_ONCE = 256
# A feature whose unexplained variance is below this share of its own adds nothing but rounding errors.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Regression:
    """The features in reading order, and what is needed to predict the margin from any number of the first of them."""

    order: NDArray[np.intp]
    mean: Reals  # of the features in reading order
    factor: Reals  # (k, k) the Cholesky factor of their covariance
    gains: Reals  # (k, scores) partial covariance with each feature, over its residual standard deviation
    expected: Reals  # (scores,) the mean scores
    score_covariance: Reals  # (scores, scores)

    def weights(self, size: int) -> tuple[Reals, Reals]:
        """Return what the first features weigh in each score's prediction, (scores, size), and what is added."""
        beta = solve_triangular(self.factor[:size, :size], self.gains[:size], lower=True, trans="T").T
        return beta, self.expected - beta @ self.mean[:size]

    def given(self, known: NDArray[np.intp], values: Reals) -> tuple[Reals, Reals]:
        """Return the mean and the covariance of the scores given the values at some positions, under a normal law."""
        deviation = values - self.mean[known]
        with_scores = self.factor[known] @ self.gains
        slope = np.linalg.solve(self.covariance[np.ix_(known, known)], with_scores)
        return self.expected + deviation @ slope, self.score_covariance - with_scores.T @ slope

    def imputation(self, absent: NDArray[np.intp], known: NDArray[np.intp]) -> tuple[Reals, Reals, Reals]:
        """Return how the values at some positions follow from those at others.

        That is, slopes (known, absent), what is expected where the others are zero, and the covariance that is left.

        With P the precision matrix (inverse covariance) of both together, the slopes are -P[known, absent]
        P[absent, absent]^-1 and what is left is P[absent, absent]^-1. Where more is absent than known, the normal
        equations of the known positions are the smaller ones, and lose less to rounding.
        """
        if absent.size <= known.size:
            both = np.sort(np.concatenate([absent, known]))
            precision, rows = self.precision(both), np.searchsorted(both, absent)
            left = np.linalg.inv(precision[np.ix_(rows, rows)]).astype(np.float64)
            slope = -precision[np.ix_(np.searchsorted(both, known), rows)] @ left
        else:
            across = self.covariance[np.ix_(known, absent)]
            slope = np.linalg.solve(self.covariance[np.ix_(known, known)], across).astype(np.float64)
            left = self.covariance[np.ix_(absent, absent)] - across.T @ slope
        return slope, self.mean[absent] - self.mean[known] @ slope, left

    def precision(self, positions: NDArray[np.intp]) -> Reals:
        """Return the precision matrix of the features at these positions, which ascend; kept for the next time.

        A plan asks for one per checkpoint. The first k positions have the leading block of the factor as theirs.
        """
        key = positions.tobytes()
        if key not in self._precisions:
            leading = positions.size == 0 or positions[-1] == positions.size - 1
            factor = (
                self.factor[: positions.size, : positions.size]
                if leading
                else np.linalg.cholesky(self.covariance[np.ix_(positions, positions)])
            )
            inverse = solve_triangular(factor, np.eye(positions.size), lower=True)
            self._precisions[key] = inverse.T @ inverse
        return self._precisions[key]

    @cached_property
    def _precisions(self) -> dict[bytes, Reals]:
        return {}

    def reordered(self, positions: NDArray[np.intp]) -> "Regression":
        """Return the regression on the same features in another order."""
        if positions.size == 0:  # older versions of SciPy refuse to solve an empty system
            return self
        factor: Reals = np.linalg.cholesky(self.covariance[np.ix_(positions, positions)]).astype(np.float64, copy=False)
        gains = solve_triangular(factor, (self.factor @ self.gains)[positions], lower=True)
        return replace(self, order=self.order[positions], mean=self.mean[positions], factor=factor, gains=gains)

    def leading(self, size: int) -> "Regression":
        """Return the regression on the first of the features alone."""
        return replace(
            self,
            order=self.order[:size],
            mean=self.mean[:size],
            factor=self.factor[:size, :size].copy(),
            gains=self.gains[:size],
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what was derived from them is derived again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def covariance(self) -> Reals:
        """Return the covariance of the features, in reading order, with the ridge."""
        covariance: Reals = self.factor @ self.factor.T
        return covariance


def emphasis(distance: Reals, focus: float) -> Reals:
    """Return the weight of each row by its distance from the decision; the weights sum to 1."""
    scale = focus * float(np.median(np.abs(distance)))
    weight = 1 / (1 + (distance / scale) ** 2) if scale > 0 else np.ones_like(distance)
    share: Reals = weight / weight.sum()
    return share


@one_blas_thread()
def regress(
    X: NDArray[np.floating[Any]],
    coef: Reals,
    weight: Reals,
    size: int,
    *,
    ridge: float,
    prices: Prices | PathPrices,
    order: NDArray[np.intp] | None = None,
    unread: int = 0,
) -> Regression:
    """Regress the scores X @ coef.T on ever more features: the given ones in turn, or the best for their cost.

    ``ridge`` is added to every variance, as a share of it, so that no unit of measurement matters.
    """
    return regress_by(OfRows(X, weight), coef, size, ridge=ridge, prices=prices, order=order, unread=unread)


def regress_by(
    rows: Covariance,
    coef: Reals,
    size: int,
    *,
    ridge: float,
    prices: Prices | PathPrices,
    order: NDArray[np.intp] | None = None,
    unread: int = 0,
) -> Regression:
    """Regress scores on ever more features by what the rows tell of their covariances; never on the last, unread ones.

    These count in the scores alone.
    """
    scores, n = coef.shape
    constant, penalty = rows.constant | (np.arange(n) >= n - unread), ridge * rows.variance
    residual_variance = rows.variance + penalty
    smallest = NEGLIGIBLE * residual_variance
    # cov(x_j, S); the ridge stands for noise of its own in every feature, which S contains with its weight.
    unexplained = rows.with_scores(coef) + penalty[:, None] * coef.T
    score_covariance = rows.of_scores(coef) + (penalty * coef) @ coef.T
    groups = Groups(rows, prices, penalty, prices.groups if order is None else prices.groups[:0])
    basket = prices.basket()
    bought: list[int] = []  # features of a purchase that was picked, still to be read
    left: Reals | None = None  # their covariance with all features, given what is chosen; None where it is one feature
    columns: dict[int, int] = {}  # of ``left``
    loadings = np.zeros((n, size))
    gains = np.zeros((size, scores))
    picked = np.zeros(n, dtype=bool)
    chosen: list[int] = []
    for k in range(size):
        useless = picked | constant | (residual_variance <= smallest)
        if order is None:
            explained = np.full(n, -1.0)
            np.divide(explained_by_each(unexplained), residual_variance, out=explained, where=~useless)
            bought = [feature for feature in bought if not useless[feature]]
            if not bought:
                worth = worth_of(explained, unexplained, useless, prices.purchase, basket.price, groups)
                best = int(np.argmax(worth))
                if worth[best] <= 0:
                    break
                bought = [int(feature) for feature in prices.members(best) if not useless[feature]]
                columns = {feature: column for column, feature in enumerate(bought)}
                left = _left(rows, penalty, loadings[:, :k], bought) if 1 < len(bought) <= MOST_AT_ONCE else None
                basket.add(best)
            pivot = max(bought, key=lambda feature: explained[feature])
        else:
            pivot = int(order[k])
        picked[pivot] = True
        chosen.append(pivot)
        if useless[pivot]:  # a given order reads it, with weight zero
            loadings[pivot, k] = 1.0
            continue
        scale = np.sqrt(max(residual_variance[pivot], 1e-300))
        if left is None:
            covariance = rows.column(pivot)
            covariance[pivot] += penalty[pivot]
            loading = (covariance - loadings[:, :k] @ loadings[pivot, :k]) / scale
        else:
            loading = left[:, columns[pivot]] / scale
        loading[picked & (np.arange(n) != pivot)] = 0
        if left is not None:
            left -= np.outer(loading, loading[list(columns)])
        groups.choose(loading)
        gain = unexplained[pivot] / scale
        loadings[:, k], gains[k] = loading, gain
        residual_variance = residual_variance - loading**2
        unexplained = unexplained - loading[:, None] * gain
    reading = np.array(chosen, dtype=np.intp)
    factor = np.tril(loadings[reading][:, : reading.size])
    return Regression(reading, rows.mean[reading], factor, gains[: reading.size], coef @ rows.mean, score_covariance)


def regress_again(known: Regression, rows: Covariance, coef: Reals, *, ridge: float) -> Regression:
    """Regress scores on the features of a known regression, in its order, by other rows: one decomposition."""
    order, penalty = known.order, ridge * rows.variance
    # A feature that is constant on these rows, or follows from others, shall weigh nothing, and not fail.
    least = NEGLIGIBLE * (known.factor**2).sum(axis=1)
    factor: Reals = np.linalg.cholesky(rows.among(order) + np.diag(penalty[order] + least)).astype(np.float64)
    unexplained = rows.with_scores(coef) + penalty[:, None] * coef.T
    gains = solve_triangular(factor, unexplained[order], lower=True)
    score_covariance = rows.of_scores(coef) + (penalty * coef) @ coef.T
    return replace(
        known,
        mean=rows.mean[order],
        factor=factor,
        gains=gains,
        expected=coef @ rows.mean,
        score_covariance=score_covariance,
    )


def _left(rows: Covariance, penalty: Reals, loadings: Reals, members: list[int]) -> Reals:
    """Return the covariance of some features with all, (features, members), given those that were chosen."""
    covariance = rows.columns(np.array(members))
    covariance[members, np.arange(len(members))] += penalty[members]
    left: Reals = covariance - loadings @ loadings[members].T
    return left

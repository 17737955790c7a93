"""From scores and the part values of some rows to families of plans, from the safest to the boldest."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.state import REST_SQUARED_WEIGHTS, TOTAL_VARIANCE
from saccade.planning.boundaries import Boundary, Conditional
from saccade.planning.cross_fitting import FEW, cross_fitted, regress_in_order, ridge_of
from saccade.planning.families import Families, Family, Goal, Predictor, Priced, lead, plain_sums, plan_of, whole_plan
from saccade.planning.fewest_columns import column_family
from saccade.planning.orders import reading_order
from saccade.planning.paths import PathPrices
from saccade.planning.prices import Prices
from saccade.planning.regression import Regression, emphasis, regress
from saccade.planning.stst import Moments, checkpoints, plan_prediction
from saccade.planning.trials import Predicted, predict_scores, try_predictors
from saccade.planning.tuning import tune
from saccade.promises.promise import Promise
from saccade.reading.plan import Plan

__all__ = ["plan_columns", "plan_families"]

Reals = NDArray[np.float64]
Values = NDArray[np.floating[Any]]  # (rows, parts)

# After how many features the predicted margin may be looked at.
SIZES = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 384])
MOST_REGRESSED = int(SIZES[-1])
# The share of the planning rows that the regression sees; thresholds are tuned on the others.
REGRESSED_SHARE = 0.7
# Settings: multiples of the thresholds that were tuned for, and of those that the paper's boundaries demand.
FACTORS = np.geomspace(5.0, 0.2, 110)
SAFEST = 8.0  # a multiple of σ_k
PAPER_FACTORS = np.geomspace(8.0, 0.25, 120)


def plan_families(priced: Priced, X: Values, boundary: Boundary, order: str, goal: Goal, seed: int) -> Families:
    """Plan on rows."""
    full = X @ priced.scores.coef.T + priced.scores.intercept
    if priced.scores.coef.shape[0] > 1 and order.startswith("sampled"):
        raise ValueError(f"order={order!r} draws by one score's weights, and the model has several. Choose another.")
    if isinstance(boundary, Conditional):
        return _conditional_families(priced, X, full, boundary, order, goal, seed)
    law = boundary.law(0.0)
    regression = _regression(priced, X, full, Conditional(), "greedy", seed)
    # z = 1 is the paper's own threshold; a boundary without a level has a single plan.
    settings = PAPER_FACTORS if law is not None else np.ones(1)
    features = _with_the_rest(regression.order, priced, "sorted", seed) if order == "greedy" else None
    if priced.scores.coef.shape[0] > 1:
        order_of_all = _with_the_rest(np.arange(0), priced, order, seed) if features is None else features
        several = Family(settings, _plans_of_sums(priced, X, boundary, order_of_all))
        return Families(regression, lambda promise: several)
    moments, (score,), (intercept,) = _moments_by_side(X, full[:, 0]), priced.scores.coef, priced.scores.intercept
    name = "natural" if order == "greedy" else order

    def plan(z: float) -> Plan:
        factors = np.full(2, z)
        made = plan_prediction(score, intercept, boundary, name, moments, factors, seed, features=features)
        return made._replace(of_trees=not priced.scores.parts_are_columns)

    return Families(regression, lambda promise: Family(settings, plan))


def plan_columns(priced: Priced, X: Values, boundary: Conditional, seed: int) -> Families:
    """Plan on rows for the fewest columns; nothing but their number depends on the promise."""
    boundary.check()
    full = X @ priced.scores.coef.T + priced.scores.intercept
    regression = _regression(priced, X, full, boundary, "greedy", seed)
    ranked, family = column_family(priced, X, full, regression, boundary.focus)
    return Families(ranked, lambda promise: family)


def _moments_by_side(X: Values, margin: Reals) -> Moments:
    """Return means and variances of the rows on either side, which stand for the two classes."""
    sides = [X[margin <= 0], X[margin > 0]]
    known = np.array([side.shape[0] > 1 for side in sides])
    mean, var = (
        np.stack(
            [getattr(side if ok else X, name)(axis=0, dtype=np.float64) for side, ok in zip(sides, known, strict=True)]
        )
        for name in ("mean", "var")
    )
    return Moments(known, mean, var)


def _regression(priced: Priced, X: Values, full: Reals, boundary: Conditional, order: str, seed: int) -> Regression:
    if order.startswith("sampled"):
        raise ValueError(f"order={order!r} reads features more than once: Conditional needs another, such as 'greedy'.")
    size = min(MOST_REGRESSED, priced.scores.coef.shape[1])
    given = None if order == "greedy" else reading_order(order, priced.magnitude, seed)[0][:size]
    weight = emphasis(lead(full), boundary.focus)
    ridge = ridge_of(boundary, X.shape[0])
    return regress(X, priced.scores.coef, weight, size, ridge=ridge, prices=priced.prices, order=given)


def _conditional_families(
    priced: Priced, X: Values, full: Reals, boundary: Conditional, order: str, goal: Goal, seed: int
) -> Families:
    """Regress on most of the rows and tune on the others: features that were selected leave too small residuals.

    Where rows are few, all of them do both, by cross-fitting.
    """
    boundary.check()
    few = X.shape[0] <= FEW
    known = X.shape[0] if few else round(REGRESSED_SHARE * X.shape[0])
    regression = _regression(priced, X[:known], full[:known], boundary, order, seed)
    features = _with_the_rest(regression.order, priced, "sorted" if order == "greedy" else order, seed)
    sizes = _looks(priced.prices, regression.order)
    predictors = _predictors(priced, X[:known], regression, sizes, features)
    whole = whole_plan(priced.scores, features)
    if not predictors:  # no feature explains anything
        return Families(regression, lambda promise: Family(np.array([np.inf]), lambda factor: whole))

    def predict(others: NDArray[np.intp], rows: NDArray[np.intp]) -> Predicted:
        apart = regress_in_order(priced, X[others], full[others], regression.order, boundary)
        given = _predictors(priced, X[others], apart, sizes, features)
        return predict_scores(priced, given, features, X[rows], full[rows], boundary.focus)

    tuning = slice(0 if few else known, None)
    predicted = (
        cross_fitted(X.shape[0], predict)
        if few
        else predict_scores(priced, predictors, features, X[tuning], full[tuning], boundary.focus)
    )
    trial = try_predictors(priced, predictors, features, predicted, goal.labels.part(tuning), tuning)

    def family(promise: Promise) -> Family:
        choice = tune(trial, promise, goal.allowed(promise))
        chosen = [predictors[k] for k in choice.checkpoints]
        demanded = trial.demanded(choice.exponent)[choice.checkpoints]

        def plan(factor: float) -> Plan:
            return (
                whole
                if np.isinf(factor)
                else plan_of(priced.scores, features, chosen, choice.thresholds(factor, demanded))
            )

        return Family(np.concatenate([[np.inf], _safer(choice.z), FACTORS]), plan)

    return Families(regression, family)


def _safer(z: Reals) -> Reals:
    """Return multiples of thresholds that were tuned to be low, beyond the others.

    A few rows may not show a single error even at the lowest threshold. Without these, no setting would be safe.
    """
    safest = SAFEST / z.min()
    return np.geomspace(safest, FACTORS[0], 30, endpoint=False) if safest > FACTORS[0] else np.zeros(0)


def _predictors(
    priced: Priced, X: Values, regression: Regression, sizes: list[int], features: NDArray[np.intp]
) -> list[Predictor]:
    """Return predictors after so many features that were regressed on, and after more of all features."""
    if not sizes:
        return []
    regressed = [Predictor(size, 0, *regression.weights(size)) for size in sizes]
    return regressed + _beyond(priced, X, features, regression.order.size)


def _looks(prices: Prices | PathPrices, features: NDArray[np.intp]) -> list[int]:
    """Return after how many features a plan may look: only where every purchase so far is complete."""
    ends = prices.complete(features)
    by_number = {int(ends[k]) for k in np.searchsorted(ends, SIZES) if k < ends.size}
    return sorted(by_number.union(prices.looks(features).tolist()))


def _beyond(priced: Priced, X: Values, features: NDArray[np.intp], regressed: int) -> list[Predictor]:
    """Return predictors beyond the regression: plain sums, plus the mean of the unread rest."""
    sizes, size = [], max(regressed + 1, 3 * regressed // 2)
    while size < 0.75 * features.size:
        sizes.append(size)
        size = max(size + 1, 3 * size // 2)
    coef = priced.scores.coef[:, features]
    return plain_sums(coef, coef * X.mean(axis=0, dtype=np.float64)[features], sizes)


def _with_the_rest(first: NDArray[np.intp], priced: Priced, order: str, seed: int) -> NDArray[np.intp]:
    """Return these features, and then all others in their order."""
    every = reading_order(order, priced.magnitude, seed)[0]
    rest = every[~np.isin(every, first)]
    begun = np.isin(priced.prices.purchase[rest], priced.prices.purchase[first])  # paid for already
    return np.concatenate([first, rest[begun], rest[~begun]])


def _plans_of_sums(
    priced: Priced, X: Values, boundary: Boundary, features: NDArray[np.intp]
) -> Callable[[float], Plan]:
    """Return plans by one of the paper's boundaries for several scores: plain sums, and a lead that they demand.

    The variance of a lead is bounded by twice the largest variance of a centred score. The mean of the unread rest is
    always added: without it a score may lead only because its features come first.
    """
    n, law, limit = features.size, boundary.law(0.0), boundary.limit(features.size)
    coef = priced.scores.coef[:, features]
    if law is None:
        predictors = plain_sums(coef, np.zeros_like(coef), [limit] if limit < n else [])
        return lambda z: plan_of(priced.scores, features, predictors, np.zeros(len(predictors)))
    stops = checkpoints(n)
    dispersion = np.ones(n) if law.grows_with == REST_SQUARED_WEIGHTS else X.var(axis=0, dtype=np.float64)[features]
    variance = np.cumsum((coef - coef.mean(axis=0)) ** 2 * dispersion, axis=1)
    left = variance[:, -1:] - (0.0 if law.grows_with == TOTAL_VARIANCE else 1.0) * variance[:, stops - 1]
    cushion = law.slope * np.sqrt(law.shift + 2 * np.maximum(left, 0).max(axis=0)) - law.offset
    expected = coef * X.mean(axis=0, dtype=np.float64)[features]
    predictors = plain_sums(coef, expected, stops.tolist())
    return lambda z: plan_of(priced.scores, features, predictors, np.maximum(z * cushion, 0))

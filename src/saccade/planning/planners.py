"""From scores and the part values of some rows to families of plans, from the safest to the boldest."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.state import REST_SQUARED_WEIGHTS, TOTAL_VARIANCE
from saccade.planning.boundaries import Boundary, Conditional, as_numbers
from saccade.planning.families import Families, Family, Goal, Priced, plain_sums, plan_of, whole_plan
from saccade.planning.fewest_columns import column_family
from saccade.planning.predictions import predict_rows, regression_of, with_the_rest
from saccade.planning.stst import Moments, checkpoints, plan_prediction
from saccade.planning.trials import try_predictors
from saccade.planning.tuning import tune
from saccade.promises.promise import Promise
from saccade.reading.plan import Plan

__all__ = ["plan_columns", "plan_families"]

Reals = NDArray[np.float64]
Values = NDArray[np.floating[Any]]  # (rows, parts)

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
    regression = regression_of(priced, X, full, Conditional(), "greedy", seed)
    # z = 1 is the paper's own threshold; a boundary without a level has a single plan.
    settings = PAPER_FACTORS if law is not None else np.ones(1)
    first, name = (regression.order, "sorted") if order == "greedy" else (np.arange(0), order)
    # Draws have weights of their own, which the order itself gives.
    features = None if name.startswith("sampled") else with_the_rest(first, priced, name, seed)
    if features is not None and priced.scores.coef.shape[0] > 1:
        several = Family(settings, _plans_of_sums(priced, X, boundary, features))
        return Families(regression, lambda promise: several)
    moments, (score,), (intercept,) = _moments_by_side(X, full[:, 0]), priced.scores.coef, priced.scores.intercept

    def plan(z: float) -> Plan:
        factors = np.full(2, z)
        made = plan_prediction(score, intercept, boundary, name, moments, factors, seed, features=features)
        return made._replace(of_trees=priced.scores.of_trees)

    return Families(regression, lambda promise: Family(settings, plan))


def plan_columns(priced: Priced, X: Values, boundary: Conditional, seed: int) -> Families:
    """Plan on rows for the fewest columns; nothing but their number depends on the promise."""
    boundary.check()
    full = X @ priced.scores.coef.T + priced.scores.intercept
    regression = regression_of(priced, X, full, boundary, "greedy", seed)
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


def _conditional_families(
    priced: Priced, X: Values, full: Reals, boundary: Conditional, order: str, goal: Goal, seed: int
) -> Families:
    boundary.check()
    made = predict_rows(priced, X, full, boundary, order, seed)
    features, predictors, whole = made.features, made.predictors, whole_plan(priced.scores)
    if made.predicted is None:
        return Families(made.regression, lambda promise: Family(np.array([np.inf]), lambda factor: whole))
    trial = try_predictors(priced, predictors, features, made.predicted, goal.labels.part(made.rows), made.rows)

    def family(promise: Promise) -> Family:
        choice = tune(trial, promise, goal.allowed(promise))
        chosen = [predictors[k] for k in choice.checkpoints]

        def plan(factor: float) -> Plan:
            if np.isinf(factor):
                return whole
            return plan_of(priced.scores, features, chosen, choice.thresholds(factor, trial.predicted.sigma))

        return Family(np.concatenate([[np.inf], _safer(choice.z), FACTORS]), plan)

    return Families(made.regression, family)


def _safer(z: Reals) -> Reals:
    """Return multiples of thresholds that were tuned to be low, beyond the others.

    A few rows may not show a single error even at the lowest threshold. Without these, no setting would be safe.
    """
    safest = SAFEST / z.min()
    return np.geomspace(safest, FACTORS[0], 30, endpoint=False) if safest > FACTORS[0] else np.zeros(0)


def _plans_of_sums(
    priced: Priced, X: Values, boundary: Boundary, features: NDArray[np.intp]
) -> Callable[[float], Plan]:
    """Return plans by one of the paper's boundaries for several scores: plain sums, and a lead that they demand.

    The variance of a lead is bounded by twice the largest variance of a centred score. The mean of the unread rest is
    always added: without it a score may lead only because its features come first.
    """
    n = features.size
    law, limit = as_numbers(boundary, 0.0, n)
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

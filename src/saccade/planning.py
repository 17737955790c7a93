"""From a linear score and some rows to a family of plans, from the safest to the boldest. No label is needed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.boundaries import Boundary, Conditional
from saccade.conditional import Regression, emphasis, regress
from saccade.orders import reading_order
from saccade.plan import Moments, Plan, plan_prediction

__all__ = ["Family", "Score", "plan_family"]

Reals = NDArray[np.float64]

# After how many features the predicted margin may be looked at.
SIZES = np.array([3, 6, 10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384])
# By which power of the number of features read the thresholds may fall beyond the spread, or rise.
TILTS = (-0.4, -0.3, -0.2, -0.1, 0.0, 0.1)
# How clear a margin must be, in spreads, from the safest to the boldest.
CLEARNESS = np.geomspace(8.0, 0.25, 120)
# A plan may decide every row at its last checkpoint where this uses at most this share of the errors allowed.
CLOSING = 0.1


@dataclass(frozen=True)
class Score:
    """A linear score, and what each of its features costs."""

    coef: Reals
    intercept: float
    costs: Reals


@dataclass(frozen=True)
class Family:
    """Plans by how clear a margin must be; ``settings`` begin with the safest."""

    settings: Reals
    plan: Callable[[float], Plan]


def plan_family(
    score: Score, X: NDArray[np.floating[Any]], boundary: Boundary, order: str, allowed: float, seed: int
) -> Family:
    """Plan on rows; ``allowed`` is the share of disagreement that the plans are tuned for."""
    margin = X @ score.coef + score.intercept
    if isinstance(boundary, Conditional):
        return _conditional_family(score, X, margin, boundary, order, allowed, seed)
    boundary.law(0.0)
    features = None
    if order == "greedy":
        whole = Conditional()
        found = _regression(score, X, margin, whole, "greedy", seed)
        rest = np.setdiff1d(np.argsort(-np.abs(score.coef), kind="stable"), found.order, assume_unique=True)
        features = np.concatenate([found.order, rest])
    moments = _moments_by_side(X, margin)

    def plan(clearness: float) -> Plan:
        factors = np.full(2, clearness)
        name = "natural" if order == "greedy" else order
        return plan_prediction(score.coef, score.intercept, boundary, name, moments, factors, seed, features=features)

    # The paper's own threshold has clearness 1; a boundary without a level has one plan only.
    return Family(CLEARNESS if boundary.law(0.0) is not None else np.ones(1), plan)


def _moments_by_side(X: NDArray[np.floating[Any]], margin: Reals) -> Moments:
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


def _regression(
    score: Score, X: NDArray[np.floating[Any]], margin: Reals, boundary: Conditional, order: str, seed: int
) -> Regression:
    if order.startswith("sampled"):
        raise ValueError(f"order={order!r} reads features more than once: Conditional needs another, such as 'greedy'.")
    size = min(int(SIZES[-1]), score.coef.size)
    given = None if order == "greedy" else reading_order(order, score.coef, seed)[0][:size]
    weight = emphasis(margin, boundary.focus)
    return regress(X, score.coef, weight, size, ridge=boundary.ridge, costs=score.costs, order=given)


def _conditional_family(
    score: Score,
    X: NDArray[np.floating[Any]],
    margin: Reals,
    boundary: Conditional,
    order: str,
    allowed: float,
    seed: int,
) -> Family:
    boundary.check()
    found = _regression(score, X, margin, boundary, order, seed)
    sizes = SIZES[found.order.size >= SIZES]
    if sizes.size == 0:  # nothing tells rows apart
        empty = np.zeros(0)
        nothing = Plan(
            *(found.order.astype(np.uint32), sizes, sizes, empty, empty, empty, empty), score.coef, score.intercept
        )
        return Family(np.ones(1), lambda clearness: nothing)
    lines = [found.weights(int(size)) for size in sizes]
    shift = np.array([constant for _, constant in lines]) + score.intercept
    values = X[:, found.order]
    predicted = np.stack([values[:, : beta.size] @ beta for beta, _ in lines], axis=1) + shift
    weight = emphasis(margin, boundary.focus)
    spread = np.sqrt(np.maximum(weight @ (predicted - margin[:, None]) ** 2, 1e-300))
    spent = np.cumsum(score.costs[found.order])[sizes - 1]
    tilt, last = _tune(predicted, margin, spread, sizes, spent, float(score.costs.sum()), allowed)
    demanded = spread[:last] * (sizes[:last] / 16.0) ** tilt
    weights = np.concatenate([beta for beta, _ in lines[:last]])
    closes = last < sizes.size

    def plan(clearness: float) -> Plan:
        upper = clearness * demanded
        if closes:
            upper = np.append(upper[:-1], 0.0)
        stops = sizes[:last].astype(np.int64)
        return Plan(
            order=found.order[: stops[-1]].astype(np.uint32),
            checkpoints=stops,
            first=np.zeros(last, dtype=np.int64),
            weights=weights,
            shift=shift[:last],
            lower=-upper,
            upper=upper,
            coef=score.coef,
            offset=score.intercept,
        )

    return Family(CLEARNESS, plan)


def _tune(
    predicted: Reals,
    margin: Reals,
    spread: Reals,
    sizes: NDArray[np.int64],
    spent: Reals,
    everything: float,
    allowed: float,
) -> tuple[float, int]:
    """Choose the tilt of the thresholds and the last checkpoint for the least expected cost at the errors allowed.

    A last checkpoint before the end decides every row that reaches it.
    """
    wrong = (predicted > 0) != (margin > 0)[:, None]
    rows = np.arange(margin.size)
    best = (everything, 0.0, sizes.size)
    lasts = [k + 1 for k in range(sizes.size - 1) if sizes[k] >= 16 and wrong[:, k].mean() <= CLOSING * allowed]
    for tilt in TILTS:
        clear = np.maximum.accumulate(np.abs(predicted) / (spread * (sizes / 16.0) ** tilt), axis=1)
        for last in [*lasts, sizes.size]:
            for clearness in CLEARNESS[::3]:
                stop = (clear[:, :last] < clearness).sum(axis=1)
                undecided = stop == last
                at = np.minimum(stop, last - 1)
                errors, cost = wrong[rows, at], spent[at]
                if last == sizes.size:
                    errors, cost = errors & ~undecided, np.where(undecided, everything, cost)
                if errors.mean() > allowed:
                    break
                if cost.mean() < best[0]:
                    best = (float(cost.mean()), tilt, last)
    return best[1], best[2]

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
SIZES = np.array([3, 6, 9, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384])
MOST_REGRESSED = int(SIZES[-1])
# The share of the planning rows that the regression sees; thresholds are tuned on the others.
REGRESSED_SHARE = 0.7
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
        features = _with_the_rest(found.order, score, "sorted", seed)
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
    size = min(MOST_REGRESSED, score.coef.size)
    given = None if order == "greedy" else reading_order(order, score.coef, seed)[0][:size]
    weight = emphasis(margin, boundary.focus)
    return regress(X, score.coef, weight, size, ridge=boundary.ridge, costs=score.costs, order=given)


@dataclass(frozen=True)
class _Line:
    """What one checkpoint weighs: the values from a position on, and what it adds."""

    size: int
    first: int
    weights: Reals
    shift: float


def _conditional_family(
    score: Score,
    X: NDArray[np.floating[Any]],
    margin: Reals,
    boundary: Conditional,
    order: str,
    allowed: float,
    seed: int,
) -> Family:
    """Regress on most of the rows and tune on the others: a regression that chose its features flatters itself."""
    boundary.check()
    known = round(REGRESSED_SHARE * X.shape[0])
    found = _regression(score, X[:known], margin[:known], boundary, order, seed)
    features = found.order
    lines = [_Line(int(size), 0, *found.weights(int(size))) for size in SIZES[features.size >= SIZES]]
    if score.coef.size > features.size:
        features, more = _beyond(score, X[:known], found, order, seed)
        lines += more
    if not lines:  # nothing tells rows apart
        return Family(np.array([np.inf]), lambda clearness: _plan(score, features, [], np.zeros(0)))
    others, full = X[known:], margin[known:]
    predicted = _predictions(lines, features, others) + score.intercept
    spread = np.sqrt(np.maximum(emphasis(full, boundary.focus) @ (predicted - full[:, None]) ** 2, 1e-300))
    sizes = np.array([line.size for line in lines])
    spent = np.cumsum(score.costs[features])[sizes - 1]
    tilt, last = _tune(predicted, full, spread, sizes, spent, float(score.costs.sum()), allowed)
    demanded = spread[:last] * (sizes[:last] / 16.0) ** tilt
    closes = last < sizes.size

    def plan(clearness: float) -> Plan:
        if np.isinf(clearness):
            return _plan(score, features, [], np.zeros(0))
        upper = clearness * demanded
        return _plan(score, features, lines[:last], np.append(upper[:-1], 0.0) if closes else upper)

    return Family(np.concatenate([[np.inf], CLEARNESS]), plan)


def _beyond(
    score: Score, X: NDArray[np.floating[Any]], found: Regression, order: str, seed: int
) -> tuple[NDArray[np.intp], list[_Line]]:
    """Return all features in reading order, and checkpoints beyond the regression: plain sums, the rest as expected."""
    features = _with_the_rest(found.order, score, "sorted" if order == "greedy" else order, seed)
    mean = X.mean(axis=0, dtype=np.float64)[features] * score.coef[features]
    lines, first, size = [], 0, 3 * max(found.order.size, 1) // 2
    while size < 0.75 * score.coef.size:
        shift = mean[size:].sum() if first == 0 else -mean[first:size].sum()
        lines.append(_Line(size, first, score.coef[features[first:size]], float(shift)))
        first, size = size, 3 * size // 2
    return features, lines


def _with_the_rest(first: NDArray[np.intp], score: Score, order: str, seed: int) -> NDArray[np.intp]:
    """Return these features, and then all others in their order."""
    every = reading_order(order, score.coef, seed)[0]
    return np.concatenate([first, every[~np.isin(every, first)]])


def _predictions(lines: list[_Line], features: NDArray[np.intp], X: NDArray[np.floating[Any]]) -> Reals:
    """Return the margin without its intercept as each checkpoint predicts it."""
    predicted = np.empty((X.shape[0], len(lines)))
    for k, line in enumerate(lines):
        values = X[:, features[line.first : line.size]] @ line.weights + line.shift
        predicted[:, k] = values + (predicted[:, k - 1] if line.first else 0.0)
    return predicted


def _plan(score: Score, features: NDArray[np.intp], lines: list[_Line], upper: Reals) -> Plan:
    last = lines[-1].size if lines else 0
    shift = np.array([line.shift + (0.0 if line.first else score.intercept) for line in lines])
    return Plan(
        order=features[:last].astype(np.uint32),
        checkpoints=np.array([line.size for line in lines], dtype=np.int64),
        first=np.array([line.first for line in lines], dtype=np.int64),
        weights=np.concatenate([line.weights for line in lines]) if lines else np.zeros(0),
        shift=shift,
        lower=-upper,
        upper=upper,
        coef=score.coef,
        offset=score.intercept,
    )


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

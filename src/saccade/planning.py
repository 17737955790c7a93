"""From linear scores and some rows to a family of plans, from the safest to the boldest. No label is needed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.boundaries import Boundary, Conditional
from saccade.conditional import Regression, emphasis, regress
from saccade.kernels.state import REST_SQUARED_WEIGHTS, TOTAL_VARIANCE
from saccade.orders import reading_order
from saccade.plan import Moments, Plan, checkpoints, decided, plan_prediction
from saccade.prices import Prices
from saccade.tuning import CLEARNESS, Trial, tune

__all__ = ["Family", "Scores", "plan_family"]

Reals = NDArray[np.float64]

# After how many features the predicted margin may be looked at.
SIZES = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 384])
MOST_REGRESSED = int(SIZES[-1])
# The share of the planning rows that the regression sees; thresholds are tuned on the others.
REGRESSED_SHARE = 0.7
# What it costs to look at a row, and to weigh one value, where reading a feature costs 1: roughly as measured, in time.
LOOKING, WEIGHING = 0.8, 0.05


@dataclass(frozen=True)
class Scores:
    """Linear scores, one or one per class, and what each of their features costs."""

    coef: Reals  # (scores, n_features)
    intercept: Reals  # (scores,)
    prices: Prices
    looking: bool  # whether looking at what was read costs anything, too

    @property
    def magnitude(self) -> Reals:
        """Return how much each feature weighs in the decision, for the orders that go by it."""
        if self.coef.shape[0] == 1:
            weight: Reals = self.coef[0]
            return weight
        apart: Reals = np.sqrt(((self.coef - self.coef.mean(axis=0)) ** 2).sum(axis=0))
        return apart


@dataclass(frozen=True)
class Family:
    """Plans by how clear a margin must be; ``settings`` begin with the safest."""

    settings: Reals
    plan: Callable[[float], Plan]
    regression: Regression  # what the features tell about the scores and about each other


def plan_family(
    scores: Scores, X: NDArray[np.floating[Any]], boundary: Boundary, order: str, allowed: float, seed: int
) -> Family:
    """Plan on rows; ``allowed`` is the share of disagreement that the plans are tuned for."""
    full = X @ scores.coef.T + scores.intercept
    if scores.coef.shape[0] > 1 and order.startswith("sampled"):
        raise ValueError(f"order={order!r} draws by one score's weights, and the model has several. Choose another.")
    if isinstance(boundary, Conditional):
        return _conditional_family(scores, X, full, boundary, order, allowed, seed)
    law = boundary.law(0.0)
    found = _regression(scores, X, full, Conditional(), "greedy", seed)
    # The paper's own threshold has clearness 1; a boundary without a level has one plan only.
    settings = CLEARNESS if law is not None else np.ones(1)
    features = _with_the_rest(found.order, scores, "sorted", seed) if order == "greedy" else None
    if scores.coef.shape[0] > 1:
        order_of_all = _with_the_rest(np.arange(0), scores, order, seed) if features is None else features
        return Family(settings, _plans_of_sums(scores, X, boundary, order_of_all), found)
    moments, (score,), (intercept,) = _moments_by_side(X, full[:, 0]), scores.coef, scores.intercept
    name = "natural" if order == "greedy" else order

    def plan(clearness: float) -> Plan:
        factors = np.full(2, clearness)
        return plan_prediction(score, intercept, boundary, name, moments, factors, seed, features=features)

    return Family(settings, plan, found)


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
    scores: Scores, X: NDArray[np.floating[Any]], full: Reals, boundary: Conditional, order: str, seed: int
) -> Regression:
    if order.startswith("sampled"):
        raise ValueError(f"order={order!r} reads features more than once: Conditional needs another, such as 'greedy'.")
    size = min(MOST_REGRESSED, scores.coef.shape[1])
    given = None if order == "greedy" else reading_order(order, scores.magnitude, seed)[0][:size]
    weight = emphasis(_lead(full), boundary.focus)
    return regress(X, scores.coef, weight, size, ridge=boundary.ridge, prices=scores.prices, order=given)


def _lead(margin: Reals) -> Reals:
    """Return how far each row (rows, scores) is from the decision: the one margin, or the gap between the two best."""
    if margin.shape[1] == 1:
        return np.abs(margin[:, 0])
    best: Reals = np.partition(margin, -2, axis=1)[:, -2:]
    gap: Reals = best[:, 1] - best[:, 0]
    return gap


@dataclass(frozen=True)
class _Line:
    """What one checkpoint weighs: the values from a position on, and what it adds, for each score."""

    size: int
    first: int
    weights: Reals  # (scores, size - first)
    shift: Reals  # (scores,)


def _conditional_family(
    scores: Scores,
    X: NDArray[np.floating[Any]],
    full: Reals,
    boundary: Conditional,
    order: str,
    allowed: float,
    seed: int,
) -> Family:
    """Regress on most of the rows and tune on the others: a regression that chose its features flatters itself."""
    boundary.check()
    known = round(REGRESSED_SHARE * X.shape[0])
    found = _regression(scores, X[:known], full[:known], boundary, order, seed)
    features = found.order
    sizes = _looks(scores.prices, features)
    lines = [_Line(size, 0, *found.weights(size)) for size in sizes]
    if scores.coef.shape[1] > features.size > 0:
        features = _with_the_rest(features, scores, "sorted" if order == "greedy" else order, seed)
        lines += _beyond(scores, X[:known], features, found.order.size)
    if not lines:  # nothing tells rows apart
        return Family(np.array([np.inf]), lambda clearness: _plan(scores, features, [], np.zeros(0)), found)
    trial = _trial(scores, lines, features, X[known:], full[known:], boundary.focus)
    choice = tune(trial, allowed)
    chosen = [lines[k] for k in choice.checkpoints]
    demanded = trial.demanded(choice.tilt)[choice.checkpoints]

    def plan(clearness: float) -> Plan:
        if np.isinf(clearness):
            return _plan(scores, features, [], np.zeros(0))
        return _plan(scores, features, chosen, choice.thresholds(clearness, demanded))

    return Family(np.concatenate([[np.inf], CLEARNESS]), plan, found)


def _looks(prices: Prices, features: NDArray[np.intp]) -> list[int]:
    """Return after how many features a plan may look: not in the midst of what was bought together."""
    bought = prices.purchase[features]
    last = {int(purchase): position + 1 for position, purchase in enumerate(bought)}
    ends = np.array(sorted(last.values()))
    return sorted({int(ends[k]) for k in np.searchsorted(ends, SIZES) if k < ends.size})


def _beyond(scores: Scores, X: NDArray[np.floating[Any]], features: NDArray[np.intp], regressed: int) -> list[_Line]:
    """Return checkpoints beyond the regression: plain sums, and for the rest what is expected."""
    sizes, size = [], max(regressed + 1, 3 * regressed // 2)
    while size < 0.75 * features.size:
        sizes.append(size)
        size = max(size + 1, 3 * size // 2)
    coef = scores.coef[:, features]
    return _plain_sums(coef, coef * X.mean(axis=0, dtype=np.float64)[features], sizes)


def _plain_sums(coef: Reals, expected: Reals, sizes: list[int]) -> list[_Line]:
    """Return checkpoints that sum what was read and add what is expected of the rest; arrays in reading order."""
    lines, first = [], 0
    for size in sizes:
        shift = expected[:, size:].sum(axis=1) if first == 0 else -expected[:, first:size].sum(axis=1)
        lines.append(_Line(size, first, coef[:, first:size], shift))
        first = size
    return lines


def _with_the_rest(first: NDArray[np.intp], scores: Scores, order: str, seed: int) -> NDArray[np.intp]:
    """Return these features, and then all others in their order."""
    every = reading_order(order, scores.magnitude, seed)[0]
    rest = every[~np.isin(every, first)]
    begun = np.isin(scores.prices.purchase[rest], scores.prices.purchase[first])  # paid for already
    return np.concatenate([first, rest[begun], rest[~begun]])


def _trial(
    scores: Scores,
    lines: list[_Line],
    features: NDArray[np.intp],
    X: NDArray[np.floating[Any]],
    full: Reals,
    focus: float,
) -> Trial:
    """Look at rows at every checkpoint, and at how far off each prediction is of what it decides by."""
    labels, rows, count = decided(full), np.arange(X.shape[0]), len(lines)
    clear, off = np.empty((rows.size, count)), np.empty((rows.size, count))
    wrong = np.empty((rows.size, count), dtype=bool)
    predicted = np.zeros_like(full)
    for k, line in enumerate(lines):
        before = predicted if line.first else scores.intercept
        predicted = before + X[:, features[line.first : line.size]] @ line.weights.T + line.shift
        said = decided(predicted)
        clear[:, k], wrong[:, k] = _lead(predicted), said != labels
        if full.shape[1] == 1:
            off[:, k] = predicted[:, 0] - full[:, 0]
        else:
            best, second = np.argsort(predicted, axis=1)[:, [-1, -2]].T
            off[:, k] = clear[:, k] - (full[rows, best] - full[rows, second])
    sizes = np.array([line.size for line in lines])
    weighed = np.array([line.size - line.first for line in lines])
    return Trial(
        clear=clear,
        wrong=wrong,
        spread=np.sqrt(np.maximum(emphasis(_lead(full), focus) @ off**2, 1e-300)),
        sizes=sizes,
        spent=scores.prices.spent(features)[sizes - 1],
        checking=scores.looking * (LOOKING + WEIGHING * weighed * scores.intercept.size),
        everything=float(scores.prices.price.sum()),
        carries_on=np.array([line.first > 0 for line in lines]),
    )


def _plan(scores: Scores, features: NDArray[np.intp], lines: list[_Line], upper: Reals) -> Plan:
    last = lines[-1].size if lines else 0
    shift = [line.shift + (0.0 if line.first else scores.intercept) for line in lines]
    weighed = np.array([0, *(line.size - line.first for line in lines)], dtype=np.int64)
    none = np.zeros((scores.intercept.size, 0))
    return Plan(
        order=features[:last].astype(np.uint32),
        checkpoints=np.array([line.size for line in lines], dtype=np.int64),
        first=np.array([line.first for line in lines], dtype=np.int64),
        begins=np.cumsum(weighed)[: len(lines)],
        weights=np.ascontiguousarray(np.concatenate([none, *(line.weights for line in lines)], axis=1)),
        shift=np.ascontiguousarray(np.stack(shift, axis=1)) if lines else none,
        lower=-upper,
        upper=upper,
        coef=scores.coef,
        offset=scores.intercept,
    )


def _plans_of_sums(
    scores: Scores, X: NDArray[np.floating[Any]], boundary: Boundary, features: NDArray[np.intp]
) -> Callable[[float], Plan]:
    """Return plans by one of the paper's boundaries for several scores: plain sums, and a lead that they demand.

    The variance of a lead is taken as twice the largest variance of a score freed of the scores' mean. What is expected
    of the unread features is always added: without it one score may lead only because its features come first.
    """
    n, law, limit = features.size, boundary.law(0.0), boundary.limit(features.size)
    coef = scores.coef[:, features]
    if law is None:
        lines = _plain_sums(coef, np.zeros_like(coef), [limit] if limit < n else [])
        return lambda clearness: _plan(scores, features, lines, np.zeros(len(lines)))
    stops = checkpoints(n)
    dispersion = np.ones(n) if law.spread == REST_SQUARED_WEIGHTS else X.var(axis=0, dtype=np.float64)[features]
    variance = np.cumsum((coef - coef.mean(axis=0)) ** 2 * dispersion, axis=1)
    left = variance[:, -1:] - (0.0 if law.spread == TOTAL_VARIANCE else 1.0) * variance[:, stops - 1]
    cushion = law.slope * np.sqrt(law.shift + 2 * np.maximum(left, 0).max(axis=0)) - law.minus
    expected = coef * X.mean(axis=0, dtype=np.float64)[features]
    lines = _plain_sums(coef, expected, stops.tolist())
    return lambda clearness: _plan(scores, features, lines, np.maximum(clearness * cushion, 0))

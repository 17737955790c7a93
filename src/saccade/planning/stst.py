"""The paper's own planner: plain partial sums against the thresholds of a Sequential Thresholded Sum Test."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.state import REST_SQUARED_WEIGHTS, TOTAL_VARIANCE, Law
from saccade.planning.boundaries import Boundary, as_numbers
from saccade.planning.orders import reading_order
from saccade.reading.plan import Plan

__all__ = ["Moments", "checkpoints", "plan_of_sums", "plan_prediction"]

Reals = NDArray[np.float64]


class Moments(NamedTuple):
    """What a learner knows about the features of the negative and of the positive class."""

    known: NDArray[np.bool_]  # (2,) whether there is enough to go by
    mean: Reals  # (2, n)
    var: Reals  # (2, n)


def checkpoints(n_features: int, growth: float = 1.25) -> NDArray[np.int64]:
    """Return after how many features a walk is checked: every eight at first, then ever more rarely.

    >>> checkpoints(100)
    array([ 8, 16, 24, 32, 40, 48, 56, 64, 80, 96])
    """
    positions = []
    position = 8
    while position < n_features:
        positions.append(position)
        position = max(position + 8, int(position * growth) // 8 * 8)
    return np.array(positions, dtype=np.int64)


def plan_prediction(
    coef: Reals,
    intercept: float,
    boundary: Boundary,
    order: str,
    moments: Moments,
    factors: Reals,
    seed: int,
    *,
    only_reject: bool = False,
    features: NDArray[np.intp] | None = None,
) -> Plan:
    """Plan a two-sided walk around zero: stop as soon as the sign of the full margin is clear.

    With ``only_reject`` a walk stops where the sign is clearly negative and reads to the end where it is not. Where
    ``features`` are given they are the order, whatever its name.

    A stop with the label + errs when the row belongs to the other side, so it is judged by the moments of the negative
    class, and a stop with the label - by those of the positive class. ``factors`` widen the two classes' cushions.
    """
    features, weights = reading_order(order, coef, seed) if features is None else (features, coef[features])
    n = coef.size
    law, limit = as_numbers(boundary, 0.0, n)
    if limit < n and order == "sampled":
        weights = weights * (n / limit)  # so that the draws that are made have the full margin as expectation
    if law is None:
        stops = np.array([limit] if limit < n else [], dtype=np.int64)
        lower, upper = np.full(stops.size, np.inf), np.full(stops.size, -np.inf)
    else:
        stops = checkpoints(n)
        upper = np.maximum(_demand(law, 1, coef, features, order, stops, moments, factors), 0)
        if only_reject:
            upper = np.full(stops.size, np.inf)
        lower = -np.maximum(_demand(law, -1, coef, features, order, stops, moments, factors), 0)
    return plan_of_sums(features, weights, float(intercept), stops, lower, upper, coef)


def plan_of_sums(
    features: NDArray[np.intp],
    weights: Reals,
    intercept: float,
    stops: NDArray[np.int64],
    lower: Reals,
    upper: Reals,
    coef: Reals,
) -> Plan:
    """Return a plan whose checkpoints look at the plain partial sum, as all of the paper's do."""
    first = np.concatenate([[0], stops[:-1]]).astype(np.int64)[: stops.size]
    shift = np.zeros((1, stops.size))
    shift[:, :1] = intercept
    return Plan(
        features.astype(np.uint32),
        stops,
        first,
        first,
        weights[None],
        shift,
        lower[None],
        upper[None],
        coef[None],
        np.array([intercept]),
    )


def _demand(
    law: Law,
    sign: int,
    coef: Reals,
    features: NDArray[np.intp],
    order: str,
    stops: NDArray[np.int64],
    moments: Moments,
    factors: Reals,
) -> Reals:
    """Return what ``sign`` times the partial margin must reach at each checkpoint."""
    c = 0 if sign > 0 else 1
    if not moments.known[c]:
        return np.full(stops.size, np.inf)
    dispersion = np.ones(coef.size) if law.grows_with == REST_SQUARED_WEIGHTS else moments.var[c]
    steps = np.stack([sign * coef * moments.mean[c], coef**2 * dispersion])
    if order.startswith("sampled"):  # every draw is expected to add its n-th part
        rest = steps.sum(axis=1, keepdims=True) * (1 - stops / coef.size)
    else:
        rest = steps.sum(axis=1, keepdims=True) - np.cumsum(steps[:, features], axis=1)[:, stops - 1]
    variance = steps[1].sum() if law.grows_with == TOTAL_VARIANCE else np.maximum(rest[1], 0)
    cushion = law.slope * np.sqrt(law.shift + variance) - law.offset
    demand: Reals = law.theta - law.centred * rest[0] + cushion + (factors[c] - 1) * np.abs(cushion)
    return demand

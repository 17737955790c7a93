"""Plain records of arrays: what a reader needs, and what it gives back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.boundaries import Boundary
from saccade.kernels.state import REST_SQUARED_WEIGHTS, TOTAL_VARIANCE, Law
from saccade.orders import reading_order

__all__ = ["Moments", "Outcome", "Plan", "Reading", "checkpoints", "decided", "plan_of_sums", "plan_prediction"]

Reals = NDArray[np.float64]

# So many features of a checkpoint are named when a plan is described.
MOST_NAMED = 8


class Plan(NamedTuple):
    """Everything that a reader needs to predict with linear scores, as plain arrays: one score, or one per class.

    A row is read in order; at checkpoint k ``checkpoints[k]`` features have been read. The values from position
    ``first[k]`` on are weighted and summed: with ``first[k] == 0`` the sums begin anew, else they go on from the last
    checkpoint's. ``shift[:, k]`` is added. One score decides the row if it is at least ``upper[k]`` or at most
    ``lower[k]``; several do if the best leads the second best by ``upper[k]``. A row that is never decided gets its
    full margins.
    """

    order: NDArray[np.uint32]  # the feature at each position
    checkpoints: NDArray[np.int64]
    first: NDArray[np.int64]
    begins: NDArray[np.int64]  # where each checkpoint's weights begin
    weights: Reals  # (scores, ...) of the first checkpoint's values, then of the second's, and so on
    shift: Reals  # (scores, checkpoints)
    lower: Reals
    upper: Reals
    coef: Reals  # (scores, n_features) the weights by feature, for the rows that are read in full
    offset: Reals  # (scores,) the intercepts

    @property
    def n_features(self) -> int:
        return int(self.coef.shape[1])

    @property
    def most_read(self) -> int:
        """Return how many features are read of a row at most: all, unless the last checkpoint decides every row."""
        closes = self.checkpoints.size > 0 and self.lower[-1] >= self.upper[-1]
        return int(self.checkpoints[-1]) if closes else self.n_features

    def without_stops(self) -> "Plan":
        """Return the plan that reads every feature of every row."""
        return self._replace(checkpoints=self.checkpoints[:0])

    def describe(self, names: Sequence[str] | None = None) -> str:
        """Say in words which features are asked for, and what decides at each checkpoint."""
        n, stops = self.n_features, self.checkpoints.tolist()
        if not stops:
            return f"All {n:,} features of every row are read."
        most = f"at most {self.most_read:,}" if self.most_read < n else "all"
        lines = [f"Of {n:,} features, {most} are read of a row, and fewer where a checkpoint decides it."]
        for start, stop, lower, upper in zip([0, *stops], stops, self.lower, self.upper, strict=False):
            asked = [str(feature) if names is None else str(names[feature]) for feature in self.order[start:stop]]
            shown = ", ".join(asked[:MOST_NAMED])
            if len(asked) > MOST_NAMED:
                shown += f" and {len(asked) - MOST_NAMED} more"
            if lower >= upper:
                decides = "every row"
            elif self.coef.shape[0] > 1:
                decides = f"a lead of {upper:.3g}"
            else:
                decides = f"margins up to {lower:+.3g} or from {upper:+.3g}"
            lines.append(f"{shown}: after {stop} features, {decides}")
        return "\n".join(lines)


# What reading rows by a plan gives: margins (rows, scores), features read, whether each stopped, and the first row that
# is not finite or -1.
Outcome = tuple[Reals, NDArray[np.int64], NDArray[np.bool_], int]


def decided(margin: Reals) -> NDArray[np.intp]:
    """Return the class that each row's scores (rows, scores) speak for: the sign of one, or the best of several."""
    codes: NDArray[np.intp] = (margin[:, 0] > 0).view(np.int8) if margin.shape[1] == 1 else np.argmax(margin, axis=1)
    return codes


class Moments(NamedTuple):
    """What a learner knows about the features of the negative and of the positive class."""

    known: NDArray[np.bool_]  # (2,) whether there is enough to go by
    mean: Reals  # (2, n)
    var: Reals  # (2, n)


@dataclass(frozen=True, eq=False)
class Reading:
    """What came out of reading rows: one entry per row.

    With more than two classes ``margin`` has a column per class, and ``n_read`` counts the features that the
    one-against-rest scores read in all.
    """

    label: NDArray[np.generic]
    margin: Reals
    n_read: NDArray[np.int64]
    stopped: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.label)


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
    law, limit = boundary.law(0.0), boundary.limit(n)
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
    offset: float,
    stops: NDArray[np.int64],
    lower: Reals,
    upper: Reals,
    coef: Reals,
) -> Plan:
    """Return a plan whose checkpoints look at the plain partial sum, as all of the paper's do."""
    first = np.concatenate([[0], stops[:-1]]).astype(np.int64)[: stops.size]
    shift = np.zeros((1, stops.size))
    shift[:, :1] = offset
    return Plan(
        features.astype(np.uint32),
        stops,
        first,
        first,
        weights[None],
        shift,
        lower,
        upper,
        coef[None],
        np.array([offset]),
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
    dispersion = np.ones(coef.size) if law.spread == REST_SQUARED_WEIGHTS else moments.var[c]
    steps = np.stack([sign * coef * moments.mean[c], coef**2 * dispersion])
    if order.startswith("sampled"):  # every draw is expected to add its n-th part
        rest = steps.sum(axis=1, keepdims=True) * (1 - stops / coef.size)
    else:
        rest = steps.sum(axis=1, keepdims=True) - np.cumsum(steps[:, features], axis=1)[:, stops - 1]
    spread = steps[1].sum() if law.spread == TOTAL_VARIANCE else np.maximum(rest[1], 0)
    cushion = law.slope * np.sqrt(law.shift + spread) - law.minus
    demand: Reals = law.theta - law.centred * rest[0] + cushion + (factors[c] - 1) * np.abs(cushion)
    return demand

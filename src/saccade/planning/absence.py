"""A plan for rows that lack some features: what is expected of these, given what was read, takes their place.

The weights of a missing feature go to the features that predict it, and every checkpoint demands more of a margin, by
what is uncertain about the missing part. So a row that lacks features is read by a plan like any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from saccade.planning.regression import Regression
from saccade.reading.plan import Plan

__all__ = ["Population", "plan_without"]

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Population:
    """What planning and calibration rows show of parts and columns."""

    regression: Regression  # how parts go together
    mean: Reals  # (parts,)
    variance: Reals  # (parts,)
    low: Reals  # (columns,) the least and the greatest that was seen
    high: Reals  # (columns,)
    # (columns,) whether missing values were seen, which are then values like others; never in a linear model.
    missing: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    # Of a column of categories, the codes that were seen, ascending. Columns without an entry go by their range.
    codes: Mapping[int, Reals] = field(default_factory=dict)


def plan_without(plan: Plan, population: Population, missing: NDArray[np.bool_], delta: float) -> Plan:
    """Return the plan for rows that lack these features.

    Margins must be clearer than before by the standard deviation of the missing part, as often as the normal quantile
    of delta says.
    """
    width, several = float(-ndtri(delta / 2)), plan.several
    weights, shift = plan.weights.copy(), plan.shift.copy()
    lower, upper = plan.lower.copy(), plan.upper.copy()
    variance = np.zeros(plan.intercept.size)
    for k, end in enumerate(plan.checkpoints):
        first, begin = plan.first[k], plan.begins[k]
        features = plan.order[first:end]
        part = weights[:, begin : begin + features.size]
        replaced, constant, uncertain = _without(part, features, population, missing)
        weights[:, begin : begin + features.size] = replaced
        shift[:, k] += constant
        variance = uncertain + (variance if first else 0.0)
        deviation = np.sqrt(2 * variance.max() if several else variance[0])  # of a lead, or of the only score
        lower[:, k] -= width * deviation
        upper[:, k] += width * deviation
    coef, constant, _ = _without(plan.coef, np.arange(plan.n_features), population, missing)
    return plan._replace(
        weights=weights, shift=shift, lower=lower, upper=upper, coef=coef, intercept=plan.intercept + constant
    )


def _without(
    weights: Reals, features: NDArray[np.integer], population: Population, missing: NDArray[np.bool_]
) -> tuple[Reals, Reals, Reals]:
    """Return weights that do without the missing features, what is to be added, and the variance that is left."""
    lacking = missing[features]
    left = np.where(lacking, 0.0, weights)
    if not lacking.any():
        return left, np.zeros(weights.shape[0]), np.zeros(weights.shape[0])
    read, first, which = np.unique(features, return_index=True, return_inverse=True)  # sampled orders repeat themselves
    by_feature = np.zeros((weights.shape[0], read.size))
    np.add.at(by_feature.T, which, weights.T)
    lost = by_feature[:, missing[read]]
    constant = lost @ population.mean[read[missing[read]]]
    variance = (lost**2) @ population.variance[read[missing[read]]]
    place = np.full(missing.size, -1)
    place[population.regression.order] = np.arange(population.regression.order.size)
    known = np.flatnonzero((place[read] >= 0) & ~missing[read])
    absent = np.flatnonzero((place[read] >= 0) & missing[read])
    if absent.size:
        slope, at_zero, uncertain = population.regression.imputation(place[read[absent]], place[read[known]])
        through = by_feature[:, absent]
        left[:, first[known]] += through @ slope.T
        constant += through @ (at_zero - population.mean[read[absent]])
        variance += np.einsum("ca,ab,cb->c", through, uncertain, through)
        variance -= (through**2) @ population.variance[read[absent]]
    return left, constant, variance

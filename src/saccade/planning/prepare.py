"""A plan and its certificate for an additive model, from part values of rows that plan and of others that calibrate."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.absence import Population
from saccade.planning.boundaries import Boundary, Conditional
from saccade.planning.choosing import affordable, boldest, unstopped
from saccade.planning.families import Family, Priced
from saccade.planning.planners import plan_columns, plan_family
from saccade.planning.spare import spare_features
from saccade.promises.certificate import Certificate
from saccade.promises.learn_then_test import allowed_share, rows_needed
from saccade.reading.plan import Plan

__all__ = ["Prepared", "Terms", "prepare", "split_rows"]

Values = NDArray[Any]  # (rows, parts)

# More rows than these would hardly change a plan or a certificate.
MOST_PLANNING_ROWS = 20_000
MOST_PLANNING_VALUES = 100_000_000
MOST_CALIBRATION_ROWS = 50_000
MOST_CALIBRATION_VALUES = 120_000_000


@dataclass(frozen=True)
class Terms:
    """What is asked of a plan."""

    delta: float
    confidence: float
    boundary: Boundary
    order: str
    average_features: float | None = None
    fewest: str = "features"
    when_too_few: str = "raise"


@dataclass(frozen=True)
class Prepared:
    """A plan, what is vouched for, and what the rows tell of the parts."""

    plan: Plan
    certificate: Certificate
    population: Population


def split_rows(
    planning: NDArray[np.intp], calibration: NDArray[np.intp], n_parts: int, terms: Terms
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return as many of the planning and of the calibration rows as are worth their time and memory."""
    enough = max(MOST_CALIBRATION_VALUES // n_parts, 4 * rows_needed(terms.delta, terms.confidence))
    calibration = calibration[: min(MOST_CALIBRATION_ROWS, enough)]
    planning = planning[: min(MOST_PLANNING_ROWS, MOST_PLANNING_VALUES // n_parts)]
    if planning.size == 0 or calibration.size == 0:
        given = planning.size + calibration.size
        raise ValueError(f"{given} rows are too few to plan on some and calibrate on others.")
    return planning, calibration


def prepare(priced: Priced, planning: Values, calibration: Values, terms: Terms, seed: int) -> Prepared:
    """Plan on some rows and certify on others; no label is needed.

    The calibration rows must be others than those that plan and than those that the model was fitted on: on rows that
    were seen before, margins are clearer than they will be.
    """
    allowed = allowed_share(calibration.shape[0], terms.delta, terms.confidence)
    family = _family(priced, planning, terms, allowed, seed)
    plan, certificate = _chosen(family, planning, calibration, terms)
    population = Population(
        regression=family.regression,
        mean=planning.mean(axis=0, dtype=np.float64),
        variance=planning.var(axis=0, dtype=np.float64),
        low=np.minimum(planning.min(axis=0), calibration.min(axis=0)).astype(np.float64),
        high=np.maximum(planning.max(axis=0), calibration.max(axis=0)).astype(np.float64),
    )
    spare = spare_features(plan, certificate, population, priced.prices, calibration)
    return Prepared(plan, certificate, replace(population, spare=spare))


def _family(priced: Priced, planning: Values, terms: Terms, allowed: float, seed: int) -> Family:
    if terms.fewest == "features":
        return plan_family(priced, planning, terms.boundary, terms.order, allowed, seed)
    if not isinstance(terms.boundary, Conditional) or terms.order != "greedy":
        raise ValueError(
            f"fewest='columns' chooses its own order by what features tell of the margin: it does not go with "
            f"boundary={terms.boundary!r}, order={terms.order!r}. Leave these two as they are by default."
        )
    return plan_columns(priced, planning, terms.boundary, seed)


def _chosen(family: Family, planning: Values, calibration: Values, terms: Terms) -> tuple[Plan, Certificate]:
    """Return the plan that keeps the level, or the average, at the least cost."""
    if terms.average_features is not None:
        return affordable(family, planning, calibration, terms.average_features, terms.confidence)
    size, level = calibration.shape[0], (terms.delta, terms.confidence)
    certified = boldest(family, calibration, *level)
    if certified is None and terms.when_too_few == "raise":
        enough = size >= rows_needed(*level)
        reason = (
            f"even the safest plan of {terms.boundary!r} gives other labels too often"
            if enough
            else f"at least {rows_needed(*level)} are needed, and more where labels disagree"
        )
        raise ValueError(
            f"{size} calibration rows do not suffice to promise delta={terms.delta} with "
            f"confidence={terms.confidence}: {reason}. {'Choose another boundary' if enough else 'Pass more rows'}, "
            "raise delta or calibration_size, or set when_too_few='read' for a plan that reads every feature."
        )
    return unstopped(family, size, *level) if certified is None else certified

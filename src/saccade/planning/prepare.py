"""A plan and its certificate for an additive model, from part values of rows that plan and of others that calibrate."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.absence import Population
from saccade.planning.boundaries import Boundary, Conditional
from saccade.planning.choosing import Sample, affordable, boldest
from saccade.planning.families import Families, Goal, Priced
from saccade.planning.planners import plan_columns, plan_families
from saccade.promises.certificate import Certificate
from saccade.promises.promise import Promise, is_kept
from saccade.promises.shortage import Given, advice
from saccade.promises.witness import certificate_of, level_borne_out
from saccade.reading.plan import Plan, decided

__all__ = ["Prepared", "Terms", "prepare", "split_rows"]

# More rows than these would hardly change a plan. A rare class needs many rows to calibrate on, so these are limited by
# the memory that they take.
MOST_PLANNING_ROWS = 20_000
MOST_PLANNING_VALUES = 100_000_000
MOST_CALIBRATION_ROWS = 400_000
MOST_CALIBRATION_VALUES = 120_000_000
FEWEST_CALIBRATION_ROWS = 2_000
MANY = 10**9
# In place of a level, where an average is asked for.
ANY_LEVEL = 0.5


@dataclass(frozen=True)
class Terms:
    """What is asked of a plan."""

    promise: Promise
    confidence: float
    boundary: Boundary
    order: str
    average_features: float | None = None
    fewest: str = "features"
    when_too_few: str = "raise"

    @property
    def chooses_parts(self) -> bool:
        """Whether scores are predicted from parts of the plan's choice, rather than added up in a given order."""
        return isinstance(self.boundary, Conditional) and self.order == "greedy"


@dataclass(frozen=True)
class Prepared:
    """A plan, what is vouched for, and what the rows tell of the parts."""

    plan: Plan
    certificate: Certificate
    population: Population


def split_rows(
    planning: NDArray[np.intp], calibration: NDArray[np.intp], n_parts: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return as many of the planning and of the calibration rows as are worth their time and memory."""
    enough = max(MOST_CALIBRATION_VALUES // n_parts, FEWEST_CALIBRATION_ROWS)
    calibration = calibration[: min(MOST_CALIBRATION_ROWS, enough)]
    planning = planning[: min(MOST_PLANNING_ROWS, MOST_PLANNING_VALUES // n_parts)]
    if planning.size == 0 or calibration.size == 0:
        given = planning.size + calibration.size
        raise ValueError(
            f"X has {given} rows, too few to plan on some and calibrate on others. Pass rows that the model was not "
            "fitted on, hundreds of each class."
        )
    return planning, calibration


def prepare(
    priced: Priced, planning: Sample, calibration: Sample, terms: Terms, classes: NDArray[Any], given: Given, seed: int
) -> Prepared:
    """Plan on some rows and certify on others.

    The calibration rows must be others than those that plan and than those that the model was fitted on: model and plan
    are overconfident on rows that made them.
    """
    # An average is spent for the least risk, whatever the calibration rows can show of it.
    n_calibration = calibration.labels.full.size if terms.average_features is None else MANY
    goal = Goal(planning.labels, n_calibration, terms.confidence)
    families = _families(priced, planning, terms, goal, seed)
    plan, promise = _chosen(families, planning, calibration, terms, classes, given)
    outcome, regression = calibration.as_stored(plan), families.regression
    if priced.narrowed is not None:
        plan, regression = priced.narrowed.in_columns(plan), priced.narrowed.regression_in_columns(regression)
    scores = priced.scores
    plan = plan._replace(of_terms=not (scores.of_trees or scores.each_needs_one))
    certificate = certificate_of(
        promise,
        terms.confidence,
        decided(outcome.margin),
        outcome.n_read,
        calibration.labels,
        classes,
        plan.n_units,
        plan.noun,
        stored_per_row=calibration.stored_per_row,
    )
    mean, variance = planning.moments()
    population = Population(regression, mean, variance, *planning.ranges().joined(calibration.ranges()))
    return Prepared(plan, certificate, population)


def _families(priced: Priced, planning: Sample, terms: Terms, goal: Goal, seed: int) -> Families:
    if terms.fewest == "columns" and not priced.scores.each_needs_one:
        raise ValueError(
            "fewest='columns' chooses among parts of one column each, and a tree, or a pair of columns, asks for "
            "several. Leave it out, and pass costs, what each column costs, for a plan of parts with cheap ones."
        )
    if terms.fewest == "features":
        return plan_families(priced, planning.values, terms.boundary, terms.order, goal, seed)
    if not isinstance(terms.boundary, Conditional) or terms.order != "greedy":
        raise ValueError(
            f"fewest='columns' chooses its own order by what features tell of the margin: it does not go with "
            f"boundary={terms.boundary!r}, order={terms.order!r}. Leave these two as they are by default."
        )
    return plan_columns(priced, planning.values, terms.boundary, seed)


def _chosen(
    families: Families, planning: Sample, calibration: Sample, terms: Terms, classes: NDArray[Any], given: Given
) -> tuple[Plan, Promise]:
    """Return the plan that keeps the promise, or the average, at the least cost; and the promise that it keeps."""
    promise, confidence, labels = terms.promise, terms.confidence, calibration.labels
    if terms.average_features is not None:
        of_all = promise.at(ANY_LEVEL)
        afforded = affordable(families, planning, of_all, terms.average_features)
        readings = [decided(outcome.margin) for outcome in calibration.readings(afforded)]
        return afforded, of_all.at(max(level_borne_out(of_all, confidence, here, labels) for here in readings))
    shortages = promise.shortages(labels, confidence)
    family = families.tuned(promise)
    plan = None if shortages else boldest(family, calibration, promise, confidence)
    if plan is not None:
        return plan, promise
    whole = family.plan(family.settings[0]).without_stops()
    _check_whole(whole, calibration, promise, confidence)
    if terms.when_too_few == "read":
        return whole, promise
    if shortages:
        raise ValueError(advice(shortages, promise, confidence, labels, classes.tolist(), given))
    raise ValueError(
        f"Even the safest plan of {terms.boundary!r} gives other labels too often to promise "
        f"promise={promise.name!r}, delta={promise.delta} with confidence={confidence}. Choose another boundary, raise "
        "delta, or set when_too_few='read' for a plan that reads every feature."
    )


def _check_whole(whole: Plan, calibration: Sample, promise: Promise, confidence: float) -> None:
    """Raise where rows that are read in full have other labels than the model gives them, too often for the promise."""
    here, labels = decided(calibration.read(whole).margin), calibration.labels
    differ = int(np.sum(here != labels.full))
    if differ and not is_kept(promise, here, labels, confidence):
        raise ValueError(
            f"{differ:,} of {here.size:,} calibration rows get another label than the model's own predict gives, even "
            "where every feature is read: their margins are zero but for rounding, so that nothing can be promised of "
            "them. Do the features have large offsets, in single precision? Scale them, pass double precision, or "
            "raise delta."
        )

"""Which plan of a family is taken, and what rows that took no part in planning promise of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.families import Family
from saccade.promises.certificate import Certificate
from saccade.promises.learn_then_test import certify, rows_needed, upper_bound
from saccade.promises.risks import Count, rows
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Outcome, Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["affordable", "boldest", "unstopped"]

Values = NDArray[Any]  # (rows, parts)


def boldest(family: Family, values: Values, delta: float, confidence: float) -> tuple[Plan, Certificate] | None:
    """Return the boldest plan that the calibration rows allow, and what they promise; None where they allow none."""
    if values.shape[0] < rows_needed(delta, confidence):
        return None
    full = _full_labels(family.plan(family.settings[0]), values)

    def counts(setting: float) -> list[Count]:
        return rows(decided(_read(family.plan(setting), values).margin), full)

    setting = certify(family.settings, counts, delta, confidence)
    if setting is None:
        return None
    plan = family.plan(setting)
    return plan, _certificate(plan, values, full, delta, confidence)


def unstopped(family: Family, n_rows: int, delta: float, confidence: float) -> tuple[Plan, Certificate]:
    """Return the plan that reads every part, and therefore never disagrees."""
    whole = family.plan(family.settings[0]).without_stops()
    n = whole.n_features
    return whole, Certificate(delta, confidence, n_rows, 0.0, 0.0, float(n), n)


def affordable(
    family: Family, planning: Values, calibration: Values, average_features: float, confidence: float
) -> tuple[Plan, Certificate]:
    """Return the safest plan that reads few enough parts of the planning rows, and the delta it gives."""
    for setting in family.settings:
        plan = family.plan(setting)
        if _read(plan, planning).n_read.mean() <= average_features:
            return plan, _certificate(plan, calibration, _full_labels(plan, calibration), None, confidence)
    raise ValueError(f"No plan reads as few as average_features={average_features} features per row. Raise it.")


def _certificate(
    plan: Plan, values: Values, full: NDArray[np.intp], delta: float | None, confidence: float
) -> Certificate:
    """Return what these rows promise of a plan: the delta asked for, or the upper bound that they give."""
    outcome = _read(plan, values)
    [count] = rows(decided(outcome.margin), full)
    bound = upper_bound(*count, confidence)
    return Certificate(
        delta=bound if delta is None else delta,
        confidence=confidence,
        n_calibration=count.rows,
        disagreement=count.errors / count.rows,
        upper_bound=bound,
        features_per_row=float(outcome.n_read.mean()),
        n_features=plan.n_features,
    )


def _full_labels(plan: Plan, values: Values) -> NDArray[np.intp]:
    """Return the full model's labels, summed as a reader sums them: not even rounding may tell the two apart."""
    return decided(_read(plan.without_stops(), values).margin)


def _read(plan: Plan, values: Values) -> Outcome:
    return read_plan(plan, ArraySource(values))

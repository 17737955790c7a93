"""Which plan of a family is taken, and what rows that took no part in planning promise of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from saccade.planning.families import Family
from saccade.promises.certificate import Certificate
from saccade.promises.learn_then_test import certify, rows_needed, upper_bound
from saccade.reading.plan import Outcome, Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["affordable", "allowed_share", "boldest", "unstopped"]

Rows = NDArray[Any]


def allowed_share(rows: int, delta: float, confidence: float) -> float:
    """Return the largest share of disagreement on calibration rows that still gives the certificate."""
    most = int(binom.ppf(1 - confidence, rows, delta)) - 1 if rows else 0
    return max(most, 0) / max(rows, 1)


def boldest(family: Family, rows: Rows, delta: float, confidence: float) -> tuple[Plan, Certificate] | None:
    """Return the boldest plan that the calibration rows allow, and what they promise; None where they allow none."""
    size = rows.shape[0]
    if size < rows_needed(delta, confidence):
        return None
    full = _full_labels(family.plan(family.settings[0]), rows)

    def errors(setting: float) -> int:
        return _disagreements(read_plan(family.plan(setting), rows), full)

    accepted = certify(family.settings, errors, size, delta, confidence)
    if accepted is None:
        return None
    plan = family.plan(accepted[0])
    return plan, _certificate(plan, rows, full, delta, confidence)


def unstopped(family: Family, rows: int, delta: float, confidence: float) -> tuple[Plan, Certificate]:
    """Return the plan that reads every feature, and therefore never disagrees."""
    whole = family.plan(family.settings[0]).without_stops()
    n = whole.n_features
    return whole, Certificate(delta, confidence, rows, 0.0, 0.0, float(n), n)


def affordable(
    family: Family, planning: Rows, calibration: Rows, average_features: float, confidence: float
) -> tuple[Plan, Certificate]:
    """Return the safest plan that reads few enough features of the planning rows, and the delta it gives."""
    for setting in family.settings:
        plan = family.plan(setting)
        if read_plan(plan, planning)[1].mean() <= average_features:
            return plan, _certificate(plan, calibration, _full_labels(plan, calibration), None, confidence)
    raise ValueError(f"No plan reads as few as average_features={average_features} features per row. Raise it.")


def _certificate(plan: Plan, rows: Rows, full: NDArray[np.intp], delta: float | None, confidence: float) -> Certificate:
    """Return what these rows promise of a plan: the delta asked for, or the one that they give."""
    size, outcome = rows.shape[0], read_plan(plan, rows)
    observed, features = _disagreements(outcome, full), float(outcome[1].mean())
    bound = upper_bound(observed, size, confidence)
    return Certificate(
        bound if delta is None else delta, confidence, size, observed / size, bound, features, plan.n_features
    )


def _full_labels(plan: Plan, rows: Rows) -> NDArray[np.intp]:
    """Return the full model's labels, summed as a reader sums them: not even rounding may tell the two apart."""
    return decided(read_plan(plan.without_stops(), rows)[0])


def _disagreements(outcome: Outcome, full: NDArray[np.intp]) -> int:
    return int(np.sum(decided(outcome[0]) != full))

"""Which plan of a family is taken, and what rows that took no part in planning promise of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.absence import Population, plan_without
from saccade.planning.families import Family
from saccade.planning.prices import Prices
from saccade.promises.certificate import Certificate
from saccade.promises.learn_then_test import certify, rows_needed, upper_bound
from saccade.promises.risks import Count, rows
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Outcome, Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["affordable", "boldest", "spare_features", "unstopped"]

Values = NDArray[Any]  # (rows, parts)

# Of so many features, the first that are asked for, it is tested whether a row may lack them; of fewer where the tests
# would read more values than that.
MOST_SPARED = 64
MOST_VALUES_SPARED = 300_000_000


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


def spare_features(
    plan: Plan, certificate: Certificate, population: Population, prices: Prices, values: Values
) -> frozenset[tuple[int, ...]]:
    """Return the features, and the groups of them, without which these rows still bear the certificate out."""
    full, size = _full_labels(plan, values), values.shape[0]
    most = min(MOST_SPARED, int(MOST_VALUES_SPARED / (size * certificate.features_per_row)))
    alone = [(int(feature),) for feature in dict.fromkeys(plan.order[:most].tolist())]
    groups = [tuple(prices.members(int(group)).tolist()) for group in prices.groups]
    spare = set()
    for absent in dict.fromkeys([*alone, *groups]):
        missing = np.isin(np.arange(plan.n_features), absent)
        without = plan_without(plan, population, missing, certificate.delta)
        [count] = rows(decided(_read(without, values).margin), full)
        if upper_bound(*count, certificate.confidence) <= certificate.delta:
            spare.add(absent)
    return frozenset(spare)


def _certificate(
    plan: Plan, values: Values, full: NDArray[np.intp], delta: float | None, confidence: float
) -> Certificate:
    """Return what these rows promise of a plan: the delta asked for, or the one that they give."""
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

"""How a row is read where each part is a column.

A column that cannot be had is replaced by what is expected of it given those read before, and the plan demands clearer
margins (``absence.py``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.asking.one_row import Decision, Row, Value, finite_number
from saccade.planning.absence import Population, plan_without
from saccade.planning.part_prices import stages_of
from saccade.planning.prices import Feature
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["ColumnReader"]

Reals = NDArray[np.float64]
# So many plans for rows that lack columns are kept.
MOST_PLANS = 128


@dataclass(frozen=True)
class ColumnReader:
    """A plan over columns."""

    plan: Plan
    population: Population
    delta: float

    @property
    def n_columns(self) -> int:
        return self.plan.n_features

    def arrays(self) -> list[NDArray[Any]]:
        return []

    def taken(self, column: int, feature: Feature, value: Any) -> tuple[Value, float]:
        if value is None:
            return None, np.nan
        number = finite_number(value, feature)
        return number, number

    def needed(self, row: Row) -> list[int]:
        still_open = (stage[~row.known[stage]] for stage in self._stages)
        return next((columns.tolist() for columns in still_open if columns.size), [])

    def decide(self, row: Row) -> Decision | None:
        if not row.known[self._stages[0]].all():
            return None
        absent = tuple(np.flatnonzero(row.missing).tolist())
        # What is unknown is NaN, and a sum that contains it decides nothing: so this is the reader's own decision.
        plan = self._plan_without(absent) if absent else self.plan
        margin, n_read, stopped, bad = read_plan(plan, ArraySource(self._filled(row)))
        if bad >= 0:
            return None
        read = set(plan.order[: n_read[0]].tolist()) if stopped[0] else set(range(plan.n_features))
        return Decision(int(decided(margin)[0]), margin[0], not read.isdisjoint(absent))

    def estimate(self, row: Row) -> tuple[Reals, Reals]:
        """Estimate under a normal law."""
        regression = self.population.regression
        if not (~row.known & ~self._weightless).any() and not row.missing.any():
            full = read_plan(self.plan.without_stops(), ArraySource(self._filled(row))).margin[0]
            return full, np.zeros((full.size, full.size))
        known = np.flatnonzero(~np.isnan(row.values[regression.order]))
        mean, covariance = regression.given(known, row.values[regression.order[known]])
        return mean + self.plan.intercept, covariance

    def outside(self, row: Row) -> list[int]:
        beyond = (row.values < self.population.low) | (row.values > self.population.high)  # NaN is neither
        return np.flatnonzero(beyond).tolist()

    def _filled(self, row: Row) -> Reals:
        """Return the values, (1, columns), with zeros for what counts nothing."""
        unweighed = row.missing | (self._weightless & np.isnan(row.values))
        return np.where(unweighed, 0.0, row.values)[None]

    @cached_property
    def _stages(self) -> list[NDArray[np.intp]]:
        return stages_of(self.plan, lambda parts: parts, self.n_columns)

    @cached_property
    def _weightless(self) -> NDArray[np.bool_]:
        """Which columns no checkpoint weighs and no score: nobody needs to know them."""
        return self.plan.weightless

    @cached_property
    def _plan_without(self) -> Callable[[tuple[int, ...]], Plan]:
        """What gives the plan for a row that lacks some columns; rows are often alike in what they lack."""

        def planned(absent: tuple[int, ...]) -> Plan:
            missing = np.isin(np.arange(self.plan.n_features), absent)
            return plan_without(self.plan, self.population, missing, self.delta)

        return lru_cache(MOST_PLANS)(planned)

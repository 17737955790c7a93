"""How a row is read where a part is what a raw column, or several together, adds to a score.

A term is known once all of its columns are. What of a value that cannot be had? Where the model has a way for it, such
as an imputer or a category of its own, it is a value like another, with its own contribution. Where the model has none,
the terms of that column are replaced by what is expected of them given those read before, and the plan demands clearer
margins (``absence.py``). In both cases the label is certified only if rows that planned or calibrated also lacked the
column.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.asking.one_row import Decision, Row, Value, finite_number
from saccade.models.categories import Categories
from saccade.models.tables.model import TermModel
from saccade.models.tables.probing import takes
from saccade.models.tables.terms import NoTerm, Term
from saccade.planning.absence import Population, plan_without
from saccade.planning.part_prices import stages_of
from saccade.planning.prices import Feature
from saccade.reading.arrays import Selection
from saccade.reading.distinct import is_missing
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["TermReader"]

Reals = NDArray[np.float64]
# So many plans for rows that lack columns are kept.
MOST_PLANS = 128


@dataclass(frozen=True, eq=False)
class TermReader:
    """A plan over terms of raw columns. A row holds numbers, and of columns of categories the codes."""

    model: TermModel
    plan: Plan
    population: Population
    delta: float

    @property
    def n_columns(self) -> int:
        return self.model.n_columns

    def arrays(self) -> list[NDArray[Any]]:
        return self.model.arrays()

    def taken(self, column: int, feature: Feature, value: Any) -> tuple[Value, float]:
        if is_missing(value):
            return None, np.nan
        if column not in self._used:
            return _as_json(value, feature, any_object=True), np.nan
        if column in self.model.as_held:
            told, number = _as_json(value, feature), np.nan
        else:
            told, number = self._number(column, feature, value)
        if not takes(self.model.terms, self.model.kinds, column, self._as_taken(column, told, number)):
            raise ValueError(f"{feature!r}: the model has no way for {value!r}. {self._advice(column)}")
        return told, number

    def needed(self, row: Row) -> list[int]:
        still_open = (stage[~row.known[stage]] for stage in self._stages)
        return next((columns.tolist() for columns in still_open if columns.size), [])

    def decide(self, row: Row) -> Decision | None:
        if not row.known[self._stages[0]].all():
            return None
        lost = tuple(np.flatnonzero(row.missing & ~self.model.takes_missing).tolist())
        # What is unknown is NaN, and a sum that contains it decides nothing: so this is the reader's own decision.
        plan = self._plan_without(lost) if lost else self.plan
        parts = np.where(self.model.parts_lost(lost), 0.0, self._parts(row)) if lost else self._parts(row)
        margin, n_read, stopped, bad = read_plan(plan, _OneRow(parts))
        if bad >= 0:
            return None
        read = self._read(int(n_read[0]), stopped[0])
        lacked = bool((row.missing & ~self.population.missing)[read].any())
        return Decision(int(decided(margin)[0]), margin[0], lacked)

    def estimate(self, row: Row) -> tuple[Reals, Reals]:
        """Estimate under a normal law, from the terms whose columns are known."""
        parts, regression = self._parts(row), self.population.regression
        if not np.isnan(parts[~self.plan.weightless]).any():
            full = read_plan(self.plan.without_stops(), _OneRow(parts)).margin[0]
            return full, np.zeros((full.size, full.size))
        known = np.flatnonzero(~np.isnan(parts[regression.order]))
        mean, covariance = regression.given(known, parts[regression.order[known]])
        return mean + self.plan.intercept, covariance

    def outside(self, row: Row) -> list[int]:
        beyond = (row.values < self.population.low) | (row.values > self.population.high)  # NaN is neither
        for column in self.model.categories:  # any other value has a code, too, which may have been seen
            code = row.values[column]
            beyond[column] = not np.isnan(code) and code not in self.population.codes.get(column, ())
        return np.flatnonzero(beyond).tolist()

    def _number(self, column: int, feature: Feature, value: Any) -> tuple[Value, float]:
        """Return a value as JSON has it, and the number or the code that it is for the model."""
        categories = self.model.categories.get(column)
        if categories is None:
            number = finite_number(value, feature)
            return number, number
        if isinstance(value, str) and not _are_numbers(categories):
            return str(value), categories.code(str(value))
        number = int(value) if isinstance(value, Integral) else finite_number(value, feature)  # keys may be long
        return number, categories.code(number)

    def _advice(self, column: int) -> str:
        categories = self.model.categories.get(column)
        if categories is None or not categories.values.size:
            return "Tell a value such as it was fitted on, or None where it cannot be had."
        return f"It was fitted on the categories {categories.some}. Tell one of them, or None where it cannot be had."

    def _as_taken(self, column: int, told: Value, number: float) -> NDArray[Any]:
        """Return a value that was told as terms take it, (1,)."""
        if told is None:
            return self.model.kinds.none_of(column, 1)
        if column in self.model.as_held:
            return np.array([told], dtype=object if isinstance(told, str) else None)
        return np.array([number]).astype(np.intp if column in self.model.categories else np.float64)

    def _parts(self, row: Row) -> Reals:
        """Return the values of all parts, NaN where a column is not known or the model has no way for its absence."""
        parts = np.full((len(self.model.terms), self.model.n_scores), np.nan)
        known = row.known & ~(row.missing & ~self.model.takes_missing)
        for k, (term, columns) in enumerate(zip(self.model.terms, self._needs, strict=True)):
            if columns is None:
                parts[k] = 0.0
            elif known[columns].all():
                parts[k] = self._of_term(term, row)
        return parts.ravel()

    def _of_term(self, term: Term, row: Row) -> Reals:
        with np.errstate(all="ignore"):
            value: Reals = term.values(lambda column: self._as_taken(column, row.told[column], row.values[column]))[0]
        if np.isnan(value).any():  # of several columns, each of whose values is taken with others
            together = ", ".join(f"{self.model.name_of(column)} = {row.told[column]!r}" for column in term.columns)
            raise ValueError(f"The model has no way for these values together: {together}. Nothing was taken.")
        return value

    def _read(self, n_read: int, stopped: bool) -> NDArray[np.intp]:
        """Return the columns that a reading of so many units has asked for."""
        if not stopped:
            return self.model.used
        units = self.plan.order[:n_read] if self.plan.unit.size == 0 else self.plan.units[:n_read]
        return self.model.columns_of(units.astype(np.intp) * self.model.n_scores)

    @cached_property
    def _used(self) -> frozenset[int]:
        return frozenset(self.model.used.tolist())

    @cached_property
    def _needs(self) -> list[list[int] | None]:
        """The columns of each term; None of one that adds nothing."""
        return [None if isinstance(term, NoTerm) else list(term.columns) for term in self.model.terms]

    @cached_property
    def _stages(self) -> list[NDArray[np.intp]]:
        return stages_of(self.plan, self.model.columns_of, self.n_columns)

    @cached_property
    def _plan_without(self) -> Callable[[tuple[int, ...]], Plan]:
        """What gives the plan for a row that lacks columns for which the model has no way."""

        def planned(lost: tuple[int, ...]) -> Plan:
            return plan_without(self.plan, self.population, self.model.parts_lost(lost), self.delta)

        return lru_cache(MOST_PLANS)(planned)


class _OneRow:
    """The parts of one row, read part by part as those of a table are, so that sums are rounded alike."""

    def __init__(self, parts: Reals) -> None:
        self._parts = parts
        self.shape = (1, parts.size)

    def fill(self, part: int, rows: NDArray[np.uint32], size: int, out: NDArray[np.floating]) -> None:
        out[:size] = self._parts[part]

    def take(self, rows: Selection) -> "_OneRow":
        raise NotImplementedError("One row is read in one thread.")


def _are_numbers(categories: Categories) -> bool:
    return categories.values.dtype.kind in "fiub"


def _as_json(value: Any, feature: Feature, *, any_object: bool = False) -> Value:
    """Return a number or a text as JSON has it; or raise, unless any object will do, for nobody reads it."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if any_object:
        return str(value)
    raise TypeError(f"{feature!r}: expected a number or a text, or None where it cannot be had; got {value!r}.")

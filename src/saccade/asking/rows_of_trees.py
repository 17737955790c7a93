"""How a row is read by trees: each needs the columns on the row's own path, which become known from node to node.

A walk ends in a leaf, or waits at the first node whose column is not known. All columns at which walks of one stage
wait are certain to be needed, because no tree of a stage is left out. A value that cannot be had goes the way that the
library sends missing values.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.asking.one_row import Decision, Row, Value, finite_number
from saccade.kernels.tree_columns import NEARLY_ZERO
from saccade.kernels.tree_walks import sum_leaves, walk_known
from saccade.models.trees.model import TreeModel
from saccade.planning.absence import Population
from saccade.planning.part_prices import tree_order
from saccade.planning.prices import Feature
from saccade.reading.arrays import ArraySource
from saccade.reading.distinct import is_missing
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["TreeReader"]

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeReader:
    """A plan over the trees of a model."""

    model: TreeModel
    plan: Plan
    population: Population

    @property
    def n_columns(self) -> int:
        return self.model.n_columns

    def arrays(self) -> list[NDArray[Any]]:
        return list(self.model.ensemble.nodes)

    def taken(self, column: int, feature: Feature, value: Any) -> tuple[Value, float]:
        if is_missing(value):
            if not self.model.ensemble.takes_missing:
                raise ValueError(f"{feature!r}: the model takes no missing values, so that it needs a number here.")
            return None, np.nan
        categories = self.model.categories.get(column)
        if categories is None:
            number = finite_number(value, feature)
            return number, math.nan if self._counts_as_missing(column, number) else number
        # In an array a number is a code where categories are texts, for the libraries that take codes from arrays.
        are_codes = categories.hold_texts and not categories.numbers_too and not isinstance(feature, str)
        if isinstance(value, str) or not are_codes:
            categories.check_kind(value, feature)
        if isinstance(value, str):
            return str(value), categories.code(str(value))
        number = finite_number(value, feature)
        return number, number if are_codes else categories.code(number)

    def needed(self, row: Row) -> list[int]:
        node = self._walk(row)[0]
        waiting = np.flatnonzero(~self._is_leaf[node])
        if waiting.size == 0:
            return []
        end = self._ends[np.searchsorted(self._ends, waiting[0], side="right")]
        columns = self.model.ensemble.nodes.column[node[waiting[waiting < end]]]
        return list(dict.fromkeys(columns.tolist()))

    def decide(self, row: Row) -> Decision | None:
        node, passed = self._walk(row)
        waiting = np.flatnonzero(~self._is_leaf[node])
        if waiting.size and waiting[0] < self._ends[0]:
            return None
        # What is unknown is NaN, and a sum that contains it decides nothing: so this is the reader's own decision.
        margin, n_read, stopped, bad = read_plan(self.plan, ArraySource(self._parts(node)[None]))
        if bad >= 0:
            return None
        if not stopped[0]:
            margin[0] = self._full(node)
        if n_read[0] < self._order.size:
            passed = self._walk(row, int(n_read[0]))[1]
        lacked = bool((passed & np.isnan(row.values) & ~self.population.missing).any())
        return Decision(int(decided(margin)[0]), margin[0], lacked)

    def estimate(self, row: Row) -> tuple[Reals, Reals]:
        """Estimate under a normal law, from the trees whose leaves are known."""
        node, regression = self._walk(row)[0], self.population.regression
        if self._is_leaf[node].all():
            full = self._full(node)
            return full, np.zeros((full.size, full.size))
        values = self._parts(node)[regression.order].astype(np.float64)
        known = np.flatnonzero(~np.isnan(values))
        mean, covariance = regression.given(known, values[known])
        return mean + self.plan.intercept, covariance

    def outside(self, row: Row) -> list[int]:
        beyond = (row.values < self.population.low) | (row.values > self.population.high)
        for column, seen in self.population.codes.items():  # a category between others may never have been seen
            value = row.values[[column]]
            beyond[column] = not math.isnan(value[0]) and self.model.ensemble.codes_of(value)[0] not in seen
        for column in self.model.categories:
            beyond[column] |= row.known[column] and not row.missing[column] and math.isnan(row.values[column])
        return np.flatnonzero(beyond).tolist()

    def _walk(self, row: Row, count: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return where the trees bring a row, the first so many in reading order, and the columns that they asked."""
        trees, passed = self._order[:count], np.zeros(self.n_columns, dtype=bool)
        node = np.empty(trees.size, np.int64)
        walk_known(self.model.ensemble.nodes, self.model.walks.rules, row.values, row.known, trees, node, passed)
        return node, passed

    def _parts(self, node: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the values of all parts, NaN where a leaf is not known."""
        table = self.model.walks.parts
        values = np.full((self.plan.n_units, table.shape[1]), np.nan, table.dtype)
        values[self._order] = np.where(self._is_leaf[node][:, None], table[node], np.nan)
        return values.ravel()

    def _full(self, node: NDArray[np.int64]) -> Reals:
        """Return the model's own margins, (scores,), from the leaves of all trees that count."""
        ensemble, leaf = self.model.ensemble, np.empty(self.plan.n_units, np.int64)
        leaf[self._order] = node
        total = ensemble.sum.start.astype(ensemble.sum.dtype)[:, None].copy()
        sum_leaves(self.model.walks.sums, self.model.walks.score, leaf, total)
        margin: Reals = self.model.margins(total)[0]
        return margin

    def _counts_as_missing(self, column: int, number: float) -> bool:
        zeros = self.model.ensemble.zero_is_missing
        return zeros is not None and bool(zeros[column]) and abs(number) <= NEARLY_ZERO

    @cached_property
    def _is_leaf(self) -> NDArray[np.bool_]:
        left = self.model.ensemble.nodes.left
        is_leaf: NDArray[np.bool_] = left == np.arange(left.size)
        return is_leaf

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return tree_order(self.plan, self.model)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """After how many trees the row is looked at, the last time after all of them."""
        return np.append(self.plan.units_among(self.plan.checkpoints), self._order.size)

"""Costs of a model's parts, and of rows that a plan has read, from the costs of columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.kernels.tree_building import add_asked
from saccade.models.additive import Additive
from saccade.models.tables.model import TermModel
from saccade.models.trees.model import TreeModel
from saccade.models.trees.screens import screened
from saccade.planning.narrowed import Narrowed
from saccade.planning.paths import PathPrices
from saccade.planning.prices import Prices
from saccade.reading.arrays import ArraySource
from saccade.reading.distinct import is_missing
from saccade.reading.plan import Outcome, Plan
from saccade.reading.reader import read_plan
from saccade.reading.sources import Source
from saccade.reading.sparse import CsrSource
from saccade.reading.tables import Table, as_table

__all__ = ["part_prices", "row_costs", "stages_of", "tree_order", "with_screens"]

Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

# So many rows say how rows divide at a node.
MOST_ROWS = 2000
# Rows are processed in blocks of at most this many values: rows times columns, or parts.
MOST_ASKED = 2**22


def with_screens(additive: Additive, X: Any, rows: NDArray[np.intp]) -> Additive:
    """Return a model of trees with parts that need a single column each, for a plan that saves money."""
    return screened(additive, additive.leaves(X, rows[:MOST_ROWS])) if isinstance(additive, TreeModel) else additive


def part_prices(
    additive: Additive | Narrowed, X: Any, rows: NDArray[np.intp], prices: Prices, *, stated: bool
) -> Prices | PathPrices:
    """Return what a plan is to save: money where prices are stated, else what parts cost in time.

    A column that is a part costs its price. A tree costs its steps, or the columns on the paths of ``rows``, which
    plan.
    """
    to_save = prices.to_plan_by()
    if isinstance(additive, Narrowed):
        return additive.prices(to_save)
    if isinstance(additive, TermModel):
        return _of_terms(additive, to_save, rows.size)
    if not isinstance(additive, TreeModel):
        return to_save
    unit = additive.unit if additive.unit.size else np.arange(additive.coef.shape[1])
    if not stated:
        return Prices(unit.astype(np.intp), np.maximum(additive.steps(X, rows), 1.0))
    needs = additive.walks.needs(to_save.purchase)
    return PathPrices(unit.astype(np.intp), additive.leaves(X, rows), needs, to_save.price, additive.walks.every)


def _of_terms(additive: TermModel, prices: Prices, n_rows: int) -> Prices | PathPrices:
    """Return what terms cost: their column, or, where some need several, those that no term before has needed."""
    term = np.arange(additive.coef.shape[1]) // additive.n_scores
    if additive.each_needs_one:
        return Prices(prices.purchase[term], prices.price)
    needs = np.zeros((len(additive.terms), -(-prices.price.size // 64)), np.uint64)
    for k, of_term in enumerate(additive.terms):
        for purchase in prices.purchase[list(of_term.columns)].tolist():
            needs[k, purchase // 64] |= np.uint64(1) << np.uint64(purchase % 64)
    counted = np.flatnonzero(additive.coef.any(axis=0))
    every = np.unique(term[counted])
    path = np.broadcast_to(np.arange(len(additive.terms), dtype=np.int32), (n_rows, len(additive.terms)))
    return PathPrices(term, np.ascontiguousarray(path), needs, prices.price, every)


def row_costs(additive: Additive, plan: Plan, prices: Prices, X: Any, source: Source, outcome: Outcome) -> Reals:
    """Return the cost of each row of X, which a plan has read: the amount that an inquiry about the row spends.

    Each purchase is paid for once, and missing values cost nothing.
    """
    demanded, missing_in = additive.columns_of(plan.demanded), _missing_in(X, getattr(additive, "absent", 0.0))
    gaps = {column: missing_in(column) for column in demanded[additive.takes_missing[demanded]].tolist()}
    if isinstance(additive, TreeModel):
        asked = _asked_by_trees(additive, plan, source, outcome)
    else:
        asked = _asked_by_exit(additive, plan, source, outcome)
    n_rows = outcome.n_read.size
    costs, block = np.empty(n_rows), max(MOST_ASKED // max(additive.n_columns, plan.n_features), 1)
    for start in range(0, n_rows, block):
        rows = slice(start, min(start + block, n_rows))
        columns = asked(rows)
        for column, missing in gaps.items():
            columns[:, column] &= ~missing[rows]
        costs[rows] = prices.paid(columns)
    return costs


def _missing_in(X: Any, absent: float) -> Callable[[int], Flags]:
    """Return a function that gives the rows without a value in a column.

    ``absent`` is the value of entries that a sparse matrix does not store.
    """
    if (table := X if isinstance(X, Table) else as_table(X)) is not None:
        return table.missing
    if sp.issparse(X):
        X = X.tocsc()

    def missing_in(column: int) -> Flags:
        if sp.issparse(X):
            stored = slice(X.indptr[column], X.indptr[column + 1])
            values = np.full(X.shape[0], absent)
            values[X.indices[stored]] = X.data[stored]
        else:
            values = np.asarray(X)[:, column]
        if values.dtype.kind == "O":
            return np.array([is_missing(value) for value in values.tolist()], dtype=bool)
        return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)

    return missing_in


def stages_of(
    plan: Plan, columns_of: Callable[[NDArray[np.intp]], NDArray[np.intp]], n_columns: int
) -> list[NDArray[np.intp]]:
    """Return the columns that are new at each checkpoint, in reading order, and at the end all others.

    ``columns_of`` gives the columns of parts, which may have several in common.
    """
    stages, seen = [], np.zeros(n_columns, dtype=bool)
    for parts in [*(plan.order[:end].astype(np.intp) for end in plan.checkpoints), np.flatnonzero(~plan.weightless)]:
        columns = np.array([k for k in dict.fromkeys(columns_of(parts).tolist()) if not seen[k]], dtype=np.intp)
        stages.append(columns)
        seen[columns] = True
    return stages


def tree_order(plan: Plan, model: TreeModel) -> NDArray[np.int64]:
    """Return the trees that a plan reads, and all others that count, in reading order."""
    parts = plan.order[: plan.positions]
    first = list(dict.fromkeys((parts if plan.unit.size == 0 else plan.unit[parts]).tolist()))
    every = model.walks.every.astype(np.int64)
    return np.concatenate([np.array(first, np.int64), every[~np.isin(every, first)]])


def _asked_by_exit(additive: Additive, plan: Plan, source: Source, outcome: Outcome) -> Callable[[slice], Flags]:
    """Return a function that gives the columns some rows needed, (rows, columns): those up to their last checkpoint."""
    if isinstance(source, CsrSource):
        outcome = _read_as_asked(plan, source)
    stages = stages_of(plan, additive.columns_of, additive.n_columns)
    counts = plan.units_among(plan.checkpoints)
    stage = np.full(additive.n_columns, len(stages))
    for k, columns in enumerate(stages):
        stage[columns] = k
    last = np.where(outcome.stopped, np.searchsorted(counts, outcome.n_read), len(stages) - 1)
    return lambda rows: stage <= last[rows, None]


def _read_as_asked(plan: Plan, source: CsrSource) -> Outcome:
    """Read CSR rows as an inquiry does, which asks for zeros, too, and never takes the shortcut of a full read."""
    order = plan.order[: plan.positions]
    own = plan._replace(
        order=np.arange(order.size, dtype=np.uint32), coef=np.ascontiguousarray(plan.coef[:, order.astype(np.intp)])
    )
    block = max(MOST_ASKED // max(order.size, 1), 1)
    starts = range(0, max(source.shape[0], 1), block)
    read = [
        read_plan(own, ArraySource(source.canonical[start : start + block][:, order].toarray())) for start in starts
    ]
    margin, n_read, stopped = (np.concatenate([outcome[k] for outcome in read]) for k in range(3))
    return Outcome(margin, n_read, stopped, -1)


def _asked_by_trees(model: TreeModel, plan: Plan, source: Any, outcome: Outcome) -> Callable[[slice], Flags]:
    """Return a function that gives the columns some rows needed, (rows, columns): those on their paths."""
    trees, needs = tree_order(plan, model), model.walks.needs(np.arange(model.n_columns))
    counts = np.where(outcome.stopped, outcome.n_read, trees.size)

    def asked(rows: slice) -> Flags:
        leaf = source.take(rows).bench.values(model.walks.numbers)
        bits = np.zeros((leaf.shape[0], needs.shape[1]), np.uint64)
        add_asked(leaf, needs, trees, counts[rows], bits)
        by_byte = bits.astype("<u8").view(np.uint8)
        return np.unpackbits(by_byte, axis=1, count=model.n_columns, bitorder="little").astype(bool)

    return asked

"""What the parts of a model cost, by what its columns cost."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.additive import Additive
from saccade.models.tables.model import TermModel
from saccade.models.trees.model import TreeModel
from saccade.models.trees.screens import screened
from saccade.planning.narrowed import Narrowed
from saccade.planning.paths import PathPrices
from saccade.planning.prices import Prices

__all__ = ["part_prices", "with_screens"]

# So many rows say how rows divide at a node.
MOST_ROWS = 2000


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

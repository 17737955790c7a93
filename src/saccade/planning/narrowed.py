"""Planning on the columns that matter, of CSR rows that are too wide to be made dense.

What all other columns add to each score is one part more for each, which no plan reads by itself: so scores are still
sums of parts, as regression, tuning and calibration need them. Finished plans speak of the user's columns.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis

from saccade.models.additive import Additive
from saccade.models.linear import LinearModel, in_fitting_precision
from saccade.planning.boundaries import Boundary
from saccade.planning.orders import magnitude, reading_order
from saccade.planning.prices import Prices
from saccade.planning.regression import Regression
from saccade.reading.inputs import not_finite
from saccade.reading.plan import EACH, Plan
from saccade.reading.sparse import CsrSource

__all__ = ["MOST_COLUMNS", "Narrowed", "narrowed"]

Reals = NDArray[np.float64]

# CSR rows of more columns are planned on so many. A regression takes up to 384 of them.
MOST_COLUMNS = 1024


@dataclass(frozen=True)
class Narrowed:
    """A linear model over some of its columns and, for each score, one part that stands for all others."""

    model: LinearModel
    kept: NDArray[np.intp]  # columns, ascending
    others: Reals  # (scores,) what the other columns add to each score on average

    unit: ClassVar[NDArray[np.uint32]] = EACH
    parts_are_columns: ClassVar[bool] = True
    each_needs_one: ClassVar[bool] = True
    of_trees: ClassVar[bool] = False

    @property
    def classes(self) -> NDArray[Any]:
        return self.model.classes

    @property
    def unread(self) -> int:
        """How many parts, the last ones, are never read by themselves."""
        return self.others.size

    @cached_property
    def coef(self) -> Reals:
        """Weights of the columns; each other part weighs as much as its columns do together, √Σ w²."""
        return np.concatenate([self.model.coef[:, self.kept], np.diag(self._norm)], axis=1)

    @property
    def intercept(self) -> Reals:
        """What the other parts deviate from is part of the intercept."""
        return self.model.intercept + self.others

    @cached_property
    def _outside(self) -> Reals:
        """(columns, scores) weights of the columns that are not kept."""
        outside = np.array(self.model.coef.T, order="C")
        outside[self.kept] = 0.0
        return outside

    @cached_property
    def _norm(self) -> Reals:
        norm: Reals = np.sqrt((self._outside**2).sum(axis=0))
        return norm

    def values(self, X: Any, rows: NDArray[np.intp]) -> NDArray[np.floating]:
        """Return the parts of some rows, (rows, parts), all of them finite."""
        some = CsrSource(X[rows]).canonical
        bad = np.flatnonzero(~np.isfinite(some.data))
        if bad.size:
            row, column = int(np.searchsorted(some.indptr, bad[0], side="right")) - 1, int(some.indices[bad[0]])
            raise not_finite(
                float(some.data[bad[0]]), int(rows[row]), column, self.model.columns, "AttentiveClassifier"
            )
        rest = (some @ self._outside - self.others) / np.where(self._norm > 0, self._norm, 1.0)
        dense = sp.hstack([some[:, self.kept], rest.astype(some.dtype)], format="csr").toarray()
        return in_fitting_precision(dense, dense.min(axis=0), dense.max(axis=0))

    def full(self, X: Any, rows: NDArray[np.intp]) -> Reals:
        """Return the full margins of some rows, as a reader sums them."""
        return CsrSource(X[rows]).run(Plan.in_full(self.model.coef, self.model.intercept)).margin

    def check_own(self, X: Any, rows: NDArray[np.intp]) -> None:
        self.model.check_own(X, rows)

    def ranges(self, X: Any, rows: NDArray[np.intp]) -> None:
        return None

    def prices(self, prices: Prices) -> Prices:
        """Return what the parts cost: what is kept its own price, and the others together all the rest."""
        purchases, purchase = np.unique(prices.purchase[self.kept], return_inverse=True)
        paid = prices.price[purchases]
        rest = np.zeros(self.unread)
        rest[0] = prices.price.sum() - paid.sum()
        others = paid.size + np.arange(self.unread)
        return Prices(np.concatenate([purchase.ravel(), others]), np.concatenate([paid, rest]))

    def in_columns(self, plan: Plan) -> Plan:
        """Return a plan of these parts as one of the model's columns."""
        order = self.kept[plan.order].astype(np.uint32)
        return plan._replace(order=order, coef=self.model.coef, intercept=self.model.intercept)

    def regression_in_columns(self, regression: Regression) -> Regression:
        return replace(regression, order=self.kept[regression.order])


def narrowed(
    additive: Additive, X: Any, rows: NDArray[np.intp], prices: Prices, boundary: Boundary, order: str, seed: int
) -> Narrowed | None:
    """Return the model over those columns that these rows plan on; None where they plan on all.

    This is the one place that decides it: for linear models and CSR rows of more columns than are made dense.
    """
    if not (isinstance(additive, LinearModel) and sp.issparse(X) and additive.n_columns > MOST_COLUMNS):
        return None
    remedy = f"CSR rows of more than {MOST_COLUMNS:,} columns are planned on so many of them. Pass fewer columns"
    if order.startswith("sampled"):
        raise ValueError(f"order={order!r} draws from all columns, but {remedy}, or choose order='greedy'.")
    if MOST_COLUMNS < boundary.limit(additive.n_columns) < additive.n_columns:
        raise ValueError(f"{boundary!r} reads {boundary.limit(additive.n_columns):,} columns, but {remedy}, or budget.")
    some = X[rows].astype(np.float64)
    with np.errstate(invalid="ignore"):
        mean, variance = mean_variance_axis(some, axis=0)
    weight = magnitude(additive.coef)
    if order == "greedy":
        kept = _worthiest(np.nan_to_num(weight**2 * variance), prices)
    else:
        kept = np.sort(reading_order(order, weight, seed)[0][:MOST_COLUMNS])
    outside = np.ones(additive.n_columns, dtype=bool)
    outside[kept] = False
    return Narrowed(additive, kept, np.nan_to_num(additive.coef[:, outside] @ mean[outside]))


def _worthiest(explained: Reals, prices: Prices) -> NDArray[np.intp]:
    """Return the columns whose purchases vary the scores most for their price, as if columns were uncorrelated.

    A purchase is kept whole. What is free comes first.
    """
    by_purchase = np.bincount(prices.purchase, weights=explained, minlength=prices.price.size)
    size = np.bincount(prices.purchase, minlength=prices.price.size)
    worth = np.full(by_purchase.size, np.inf)
    np.divide(by_purchase, prices.price, out=worth, where=prices.price > 0)
    worth[by_purchase <= 0] = -1.0
    ranked = np.argsort(-worth, kind="stable")
    ranked = ranked[(worth[ranked] >= 0) & (size[ranked] <= MOST_COLUMNS)]
    chosen = ranked[np.cumsum(size[ranked]) <= MOST_COLUMNS]
    return np.flatnonzero(np.isin(prices.purchase, chosen))

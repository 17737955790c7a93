"""What trees cost where columns have prices: those on a row's own path, each bought once.

Which columns a tree needs depends on the row, so that what a tree costs is measured on rows: what its path there needs
and no tree before it has needed. The path follows from the leaf.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.tree_building import buy, expected_prices, prices_at
from saccade.planning.prices import Basket, Prices

__all__ = ["PathPrices"]

Reals = NDArray[np.float64]
Sets = NDArray[np.uint64]  # (…, words) purchases as bits

# So many rows say what a tree is expected to cost next.
MOST_ROWS = 2000
# A tree whose columns are all known takes time all the same: this share of the mean price of a purchase.
TIME = 0.001
# Many trees may cost nothing more, and one a lot: so many looks, at most, are where rows have paid even shares, as so
# many rows do on average.
SHARES, ROWS_THAT_PAY = 24, 500


@dataclass(frozen=True)
class PathPrices:
    """Trees as purchases, over planning rows of which it is known what each path needs."""

    purchase: NDArray[np.intp]  # (parts,) the tree of each part
    leaf: NDArray[np.int32]  # (rows, trees) the node where each row ends
    needs: Sets  # (nodes, words) the purchases of columns on the way to a node
    price: Reals  # (purchases of columns,)
    every: NDArray[np.integer[Any]]  # the trees that a full read walks

    def members(self, purchase: int) -> NDArray[np.intp]:
        return np.flatnonzero(self.purchase == purchase)

    @property
    def groups(self) -> NDArray[np.intp]:
        """Return the trees of several parts."""
        return np.flatnonzero(np.bincount(self.purchase) > 1)

    def complete(self, order: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
        """Return after how many parts of an order no tree is half read."""
        return Prices(self.purchase, self.price).complete(order)

    def looks(self, order: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
        """Return after how many parts of an order rows have paid even shares, and read all that they get for them."""
        ends = self.complete(order)
        if ends.size == 0:
            return ends
        paid = self.spent(order, ends.astype(np.int64), slice(ROWS_THAT_PAY)).mean(axis=0)
        shares = np.linspace(paid[0], paid[-1], SHARES, endpoint=False)
        return np.unique(ends[np.searchsorted(paid, shares, side="right") - 1])

    def basket(self) -> "_PathBasket":
        return _PathBasket(self)

    def spent(self, order: NDArray[np.integer[Any]], sizes: NDArray[np.int64], rows: slice) -> Reals:
        """Return what each row has paid after so many parts of an order, (rows, sizes)."""
        return self._paid(self.purchase[order], sizes, rows)

    def everything(self, rows: slice) -> Reals:
        """Return what each row's paths cost through all trees that a full read walks."""
        return self._paid(self.every.astype(np.intp), np.array([self.every.size]), rows)[:, 0]

    def _paid(self, trees: NDArray[np.intp], sizes: NDArray[np.int64], rows: slice) -> Reals:
        leaf, bought = self.leaf[rows], np.empty(self.needs.shape[1], np.uint64)
        paid = np.empty((leaf.shape[0], sizes.size))
        prices_at(leaf, self.needs, self.price, trees, sizes, bought, paid)
        return paid


class _PathBasket(Basket):
    """What each tree is expected to cost next, given the trees before it."""

    def __init__(self, paths: PathPrices) -> None:
        self._paths = paths
        self._leaf = paths.leaf[:MOST_ROWS]
        self._bought = np.zeros((self._leaf.shape[0], paths.needs.shape[1]), np.uint64)
        self._time = TIME * float(paths.price.mean())
        self._expected = np.zeros(self._leaf.shape[1])
        expected_prices(self._leaf, paths.needs, paths.price, self._expected)
        super().__init__(self._expected + self._time)

    def add(self, purchase: int) -> None:
        buy(purchase, self._leaf, self._paths.needs, self._paths.price, self._bought, self._expected)
        self.price = np.maximum(self._expected, 0.0) + self._time  # below zero by rounding alone

"""What features cost. Some are bought together: one blood sample gives ten values, one call returns a record."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.terminal import printable

__all__ = ["Basket", "Feature", "Prices", "places_of", "position_of", "price_list"]

Reals = NDArray[np.float64]
Feature = str | int  # the name where names are known, else the index


@dataclass(frozen=True)
class Prices:
    """Purchases: each gives one feature or a group of them, and is paid for once; some may be free."""

    purchase: NDArray[np.intp]  # (n_features,) the purchase that brings each feature
    price: Reals  # (purchases,)

    def members(self, purchase: int) -> NDArray[np.intp]:
        return np.flatnonzero(self.purchase == purchase)

    @property
    def groups(self) -> NDArray[np.intp]:
        """Return the purchases that bring several features."""
        return np.flatnonzero(np.bincount(self.purchase, minlength=self.price.size) > 1)

    def to_plan_by(self) -> "Prices":
        """Return the prices that a plan is to save: where everything is free, each purchase counts the same."""
        return self if self.price.any() else replace(self, price=np.ones_like(self.price))

    def basket(self) -> "Basket":
        """Return a basket in which a purchase costs the same, whatever was bought before."""
        return Basket(self.price)

    def spent(self, order: NDArray[np.integer[Any]], sizes: NDArray[np.int64], rows: slice) -> Reals:
        """Return what has been paid after so many features of an order, (1, sizes): the same for all rows."""
        bought = self.purchase[order]
        new = np.zeros(bought.size, dtype=bool)
        new[np.unique(bought, return_index=True)[1]] = True
        paid: Reals = np.cumsum(np.where(new, self.price[bought], 0.0))[sizes - 1]
        return paid[None]

    def everything(self, rows: slice) -> Reals:
        """Return what all features cost, (1,): the same for all rows."""
        total: Reals = self.price.sum(keepdims=True)
        return total

    def complete(self, order: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
        """Return after how many features of an order nothing that was bought is still to be read."""
        last = {int(purchase): position + 1 for position, purchase in enumerate(self.purchase[order])}
        ends = np.array(sorted(last.values()), dtype=np.intp)
        return ends

    def looks(self, order: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
        """Return where to look for the sake of prices: nowhere, because each feature costs something."""
        return np.zeros(0, dtype=np.intp)

    def paid(self, asked: NDArray[np.bool_]) -> Reals:
        """Return what each row has paid for the features that it asked for, (rows, n_features)."""
        together = np.argsort(self.purchase, kind="stable")
        purchases, begins = np.unique(self.purchase[together], return_index=True)
        bought = np.logical_or.reduceat(asked[:, together], begins, axis=1)
        paid: Reals = bought @ self.price[purchases]
        return paid

    def total(self, features: Sequence[int]) -> float:
        """Return what these features cost, bought together."""
        return float(self.price[np.unique(self.purchase[list(features)])].sum()) if len(features) else 0.0


@dataclass
class Basket:
    """What each purchase would cost next."""

    price: Reals  # (purchases,)

    def add(self, purchase: int) -> None:
        """Buy something."""


def price_list(costs: Any, groups: Any, n_features: int, names: Sequence[str] | None) -> Prices:
    """Return prices from what a user says of costs and groups; where nothing is said, 1 per feature.

    A group costs what is said of it by its name, or else the sum of its features' costs.
    """
    if names is not None and hasattr(costs, "to_dict"):  # a pandas Series goes by its index
        costs = costs.to_dict()
    places = places_of(names)
    members = _members(groups, n_features, places)
    own, named = np.ones(n_features), {}
    if isinstance(costs, Mapping):
        group_of = {feature: group for group, features in members.items() for feature in features}
        for key, value in costs.items():
            if key in members:
                named[key] = _price(key, value)
                continue
            feature = position_of(key, n_features, places, "costs")
            own[feature] = _price(key, value)
            if feature in group_of and group_of[feature] in costs:
                raise ValueError(f"costs names {key!r} and its group: a group is paid for once. Leave one of them out.")
    elif costs is not None:
        own = np.asarray(costs, dtype=np.float64)
        if own.shape != (n_features,) or not (np.isfinite(own) & (own >= 0)).all():
            wrong = f"shape {own.shape}" if own.shape != (n_features,) else f"{own[~(own >= 0) | np.isinf(own)][0]}"
            raise ValueError(f"costs must be {n_features} numbers of at least 0, one per feature; got {wrong}.")
    purchase = np.full(n_features, -1, dtype=np.intp)
    price: list[float] = []
    for group, features in members.items():
        purchase[features] = len(price)
        price.append(named.get(group, float(own[features].sum())))
    single = np.flatnonzero(purchase < 0)
    purchase[single] = len(price) + np.arange(single.size)
    return Prices(purchase, np.concatenate([price, own[single]]))


def places_of(names: Sequence[str] | None) -> dict[str, int]:
    """Return where each name is; nothing where names are not known."""
    return {name: position for position, name in enumerate(names or ())}


def position_of(feature: Any, n_features: int, places: Mapping[str, int], where: str) -> int:
    """Return the index of a feature that is given by its name or by its index."""
    if isinstance(feature, str) and feature in places:
        return places[feature]
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < n_features:
        return int(feature)
    more = ", …" if len(places) > 5 else ""
    known = ", ".join(map(printable, list(places)[:5])) + more if places else f"0 to {n_features - 1}"
    raise ValueError(f"{where}: there is no feature {feature!r}. The features are {known}.")


def _members(groups: Any, n_features: int, places: Mapping[str, int]) -> dict[Hashable, list[int]]:
    if groups is None:
        return {}
    if isinstance(groups, Mapping):
        members = {
            group: [position_of(feature, n_features, places, f"groups[{group!r}]") for feature in features]
            for group, features in groups.items()
        }
    else:
        if isinstance(groups, str) or not hasattr(groups, "__len__"):
            raise TypeError(f"groups={groups!r}: expected a dict of group to features, or a label for each feature.")
        labels = list(groups)
        if len(labels) != n_features:
            raise ValueError(
                f"groups must be a dict of group to features, or {n_features} labels; got {len(labels)} labels."
            )
        members = {}
        for position, label in enumerate(labels):
            members.setdefault(label, []).append(position)
    every = [feature for features in members.values() for feature in features]
    if len(set(every)) != len(every) or not all(members.values()):
        raise ValueError("groups: every group needs at least one feature, and every feature at most one group.")
    return members


def _price(key: Any, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise ValueError(f"costs[{key!r}] must be a number of at least 0; got {value!r}.")
    return float(value)

"""What each purchase would explain of the scores, for its price: the features of a group jointly."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.planning.covariance import Covariance
from saccade.planning.paths import PathPrices
from saccade.planning.prices import Prices

__all__ = ["Groups", "centred", "explained_by_each", "worth_of"]

Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Added to a variance, as a share of it, where features of a group follow from each other.
JITTER = 1e-9


@dataclass
class _OfOneSize:
    """Groups of equally many features, all of which are weighed at once."""

    numbers: NDArray[np.intp]  # (groups,) of the purchases
    members: NDArray[np.intp]  # (groups, size)
    left: Reals  # (groups, size, size) covariances given the features that are chosen already

    def choose(self, loading: Reals) -> None:
        along = loading[self.members]
        self.left -= along[:, :, None] * along[:, None, :]

    def explained(self, unexplained: Reals, useless: Flags) -> Reals:
        """Return what the features that are not useless explain together, (groups,); -1 where all are."""
        together = np.full(self.numbers.size, -1.0)
        some = np.flatnonzero(~useless[self.members].all(axis=1))
        there = ~useless[self.members[some]]
        # A useless feature stands for itself alone, and has nothing to explain.
        left = np.where(there[:, :, None] & there[:, None, :], self.left[some], 0.0)
        diagonal = np.einsum("gii->gi", left)
        diagonal[:] = np.where(there, diagonal * (1 + JITTER), 1.0)
        target = np.where(there[:, :, None], centred(unexplained)[self.members[some]], 0.0)
        together[some] = np.sum(target * np.linalg.solve(left, target), axis=(1, 2))
        return together


class Groups:
    """Purchases of several features, by how many these are."""

    def __init__(
        self, rows: Covariance, prices: Prices | PathPrices, penalty: Reals, numbers: NDArray[np.intp]
    ) -> None:
        members = [prices.members(int(group)) for group in numbers]
        sizes = np.array([those.size for those in members], dtype=np.intp)
        self._by_size = []
        for size in np.unique(sizes):
            places = np.flatnonzero(sizes == size)
            left = [rows.among(members[place]) + np.diag(penalty[members[place]]) for place in places]
            these = _OfOneSize(numbers[places], np.stack([members[place] for place in places]), np.stack(left))
            self._by_size.append(these)

    def choose(self, loading: Reals) -> None:
        """Take a feature as known, of which each other has such a loading."""
        for groups in self._by_size:
            groups.choose(loading)

    def explained(self, unexplained: Reals, useless: Flags, worth: Reals) -> None:
        """Write into ``worth`` what each group explains."""
        for groups in self._by_size:
            worth[groups.numbers] = groups.explained(unexplained, useless)


def worth_of(
    explained: Reals, unexplained: Reals, useless: Flags, purchase: NDArray[np.intp], price: Reals, groups: Groups
) -> Reals:
    """Return the variance that each purchase explains per unit of price; the features of a group jointly.

    What is free comes first, most explained first: until nothing free explains anything, what has a price is worth -1.
    """
    worth = np.full(price.size, -1.0)
    np.maximum.at(worth, purchase, explained)
    groups.explained(unexplained, useless, worth)
    free = price == 0
    if (worth[free] > 0).any():
        return np.where(free, worth, -1.0)
    np.divide(worth, price, out=worth, where=~free)
    return worth


def explained_by_each(unexplained: Reals) -> Reals:
    """Return the squared covariance of each feature with the centred scores, summed over them."""
    total: Reals = (centred(unexplained) ** 2).sum(axis=1)
    return total


def centred(unexplained: Reals) -> Reals:
    """Centre across classes where there are several scores: only score differences matter."""
    several = unexplained.shape[1] > 1
    return unexplained - unexplained.mean(axis=1, keepdims=True) if several else unexplained

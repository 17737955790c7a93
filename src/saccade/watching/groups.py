"""A watch over rows that lie in groups, which several processes read: who audits which rows, and what they counted.

To audit a row of a file of columns takes all columns of its row group, whichever and however many its other audited
rows are. Where a plan asks for few columns a coin for every row would so have most bytes read in vain. Hence rows are
then audited in clusters: of every m consecutive groups one is drawn, and of its rows the share m s, where s is the
share of all rows. With m = 1 / √s both are √s: at s = 1 % one group in ten, and a tenth of its rows.

Every row has the same chance s to be audited, but rows of one group come together and are not as many draws. So each
drawn group is one observation (``promises/drawn_groups.py``), whose evidence holds however rates vary from group to
group. That a promise holds is then said after some hundreds of drawn groups at the earliest, of the largest's size.
Groups count by their rows beside other groups of the same call; a call counts by its drawn groups.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from saccade.attentive import AttentiveClassifier
from saccade.watching.tally import Tally
from saccade.watching.watch import Watch

__all__ = ["AuditedGroups", "GroupWatch", "add_counts"]


@dataclass(frozen=True)
class AuditedGroups:
    """Which rows of groups are audited; it depends on nothing else, so that any process may read any group."""

    seed: int
    share: float
    every: int  # of so many consecutive groups one is drawn; where it is 1, every row has a coin
    largest: int  # the rows of the largest group

    @classmethod
    def of(cls, seed: int, share: float, sizes: Sequence[int], *, draw: bool) -> Self:
        """Return what is audited of groups of these sizes, of which all are audited or some are drawn."""
        wanted = round(1 / math.sqrt(share)) if share > 0 else len(sizes)
        return cls(seed, share, max(1, min(wanted, len(sizes))) if draw else 1, max(sizes))

    def share_of(self, group: int) -> float:
        """Return the share of a group's rows that is audited: none, unless it is the one that was drawn."""
        draw, place = divmod(group, self.every)
        drawn = np.random.default_rng([self.seed, draw]).integers(self.every)
        return min(1.0, self.share * self.every) if place == drawn else 0.0

    def weight_of(self, n_rows: int) -> float:
        """Return what a drawn group of so many rows, one of them audited at least, counts for beside the largest.

        That is its size, over the chance that any of its rows is audited: of a small group often none is, which would
        leave small groups out of the evidence.
        """
        return min(1.0, self._size_by_chance(n_rows) / self._size_by_chance(self.largest))

    def _size_by_chance(self, n_rows: int) -> float:
        """Return n / (1 - (1 - p)^n), which grows with n."""
        return n_rows / -math.expm1(n_rows * math.log1p(-self.share * self.every))

    def seed_of(self, group: int) -> int:
        """Return what decides the coins of a group's rows."""
        return int(np.random.default_rng([self.seed, group, 1]).integers(2**31))


class GroupWatch(Watch):
    """A watch over the rows of some groups. It counts, and leaves it to the watch over all groups to answer."""

    def __init__(self, attentive: AttentiveClassifier, audited: AuditedGroups, *, in_full: bool) -> None:
        super().__init__(attentive, share=audited.share)
        self._audited, self._all_in_full = audited, in_full

    def begin_group(self, number: int) -> None:
        """Take the coins of another group."""
        self.share, self._seed = self._audited.share_of(number), self._audited.seed_of(number)
        self._next_row, self._coins, self._n_chosen = 0, [0, 0], 0

    def end_group(self) -> None:
        """Take the group for one observation, if it was drawn.

        Chosen rows that cannot be compared are no evidence: the others do not stand in for them.
        """
        if self._audited.every > 1 and self._n_chosen:
            comparable = int(self._tally.counts.rows[0]) / self._n_chosen
            self._tally.counts.close_group(self._audited.weight_of(self._next_row) * comparable)

    def _chosen(self, n_rows: int) -> NDArray[np.uint32]:
        chosen = super()._chosen(n_rows)
        self._n_chosen += chosen.size
        return chosen

    @property
    def counts(self) -> dict[str, Any]:
        """All that was counted, for ``add_counts``."""
        return self._tally.to_dict()

    def _answer(self, reading: Any, stacklevel: int) -> None:
        pass


def add_counts(watch: Watch, counts: Mapping[str, Any]) -> None:
    """Add what a ``GroupWatch`` of the same model has counted."""
    part = Tally(watch.attentive.certificate_, watch.classes_.tolist(), watch.confidence)
    part.restore(counts)
    with watch._lock:
        watch._tally.merge(part)

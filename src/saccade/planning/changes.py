"""Which labels would change, from which class to which, if rows stopped at some checkpoints, for all thresholds.

A change is counted apart where it makes a label worse and where it makes it better, as the promise sees it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.planning.trials import Trial
from saccade.promises.promise import Promise

__all__ = ["Changes"]

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Changes:
    """The losses of a trial's rows at each of its checkpoints, in the order of (rows, checkpoints)."""

    loss: NDArray[np.int8]  # 1 for a worse label, -1 for a better one
    entry: NDArray[np.intp]  # where a change is counted in an array of (worse or better, from class, to class)
    n_classes: int

    @classmethod
    def of(cls, trial: Trial, promise: Promise) -> "Changes":
        label, labels = trial.predicted.label, trial.labels
        loss = promise.loss(label, labels)
        entry = ((loss < 0) * labels.n_classes + labels.full[:, None]) * labels.n_classes + label
        return cls(loss, entry.astype(np.intp), labels.n_classes)

    def at(self, k: int) -> Reals:
        """Return the shares of rows whose label changes, (2, classes, classes), if all are decided at checkpoint k."""
        entries = self.entry[:, k][self.loss[:, k] != 0]
        return self._shares(np.bincount(entries, minlength=2 * self.n_classes**2))

    def by_threshold(self, reached: Reals, chosen: NDArray[np.intp], grid: Reals) -> Reals:
        """Return the same for every threshold z of a grid, (2, classes, classes, thresholds), from the largest z on.

        ``reached`` (rows, chosen checkpoints) is what a row has to offer: it stops at the first checkpoint where this
        is at least z. So it stops at checkpoint k for the z above all that it offered before, up to what it offers
        there.
        """
        before = np.full_like(reached, -np.inf)
        np.maximum.accumulate(reached[:, :-1], axis=1, out=before[:, 1:])
        rows, stops = np.nonzero((self.loss[:, chosen] != 0) & (reached > before))
        ascending, width = grid[::-1], grid.size + 1
        starts = self.entry[rows, chosen[stops]] * width
        size = 2 * self.n_classes**2 * width
        begins, ends = (
            np.bincount(starts + np.searchsorted(ascending, edge[rows, stops], side="right"), minlength=size)
            for edge in (before, reached)
        )
        counts = np.cumsum((begins - ends).reshape(-1, width), axis=1)[:, -2::-1]
        return self._shares(counts)

    def _shares(self, counts: NDArray[np.integer]) -> Reals:
        shares: Reals = counts.reshape(2, self.n_classes, self.n_classes, *counts.shape[1:]) / self.loss.shape[0]
        return shares

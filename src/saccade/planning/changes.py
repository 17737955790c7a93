"""Which labels would change, from which class to which, if rows stopped at some checkpoints, for all thresholds.

A change is counted apart where it makes a label worse and where it makes it better, as the promise sees it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.planning.trials import Trial
from saccade.promises.promise import Promise

__all__ = ["Changes", "Curves"]

Reals = NDArray[np.float64]

# Of so many classes changes are counted for all steps at once, which takes memory as their square.
MOST_IN_TABLE = 32


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

    def by_threshold(self, reached: Reals, chosen: NDArray[np.intp], grid: Reals) -> "Curves":
        """Return the same for thresholds z of a grid, which begins with the largest.

        ``reached`` (rows, chosen checkpoints) is what a row has to offer: it stops at the first checkpoint where this
        is at least z. So it stops at checkpoint k for the z above all that it offered before, up to what it offers
        there.
        """
        changed = self.loss[:, chosen] != 0
        some = np.flatnonzero(changed.any(axis=1))  # of most rows no label ever changes
        reached, changed, entries = reached[some], changed[some], self.entry[some]
        before = np.full_like(reached, -np.inf)
        np.maximum.accumulate(reached[:, :-1], axis=1, out=before[:, 1:])
        rows, stops = np.nonzero(changed & (reached > before))
        # Steps along the grid: the first that stops the row there, and the first that stops it earlier.
        first, end = (
            grid.size - np.searchsorted(grid[::-1], edge[rows, stops], side="right") for edge in (reached, before)
        )
        entry = entries[rows, chosen[stops]]
        return Curves(reached, entries[:, chosen], changed, grid, self, _table(entry, first, end, self, grid.size))

    def shares(self, counts: NDArray[np.integer]) -> Reals:
        shares: Reals = counts.reshape(2, self.n_classes, self.n_classes, *counts.shape[1:]) / self.loss.shape[0]
        return shares


@dataclass(frozen=True)
class Curves:
    """Changes of labels by the threshold of each class; of the rows, those whose label changes at some checkpoint."""

    reached: Reals  # (rows, chosen checkpoints)
    entry: NDArray[np.intp]  # likewise
    changed: NDArray[np.bool_]  # likewise
    grid: Reals
    changes: Changes
    table: Reals | None  # (2, classes, classes, steps) where all classes have gone as far, for few of them

    def at(self, steps: NDArray[np.intp]) -> Reals:
        """Return the shares of rows whose label changes where each class, if decided for, has gone so many steps."""
        if self.table is not None and (steps == steps[0]).all():
            return self.table[:, :, :, steps[0]]
        stops = self.reached >= self.grid[steps][self.entry % steps.size]
        rows, first = np.arange(stops.shape[0]), stops.argmax(axis=1)
        happens = stops[rows, first] & self.changed[rows, first]
        return self.changes.shares(np.bincount(self.entry[rows, first][happens], minlength=2 * steps.size**2))


def _table(
    entry: NDArray[np.intp], first: NDArray[np.intp], end: NDArray[np.intp], changes: Changes, steps: int
) -> Reals | None:
    if changes.n_classes > MOST_IN_TABLE:
        return None
    width, size = steps + 1, 2 * changes.n_classes**2 * (steps + 1)
    begins, ends = (np.bincount(entry * width + place, minlength=size) for place in (first, end))
    return changes.shares(np.cumsum((begins - ends).reshape(-1, width), axis=1)[:, :steps])

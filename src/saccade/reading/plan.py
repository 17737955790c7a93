"""Plain records of arrays: what a reader needs, and what it gives back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Outcome", "Plan", "Reading", "decided"]

Reals = NDArray[np.float64]

# So many features of a checkpoint are named when a plan is described.
MOST_NAMED = 8


class Plan(NamedTuple):
    """Everything that a reader needs to predict with linear scores, as plain arrays: one score, or one per class.

    A row is read in order; at checkpoint k ``checkpoints[k]`` features have been read. The values from position
    ``first[k]`` on are weighted and summed: with ``first[k] == 0`` the sums begin anew, else they go on from the last
    checkpoint's. ``shift[:, k]`` is added. One score decides the row if it is at least ``upper[k]`` or at most
    ``lower[k]``; several do if the best leads the second best by ``upper[k]``. A row that is never decided gets its
    full margins.
    """

    order: NDArray[np.uint32]  # the feature at each position
    checkpoints: NDArray[np.int64]
    first: NDArray[np.int64]
    begins: NDArray[np.int64]  # where each checkpoint's weights begin
    weights: Reals  # (scores, ...) of the first checkpoint's values, then of the second's, and so on
    shift: Reals  # (scores, checkpoints)
    lower: Reals
    upper: Reals
    coef: Reals  # (scores, n_features) the weights by feature, for the rows that are read in full
    offset: Reals  # (scores,) the intercepts

    @property
    def n_features(self) -> int:
        return int(self.coef.shape[1])

    @property
    def most_read(self) -> int:
        """Return how many features are read of a row at most: all, unless the last checkpoint decides every row."""
        closes = self.checkpoints.size > 0 and self.lower[-1] >= self.upper[-1]
        return int(self.checkpoints[-1]) if closes else self.n_features

    def without_stops(self) -> "Plan":
        """Return the plan that reads every feature of every row."""
        return self._replace(checkpoints=self.checkpoints[:0])

    def describe(self, names: Sequence[str] | None = None) -> str:
        """Say in words which features are asked for, and what decides at each checkpoint."""
        n, stops = self.n_features, self.checkpoints.tolist()
        if not stops:
            return f"All {n:,} features of every row are read."
        most = f"at most {self.most_read:,}" if self.most_read < n else "all"
        lines = [f"Of {n:,} features, {most} are read of a row, and fewer where a checkpoint decides it."]
        for start, stop, lower, upper in zip([0, *stops], stops, self.lower, self.upper, strict=False):
            asked = [str(feature) if names is None else str(names[feature]) for feature in self.order[start:stop]]
            shown = ", ".join(asked[:MOST_NAMED])
            if len(asked) > MOST_NAMED:
                shown += f" and {len(asked) - MOST_NAMED} more"
            if lower >= upper:
                decides = "every row"
            elif self.coef.shape[0] > 1:
                decides = f"a lead of {upper:.3g}"
            else:
                decides = f"margins up to {lower:+.3g} or from {upper:+.3g}"
            lines.append(f"{shown}: after {stop} features, {decides}")
        return "\n".join(lines)


# What reading rows by a plan gives: margins (rows, scores), features read, whether each stopped, and the first row that
# is not finite or -1.
Outcome = tuple[Reals, NDArray[np.int64], NDArray[np.bool_], int]


def decided(margin: Reals) -> NDArray[np.intp]:
    """Return the class that each row's scores (rows, scores) speak for: the sign of one, or the best of several."""
    codes: NDArray[np.intp] = (margin[:, 0] > 0).view(np.int8) if margin.shape[1] == 1 else np.argmax(margin, axis=1)
    return codes


@dataclass(frozen=True, eq=False)
class Reading:
    """What came out of reading rows: one entry per row.

    With more than two classes ``margin`` has a column per class, and ``n_read`` counts the features that the
    one-against-rest scores read in all.
    """

    label: NDArray[np.generic]
    margin: Reals
    n_read: NDArray[np.int64]
    stopped: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.label)

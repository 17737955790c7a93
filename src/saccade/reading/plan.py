"""The records that reading works with, as plain arrays: what a reader needs, and what it gives back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from saccade.terminal import SAVES_NOTHING, printable

__all__ = ["EACH", "Outcome", "Plan", "Reading", "decided", "per_plan"]

Reals = NDArray[np.float64]
T = TypeVar("T")

# So many parts of a checkpoint are named when a plan is described.
MOST_NAMED = 8
# Where each part is a unit of its own.
EACH = np.zeros(0, dtype=np.uint32)


class Plan(NamedTuple):
    """Everything that a reader needs to decide rows by an additive model: one score, or one per class.

    A row's parts are read in order; at checkpoint k ``checkpoints[k]`` of them have been read. The values from position
    ``first[k]`` on are weighted and summed: with ``first[k] == 0`` the sums begin anew, else they go on from the last
    checkpoint's. ``shift[:, k]`` is added. One score decides the row if it is at least ``upper[0, k]`` or at most
    ``lower[0, k]``; of several the best one, c, does if it leads the second best by ``upper[c, k]``, and ``lower`` is
    not looked at. A row that is never decided gets its full margins.

    Examples
    --------
    >>> import numpy as np
    >>> from saccade.reading.plan import Plan
    >>> plan = Plan.in_full(coef=np.array([[0.5, -1.0, 2.0]]), intercept=np.zeros(1))
    >>> plan.describe()
    'All 3 features of every row are read.'

    That of a certified model is its ``plan_``:

    >>> from sklearn.datasets import make_classification
    >>> from saccade import AttentiveClassifier
    >>> X, y = make_classification(4000, 20, n_informative=6, random_state=0)
    >>> plan = AttentiveClassifier(delta=0.1, random_state=0).fit(X, y).plan_
    >>> plan.n_features, plan.order.size <= 20, plan.describe().startswith("Of 20 features, ")
    (20, True, True)
    """

    order: NDArray[np.uint32]  #: the part at each position
    checkpoints: NDArray[np.int64]  #: how many parts were read at each
    first: NDArray[np.int64]  #: the position from which on a checkpoint's values are weighed
    begins: NDArray[np.int64]  #: where each checkpoint's weights begin
    weights: Reals  #: (scores, ...) of the first checkpoint's values, then of the second's, and so on
    shift: Reals  #: (scores, checkpoints)
    lower: Reals  #: (scores, checkpoints)
    upper: Reals  #: (scores, checkpoints)
    coef: Reals  #: (scores, parts) for the rows that are read in full
    intercept: Reals  #: (scores,)
    unit: NDArray[np.uint32] = EACH  #: (parts,) parts of one unit are read together and count once; empty: each is one
    of_trees: bool = False  #: whether a part is a tree, or an output of one, rather than a feature
    of_terms: bool = False  #: whether some parts need several features, so that what is counted is neither
    saves_nothing: bool = False  #: whether it read nearly everything of the rows that it was certified on

    @classmethod
    def in_full(cls, coef: Reals, intercept: Reals, unit: NDArray[np.uint32] = EACH, of_trees: bool = False) -> "Plan":
        """Return the plan without a checkpoint, which reads every part of every row."""
        positions, none = np.zeros(0, dtype=np.int64), np.zeros((intercept.size, 0))
        order = np.zeros(0, dtype=np.uint32)
        return cls(order, *(positions,) * 3, *(none,) * 4, coef, intercept, unit, of_trees)

    @property
    def n_features(self) -> int:
        """How many parts there are."""
        return int(self.coef.shape[1])

    @property
    def noun(self) -> str:
        """What a unit is."""
        return "trees" if self.of_trees else "terms" if self.of_terms else "features"

    @property
    def n_units(self) -> int:
        return int(self.unit.max()) + 1 if self.unit.size else self.n_features

    @property
    def n_screens(self) -> int:
        """How many of the trees are screens: they count in no score, and are the last."""
        return int(np.count_nonzero(~np.any(self.coef != 0, axis=0))) if self.of_trees and not self.several else 0

    @property
    def units(self) -> NDArray[np.uint32]:
        """The units in the order in which they are read."""
        units = self.order if self.unit.size == 0 else self.unit[self.order]
        return units[np.sort(np.unique(units, return_index=True)[1])]

    def units_among(self, positions: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return how many units have been read with so many parts."""
        if self.unit.size == 0:
            return positions.astype(np.int64, copy=False)
        read = np.full(self.n_features + 1, self.n_units)
        first = np.zeros(self.order.size, dtype=bool)
        first[np.unique(self.unit[self.order], return_index=True)[1]] = True
        read[0], read[1 : self.order.size + 1] = 0, np.cumsum(first)
        read[self.n_features] = self.n_units
        counted: NDArray[np.int64] = read[positions]
        return counted

    @property
    def several(self) -> bool:
        """Whether there is a score for each class, rather than one for two."""
        return bool(self.coef.shape[0] > 1)

    @property
    def positions(self) -> int:
        """How many parts are read of a row before it is given up and read in full."""
        return int(self.checkpoints[-1]) if self.checkpoints.size else 0

    @property
    def closes(self) -> bool:
        """Whether the last checkpoint decides every row, so that none is read to its end."""
        return bool(self.checkpoints.size and self._decides_all(-1))

    @property
    def most_read(self) -> int:
        """How many units are read of a row at most: all, unless the last checkpoint decides every row."""
        return int(self.units_among(self.checkpoints[-1:])[0]) if self.closes else self.n_to_the_end

    @property
    def n_to_the_end(self) -> int:
        """How many units are read of a row that is read to its end: all but screens that the plan passes by."""
        return self.n_units - (int(np.count_nonzero(self.weightless)) if self.n_screens else 0)

    @property
    def weightless(self) -> NDArray[np.bool_]:
        """Which parts no checkpoint weighs, and no score."""
        weighed = np.asarray(self.coef.any(axis=0))
        weighed[self.order[: self.positions]] = True
        return ~weighed

    @property
    def demanded(self) -> NDArray[np.intp]:
        """The parts that a row can ask for, in the order in which it does; nobody needs to know the others."""
        asked = dict.fromkeys(self.order[: self.positions].tolist())
        if not self.closes:  # rows may be read to their end
            asked |= dict.fromkeys(np.flatnonzero(~self.weightless).tolist())
        return np.array(list(asked), dtype=np.intp)

    def without_stops(self) -> "Plan":
        """Return the plan that reads every part of every row."""
        return self._replace(checkpoints=self.checkpoints[:0])

    def describe(self, names: Sequence[str] | None = None) -> str:
        """Say in words which parts are asked for, and what decides at each checkpoint.

        ``names`` are those of the features; trees have numbers, in the order of the library.
        """
        n, stops, noun = self.n_units, self.checkpoints.tolist(), self.noun
        said = [SAVES_NOTHING] if self.saves_nothing else []
        if not stops:
            return "\n".join([f"All {self.n_to_the_end:,} {noun} of every row are read.", *said])
        most = f"at most {self.most_read:,}" if self.most_read < n else "all"
        lines = [f"Of {n:,} {noun}, {most} are read of a row, and fewer where a checkpoint decides it."]
        if self.n_screens:
            lines.append(f"Those from {n - self.n_screens} on are screens: what one column tells of all trees.")
        counts = self.units_among(self.checkpoints).tolist()
        for k, (start, stop) in enumerate(zip([0, *stops], stops, strict=False)):
            units = self.order[start:stop] if self.unit.size == 0 else self.unit[self.order[start:stop]]
            asked = [self._named(unit, names) for unit in dict.fromkeys(units.tolist())]
            shown = ", ".join(asked[:MOST_NAMED])
            if len(asked) > MOST_NAMED:
                shown += f" and {len(asked) - MOST_NAMED} more"
            which = f"{noun[:-1] if len(asked) == 1 else noun} {shown}" if self.of_trees else shown
            lines.append(f"{which}: after {counts[k]} {noun[:-1] if counts[k] == 1 else noun}, {self.decides(k)}")
        return "\n".join(lines + said)

    def _named(self, unit: int, names: Sequence[str] | None) -> str:
        """Return what a unit is called. Terms of several columns follow those of single ones, and have no names."""
        if self.of_trees or names is None:
            return str(unit)
        return printable(names[unit]) if unit < len(names) else f"term {unit}"

    def _decides_all(self, k: int) -> bool:
        """Whether every row, whatever its finite values, is decided at checkpoint k."""
        closed = self.upper[:, k] <= (0.0 if self.several else self.lower[:, k])
        return bool(closed.all())

    def decides(self, k: int) -> str:
        """Say which rows checkpoint k decides."""
        if self._decides_all(k):
            return "every row"
        if not self.several:
            return f"margins up to {self.lower[0, k]:+.3g} or from {self.upper[0, k]:+.3g}"
        leads = np.unique(self.upper[:, k])
        return f"a lead of {leads[0]:.3g}" + (f" to {leads[-1]:.3g}, by class" if leads.size > 1 else "")


def per_plan(compute: Callable[[Plan], T]) -> Callable[[Plan], T]:
    """Keep what was computed for the last plan: predictions of few rows meet the same one again and again."""
    last: list[tuple[Plan, T]] = []

    def of_plan(plan: Plan) -> T:
        met = last[:1]  # a copy: other threads may have other plans
        if not met or met[0][0] is not plan:
            met = [(plan, compute(plan))]
            last[:] = met
        return met[0][1]

    return of_plan


class Outcome(NamedTuple):
    """What running a plan over rows gives, before it is put into the words of a model's classes."""

    margin: Reals  # (rows, scores); not finite where a value that was read is not
    n_read: NDArray[np.int64]
    stopped: NDArray[np.bool_]
    bad: int  # the first row whose margin is not finite, or -1

    def some(self, rows: NDArray[np.integer]) -> "Outcome":
        """Return what it says of some rows."""
        margin = self.margin[rows]
        bad = -1
        if self.bad >= 0:
            whole = np.isfinite(margin).all(axis=1)
            bad = -1 if whole.all() else int(np.argmin(whole))
        return Outcome(margin, self.n_read[rows], self.stopped[rows], bad)


def decided(margin: Reals) -> NDArray[np.intp]:
    """Return the class that each row's scores (rows, scores) speak for: the sign of one, or the best of several."""
    codes: NDArray[np.intp] = (margin[:, 0] > 0).view(np.int8) if margin.shape[1] == 1 else np.argmax(margin, axis=1)
    return codes


@dataclass(frozen=True, eq=False)
class Reading:
    """What came out of reading rows: one entry per row.

    With more than two classes ``margin`` has a column per class. Where these are learned one against the rest, each by
    a plan of its own, ``n_read`` counts what all of them read. Of CSR rows it counts stored values, and a row is read
    in full, and so not stopped, where that is sooner done than to look a plan's columns up.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from saccade import Pegasos
    >>> X, y = make_classification(4000, 200, n_informative=20, class_sep=2.0, random_state=0)
    >>> reading = Pegasos(random_state=0).fit(X[:3000], y[:3000]).read(X[3000:])
    >>> len(reading), reading.label.shape, bool((reading.n_read[reading.stopped] < 200).all())
    (1000, (1000,), True)
    """

    label: NDArray[np.generic]  #: of each row
    margin: Reals  #: at the stop, or of all parts where there was none
    n_read: NDArray[np.int64]  #: how many parts were read of each row
    stopped: NDArray[np.bool_]  #: whether the reading stopped before the end
    #: what each row costs, as an inquiry spends it; None without ``costs`` and ``groups``, and from a ``Watch``
    cost: Reals | None = None

    def __len__(self) -> int:
        return len(self.label)

    @classmethod
    def of(cls, classes: NDArray[np.generic], outcome: Outcome, **others: Any) -> Self:
        """Return an outcome with labels, and with what ``cls`` has besides.

        Two classes have one margin per row, as in scikit-learn.
        """
        margin = outcome.margin
        shown = margin[:, 0] if margin.shape[1] == 1 else margin
        return cls(classes[decided(margin)], shown, outcome.n_read, outcome.stopped, **others)

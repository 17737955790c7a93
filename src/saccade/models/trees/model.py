"""A tree ensemble as an additive model: a part is a tree, or one output of it where it has one for each class."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.tree_building import keep_labels
from saccade.models.additive import Ranges
from saccade.models.categories import Categories
from saccade.models.trees.ensemble import Ensemble
from saccade.models.trees.imported import Imported
from saccade.models.trees.source import TreeSource
from saccade.models.trees.stages import Stages, stages_of
from saccade.models.trees.storage import BLOCK, Layout, storage_of
from saccade.models.trees.walks import Walks
from saccade.reading.inputs import not_finite
from saccade.reading.plan import EACH, Plan
from saccade.reading.tables import take_rows

__all__ = ["TreeModel"]

Reals = NDArray[np.float64]

# So many rows are compared with the library's own margins, and all with its labels.
MOST_COMPARED = 2000
# Where a library adds in no fixed order, margins may differ by this.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Trees over the columns that a user passes."""

    ensemble: Ensemble = field(repr=False)
    classes: NDArray[Any]
    columns: tuple[str, ...] | None = field(default=None, repr=False)
    categories: dict[int, Categories] = field(default_factory=dict, repr=False)
    absent: float = 0.0  # what a value that a CSR matrix does not store stands for
    threshold: float | None = None  # the margin from which all margins count
    # Where the trees come from, to compare with; not kept with the model.
    witness: Imported | None = field(default=None, repr=False)

    parts_are_columns: ClassVar[bool] = False
    each_needs_one: ClassVar[bool] = False
    of_trees: ClassVar[bool] = True
    takes_objects: ClassVar[bool] = False
    as_held: ClassVar[frozenset[int]] = frozenset()
    unit_names: ClassVar[None] = None

    @property
    def n_columns(self) -> int:
        return self.ensemble.n_columns

    @cached_property
    def walks(self) -> Walks:
        return Walks(self.ensemble)

    @cached_property
    def stages(self) -> Callable[[Plan], Stages]:
        return stages_of(self.walks)

    @cached_property
    def coef(self) -> Reals:
        """(scores, parts)."""
        rule, outputs = self.ensemble.sum, self.walks.parts.shape[1]
        factor = rule.scale / rule.divisor
        if outputs > 1:
            return np.tile(factor * np.eye(outputs), self.ensemble.score.size)
        counts: Reals = factor * (np.arange(self.ensemble.n_scores)[:, None] == self.ensemble.score)
        return counts

    @cached_property
    def intercept(self) -> Reals:
        """(scores,)."""
        margin: Reals = self.raw(self.ensemble.sum.start[:, None])[0]
        return margin if self.threshold is None else margin - self.threshold

    @cached_property
    def unit(self) -> NDArray[np.uint32]:
        """The tree that each part belongs to; empty where each part is one."""
        outputs = self.walks.parts.shape[1]
        return EACH if outputs == 1 else np.repeat(np.arange(self.ensemble.score.size, dtype=np.uint32), outputs)

    @cached_property
    def coded(self) -> NDArray[np.int32]:
        """The columns that trees ask for and that hold codes of categories."""
        nodes = self.ensemble.nodes
        codes = np.union1d(nodes.column[nodes.first_word >= 0], list(self.categories))
        return self.walks.used[np.isin(self.walks.used, codes)]

    @property
    def used(self) -> NDArray[np.int32]:
        """The columns that any tree asks for."""
        return self.walks.used

    @property
    def takes_missing(self) -> NDArray[np.bool_]:
        """(columns,) whether the library takes missing values, which it does everywhere or nowhere."""
        return np.full(self.n_columns, self.ensemble.takes_missing)

    def columns_of(self, parts: NDArray[np.intp]) -> NDArray[np.intp]:
        trees = parts if self.unit.size == 0 else self.unit[parts]
        asked = dict.fromkeys(
            column for tree in dict.fromkeys(trees.tolist()) for column in self.walks.columns_of(tree)
        )
        return np.array(list(asked), dtype=np.intp)

    def values(self, X: Any, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        source = self.source(take_rows(X, rows))
        if not self.ensemble.takes_missing:
            self._refuse_missing(source, rows)
        return source.bench.values(self.walks.parts)

    def _refuse_missing(self, source: TreeSource, rows: NDArray[np.intp]) -> None:
        """Raise where a row lacks a value that a tree could ask for; ``rows`` are numbers among a user's rows."""
        lacking = np.flatnonzero(source.bench.lacking(np.arange(rows.size, dtype=np.uint32), rows.size))
        if lacking.size:
            k = int(lacking[np.argmin(rows[lacking])])
            column = next(j for j in self.walks.used.tolist() if np.isnan(source.columns.column(j)[k]))
            raise not_finite(np.nan, int(rows[k]), column, self.columns, "AttentiveClassifier")

    def steps(self, X: Any, rows: NDArray[np.intp]) -> Reals:
        """Return the mean number of steps that each tree takes on these rows."""
        steps: Reals = self.source(take_rows(X, rows)).bench.values(self.walks.steps).mean(axis=0, dtype=np.float64)
        return steps

    def leaves(self, X: Any, rows: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the node where each row ends in each tree, (rows, trees)."""
        return self.source(take_rows(X, rows)).bench.values(self.walks.numbers)

    def ranges(self, X: Any, rows: NDArray[np.intp]) -> Ranges:
        """Return what some rows have in each column; anything in those that no tree asks for."""
        storage, used, n = storage_of(take_rows(X, rows), self._layout), self.walks.used, self.n_columns
        low, high, missing = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, dtype=bool)
        low[used], high[used] = np.inf, -np.inf
        codes: dict[int, list[Reals]] = {column: [] for column in self.coded.tolist()}
        slots, gathered = np.arange(used.size, dtype=np.int32), np.empty((used.size, BLOCK), storage.dtype)
        for start in range(0, storage.n_rows, BLOCK):
            some = np.arange(start, min(start + BLOCK, storage.n_rows), dtype=np.uint32)
            storage.gather(slots, some, some.size, gathered)
            columns = gathered[:, : some.size]
            low[used] = np.fmin(low[used], np.fmin.reduce(columns, axis=1))
            high[used] = np.fmax(high[used], np.fmax.reduce(columns, axis=1))
            missing[used] |= np.isnan(columns).any(axis=1)
            for column, seen in codes.items():
                values = columns[self.walks.slot[column]]
                seen.append(np.unique(self.ensemble.codes_of(values[~np.isnan(values)])))
        by_column = {column: np.unique(np.concatenate(seen)) for column, seen in codes.items()}
        return Ranges(low, high, missing, {column: seen for column, seen in by_column.items() if seen.size})

    def as_taken(self, X: Any) -> Any:
        integers = self.ensemble.integers_single and type(X) is np.ndarray and X.dtype.kind in "iu"
        return X.astype(np.float32) if integers and X.dtype != np.uint8 else X

    def source(self, X: Any) -> TreeSource:
        return TreeSource(self, storage_of(X, self._layout))

    def named(self, columns: tuple[str, ...]) -> "TreeModel":
        return replace(self, columns=columns)

    def counted_from(self, threshold: float) -> "TreeModel":
        """Return the model with margins that count from this one."""
        return replace(self, threshold=threshold)

    def full(self, X: Any, rows: NDArray[np.intp]) -> Reals:
        """Return the margins of some rows by all trees, (rows, scores)."""
        return self.margins(self.sums(take_rows(X, rows)))

    def sums(self, X: Any) -> NDArray[np.floating]:
        """Return the sums of all trees for all rows, (sums, rows)."""
        storage = self.source(X).storage
        return self.source(X).bench.sums(np.arange(storage.n_rows, dtype=np.uint32), storage.n_rows)

    def raw(self, sums: NDArray[np.floating]) -> Reals:
        """Return margins (rows, scores) from the sums of trees, (sums, rows), to the bit as the library makes them."""
        rule = self.ensemble.sum
        made: Reals = (sums.astype(np.float64) / rule.divisor * rule.scale).T + rule.bias
        return made[:, 1:] - made[:, :1] if made.shape[1] == 2 and self.ensemble.n_scores == 1 else made

    def margins(self, sums: NDArray[np.floating]) -> Reals:
        """Return the same, counted from the threshold."""
        margin = self.raw(sums)
        if self.threshold is not None:
            return margin - self.threshold
        if margin.shape[1] == 1:
            keep_labels(margin, self.ensemble.sum.positive_from)
        return margin

    def check_own(self, X: Any, rows: NDArray[np.intp]) -> None:
        """Compare the first of these rows with the library's own margins."""
        witness = self.witness
        if witness is None or witness.margins is None:
            return
        some = take_rows(X, np.arange(min(rows.size, MOST_COMPARED)))
        ours = self.raw(self.sums(some))
        with warnings.catch_warnings():  # whether rows and model know their columns by name has been seen to
            warnings.filterwarnings("ignore", "X (has|does not have valid) feature names", UserWarning)
            own = np.asarray(witness.margins(some), np.float64).reshape(ours.shape)
        same = ours == own if witness.same_bits else np.isclose(ours, own, rtol=ROUNDING, atol=ROUNDING)
        if not same.all():
            k = int(np.argmin(same.all(axis=1)))
            raise TypeError(
                f"The trees of {witness.library} are not read as it reads them: row {rows[k]} of X has the margin "
                f"{ours[k].tolist()} here and {own[k].tolist()} there. Please report it, with the versions of saccade "
                "and of the library."
            )

    def margin_at(self, probability: float) -> float:
        """Return the margin at which the second class has this probability."""
        slope = self.ensemble.slope
        return 2 * probability - 1 if slope is None else math.log(probability / (1 - probability)) / slope

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the witness, and what follows from the rest."""
        return {own.name: None if own.name == "witness" else getattr(self, own.name) for own in fields(self)}

    @cached_property
    def _layout(self) -> Layout:
        ensemble = self.ensemble
        zeros, block = ensemble.zero_is_missing, self.walks.block
        unnamed = np.setdiff1d(self.coded, list(self.categories))
        return Layout(ensemble.n_columns, self.walks.used, zeros, self.categories, unnamed, self.absent, block)

"""Features on their way through the steps of a pipeline, in blocks that are made of the same columns.

A column is *raw* until a step takes it as a number or as a category. From then on it is a number that maps are applied
to, or a code that a table is looked up by; maps behind a table change the table, so that it stays one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.models.tables.maps import Fill, Map, Scale, Select
from saccade.reading.distinct import is_missing

__all__ = [
    "DOUBLE",
    "Block",
    "Columns",
    "Constant",
    "Foreign",
    "Formula",
    "Known",
    "Lookup",
    "Made",
    "Raw",
    "Values",
    "as_numbers",
    "dense",
    "expanded",
    "mapped",
    "selected",
]

Reals = NDArray[np.float64]
Places = NDArray[np.intp]
# A sparse table is not made into an array of more values.
MOST_DENSE = 20_000_000
# What gives the values of a column: numbers with NaN for what is missing, codes, or whatever the column holds.
Values = Callable[[int], NDArray[Any]]
# The columns that the first step takes in one array, with DOUBLE where it takes features of double precision as well:
# numbers are in single precision only if all of these are.
Together = tuple[int, ...]
DOUBLE = -1


@dataclass(frozen=True, eq=False)
class Raw:
    """A column as it is, but for values that a step has replaced in turn; None stands for a missing one."""

    column: int
    replaced: tuple[tuple[Any, Any], ...] = ()
    together: Together = ()

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.column,)

    def reads(self, value: Any) -> Any:
        """Return what a later step sees of a value."""
        value = None if is_missing(value) else value
        for before, after in self.replaced:
            value = after if _same(value, before) else value
        return value


@dataclass(frozen=True, eq=False)
class Lookup:
    """Features of a column of categories, by category."""

    column: int
    categories: NDArray[Any]  # different ones, none of them missing
    # (categories + 2, m): for each, for any other value, and for a missing one; a sparse matrix where it is large, as
    # that of one-hot features is, one for each of many categories.
    table: Any
    refused: NDArray[np.bool_]  # (categories + 2,) which of these a step refuses

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.column,)

    @property
    def taken(self) -> Reals:
        """The table with NaN for what is refused."""
        return np.where(self.refused[:, None], np.nan, dense(self.table))

    def weighed(self, weights: Reals) -> Reals:
        """Return the sums of weighted features, (categories + 2, scores), NaN for what is refused."""
        return np.where(self.refused[:, None], np.nan, self.table @ weights.T)

    def features(self, values: Values) -> Reals:
        looked_up: Reals = self.taken[values(self.column)]
        return looked_up


@dataclass(frozen=True, eq=False)
class Formula:
    """Features by maps that are applied in turn to a column of numbers, or to the features of other blocks."""

    columns: tuple[int, ...]
    maps: tuple[Map, ...] = ()
    inputs: tuple["Lookup | Formula | Foreign", ...] = ()  # none: the column itself, as a number
    together: Together = ()

    def features(self, values: Values) -> Reals:
        if self.inputs:
            return self._mapped(np.concatenate([block.features(values) for block in self.inputs], axis=1))
        column = values(self.columns[0])
        infinite = np.isinf(column)
        if not infinite.any():
            return self._mapped(column[:, None])
        # scikit-learn refuses what is infinite, and does not fill it in.
        return np.where(infinite[:, None], np.nan, self._mapped(np.where(infinite, np.nan, column)[:, None]))

    def _mapped(self, features: Reals) -> Reals:
        for step in self.maps:
            features = step(features)
        return features


@dataclass(frozen=True, eq=False)
class Foreign:
    """Features that a fitted transformer of a single column makes, used as it is."""

    column: int
    transform: Callable[[NDArray[Any]], Reals]  # of the values of the column, (rows,), to (rows, m)
    name: str  # of the transformer, for messages
    numeric: bool  # whether it takes numbers, else whatever the column holds

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.column,)

    def features(self, values: Values) -> Reals:
        return self.transform(values(self.column))


@dataclass(frozen=True, eq=False)
class Constant:
    """Features that are the same for every row."""

    values: Reals  # (m,)

    columns: ClassVar[tuple[int, ...]] = ()


@dataclass(frozen=True, eq=False)
class Columns:
    """Many columns at once, each a feature: as they are, or scaled. So a linear model of texts is soon taken apart."""

    each: Places  # the column of each feature
    scales: tuple[Scale, ...] = ()
    together: Together = ()

    def line(self) -> tuple[Reals, Reals]:
        """Return what each column is multiplied with, and what is then added."""
        slope, constant = np.ones(self.each.size), np.zeros(self.each.size)
        for scale in self.scales:
            slope = slope / scale.over * scale.times
            constant = (constant - scale.minus) / scale.over * scale.times + scale.plus
        return slope, constant

    def expanded(self, feature: int) -> "Raw | Formula":
        """Return one of the features by itself."""
        column = int(self.each[feature])
        maps = tuple(scale[np.array([feature])] for scale in self.scales)
        return Formula((column,), maps, (), self.together) if maps else Raw(column, (), self.together)


Made = Raw | Lookup | Formula | Foreign | Constant


@dataclass(frozen=True, eq=False)
class Block:
    """Some of the features that a step passes on."""

    places: Places  # where each stands among all features of the step
    made: Made | Columns

    @property
    def width(self) -> int:
        return int(self.places.size)


class Known(NamedTuple):
    """A block that is not one of many columns."""

    places: Places
    made: Made


def expanded(blocks: Sequence[Block]) -> list[Known]:
    """Return the features without blocks of many columns."""
    known: list[Known] = []
    for block in blocks:
        if isinstance(block.made, Columns):
            known += [Known(block.places[[k]], block.made.expanded(k)) for k in range(block.width)]
        else:
            known.append(Known(block.places, block.made))
    return known


def as_numbers(raw: Raw) -> Formula:
    """Return a column that is taken as a number from here on."""
    fills = tuple(
        Fill(np.nan if before is None else float(before), np.array([np.nan if after is None else float(after)]))
        for before, after in raw.replaced
    )
    return Formula((raw.column,), fills, (), raw.together)


def mapped(made: Made, step: Map) -> Lookup | Formula | Constant:
    """Return the features of a block behind one more map."""
    if isinstance(made, Raw):
        made = as_numbers(made)
    if isinstance(made, Constant):
        return Constant(step(made.values[None])[0])
    if isinstance(made, Lookup):
        return replace(made, table=_behind(made.table, step))
    if isinstance(made, Foreign):
        return Formula(made.columns, (step,), (made,))
    return replace(made, maps=(*made.maps, step))


def dense(table: Any) -> Reals:
    """Return a table as an array, or raise where that would take too much memory."""
    if not sp.issparse(table):
        values: Reals = table
        return values
    if table.shape[0] * table.shape[1] > MOST_DENSE:
        raise TypeError(
            f"A column of {table.shape[0] - 2:,} categories has {table.shape[1]:,} features, and a step behind its "
            "encoder fills them all in. Put rare categories together (min_frequency), scale without centring "
            "(with_mean=False), or use TargetEncoder."
        )
    return np.asarray(table.toarray())


def _behind(table: Any, step: Map) -> Any:
    """Return a table behind one more map; what leaves zeros zero leaves it sparse."""
    if sp.issparse(table) and isinstance(step, Select):
        return table[:, step.places]
    if sp.issparse(table) and isinstance(step, Scale) and not (step.minus.any() or step.plus.any()):
        return (table @ sp.diags_array(step.times / step.over)).tocsr()
    return step(dense(table))


def selected(made: Made, places: Places) -> Lookup | Formula | Constant:
    """Return some of a block's features."""
    return mapped(made, Select(places))


def _same(value: Any, other: Any) -> bool:
    if value is None or other is None:
        return value is None and other is None
    return bool(value == other)

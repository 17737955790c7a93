"""The terms of a model: what the values of a column, or of several together, add to every score."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.models.tables.blocks import Foreign, Formula, Lookup, Values
from saccade.models.tables.pieces import Pieces

__all__ = ["FormulaTerm", "Grid", "NoTerm", "PiecesTerm", "Table", "Term"]

Reals = NDArray[np.float64]


class Term(Protocol):
    """What some columns add to every score."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that it needs."""

    def values(self, columns: Values) -> Reals:
        """Return what it adds to the scores of some rows, (rows, scores); NaN where a value is refused.

        ``columns`` gives the values of a column there: numbers, or codes where it has categories.
        """


@dataclass(frozen=True, eq=False)
class NoTerm:
    """A column that adds nothing, and that nobody needs to know."""

    column: int
    n_scores: int

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.column,)

    def values(self, columns: Values) -> Reals:
        raise TypeError("A column that adds nothing is not read.")


@dataclass(frozen=True, eq=False)
class Table:
    """A column of categories."""

    column: int
    table: Reals  # (categories + 2, scores): for each, for any other value, and for a missing one

    @cached_property
    def by_score(self) -> Reals:
        return np.ascontiguousarray(self.table.T)

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.column,)

    def values(self, columns: Values) -> Reals:
        looked_up: Reals = self.table[columns(self.column)]
        return looked_up


@dataclass(frozen=True, eq=False)
class PiecesTerm:
    """A column of numbers, by polynomials in pieces."""

    column: int
    pieces: Pieces

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.column,)

    def values(self, columns: Values) -> Reals:
        return self.pieces(columns(self.column))


@dataclass(frozen=True, eq=False)
class Grid:
    """Several columns, each cut into intervals or by its codes, and a table with an entry for each combination."""

    columns: tuple[int, ...]
    edges: tuple[Reals | None, ...]  # of the intervals of each column; None for a column of categories
    table: Reals  # (intervals or codes of each column …, scores), both with a last place for missing values

    def values(self, columns: Values) -> Reals:
        places = tuple(_place(columns(column), edges) for column, edges in zip(self.columns, self.edges, strict=True))
        found: Reals = self.table[places]
        return found


@dataclass(frozen=True, eq=False)
class FormulaTerm:
    """Some columns, by maps as steps make them, and by the weights of what they make."""

    columns: tuple[int, ...]
    blocks: tuple[Lookup | Formula | Foreign, ...]
    weights: tuple[Reals, ...]  # (scores, features) of each block

    def values(self, columns: Values) -> Reals:
        weighed = (_weighed(block.features(columns), own) for block, own in zip(self.blocks, self.weights, strict=True))
        total: Reals = sum(weighed, np.zeros(1))
        return total


def _weighed(features: Reals, weights: Reals) -> Reals:
    """Return features · weights, added one after another: a matrix product's last bits depend on the other rows."""
    total = np.zeros((features.shape[0], weights.shape[0]))
    for feature, own in zip(features.T, weights.T, strict=True):
        total += feature[:, None] * own
    return total


def _place(values: NDArray[Any], edges: Reals | None) -> NDArray[np.intp]:
    if edges is None:
        return values.astype(np.intp)
    place = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), edges.size + 1, place)

"""The standard encoding of a table for a linear model: numbers standardised, categories one-hot.

A missing number counts as the mean. A column of categories has a feature for each that is common enough, one for all
other values together, and one for missing ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.models.categories import Categories
from saccade.models.tables.model import TermModel
from saccade.models.tables.pieces import Pieces
from saccade.models.tables.storage import Held, Kinds, RawColumns
from saccade.models.tables.terms import NoTerm, PiecesTerm, Table, Term

__all__ = ["Encoded", "Encoding", "LeftOut", "Number", "OneHot"]

Reals = NDArray[np.float64]

# Rows stay dense where they have no more than so many features for each column: most of them are 0 otherwise.
MOST_DENSE = 4
# How many columns, or values, a sentence names.
MOST_SHOWN = 12


@dataclass(frozen=True)
class Number:
    """A column of numbers x: (x - centre) / unit, with a missing one at ``mean``."""

    mean: float
    centre: float
    unit: float  # above 0

    width: ClassVar[int] = 1

    @property
    def at_missing(self) -> float:
        return (self.mean - self.centre) / self.unit


@dataclass(frozen=True, eq=False)
class OneHot:
    """A column of categories: a feature for each that is kept, one for any other value, one for a missing value.

    ``values`` are the categories that are kept, and then those that were taken for missing ones, such as '?'.
    """

    values: NDArray[Any]  # texts as objects, or numbers
    n_kept: int
    n_together: int = 0  # how many different values were too rare to be kept, as far as they were counted

    @property
    def width(self) -> int:
        return self.n_kept + 2

    @cached_property
    def categories(self) -> Categories:
        return Categories(self.values, numbers_too=True, others_apart=True)

    @cached_property
    def feature(self) -> NDArray[np.intp]:
        """The feature of each code: of the values, of any other, of a missing one."""
        other, missing = self.n_kept, self.n_kept + 1
        alike = [missing] * (self.values.size - self.n_kept)
        return np.array([*range(self.n_kept), *alike, other, missing], dtype=np.intp)


@dataclass(frozen=True)
class LeftOut:
    """A column that is not learned from."""

    why: str

    width: ClassVar[int] = 0


Encoded = Number | OneHot | LeftOut


@dataclass(frozen=True, eq=False)
class Encoding:
    """What a learner sees of a table, column by column."""

    columns: tuple[Encoded, ...]
    names: tuple[str, ...] | None = None  # of the columns

    @cached_property
    def begins(self) -> NDArray[np.intp]:
        """(columns + 1,) where the features of each column begin."""
        return np.cumsum([0, *(column.width for column in self.columns)], dtype=np.intp)

    @property
    def n_features(self) -> int:
        return int(self.begins[-1])

    @cached_property
    def used(self) -> NDArray[np.intp]:
        """The columns that have features."""
        return np.flatnonzero(np.diff(self.begins))

    @cached_property
    def kinds(self) -> Kinds:
        """What is read of each column: codes, or numbers."""
        one_hot = {j: column for j, column in enumerate(self.columns) if isinstance(column, OneHot)}
        return Kinds(len(self.columns), {j: column.categories for j, column in one_hot.items()})

    @property
    def is_sparse(self) -> bool:
        return self.n_features > MOST_DENSE * self.used.size

    def features(self, raw: RawColumns) -> Any:
        """Return the features of all rows: a CSR matrix, or an array where they are few."""
        rows = np.arange(raw.n_rows, dtype=np.uint32)
        values, places = np.ones((raw.n_rows, self.used.size)), np.empty((raw.n_rows, self.used.size), dtype=np.int32)
        for k, j in enumerate(self.used.tolist()):
            column, held = self.columns[j], raw.some(j, rows)
            places[:, k] = self.begins[j]
            if isinstance(column, OneHot):
                places[:, k] += column.feature[held].astype(np.int32)
            elif isinstance(column, Number):
                values[:, k] = (np.where(np.isnan(held), column.mean, held) - column.centre) / column.unit
        if self.is_sparse:
            ends = np.arange(raw.n_rows + 1, dtype=np.int32) * self.used.size
            return sp.csr_matrix((values.ravel(), places.ravel(), ends), shape=(raw.n_rows, self.n_features))
        dense = np.zeros((raw.n_rows, self.n_features))
        np.put_along_axis(dense, places.astype(np.intp), values, axis=1)
        return dense

    def held(self, X: NDArray[Any]) -> Held:
        """Return the columns of rows in which categories are codes already, as data files have them."""
        codes = self.kinds.categories
        columns = {j: X[:, j].astype(np.intp if j in codes else np.float64) for j in self.used.tolist()}
        return Held(columns, X.shape[0])

    def feature_names(self) -> list[str]:
        """Return a name for each feature, such as 'age' and 'state=Ohio'."""
        made: list[str] = []
        for j, column in enumerate(self.columns):
            if isinstance(column, Number):
                made.append(self.name(j))
            elif isinstance(column, OneHot):
                levels = [*map(str, column.values[: column.n_kept].tolist()), "(other)", "(missing)"]
                made += [f"{self.name(j)}={level}" for level in levels]
        return made

    def name(self, column: int) -> str:
        return f"column {column}" if self.names is None else self.names[column]

    def model(self, coef: Reals, intercept: Reals, classes: NDArray[Any]) -> TermModel:
        """Return the model over raw columns whose scores are intercept + coef · features."""
        terms = tuple(self._term(j, coef[:, self.begins[j] : self.begins[j + 1]]) for j in range(len(self.columns)))
        categories = {j: own for j, own in self.kinds.categories.items() if not isinstance(terms[j], NoTerm)}
        n_columns = len(self.columns)
        return TermModel(terms, np.array(intercept), classes, self.names, categories, n_columns=n_columns)

    def _term(self, j: int, weights: Reals) -> Term:
        column = self.columns[j]
        if isinstance(column, LeftOut) or not weights.any():
            return NoTerm(j, weights.shape[0])
        if isinstance(column, OneHot):
            return Table(j, np.ascontiguousarray(weights.T[column.feature]))
        weight = weights[:, 0]
        line = np.stack([np.zeros_like(weight), weight / column.unit], axis=1)[None]
        return PiecesTerm(j, Pieces(np.zeros(0), np.array([column.centre]), line, weight * column.at_missing))

    def __str__(self) -> str:
        """Say which columns are numbers, which are categories, and what is left out, in a sentence each."""
        numbers = [self.name(j) for j, column in enumerate(self.columns) if isinstance(column, Number)]
        levels = [
            f"{self.name(j)} ({column.n_kept:,}{_together(column)})"
            for j, column in enumerate(self.columns)
            if isinstance(column, OneHot)
        ]
        left_out = [
            f"{self.name(j)} ({column.why})" for j, column in enumerate(self.columns) if isinstance(column, LeftOut)
        ]
        said = [
            f"{len(numbers):,} of numbers, with missing values at the mean: {_listed(numbers)}." if numbers else "",
            f"{len(levels):,} of categories, one-hot, with missing as one of them: {_listed(levels)}."
            if levels
            else "",
            f"{len(left_out):,} left out: {_listed(left_out)}." if left_out else "",
        ]
        return "Columns: " + " ".join(filter(None, said))

    def summary(self) -> dict[str, Any]:
        """Return what ``str`` says, as JSON can hold it."""
        listed = list(enumerate(self.columns))
        return {
            "numbers": [self.name(j) for j, column in listed if isinstance(column, Number)],
            "categories": {self.name(j): column.n_kept for j, column in listed if isinstance(column, OneHot)},
            "left out": {self.name(j): column.why for j, column in listed if isinstance(column, LeftOut)},
        }


def _together(column: OneHot) -> str:
    return f" and {column.n_together:,} rare together" if column.n_together else ""


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_SHOWN
    return ", ".join(names[:MOST_SHOWN]) + (f" and {more:,} more" if more > 0 else "")

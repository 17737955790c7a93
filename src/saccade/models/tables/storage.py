"""The raw columns of rows in any storage, as terms take them: numbers, codes of categories, or what a column holds.

Only the rows that are asked for are looked at. A column of texts is looked up once for each text that is in it; where
many rows ask for it, this is done for the whole column at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.exceptions import NotNumbersError
from saccade.models.categories import Categories
from saccade.models.tables.blocks import DOUBLE
from saccade.reading.arrays import Selection
from saccade.reading.distinct import is_missing
from saccade.reading.sparse import CsrSource, without_duplicates
from saccade.reading.tables import Table, as_table
from saccade.reading.texts import Texts

__all__ = ["Kinds", "RawColumns", "raw_columns"]

Rows = NDArray[np.uint32]
Codes = NDArray[np.intp]

# What an array of objects may hold to be converted at once.
PLAIN = frozenset([float, int, bool, type(None), np.float64])
# So many numbers are sooner compared one by one than searched for.
FEW_NUMBERS = 16
# Where fewer of the rows than one in so many ask for a column of texts, only those are looked up.
FEW = 8


@dataclass(frozen=True, eq=False)
class Kinds:
    """What terms take of each column: codes where it has categories, whatever it holds, or else numbers."""

    n_columns: int
    categories: Mapping[int, Categories]
    as_held: frozenset[int] = frozenset()
    # (columns,) the same number for columns that steps take in one array: they are read in single precision if all of
    # them have no more. DOUBLE for those that are read in double precision anyway; None if all are.
    together: NDArray[np.intp] | None = None

    def taken_with(self, column: int) -> NDArray[np.intp]:
        """Return the columns whose precision matters to a column, itself among them; none if it is double anyway."""
        if self.together is None or self.together[column] == DOUBLE:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(self.together == self.together[column])

    def none_of(self, column: int, n_rows: int) -> NDArray[Any]:
        """Return a column that is missing in all rows."""
        categories = self.categories.get(column)
        if categories is not None:
            return np.full(n_rows, categories.values.size + 1, dtype=np.intp)
        return np.full(n_rows, None, dtype=object) if column in self.as_held else np.full(n_rows, np.nan)


class RawColumns(Protocol):
    """The columns of some rows."""

    n_rows: int

    def some(self, column: int, rows: Rows) -> NDArray[Any]:
        """Return the values of a column in some rows, which ascend."""

    def take(self, rows: Selection) -> "RawColumns":
        """Return the columns of some of the rows."""


class _ArrayColumns:
    """An array, of numbers or of objects."""

    def __init__(self, X: NDArray[Any], kinds: Kinds) -> None:
        self._X, self._kinds = X, kinds
        self.n_rows = X.shape[0]

    def some(self, column: int, rows: Rows) -> NDArray[Any]:
        return _as_taken(_some(self._X[:, column], rows), column, self._kinds, single=self._X.dtype == np.float32)

    def take(self, rows: Selection) -> "_ArrayColumns":
        return _ArrayColumns(self._X[rows], self._kinds)


class _TableColumns:
    """A pandas, polars or Arrow table."""

    def __init__(
        self,
        table: Table,
        kinds: Kinds,
        selection: Selection | None = None,
        texts: dict[int, Texts | None] | None = None,
    ) -> None:
        self._table, self._kinds = table, kinds
        self._selection = selection  # None: all rows
        self.n_rows = table.shape[0] if selection is None else np.arange(table.shape[0])[selection].size
        self._made: dict[int, NDArray[Any]] = {}  # columns whose every row was looked up
        self._single: dict[int, bool] = {}
        self._texts = {} if texts is None else texts  # of all rows of the table, whatever the selection

    def some(self, column: int, rows: Rows) -> NDArray[Any]:
        if column not in self._kinds.categories:
            values = self._values(column, rows)
            single = values.dtype == np.float32 and self._is_single(column)
            return _as_taken(values, column, self._kinds, self._table.name, single=single)
        known, few = self._kinds.categories[column].texts, rows.size * FEW < self.n_rows
        texts = None if known is None else self._texts_of(column, few)
        if known is not None and texts is not None:
            return texts.codes(known, rows if self._selection is None else self._of_table(rows).astype(np.uint32))
        if column in self._made:
            return _some(self._made[column], rows)
        if few:
            return self._codes(column, self._of_table(rows))
        self._made[column] = self._codes(column, self._selection)
        return _some(self._made[column], rows)

    def _is_single(self, column: int) -> bool:
        """Return whether all columns that a step takes with this one fit into single precision."""
        if column not in self._single:
            together = self._kinds.taken_with(column).tolist()
            self._single[column] = bool(together) and all(map(self._table.fits_single, together))
        return self._single[column]

    def _texts_of(self, column: int, few: bool) -> Texts | None:
        if column not in self._texts:
            if few and self._table.copies_texts:
                return None
            self._texts[column] = self._table.texts(column)
        return self._texts[column]

    def _values(self, column: int, rows: Rows) -> NDArray[Any]:
        if column not in self._made:
            if rows.size * FEW < self.n_rows:
                return self._table.values(column, self._of_table(rows))
            values = self._table.values(column)
            self._made[column] = values if self._selection is None else values[self._selection]
        return _some(self._made[column], rows)

    def _codes(self, column: int, rows: Selection | None) -> Codes:
        categories, name = self._kinds.categories[column], self._table.name(column)
        if categories.are_numbers and self._table.are_numbers(column):
            values = self._table.values(column)
            return _codes_of(values if rows is None else values[rows], categories, name)
        own, different = self._table.different(column, rows)
        return np.append(_looked_up(different, categories, name), categories.values.size + 1)[own]  # -1 is missing

    def _of_table(self, rows: Rows) -> NDArray[np.intp]:
        """Return the numbers of some rows in the table itself."""
        if self._selection is None:
            return rows.astype(np.intp)
        within: NDArray[np.intp] = np.arange(self._table.shape[0])[self._selection][rows]
        return within

    def take(self, rows: Selection) -> "_TableColumns":
        selection = rows if self._selection is None else np.arange(self._table.shape[0])[self._selection][rows]
        return _TableColumns(self._table, self._kinds, selection, self._texts)


class _SparseColumns:
    """A sparse matrix."""

    def __init__(self, X: Any, kinds: Kinds) -> None:
        self._X, self._kinds = without_duplicates(X).tocsc(), kinds
        self.n_rows = X.shape[0]

    def some(self, column: int, rows: Rows) -> NDArray[Any]:
        values = np.zeros(self.n_rows, np.float32 if self._X.dtype == np.float32 else np.float64)
        stored = slice(self._X.indptr[column], self._X.indptr[column + 1])
        values[self._X.indices[stored]] = self._X.data[stored]
        return _as_taken(values[rows], column, self._kinds, single=values.dtype == np.float32)

    def take(self, rows: Selection) -> "_SparseColumns":
        return _SparseColumns(self._X[rows], self._kinds)


def raw_columns(X: Any, kinds: Kinds) -> RawColumns:
    """Return the columns of rows that were checked."""
    if isinstance(X, CsrSource):
        X = X.X
    if sp.issparse(X):
        return _SparseColumns(X, kinds)
    if isinstance(X, Table):
        return _TableColumns(X, kinds)
    table = as_table(X)
    return _ArrayColumns(np.asarray(X), kinds) if table is None else _TableColumns(table, kinds)


def _some(values: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """Return some values; without a copy where they follow one another."""
    if rows.size and int(rows[-1]) - int(rows[0]) + 1 == rows.size:
        return values[int(rows[0]) : int(rows[-1]) + 1]
    return values[rows]


def _as_taken(
    values: NDArray[Any], column: int, kinds: Kinds, name: Callable[[int], str | int] = int, *, single: bool
) -> NDArray[Any]:
    """Return values of a column as terms take them."""
    if column in kinds.as_held:
        return values
    categories = kinds.categories.get(column)
    if categories is not None:
        return _codes_of(values, categories, name(column))
    if values.dtype.kind in "fiub" or _are_plain(values):
        return np.ascontiguousarray(values, dtype=np.float32 if single else np.float64)
    try:
        return np.array([np.nan if is_missing(value) else _number(value) for value in _listed(values)])
    except (TypeError, ValueError):
        wrong = next(value for value in _listed(values) if not is_missing(value) and not _is_number(value))
        raise NotNumbersError(f"Column {name(column)!r} holds {wrong!r}, and the model takes it as a number.") from None


def _listed(values: NDArray[Any]) -> list[Any]:
    """Return values as Python's objects; of dates and times not the integers that NumPy makes of some of them."""
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def _are_plain(values: NDArray[Any]) -> bool:
    """Whether NumPy makes numbers of all values as they are: of Python's own, and of None, which becomes NaN."""
    return values.dtype.kind == "O" and PLAIN.issuperset(map(type, values.tolist()))


def _is_number(value: Any) -> bool:
    try:
        _number(value)
    except (TypeError, ValueError):
        return False
    return True


def _number(value: Any) -> float:
    if isinstance(value, str | bytes | np.datetime64 | np.timedelta64):
        raise TypeError("not a number, even if one is written in it")
    return float(value)


def _codes_of(values: NDArray[Any], categories: Categories, name: str | int) -> Codes:
    if categories.fit_floats and _are_plain(values):
        values = values.astype(np.float64)
    if values.dtype.kind in "fiub":
        if categories.are_numbers:
            return _matched(values, categories)
        different, place = np.unique(values, return_inverse=True)
        return np.append(_looked_up(different, categories, name), categories.values.size + 1)[place]
    codes = categories.codes

    def code(value: Any) -> int:
        if is_missing(value):
            return categories.values.size + 1
        categories.check_kind(value, name)
        return int(codes.get(value, categories.values.size))

    return np.array([code(value) for value in _listed(values)], dtype=np.intp)


def _matched(values: NDArray[Any], categories: Categories) -> Codes:
    """Return the codes of numbers among numbers."""
    known, n = categories.values, categories.values.size
    if values.dtype.kind == "f":  # else 0.1 in single precision would be the same as in double precision
        values = values.astype(np.float64, copy=False)
    if n == 0:
        return np.where(np.isnan(values), 1, 0)
    if n <= FEW_NUMBERS:
        code = np.full(values.shape, n)
        for k, number in enumerate(known.tolist()):
            code[values == number] = k
    else:
        order = np.argsort(known)
        place = order[np.minimum(np.searchsorted(known[order], values), n - 1)]
        code = np.where(known[place] == values, place, n)
    if values.dtype.kind == "f":
        code[np.isnan(values)] = n + 1
    return code


def _looked_up(different: NDArray[Any], categories: Categories, name: str | int) -> Codes:
    """Return the codes of values that are all different."""
    return (
        _codes_of(different, categories, name)
        if different.dtype.kind not in "fiub" or categories.are_numbers
        else (
            np.array(
                [
                    int(categories.code(value)) if value == value else categories.values.size + 1
                    for value in different.tolist()
                ],
                dtype=np.intp,
            )
        )
    )

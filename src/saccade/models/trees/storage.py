"""The columns of rows, brought side by side for the trees that ask for them.

``gather`` writes the columns at some slots, for some rows, into (slots, rows). A storage with ``direct`` can also be
walked over as it is, whichever way its memory runs.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.kernels.checkpoints import gather
from saccade.kernels.tree_columns import gather_columns, mark_zeros, scatter_rows
from saccade.models.categories import Categories
from saccade.reading.arrays import FLOATS_AND_BYTES, ArraySource, Selection, as_read_only
from saccade.reading.sparse import CsrSource, without_duplicates
from saccade.reading.tables import ColumnSource, Table, as_table

__all__ = ["BLOCK", "BLOCK_OF_LARGE_TREES", "Direct", "Layout", "Rows", "Slots", "Storage", "storage_of"]

# Rows that a plan is run over together: more where trees are large, because each is fetched once for a block.
BLOCK, BLOCK_OF_LARGE_TREES = 2**12, 2**15

Slots = NDArray[np.int32]
Rows = NDArray[np.uint32]


class Layout:
    """What trees demand of their columns, whatever the storage."""

    def __init__(
        self,
        n_columns: int,
        used: NDArray[np.int32],
        zero_is_missing: NDArray[np.bool_] | None,
        categories: Mapping[int, Categories],
        unnamed: NDArray[np.intp],
        absent: float,
        block: int,
    ) -> None:
        self.n_columns = n_columns
        self.used = used  # the columns that any tree asks for; a slot is a place among them
        self.slot = np.full(n_columns, -1, np.int32)
        self.slot[used] = np.arange(used.size, dtype=np.int32)
        self.zeros = np.zeros(0, np.int32) if zero_is_missing is None else np.flatnonzero(zero_is_missing[used])
        self.categories = categories
        self.unnamed = frozenset(unnamed.tolist())  # columns of codes, and nobody says what they stand for
        self.by_value = any(of_column.numbers_too for of_column in categories.values())  # arrays hold no codes
        self.absent = absent
        self.block = block
        self.slots = np.arange(used.size, dtype=np.int32)


class Direct(NamedTuple):
    """An array as the memory that it lies in: row i, column j is at ``i * by_row + j * by_column``."""

    values: NDArray[Any]
    by_row: int
    by_column: int
    complete: bool  # it is known that no value is NaN

    @classmethod
    def of(cls, X: NDArray[Any], *, complete: bool = False) -> "Direct":
        if X.flags.c_contiguous:
            return cls(X.reshape(-1), X.shape[1], 1, complete)
        if X.flags.f_contiguous:
            return cls(X.T.reshape(-1), 1, X.shape[0], complete)
        steps = [divmod(stride, X.itemsize) for stride in X.strides]
        if any(step < 0 or rest for step, rest in steps):
            return cls.of(as_read_only(np.ascontiguousarray(X)), complete=complete)
        (by_row, _), (by_column, _) = steps
        size = by_row * (X.shape[0] - 1) + by_column * (X.shape[1] - 1) + 1 if X.size else 0
        memory = np.lib.stride_tricks.as_strided(X, (size,), (X.itemsize,), writeable=False)
        return cls(memory, by_row, by_column, complete)


class Storage(Protocol):
    """Rows in one kind of storage."""

    n_rows: int
    dtype: type[np.floating]  # of what is gathered
    direct: Direct | None

    def gather(self, slots: Slots, rows: Rows, size: int, out: NDArray[np.floating]) -> None:
        """Write the columns at these slots for the first ``size`` of these rows."""

    def take(self, rows: Selection) -> "Storage":
        """Return some of the rows."""


class _ArrayStorage:
    def __init__(self, X: NDArray[Any], layout: Layout) -> None:
        self._X, self._layout = as_read_only(X), layout
        self.n_rows = X.shape[0]
        self.dtype: type[np.floating] = np.float64 if X.dtype == np.float64 else np.float32
        self.direct = Direct.of(self._X) if layout.zeros.size == 0 and X.dtype != np.uint8 else None

    def gather(self, slots: Slots, rows: Rows, size: int, out: NDArray[np.floating]) -> None:
        gather_columns(self._X, self._layout.used, slots, rows, size, out)
        _mark(self._layout, slots, size, out)

    def take(self, rows: Selection) -> "_ArrayStorage":
        return _ArrayStorage(self._X[rows], self._layout)


class _TableStorage:
    """Columns that are fetched when a tree asks for them, a block of their rows at a time."""

    dtype: type[np.floating] = np.float64
    direct: Direct | None = None

    def __init__(self, columns: ColumnSource, layout: Layout) -> None:
        self._columns, self._layout = columns, layout
        self.n_rows = columns.shape[0]
        self._number = -1  # of the block that is held
        self._held: set[int] = set()  # the slots of its columns

    @cached_property
    def _block(self) -> NDArray[np.float64]:
        return np.empty((self._layout.used.size, min(self._layout.block, max(self.n_rows, 1))))

    def gather(self, slots: Slots, rows: Rows, size: int, out: NDArray[np.floating]) -> None:
        if size == 0:
            return
        block = self._layout.block
        number = int(rows[0]) // block
        if int(rows[size - 1]) // block == number:
            self._hold(number, slots)
            within = rows[:size] - np.uint32(number * block)
            gather_columns(self._block.T, self._layout.slots, slots, within, size, out)
        else:
            for slot in slots.tolist():
                gather(self._column(slot), rows, size, out[slot])
        _mark(self._layout, slots, size, out)

    def _column(self, slot: int) -> NDArray[Any]:
        return self._columns.column(int(self._layout.used[slot]))

    def _hold(self, number: int, slots: Slots) -> None:
        """Bring columns of a block of rows side by side, unless they are; rows ascend, so that blocks do not return."""
        if number != self._number:
            self._number = number
            self._held.clear()
        start = number * self._layout.block
        stop = min(start + self._layout.block, self.n_rows)
        for slot in slots.tolist():
            if slot not in self._held:
                self._block[slot, : stop - start] = self._column(slot)[start:stop]
                self._held.add(slot)

    def take(self, rows: Selection) -> "_TableStorage":
        return _TableStorage(self._columns.take(rows), self._layout)


class _CsrStorage:
    """A CSR matrix, whose rows are laid out one by one."""

    dtype: type[np.floating] = np.float64
    direct: Direct | None = None

    def __init__(self, X: Any, layout: Layout) -> None:
        self._X, self._layout = as_read_only(without_duplicates(X)), layout
        self.n_rows = X.shape[0]

    def gather(self, slots: Slots, rows: Rows, size: int, out: NDArray[np.floating]) -> None:
        X, layout = self._X, self._layout
        out[: layout.used.size, :size] = layout.absent
        scatter_rows(X.data, X.indices, X.indptr, layout.slot, rows, size, out)
        _mark(layout, slots, size, out)

    def take(self, rows: Selection) -> "_CsrStorage":
        return _CsrStorage(self._X[rows], self._layout)


def _mark(layout: Layout, slots: Slots, size: int, out: NDArray[np.floating]) -> None:
    if layout.zeros.size:
        mark_zeros(out, np.intersect1d(layout.zeros, slots), size)


def storage_of(X: Any, layout: Layout) -> Storage:
    """Return rows that were checked as columns for trees."""
    if isinstance(X, ArraySource | CsrSource):
        X = X.X
    if isinstance(X, np.ndarray):
        if not layout.by_value:
            return _ArrayStorage(X if X.dtype in FLOATS_AND_BYTES else X.astype(np.float64), layout)
        return _TableStorage(_coded(ColumnSource(X.shape, lambda part: X[:, part]), None, layout), layout)
    if sp.issparse(X):
        return _CsrStorage(X, layout)
    table = X if isinstance(X, Table) else as_table(X)
    if table is None:
        return _ArrayStorage(np.asarray(X), layout)
    whole = None if layout.categories else table.one_array()
    if whole is not None and whole.dtype in FLOATS_AND_BYTES:
        return _ArrayStorage(whole, layout)
    return _TableStorage(_coded(table, table, layout), layout)


def _coded(columns: ColumnSource, table: Table | None, layout: Layout) -> ColumnSource:
    """Return the columns with codes in the place of categories."""
    if not layout.categories and not layout.unnamed:
        return columns

    def fetch(part: int) -> NDArray[Any]:
        categories = layout.categories.get(part)
        if categories is None:
            if part in layout.unnamed and table is not None and table.categorical(part) is not None:
                raise ValueError(
                    f"Column {part} of X holds categories, and the model knows codes alone: it does not say which "
                    "category has which. Give X as an array, with the codes that fit saw (.cat.codes in pandas) in it."
                )
            return columns.column(part)
        if table is None:  # an array, in which numbers are codes where categories are texts
            values = columns.column(part)
            are_values = categories.numbers_too and not categories.hold_texts
            return _looked_up(values, categories) if are_values or values.dtype.kind not in "fiub" else values
        held = table.categorical(part)
        if held is not None:
            return _translated(*held, categories)
        values = table.values(part)
        for value in list(values) if values.dtype.kind in "mM" else values.tolist():
            categories.check_kind(value, table.name(part))
        return _looked_up(values, categories)

    return ColumnSource(columns.shape, fetch)


def _translated(codes: NDArray[np.integer], names: NDArray[Any], categories: Categories) -> NDArray[np.float64]:
    """Return the model's codes for a table's own; -1 is missing. Categories that no row has do not matter."""
    present, made = np.unique(codes[codes >= 0]), np.full(names.size + 1, np.nan)
    made[present] = _looked_up(names[present], categories)
    coded: NDArray[np.float64] = made[codes]
    return coded


def _looked_up(values: NDArray[Any], categories: Categories) -> NDArray[np.float64]:
    if values.dtype.kind in "fiub" and categories.values.dtype.kind in "fiub" and not categories.refuses_others:
        order = np.argsort(categories.values)
        known = categories.values[order]
        place = np.minimum(np.searchsorted(known, values), known.size - 1)
        return np.where(known[place] == values, order[place], np.nan)
    return np.array([categories.code(value) for value in values.tolist()], dtype=np.float64)

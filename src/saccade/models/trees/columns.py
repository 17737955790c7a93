"""The columns of rows that plan or calibrate: what they were seen to hold, and how trees read the rows without some."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.blocks import gather
from saccade.models.additive import Ranges
from saccade.models.trees.source import TreeSource
from saccade.models.trees.storage import BLOCK, Direct, Rows, Slots, Storage
from saccade.reading.arrays import Selection

if TYPE_CHECKING:
    from saccade.models.trees.model import TreeModel

__all__ = ["TreeColumns"]


class TreeColumns:
    """The columns of some rows, of those that trees ask for: categories as codes, missing values as NaN."""

    def __init__(self, model: "TreeModel", storage: Storage) -> None:
        self._model, self._storage = model, storage

    @property
    def nbytes(self) -> int:
        """How much memory a copy takes."""
        return self._model.walks.used.size * self._storage.n_rows * np.dtype(self._storage.dtype).itemsize

    @property
    def may_lack(self) -> bool:
        """Whether the library takes rows with missing values."""
        return self._model.ensemble.takes_missing

    def in_order(self, parts: NDArray[np.intp]) -> NDArray[np.intp]:
        return self._model.columns_of(parts)

    def ranges(self) -> Ranges:
        """Return what was seen in each column; anything in those that no tree asks for."""
        used, n = self._model.walks.used, self._model.n_columns
        low, high, missing = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, dtype=bool)
        low[used], high[used] = np.inf, -np.inf
        codes: dict[int, list[NDArray[np.float64]]] = {column: [] for column in self._model.coded.tolist()}
        for _, columns in self._blocks():
            low[used] = np.fmin(low[used], np.fmin.reduce(columns, axis=1))
            high[used] = np.fmax(high[used], np.fmax.reduce(columns, axis=1))
            missing[used] |= np.isnan(columns).any(axis=1)
            for column, seen in codes.items():
                seen.append(self._codes(columns[self._model.walks.slot[column]]))
        by_column = {column: np.unique(np.concatenate(seen)) for column, seen in codes.items()}
        return Ranges(low, high, missing, {column: seen for column, seen in by_column.items() if seen.size})

    def _codes(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        return np.unique(self._model.ensemble.codes_of(values[~np.isnan(values)]))

    def kept(self) -> "TreeColumns":
        """Return the same in memory of its own, so that the rows themselves are not held."""
        values = np.empty((self._model.walks.used.size, self._storage.n_rows), self._storage.dtype)
        for rows, columns in self._blocks():
            values[:, rows] = columns
        return TreeColumns(self._model, _KeptStorage(values))

    def without(self, absent: tuple[int, ...]) -> TreeSource:
        """Return the trees of these rows as if some columns were missing in all of them."""
        slots = np.flatnonzero(np.isin(self._model.walks.used, absent)).astype(np.int32)
        return TreeSource(self._model, _LackingStorage(self._storage, slots))

    def lost(self, absent: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return that every tree sends rows to some leaf."""
        return np.zeros(self._model.coef.shape[1], dtype=bool)

    def _blocks(self) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        n_rows, n_used = self._storage.n_rows, self._model.walks.used.size
        slots, columns = np.arange(n_used, dtype=np.int32), np.empty((n_used, BLOCK), self._storage.dtype)
        for start in range(0, n_rows, BLOCK):
            rows = np.arange(start, min(start + BLOCK, n_rows), dtype=np.uint32)
            self._storage.gather(slots, rows, rows.size, columns)
            yield slice(start, start + rows.size), columns[:, : rows.size]


class _KeptStorage:
    """Columns that lie side by side already."""

    direct: Direct | None = None

    def __init__(self, values: NDArray[np.floating]) -> None:
        self._values = values  # (slots, rows)
        self.n_rows = values.shape[1]
        self.dtype: type[np.floating] = values.dtype.type

    def gather(self, slots: Slots, rows: Rows, size: int, out: NDArray[np.floating]) -> None:
        for slot in slots.tolist():
            gather(self._values[slot], rows, size, out[slot])

    def take(self, rows: Selection) -> "_KeptStorage":
        return _KeptStorage(self._values[:, rows])


class _LackingStorage:
    """Another storage, some columns of which are missing."""

    direct: Direct | None = None

    def __init__(self, storage: Storage, absent: Slots) -> None:
        self._storage, self._absent = storage, absent
        self.n_rows, self.dtype = storage.n_rows, storage.dtype

    def gather(self, slots: Slots, rows: Rows, size: int, out: NDArray[np.floating]) -> None:
        self._storage.gather(slots, rows, size, out)
        out[self._absent, :size] = np.nan

    def take(self, rows: Selection) -> "_LackingStorage":
        return _LackingStorage(self._storage.take(rows), self._absent)

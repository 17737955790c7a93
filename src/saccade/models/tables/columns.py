"""The raw columns of rows that plan or calibrate: what they were seen to hold, and the rows without some of them."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from saccade.models.additive import Ranges
from saccade.models.tables.source import TermSource
from saccade.models.tables.storage import Lacking, RawColumns, held

if TYPE_CHECKING:
    from saccade.models.tables.model import TermModel

__all__ = ["TermColumns"]


class TermColumns:
    """The columns of some rows, of those that terms need."""

    def __init__(self, model: "TermModel", raw: RawColumns) -> None:
        self._model, self._raw = model, raw

    @property
    def nbytes(self) -> int:
        """How much memory a copy takes, about."""
        return 8 * self._model.used.size * self._raw.n_rows

    @property
    def may_lack(self) -> bool:
        """Whether the model has a way for missing values, in some column at least."""
        return bool(self._model.takes_missing[self._model.used].any())

    def in_order(self, parts: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the columns that some parts ask for, of those where a missing value is a value."""
        columns = self._model.columns_of(parts)
        return columns[self._model.takes_missing[columns]]

    def ranges(self) -> Ranges:
        """Return what was seen in each column; anything in those that no term needs."""
        model, n = self._model, self._model.n_columns
        low, high, missing = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, dtype=bool)
        codes: dict[int, NDArray[np.float64]] = {}
        rows = np.arange(self._raw.n_rows, dtype=np.uint32)
        for column in model.used.tolist():
            if column in model.as_held:
                continue
            values, categories = self._raw.some(column, rows), model.categories.get(column)
            if categories is None:
                missing[column] = np.isnan(values).any()
                low[column] = np.fmin.reduce(values, initial=np.inf)
                high[column] = np.fmax.reduce(values, initial=-np.inf)
            else:
                seen = np.unique(values)
                missing[column] = seen[-1] == categories.values.size + 1
                codes[column] = seen[seen <= categories.values.size].astype(np.float64)
                low[column], high[column] = 0.0, float(categories.values.size)
        return Ranges(low, high, missing, {column: seen for column, seen in codes.items() if seen.size})

    def kept(self) -> "TermColumns":
        """Return the same in memory of its own, so that the rows themselves are not held."""
        return TermColumns(self._model, held(self._raw, self._model.used))

    def without(self, absent: tuple[int, ...]) -> TermSource:
        """Return the terms of these rows as if some columns were missing in all of them."""
        return TermSource(self._model, Lacking(self._raw, self._model.kinds, absent))

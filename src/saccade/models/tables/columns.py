"""The raw columns of rows that plan or calibrate: what they were seen to hold, and the rows without some of them."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from saccade.models.additive import Ranges
from saccade.models.tables.source import TermSource
from saccade.models.tables.storage import Lacking, RawColumns, held
from saccade.reading.arrays import Selection
from saccade.reading.sources import Source

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
        """Whether rows may lack values: they may, for what is expected stands in where the model has no way for it."""
        return True

    def in_order(self, parts: NDArray[np.intp]) -> NDArray[np.intp]:
        return self._model.columns_of(parts)

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

    def without(self, absent: tuple[int, ...]) -> Source:
        """Return the terms of these rows as if some columns were missing in all of them."""
        source = TermSource(self._model, Lacking(self._raw, self._model.kinds, absent))
        lost = self.lost(absent)
        return _Without(source, lost) if lost.any() else source

    def lost(self, absent: tuple[int, ...]) -> NDArray[np.bool_]:
        return self._model.parts_lost(absent)


class _Without:
    """Terms, of which some have no value, and are 0."""

    def __init__(self, source: TermSource, lost: NDArray[np.bool_]) -> None:
        self._source, self._lost, self.shape = source, lost, source.shape

    def fill(self, part: int, rows: NDArray[np.uint32], size: int, out: NDArray[np.floating]) -> None:
        if self._lost[part]:
            out[:size] = 0.0
        else:
            self._source.fill(part, rows, size, out)

    def take(self, rows: Selection) -> "_Without":
        return _Without(self._source.take(rows), self._lost)

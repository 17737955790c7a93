"""Terms as the parts of rows."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from saccade.models.tables.storage import RawColumns
from saccade.models.tables.terms import NoTerm, Table
from saccade.reading.arrays import Selection

if TYPE_CHECKING:
    from saccade.models.tables.model import TermModel

__all__ = ["TermSource"]

Rows = NDArray[np.uint32]
# A block has so many values at the most, all parts of its rows together, and so many rows at the least.
MOST_VALUES, FEWEST_ROWS = 4_000_000, 8192


class TermSource:
    """The terms of a model, over the rows of one storage. A part is a term's value for one of the scores."""

    def __init__(self, model: "TermModel", columns: RawColumns) -> None:
        self._model, self.raw = model, columns
        self.shape = (columns.n_rows, int(model.coef.shape[1]))
        self._last: tuple[int, Rows, NDArray[np.float64]] = (-1, np.zeros(0, np.uint32), np.zeros((0, 0)))

    @property
    def block(self) -> int:
        """How many rows are read together: a library's call on a column takes as long as it takes for 10,000 rows."""
        return max(FEWEST_ROWS, MOST_VALUES // max(self.shape[1], 1))

    def fill(self, part: int, rows: Rows, size: int, out: NDArray[np.floating]) -> None:
        number, score = divmod(part, self._model.n_scores)
        term = self._model.terms[number]
        if isinstance(term, Table):  # in place, without a copy for all scores
            codes = self.raw.some(term.column, rows[:size])
            np.take(term.by_score[score], codes, out=out[:size], mode="clip")
        else:
            out[:size] = self._values(number, rows[:size])[:, score]

    def take(self, rows: Selection) -> "TermSource":
        return TermSource(self._model, self.raw.take(rows))

    def values(self) -> NDArray[np.float64]:
        """Return all parts of all rows."""
        rows = np.arange(self.shape[0], dtype=np.uint32)
        made = [self._values(term, rows) for term in range(len(self._model.terms))]
        return np.concatenate(made, axis=1) if made else np.zeros(self.shape)

    def _values(self, term: int, rows: Rows) -> NDArray[np.float64]:
        """Return a term's values for all scores, which are asked for one after another."""
        last, of_rows, values = self._last
        if self._model.n_scores > 1 and last == term and np.array_equal(of_rows, rows):
            return values
        if isinstance(self._model.terms[term], NoTerm):
            return np.zeros((rows.size, self._model.n_scores))
        values = self._model.terms[term].values(lambda column: self.raw.some(column, rows))
        self._last = (term, rows.copy(), values)
        return values

    def explain(self, row: int, among: NDArray[np.intp] | None = None) -> ValueError | None:
        """Return the error that says why this row has no margin, if a value is refused; ``among`` are columns."""
        return self._model.refusal(self.raw, row, row, among)

    def refused(self, row: int, among: NDArray[np.intp]) -> str | None:
        """Return the same in a few words."""
        refused = self._model.refused(self.raw, row, among)
        return None if refused is None else refused[0]

"""A table whose rows are given as a learner sees them, or as they are surveyed: those that can be encoded."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from saccade.data.batches import BadRows, Batch, Coder, DataFile, Piece, Wanted, whole_rows
from saccade.data.encoding import coders_of
from saccade.data.opening import DataPath, opened_again
from saccade.data.seen import Seen
from saccade.models.tables.encoding import Encoding, Number

__all__ = ["Opened", "TableFile", "encoded_file"]


class TableFile:
    """The rows of another file of which no number is infinite; encoded, where there is an encoding."""

    zero_based: bool | None = None

    def __init__(self, data: DataFile, numbers: Collection[int], encoding: Encoding | None = None) -> None:
        self.path, self.names, self.size, self.length = data.path, data.names, data.size, data.length
        self.n_features = data.n_features if encoding is None else encoding.n_features
        self._data, self._numbers, self._encoding = data, list(numbers), encoding

    def seen(self) -> Mapping[int, Seen]:
        return {}

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        for batch in self._data.batches(start, bad):
            finite = self._finite(batch, bad)
            yield finite if self._encoding is None else replace(finite, X=_features(self._encoding, finite))

    def pieces(self, bad: BadRows) -> Iterator[Piece]:
        return whole_rows(self, bad)

    def _finite(self, batch: Batch, bad: BadRows) -> Batch:
        infinite = np.isinf(batch.X[:, self._numbers])
        wrong = infinite.any(axis=1)
        bad.count_or_raise(int(wrong.sum()), partial(self._fault, batch, infinite, bad.row))
        bad.row += batch.good.size
        return batch.only(~wrong) if wrong.any() else batch

    def _fault(self, batch: Batch, infinite: np.ndarray, first: int) -> tuple[str, str]:
        row = int(np.argmax(infinite.any(axis=1)))
        column = self._numbers[int(np.argmax(infinite[row]))]
        name = f"column {column}" if self.names is None else repr(self.names[column])
        return f"row {first + int(np.flatnonzero(batch.good)[row]) + 1}", f"{name} is {batch.X[row, column]}"


def _features(encoding: Encoding, batch: Batch) -> object:
    return encoding.features(encoding.held(batch.X))


@dataclass(frozen=True)
class Opened:
    """Data that are open, and how they were opened."""

    data: DataFile
    path: DataPath
    wanted: Wanted
    kind: str | None

    def as_table(self, used: Collection[int], coders: Mapping[int, Coder]) -> DataFile:
        """Open the data as a table: the columns that are used, with missing values, and texts as numbers."""
        columns = replace(self.wanted, names=self.data.names, needed=used, others=False)
        table = replace(columns, missing_ok=frozenset(used), coders=coders)
        return opened_again(self.data, self.path, table, self.kind)


def encoded_file(opened: Opened, encoding: Encoding) -> TableFile:
    """Return the rows of data as a learner with this encoding sees them."""
    data = opened.as_table(encoding.used.tolist(), coders_of(encoding))
    numbers = [j for j, column in enumerate(encoding.columns) if isinstance(column, Number)]
    return TableFile(data, numbers, encoding)

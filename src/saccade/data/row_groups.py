"""Row groups of Parquet files as sources: of each column no more is read than the rows of a group ask for."""

from collections.abc import Callable, Iterator
from typing import Any

from numpy.typing import NDArray

from saccade.data.arrow import named, pyarrow
from saccade.exceptions import DataFileError
from saccade.reading.tables import ColumnSource

__all__ = ["BUFFER", "RowGroup", "Run"]

# Bytes of each column that are read at once; by default pyarrow reads a whole column of a row group ahead.
BUFFER = 2**13
# What the columns of a run take as numbers at the most, unless it would have fewer rows than these.
RUN_BYTES, FEWEST_ROWS = 2**25, 2**13


class RowGroup:
    """A row group, read in runs of consecutive rows, for it may be larger than memory.

    A column is opened when a row asks for it first, and decoded from there on as later runs ask for it, so that no
    value is decoded twice. What stays of a run is a page of each open column.
    """

    def __init__(self, file: Any, number: int, path: str, names: list[str], n_asked: int) -> None:
        """Take an open file, the number of the group, all features by name, and how many may be asked for."""
        self.n_rows: int = file.metadata.row_group(number).num_rows
        self._file, self._number, self._path, self._names = file, number, path, names
        self._rows = max(FEWEST_ROWS, RUN_BYTES // (8 * max(n_asked, 1)))
        self._open: dict[int, _Column] = {}

    def runs(self, numbers: Callable[[int, Any], NDArray[Any]]) -> Iterator["Run"]:
        """Yield the runs; ``numbers`` makes an array of what Arrow has of a feature. Each ends when the next begins."""
        for start in range(0, self.n_rows, self._rows):
            yield Run(self, start, min(start + self._rows, self.n_rows), numbers)

    def column(self, feature: int) -> tuple["_Column", int]:
        """Return an open column, and the bytes that were read to open it: all of it, or none if it was open."""
        if feature in self._open:
            return self._open[feature], 0
        name = self._names[feature]
        size = min(self._rows, self.n_rows)
        batches = self._file.iter_batches(size, row_groups=[self._number], columns=[name], use_threads=False)
        self._open[feature] = _Column(self._path, name, batches)
        return self._open[feature], self._bytes_of(name)

    def _bytes_of(self, name: str) -> int:
        """Return the compressed bytes of a column with all that is nested in it."""
        group, schema = self._file.metadata.row_group(self._number), self._file.schema_arrow
        if group.num_columns == len(schema):  # nothing is nested
            return int(group.column(schema.get_field_index(name)).total_compressed_size)
        columns = map(group.column, range(group.num_columns))
        return sum(column.total_compressed_size for column in columns if column.path_in_schema.split(".")[0] == name)


class Run(ColumnSource):
    """Some consecutive rows of a row group; it counts the bytes of the columns that it is the first to ask for."""

    def __init__(self, group: RowGroup, start: int, stop: int, numbers: Callable[[int, Any], NDArray[Any]]) -> None:
        super().__init__((stop - start, len(group._names)), self._read)
        self._group, self._start, self.stop, self._numbers = group, start, stop, numbers
        self.bytes_read = 0

    def _read(self, feature: int) -> NDArray[Any]:
        column, size = self._group.column(feature)
        values = self._numbers(feature, column.between(self._start, self.stop))
        self.bytes_read += size
        return values


class _Column:
    """The values of a column, which are passed through in their order."""

    def __init__(self, path: str, name: str, batches: Iterator[Any]) -> None:
        self._path, self._name, self._batches = path, name, batches
        self._held: Any = ()
        self._place = 0  # of the first value that is held

    def between(self, start: int, stop: int) -> Any:
        """Return the values of some rows, none of which was passed before."""
        taken = []
        while self._place < stop:
            if not len(self._held):
                self._held = self._next()
            size, first = min(len(self._held), stop - self._place), max(start - self._place, 0)
            if first < size:
                taken.append(self._held.slice(first, size - first))
            self._held, self._place = self._held.slice(size), self._place + size
        return pyarrow().chunked_array(taken)

    def _next(self) -> Any:
        with named(self._path):
            batch = next(self._batches, None)
        if batch is None:
            raise DataFileError(f"{self._path} is damaged: column {self._name!r} ends before its row group does.")
        return batch.column(0)

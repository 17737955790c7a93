"""Row groups of Parquet files as sources: of each column no more is read than the rows of a group ask for."""

from collections.abc import Callable, Iterator
from typing import Any, Self

from numpy.typing import NDArray

from saccade.data.arrow import named, pyarrow
from saccade.exceptions import DataFileError
from saccade.reading.tables import ColumnSource

__all__ = ["RowGroup", "Run", "open_columns"]

Numbers = Callable[[int, Any], NDArray[Any]]

# Bytes of each column that are read at once; by default pyarrow reads a whole column of a row group ahead.
BUFFER = 2**13
# What the columns of a run take as numbers at the most, unless it would have fewer rows than these.
RUN_BYTES, FEWEST_ROWS = 2**23, 2**13


def open_columns(path: str, metadata: Any) -> Any:
    """Open a file whose footer was read before."""
    return pyarrow().parquet.ParquetFile(path, metadata=metadata, pre_buffer=False, buffer_size=BUFFER)


class RowGroup:
    """A row group, read in runs of consecutive rows, for it may be larger than memory.

    A column is opened when a row asks for it first, and decoded from there on as later runs ask for it, so that no
    value is decoded twice. What stays of a run is a page of each open column.
    """

    def __init__(self, file: Any, number: int, path: str, names: list[str], n_asked: int) -> None:
        """Take an open file, the number of the group, all features by name, and how many may be asked for."""
        self.n_rows: int = file.metadata.row_group(number).num_rows
        self._file, self._number, self._path, self.names = file, number, path, names
        self._rows = max(FEWEST_ROWS, RUN_BYTES // (8 * max(n_asked, 1)))
        self._open: dict[int, _Column] = {}
        self._sizes: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._open.clear()
        pyarrow().default_memory_pool().release_unused()

    def runs(self, numbers: Numbers) -> Iterator["Run"]:
        """Yield the runs; ``numbers`` makes an array of what Arrow has of a feature.

        The rows of a run are gone when the next one is asked for, whoever still refers to it.
        """
        for start in range(0, self.n_rows, self._rows):
            run = Run(self, start, min(start + self._rows, self.n_rows), numbers)
            yield run
            run.source.forget()
            pyarrow().default_memory_pool().release_unused()

    def column(self, feature: int) -> tuple["_Column", bool]:
        """Return an open column, and whether it was opened only now."""
        if feature in self._open:
            return self._open[feature], False
        name = self.names[feature]
        size = min(self._rows, self.n_rows)
        batches = self._file.iter_batches(size, row_groups=[self._number], columns=[name], use_threads=False)
        self._open[feature] = _Column(self._path, name, batches)
        return self._open[feature], True

    def bytes_of(self, feature: int) -> int:
        """Return the compressed bytes of a column."""
        if not self._sizes:
            group = self._file.metadata.row_group(self._number)
            columns = map(group.column, range(group.num_columns))
            self._sizes = {column.path_in_schema: column.total_compressed_size for column in columns}
        return self._sizes[self.names[feature]]


class Run:
    """Some consecutive rows of a row group; it counts the bytes of the columns that it is the first to ask for."""

    def __init__(self, group: RowGroup, start: int, stop: int, numbers: Numbers) -> None:
        self._group, self._start, self.stop, self._numbers = group, start, stop, numbers
        self.n_rows, self.bytes_read = stop - start, 0
        self.source = ColumnSource((self.n_rows, len(group.names)), self._read)

    def _read(self, feature: int) -> NDArray[Any]:
        column, is_new = self._group.column(feature)
        values = self._numbers(feature, column.between(self._start, self.stop))  # refuses nested ones, without a size
        self.bytes_read += self._group.bytes_of(feature) if is_new else 0
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
            # An empty slice would hold the memory of all that was passed.
            self._held = self._held.slice(size) if size < len(self._held) else ()
            self._place += size
        return pyarrow().chunked_array(taken)

    def _next(self) -> Any:
        with named(self._path):
            batch = next(self._batches, None)
        if batch is None:
            raise DataFileError(f"{self._path} is damaged: column {self._name!r} ends before its row group does.")
        return batch.column(0)

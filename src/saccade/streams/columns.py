"""Parquet and Arrow files by their columns, and NumPy arrays by their rows."""

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import DataFileError
from saccade.streams.batches import BATCH_BYTES, BadRows, Batch

__all__ = ["ArrowSource", "NumpySource", "ParquetSource", "RowGroup"]


def _pyarrow() -> Any:
    try:
        import pyarrow.ipc
        import pyarrow.parquet
    except ModuleNotFoundError as missing:
        raise DataFileError(
            f"Parquet and Arrow files need {missing.name}. Install it with: pip install 'saccade[files]'"
        ) from missing
    return pyarrow


class ParquetSource:
    """A Parquet file. ``row_groups`` are read column by column, each column when it is asked for."""

    def __init__(self, path: str, target: str | None) -> None:
        self.path, self.size = path, os.path.getsize(path)
        try:
            self._file = _pyarrow().parquet.ParquetFile(path)
        except _pyarrow().ArrowInvalid as error:
            raise DataFileError(f"{path} is no Parquet file: {error}") from error
        self._columns = self._file.schema_arrow.names
        self._target = _checked_target(path, target, self._columns)
        self.names: list[str] | None = [name for name in self._columns if name != self._target]
        self.n_features = len(self.names)
        self.n_rows = self.length = self._file.metadata.num_rows

    def column_bytes(self) -> dict[str, int]:
        """Return how many bytes each column takes, in all row groups together."""
        total: Counter[str] = Counter()
        groups = (self._file.metadata.row_group(number) for number in range(self._file.num_row_groups))
        for column in (group.column(j) for group in groups for j in range(group.num_columns)):
            total[column.path_in_schema] += column.total_compressed_size
        return dict(total)

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        rows = _rows_per_batch(self.n_features)
        place = 0
        for record in self._file.iter_batches(rows, columns=self._columns):
            end = place + record.num_rows
            if end > start:
                part = record.slice(max(start - place, 0))
                yield _batch(part, self._target, end, end - part.num_rows, bad)
            place = end

    def row_groups(self, names: list[str]) -> Iterator["RowGroup"]:
        """Return the row groups as tables of these columns."""
        first = 0
        for number in range(self._file.num_row_groups):
            group = RowGroup(self._file, number, names, self.path, first)
            yield group
            first += group.shape[0]


class RowGroup:
    """One row group as a table whose columns are read when they are asked for; it counts the bytes that were read."""

    def __init__(self, file: Any, number: int, names: list[str], path: str, first_row: int) -> None:
        self._file, self._number, self._names = file, number, names
        self.path, self.first_row = path, first_row
        self._group = file.metadata.row_group(number)
        self._places = {self._group.column(j).path_in_schema: j for j in range(self._group.num_columns)}
        self._read: dict[int, NDArray[Any]] = {}
        self.shape = (self._group.num_rows, len(names))
        self.bytes_read = 0

    def column(self, feature: int) -> NDArray[Any]:
        if feature not in self._read:
            name = self._names[feature]
            column = self._file.read_row_group(self._number, columns=[name], use_threads=False).column(0)
            values = np.asarray(column.to_numpy())
            if values.dtype.kind not in "fiub":
                raise DataFileError(f"Column {name!r} holds {column.type}, not numbers.")
            self.bytes_read += self._group.column(self._places[name]).total_compressed_size
            self._read[feature] = values
        return self._read[feature]


class ArrowSource:
    """An Arrow IPC file or stream, mapped into memory."""

    def __init__(self, path: str, target: str | None) -> None:
        self.path, self.size = path, os.path.getsize(path)
        pyarrow = _pyarrow()
        mapped = pyarrow.memory_map(path)
        try:
            self._table = pyarrow.ipc.open_file(mapped).read_all()
        except pyarrow.ArrowInvalid:
            try:
                mapped.seek(0)
                self._table = pyarrow.ipc.open_stream(mapped).read_all()
            except pyarrow.ArrowInvalid as error:
                raise DataFileError(f"{path} is no Arrow file: {error}") from error
        self._target = _checked_target(path, target, self._table.column_names)
        self.names: list[str] | None = [name for name in self._table.column_names if name != self._target]
        self.n_features = len(self.names)
        self.n_rows = self.length = self._table.num_rows

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        rows = _rows_per_batch(self.n_features)
        for first in range(start, self.n_rows, rows):
            end = min(first + rows, self.n_rows)
            yield _batch(self._table.slice(first, end - first), self._target, end, first, bad)


class NumpySource:
    """A two-dimensional .npy array, mapped into memory; the target is one of its columns."""

    def __init__(self, path: str, target: str | None) -> None:
        self.path, self.size = path, os.path.getsize(path)
        self.names: list[str] | None = None
        try:
            self._array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise DataFileError(f"{path} is no .npy file that can be read: {error}") from error
        if self._array.ndim != 2 or self._array.dtype.kind not in "fiub":
            raise DataFileError(f"{path} holds {self._array.dtype} {self._array.shape}: expected rows of numbers.")
        width = self._array.shape[1]
        if target is not None and not (target.lstrip("-").isdigit() and -width <= int(target) < width):
            raise DataFileError(f"{path} has columns 0 to {width - 1}, and no {target!r}.")
        self._target = None if target is None else int(target) % width
        self._features = [j for j in range(width) if j != self._target]
        self.n_features = len(self._features)
        self.n_rows = self.length = self._array.shape[0]

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        rows = _rows_per_batch(self.n_features)
        for first in range(start, self.n_rows, rows):
            end = min(first + rows, self.n_rows)
            part = np.asarray(self._array[first:end])
            X = part if self._target is None else part[:, self._features]
            y = None if self._target is None else part[:, self._target]
            good = _finite(X, y, first, bad)
            yield Batch(X[good], None if y is None else y[good], end)


def _rows_per_batch(n_features: int) -> int:
    return max(1, BATCH_BYTES // (8 * max(n_features, 1)))


def _checked_target(path: str, target: str | None, columns: list[str]) -> str | None:
    if target is not None and target not in columns:
        raise DataFileError(f"{path} has no column {target!r}: it has columns {', '.join(columns[:8])}.")
    return target


def _batch(part: Any, target: str | None, end: int, first: int, bad: BadRows) -> Batch:
    columns = []
    for name, column in zip(part.schema.names, part.columns, strict=True):
        if name != target:
            values = np.asarray(
                column.to_numpy(zero_copy_only=False) if hasattr(column, "offset") else column.to_numpy()
            )
            if values.dtype.kind not in "fiub":
                raise DataFileError(f"Column {name!r} holds {column.type}, not numbers. Leave it out, or encode it.")
            columns.append(values)
    X = np.column_stack(columns) if columns else np.empty((part.num_rows, 0))
    y = None if target is None else np.array(part.column(part.schema.names.index(target)).to_pylist(), dtype=object)
    good = _finite(X, y, first, bad)
    return Batch(X[good], None if y is None else y[good], end)


def _finite(X: NDArray[Any], y: NDArray[Any] | None, first: int, bad: BadRows) -> NDArray[np.bool_]:
    """Return which rows have a target and no missing value, and report the others by their number in the file."""
    good = np.isfinite(X).all(axis=1) if X.dtype.kind == "f" else np.ones(X.shape[0], dtype=bool)
    for row in np.flatnonzero(~good).tolist():
        bad.found(first + row + 1, "a value is missing or not finite")
    if y is not None and y.dtype.kind in "Of":
        present = np.array([label is not None and label == label for label in y], dtype=bool)
        for row in np.flatnonzero(~present & good).tolist():
            bad.found(first + row + 1, "the target is missing")
        good &= present
    return good

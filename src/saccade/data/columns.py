"""Parquet and Arrow files, column by column, and NumPy arrays, row by row."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.data.arrow import each, named, pyarrow
from saccade.data.batches import (
    BATCH_BYTES,
    BadRows,
    Batch,
    Coder,
    Piece,
    Wanted,
    check_width,
    chosen_columns,
    whole_rows,
)
from saccade.data.categories import coded, warn_if_none_is_known
from saccade.data.row_groups import RowGroup, open_columns
from saccade.data.seen import Seen
from saccade.exceptions import DataFileError

__all__ = ["ArrowFile", "NumpyFile", "ParquetFile", "holds_texts"]

LABELS = (str, bool, int, float)


class ParquetFile:
    """A Parquet file; its pieces are read column by column, lazily."""

    zero_based: bool | None = None

    def __init__(self, path: str, wanted: Wanted) -> None:
        self.path, self.size = path, os.path.getsize(path)
        with named(path), pyarrow().parquet.ParquetFile(path) as file:  # thousands of files cannot all stay open
            self._metadata, self._schema = file.metadata, file.schema_arrow
        columns = self._schema.names
        self._target = wanted.target
        self._features = chosen_columns(path, columns, wanted)
        self.names: list[str] | None = self._features
        self.n_features = len(self._features)
        self._chosen = _chosen(self._features, columns, wanted)
        self._coders = wanted.coders
        self.n_rows = self.length = self._metadata.num_rows

    @property
    def group_begins(self) -> list[int]:
        """The number of the first row of each row group, and of all rows."""
        groups = map(self._metadata.row_group, range(self._metadata.num_row_groups))
        return list(accumulate((group.num_rows for group in groups), initial=0))

    def seen(self) -> dict[int, Seen]:
        return _seen(self._features, self._schema, self.n_rows)

    def column_bytes(self) -> dict[str, int]:
        """Return the compressed bytes of each column, summed over row groups."""
        total: Counter[str] = Counter()
        groups = (self._metadata.row_group(number) for number in range(self._metadata.num_row_groups))
        for column in (group.column(j) for group in groups for j in range(group.num_columns)):
            total[column.path_in_schema] += column.total_compressed_size
        return dict(total)

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        columns = [*self._chosen.names.values(), *([] if self._target is None else [self._target])]
        rows = _rows_per_batch(self.n_features)
        with named(self.path):
            file = open_columns(self.path, self._metadata)
        for groups, place, end in _runs(file.metadata, rows):
            if end <= start:
                continue
            records = file.iter_batches(rows, row_groups=groups, columns=columns, use_threads=False)
            for record in each(self.path, records):
                if place >= start:
                    yield _batch(self.path, record, self._chosen, self._target, place, bad)
                place += record.num_rows
            pyarrow().default_memory_pool().release_unused()

    def pieces(self, bad: BadRows) -> Iterator[Piece]:
        """Yield the rows of row groups as sources that read their columns lazily."""
        return chain.from_iterable(self.groups(range(self._metadata.num_row_groups)))

    def groups(self, numbers: Iterable[int]) -> Iterator[Iterator[Piece]]:
        """Yield the pieces of some row groups: each has one, or one for each run of its rows where these are many."""
        with named(self.path):
            file = open_columns(self.path, self._metadata)
        begins = self.group_begins
        with file:
            for number in numbers:
                with RowGroup(file, number, self.path, self._features, len(self._chosen.names)) as group:
                    yield self._pieces_of(group, begins[number])

    def _pieces_of(self, group: RowGroup, begin: int) -> Iterator[Piece]:
        for run in group.runs(self._as_numbers):
            good = np.ones(run.n_rows, dtype=bool)
            yield Piece(run.source, good, begin + run.stop, partial(getattr, run, "bytes_read"))

    def _as_numbers(self, feature: int, column: Any) -> NDArray[Any]:
        return _numbers(self.path, self._features[feature], column, self._coders.get(feature))


def _runs(metadata: Any, rows: int) -> Iterator[tuple[list[int], int, int]]:
    """Yield runs of row groups, each of at least ``rows`` rows where possible, and where they begin and end."""
    groups: list[int] = []
    place = end = 0
    for number in range(metadata.num_row_groups):
        groups.append(number)
        end += metadata.row_group(number).num_rows
        if end - place >= rows or number == metadata.num_row_groups - 1:
            yield groups, place, end
            groups, place = [], end


class ArrowFile:
    """An Arrow IPC file or stream, mapped into memory and read by record batches."""

    zero_based: bool | None = None

    def __init__(self, path: str, wanted: Wanted) -> None:
        self.path, self.size = path, os.path.getsize(path)
        self.n_rows = self.length = sum(record.num_rows for record in each(path, self._records()))
        self._target = wanted.target
        self.names: list[str] | None = chosen_columns(path, self._schema.names, wanted)
        self.n_features = len(self.names)
        self._chosen = _chosen(self.names, self._schema.names, wanted)

    def _records(self) -> Iterator[Any]:
        arrow = pyarrow()
        with arrow.memory_map(self.path) as mapped:
            with suppress(arrow.ArrowInvalid):
                reader = arrow.ipc.open_file(mapped)
                self._schema = reader.schema
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)
                return
            mapped.seek(0)
            reader = arrow.ipc.open_stream(mapped)
            self._schema = reader.schema
            yield from reader

    def seen(self) -> dict[int, Seen]:
        return _seen(self.names or [], self._schema, self.n_rows)

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        rows, place = _rows_per_batch(self.n_features), 0
        for record in each(self.path, self._records()):
            for first in range(0, record.num_rows, rows):
                part = record.slice(first, rows)
                if place >= start:
                    yield _batch(self.path, part, self._chosen, self._target, place, bad)
                place += part.num_rows

    def pieces(self, bad: BadRows) -> Iterator[Piece]:
        return whole_rows(self, bad)


class NumpyFile:
    """A two-dimensional .npy array, mapped into memory; the target is one of its columns."""

    names: list[str] | None = None
    zero_based: bool | None = None

    def __init__(self, path: str, wanted: Wanted) -> None:
        self.path, self.size = path, os.path.getsize(path)
        array = self._mapped()
        kind = array.dtype
        if array.ndim != 2 or kind.kind not in "fiub" or kind.itemsize > 8:
            raise DataFileError(f"{path} holds {kind} {array.shape}: expected rows of numbers.")
        self._target = _column_at(path, wanted.target, array.shape[1])
        self._features = [j for j in range(array.shape[1]) if j != self._target]
        self.n_features = len(self._features)
        check_width(path, self.n_features, wanted)
        self._strict = wanted.never_missing(self.n_features)
        self.n_rows = self.length = array.shape[0]

    def _mapped(self) -> NDArray[Any]:
        try:
            return np.lib.format.open_memmap(self.path, mode="r")
        except (ValueError, EOFError, OSError) as error:
            raise DataFileError(f"{self.path} is no .npy file that can be read: {error}") from error

    def seen(self) -> dict[int, Seen]:
        return {}

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        rows, array = _rows_per_batch(self.n_features), self._mapped()
        for first in range(start, self.n_rows, rows):
            end = min(first + rows, self.n_rows)
            part = np.asarray(array[first:end], dtype=array.dtype.newbyteorder("="))
            X = part if self._target is None else part[:, self._features]
            y = None if self._target is None else part[:, self._target]
            strict = {place: f"column {self._features[place]}" for place in self._strict}
            yield _finite(X, y, first, end, bad, strict)

    def pieces(self, bad: BadRows) -> Iterator[Piece]:
        return whole_rows(self, bad)


def _column_at(path: str, target: str | None, width: int) -> int | None:
    if target is None:
        return None
    try:
        return range(width).index(int(target) % width if -width <= int(target) < width else -1)
    except ValueError:
        raise DataFileError(f"{path} has columns 0 to {width - 1}, and no {target!r}.") from None


def _rows_per_batch(n_features: int) -> int:
    return max(1, BATCH_BYTES // (8 * max(n_features, 1)))


class _Chosen(NamedTuple):
    """The columns of a file that are read as features."""

    n_features: int
    names: dict[int, str]  # by their places among the features, those that are read
    needed: list[int]  # the places of those that a row must have
    never_missing: list[int]  # and of those of them that must be finite numbers
    coders: Mapping[int, Coder]

    def rows_of(self, path: str, part: Any) -> NDArray[Any]:
        """Return the features of some rows; one that is not needed is NaN where it is not there or is no number."""
        columns = {place: self._numbers(path, part, place) for place in self.names}
        if len(columns) == self.n_features > 0:
            return np.column_stack([columns[place] for place in range(self.n_features)])
        X = np.full((part.num_rows, self.n_features), np.nan)
        for place, column in columns.items():
            X[:, place] = column
        return X

    def _numbers(self, path: str, part: Any, place: int) -> NDArray[Any]:
        name = self.names[place]
        try:
            return _numbers(path, name, part.column(name), self.coders.get(place))
        except DataFileError:
            if place in self.needed:
                raise
            return np.full(part.num_rows, np.nan)


def _chosen(features: list[str], columns: list[str], wanted: Wanted) -> _Chosen:
    needed, there = wanted.needed_of(len(features)), set(columns)
    read = range(len(features)) if wanted.others else needed
    names = {j: features[j] for j in read if features[j] in there}
    return _Chosen(len(features), names, needed, wanted.never_missing(len(features)), wanted.coders)


def _batch(path: str, part: Any, chosen: _Chosen, target: str | None, first: int, bad: BadRows) -> Batch:
    X = chosen.rows_of(path, part)
    y = None
    if target is not None:
        y = np.empty(part.num_rows, dtype=object)
        y[:] = part.column(target).to_pylist()
        if not all(label is None or isinstance(label, LABELS) for label in y):
            raise DataFileError(f"{path}: column {target!r} holds {part.column(target).type}, which are no labels.")
    strict = {place: repr(chosen.names[place]) for place in chosen.never_missing}
    return _finite(X, y, first, first + part.num_rows, bad, strict)


def _numbers(path: str, name: str, column: Any, coder: Coder | None = None) -> NDArray[Any]:
    """Return a column as an array of numbers; a missing value is NaN."""
    arrow = pyarrow()
    try:
        if isinstance(column, arrow.ChunkedArray):
            column = column.chunk(0) if column.num_chunks == 1 else column.unify_dictionaries().combine_chunks()
        if coder is not None and _holds_categories(column.type):
            return _coded(path, name, column, coder)
        if not column.null_count and (arrow.types.is_floating(column.type) or arrow.types.is_integer(column.type)):
            values = _without_pandas(column)
        else:
            values = np.asarray(column.to_numpy(zero_copy_only=False))
    except arrow.ArrowException as error:
        raise DataFileError(f"{path}: column {name!r} holds {column.type}, not numbers.") from error
    if values.dtype.kind == "O" and arrow.types.is_boolean(column.type):  # booleans of which some are missing
        values = values.astype(np.float64)
    if values.dtype.kind not in "fiub":
        raise DataFileError(f"{path}: column {name!r} holds {column.type}, not numbers. Leave it out, or encode it.")
    values = values.astype(np.float32) if values.dtype == np.float16 else values
    if coder is None:
        return values
    codes = coder(values)
    warn_if_none_is_known(path, name, values[values == values][:3].tolist(), values.size, codes, coder)
    return codes


def _holds_categories(kind: Any) -> bool:
    """Whether a column's different values are few, as a rule, and to be told apart exactly: texts and whole numbers."""
    types = pyarrow().types
    inside = kind.value_type if types.is_dictionary(kind) else kind
    return holds_texts(inside) or bool(types.is_integer(inside))


def holds_texts(kind: Any) -> bool:
    types = pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _seen(features: list[str], schema: Any, n_rows: int) -> dict[int, Seen]:
    """Return what the columns of a file hold, as their types say."""
    kinds = {name: schema.field(name).type for name in schema.names}
    held = {name: getattr(kind, "value_type", kind) for name, kind in kinds.items()}  # of dictionaries
    return {
        place: Seen(texts=n_rows) if holds_texts(held[name]) else Seen(numbers=n_rows)
        for place, name in enumerate(features)
        if name in held
    }


def _coded(path: str, name: str, column: Any, coder: Coder) -> NDArray[np.float64]:
    """Return the numbers of a column of categories; a null is missing."""
    arrow = pyarrow()
    held = column if arrow.types.is_dictionary(column.type) else column.dictionary_encode()
    texts = [*held.dictionary.to_pylist(), None]
    places = np.asarray(held.indices.cast(arrow.int64()).fill_null(len(texts) - 1).to_numpy())
    return coded(path, name, texts, places, coder)


def _without_pandas(column: Any) -> NDArray[Any]:
    """Return a view of an Arrow array of numbers without nulls; its own to_numpy imports pandas."""
    name = str(column.type)  # its to_pandas_dtype imports pandas, too, in some versions
    kind = np.dtype({"halffloat": "float16", "float": "float32", "double": "float64"}.get(name, name))
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)


def _finite(
    X: NDArray[Any], y: NDArray[Any] | None, first: int, end: int, bad: BadRows, needed: dict[int, str]
) -> Batch:
    """Return the rows that have a target and the values that are needed; the first bad one is reported by number.

    ``needed`` are the places of features that a row must have, with how they are called.
    """
    demanded = X if len(needed) == X.shape[1] else X[:, list(needed)]
    good = whole = np.isfinite(demanded).all(axis=1) if X.dtype.kind == "f" else np.ones(X.shape[0], dtype=bool)
    if y is not None and y.dtype.kind in "Of":
        good = whole & [label is not None and (isinstance(label, str) or bool(np.isfinite(label))) for label in y]
    wrong = np.flatnonzero(~good)

    def what() -> tuple[str, str]:
        row = int(wrong[0])
        if whole[row]:
            return f"row {first + row + 1}", "the target is missing"
        k = int(np.argmin(np.isfinite(demanded[row])))
        how = "missing" if np.isnan(demanded[row, k]) else demanded[row, k]
        return f"row {first + row + 1}", f"a value is missing or not finite ({list(needed.values())[k]} is {how})"

    bad.count_or_raise(wrong.size, what)
    if wrong.size:
        X, y = X[good], None if y is None else y[good]
    return Batch(X, y, end, good)

"""Read data files in batches of rows: Parquet, Arrow and CSV files by ``pyarrow.dataset``, libsvm and NumPy files."""

import gzip
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from saccade.exceptions import DataFileError
from saccade.terminal import printable

__all__ = ["Batch", "Location", "Selection", "find_files", "format_of", "pyarrow", "read_batches"]

# The format that the suffix of a name implies; it may be followed by .gz.
SUFFIXES = {
    ".arrow": "arrow",
    ".csv": "csv",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".libsvm": "libsvm",
    ".npy": "npy",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
}
FORMATS = ("parquet", "arrow", "csv", "libsvm", "libsvm-zero-based", "npy")
# Rows and values of a batch: enough that the calls for a batch take no time, few enough to stay in memory.
BATCH_ROWS, BATCH_VALUES = 65_536, 4_000_000
LIBSVM_LINES = 20_000
# What Arrow converts to a number.
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity|nan)$"
REMEDY = "Correct the file, or leave such rows out with skip_bad=True"


def pyarrow() -> Any:
    """Return pyarrow with its modules for files, or say how to install it."""
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.dataset
        import pyarrow.parquet
    except ModuleNotFoundError as missing:
        raise DataFileError(f"{missing.name} is missing. Install it with: pip install 'saccade[files]'") from missing
    return pyarrow


class Batch(NamedTuple):
    """Consecutive rows of a file, without the bad ones that are skipped."""

    X: Any  #: an Arrow table, a CSR matrix or an array
    y: NDArray[Any] | None  #: labels, if a target is selected
    rows: NDArray[np.intp]  #: the number of each row in the file, from 0
    end: int  #: the number of the first row after the batch


class Location(NamedTuple):
    """A data file, and its path below the folder that was searched."""

    path: Path
    name: Path


@dataclass(frozen=True)
class Selection:
    """What to read of a file."""

    columns: tuple[str, ...] | None = None  #: by name, in this order; None: all but the target
    target: str | int | None = None  #: the column with the labels; a number in NumPy files
    n_features: int | None = None  #: of a model that knows its columns by position; None: any number
    #: the kind of the column at a position: "number", "text" or, as the file has it, None
    kind: Callable[[int], str | None] = lambda position: None
    skip_bad: bool = False  #: leave out rows that cannot be read


def find_files(source: Any, format: Any = None) -> list[Location]:
    """Return the data files that a path or a list of paths names; those of a folder are sorted by name.

    Of a folder, files and folders whose name begins with a dot or an underscore are left out, such as ``_SUCCESS``.
    """
    paths = [source] if isinstance(source, str | os.PathLike) else list(source)
    found = [location for path in map(Path, paths) for location in _files_at(path, format)]
    if not found:
        raise DataFileError(f"No data file found in {', '.join(map(str, paths)) or 'an empty list'}.")
    names = [location.name for location in found]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataFileError(f"Two files are called {twice}. Pass each file once, or the folder that contains them all.")
    return found


def _files_at(path: Path, format: Any) -> list[Location]:
    if path.is_file():
        return [Location(path, Path(path.name))]
    if not path.is_dir():
        raise DataFileError(f"There is no file {path}.")
    files = [Location(file, file.relative_to(path)) for file in sorted(path.rglob("*")) if file.is_file()]
    shown = [file for file in files if not any(part.startswith((".", "_")) for part in file.name.parts)]
    return [file for file in shown if format is not None or _format_of(file.path) is not None]


def _format_of(path: Path) -> str | None:
    suffix = path.suffix.lower()
    return SUFFIXES.get(Path(path.stem).suffix.lower() if suffix == ".gz" else suffix)


def format_of(path: Path, format: Any = None) -> Any:
    """Return the format of a file, which follows from its name if it is None."""
    kind = _format_of(path) if format is None else format
    if kind is None or (isinstance(kind, str) and kind not in FORMATS):
        what = f"The name of {path} does not tell its format" if kind is None else f"There is no format {kind!r}"
        raise DataFileError(f"{what}: pass format=, one of {', '.join(FORMATS)}, or a pyarrow.dataset.CsvFileFormat.")
    return kind


def read_batches(file: Location, format: Any = None, selection: Selection = Selection()) -> Iterator[Batch]:
    """Read a file of a format, which follows from its name if it is None."""
    kind = format_of(file.path, format)
    read = {"npy": _array_batches, "libsvm": _libsvm_batches, "libsvm-zero-based": _libsvm_batches}
    batches = read.get(kind, _table_batches) if isinstance(kind, str) else _table_batches
    try:
        yield from batches(file, kind, selection)
    except DataFileError:
        raise
    except Exception as error:
        if not isinstance(error, ValueError | OSError) and type(error).__module__ != "pyarrow.lib":
            raise
        raise DataFileError(f"{file.path} cannot be read: {str(error).rstrip('.')}. {REMEDY}.") from error


def _table_batches(file: Location, format: Any, selection: Selection) -> Iterator[Batch]:
    """Read a Parquet, Arrow or CSV file as Arrow tables, with the columns that hive partitions add."""
    arrow, path, invalid = pyarrow(), file.path, set[int]()
    base = str(path.parents[len(file.name.parts) - 1])
    is_csv = format == "csv" or isinstance(format, arrow.dataset.CsvFileFormat)
    if is_csv:
        format = _csv_format(format, invalid if selection.skip_bad else None)
    dataset = arrow.dataset.dataset(path, format=format, partitioning="hive", partition_base_dir=base)
    columns = _columns(path, dataset.schema, selection)
    numbers = [name for j, name in enumerate(columns) if selection.kind(j) == "number"]
    schema = _csv_schema(dataset.schema, columns, selection) if is_csv else dataset.schema
    most = max(1, min(BATCH_ROWS, BATCH_VALUES // max(len(columns), 1)))
    chosen = columns if selection.target is None else [*columns, selection.target]
    (fragment,) = dataset.get_fragments()
    scanned = fragment.to_batches(schema=schema, columns=chosen, batch_size=most, use_threads=not is_csv)
    begin, line = 0, _first_line(format) if is_csv else 0
    for table in _joined(scanned, most):
        table.validate(full=True)  # an Arrow file holds addresses within it, which nobody has looked at
        rows = _row_numbers(begin, table.num_rows, np.array([number - line for number in sorted(invalid)]))
        begin = int(rows[-1]) + 1 if rows.size else begin
        if selection.skip_bad:
            table, rows = _readable(table, rows, numbers if is_csv else [], selection.target)
        X = table.select(columns)
        yield Batch(
            X if selection.n_features is None else np.column_stack([np.asarray(column) for column in X.columns]),
            None if selection.target is None else _labels(table[selection.target], rows),
            rows,
            begin,
        )
    if invalid and max(invalid) - line >= begin:  # at the end of the file
        nothing = np.zeros(0, dtype=np.intp)
        yield Batch(None, None, nothing, max(invalid) - line + 1)


def _csv_format(format: Any, invalid: set[int] | None) -> Any:
    """Return a format that adds the numbers of lines with too few or too many values to a set, if there is one."""
    arrow = pyarrow()
    if format == "csv":
        options = arrow.csv.ConvertOptions(strings_can_be_null=True)
        format = arrow.dataset.CsvFileFormat(convert_options=options)
    if invalid is None:
        return format

    def skip(row: Any) -> str:
        invalid.add(row.number)
        return "skip"

    parsing = format.parse_options
    parsing.invalid_row_handler = skip
    scanning = format.default_fragment_scan_options
    return arrow.dataset.CsvFileFormat(parse_options=parsing, default_fragment_scan_options=scanning)


def _first_line(format: Any) -> int:
    """Return the number that Arrow gives to the first row of a CSV file."""
    options = format.default_fragment_scan_options.read_options
    has_names = not options.column_names and not options.autogenerate_column_names
    return 1 + has_names


def _csv_schema(inferred: Any, columns: list[str], selection: Selection) -> Any:
    """Return the types in which columns of a CSV file are read.

    Types are inferred from the first rows: whole numbers may be followed by others, and texts may look like numbers.
    """
    arrow = pyarrow()
    for j, name in enumerate(columns):
        kind, place = selection.kind(j), inferred.get_field_index(name)
        given = inferred.field(place).type
        if kind == "text" or (kind == "number" and selection.skip_bad and not arrow.types.is_boolean(given)):
            inferred = inferred.set(place, arrow.field(name, arrow.string()))
        elif (kind == "number" and not arrow.types.is_boolean(given)) or (
            arrow.types.is_integer(given) or arrow.types.is_null(given)
        ):
            inferred = inferred.set(place, arrow.field(name, arrow.float64()))
    return inferred


def _columns(path: Path, schema: Any, selection: Selection) -> list[str]:
    """Return the columns to read as features; raise if any is missing.

    The index of a data frame, which pandas writes as a column, is a feature only if it is selected by name.
    """
    names: list[str] = schema.names
    others = {selection.target, *map(str, (schema.pandas_metadata or {}).get("index_columns", ()))}
    wanted = [name for name in names if name not in others] if selection.columns is None else selection.columns
    needed = [*wanted] if selection.target is None else [*wanted, selection.target]
    for name in needed:
        if names.count(name) != 1:
            near = get_close_matches(str(name), names, n=3)
            listed = ", ".join(map(printable, near or names[:8]))
            hint = f"Did you mean {listed}?" if near else f"It has {listed}."
            what = f"several columns {name!r}. Rename them." if name in names else f"no column {name!r}. {hint}"
            raise DataFileError(f"{path} has {what}")
    if selection.n_features not in (None, len(wanted)):
        raise DataFileError(
            f"{path} has {len(wanted)} columns, but the model was fitted on {selection.n_features} columns without "
            "names. Fit or certify it on a table, so that it finds its columns by name."
        )
    return list(wanted)


def _joined(batches: Iterator[Any], most: int) -> Iterator[Any]:
    """Join record batches, which are small in CSV files, to tables of about so many rows."""
    arrow, waiting, size = pyarrow(), list[Any](), 0
    for batch in batches:
        if waiting and size + batch.num_rows > most:
            yield arrow.Table.from_batches(waiting)
            waiting, size = [], 0
        waiting, size = [*waiting, batch], size + batch.num_rows
    if waiting:
        yield arrow.Table.from_batches(waiting)


def _row_numbers(begin: int, size: int, skipped: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the numbers of the next rows that were not skipped."""
    numbers = np.arange(begin, begin + size + skipped.size)
    return numbers[~np.isin(numbers, skipped)][:size]


def _readable(table: Any, rows: NDArray[np.intp], numbers: list[str], target: Any) -> tuple[Any, NDArray[np.intp]]:
    """Return the rows of a table that have a label, and numbers where numbers are expected."""
    arrow = pyarrow()
    compute = arrow.compute
    good = np.ones(table.num_rows, dtype=bool)
    if target is not None:
        good &= np.asarray(table[target].is_valid())
    for name in numbers:
        if not arrow.types.is_string(table[name].type):
            continue
        texts = compute.utf8_trim_whitespace(table[name])
        fits = compute.match_substring_regex(texts, NUMBER)
        good &= np.asarray(fits.fill_null(True))
        values = compute.if_else(fits, texts, None).cast(arrow.float64())
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return (table, rows) if good.all() else (table.filter(arrow.array(good)), rows[good])


def _labels(column: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    if column.null_count:
        raise ValueError(f"row {rows[np.argmax(np.asarray(column.is_null()))]} has no label")
    return np.array(column.to_pylist())


def _libsvm_batches(file: Location, format: str, selection: Selection) -> Iterator[Batch]:
    """Read lines of a label and index:value pairs as CSR matrices."""
    if selection.target is not None:
        raise DataFileError(f"{file.path} is a libsvm file, in which labels come first: leave target out.")
    zero_based, begin = format == "libsvm-zero-based", 0
    with gzip.open(file.path) if file.path.suffix == ".gz" else open(file.path, "rb") as stream:
        lines = (line for line in stream if line.partition(b"#")[0].strip())
        while block := list(islice(lines, LIBSVM_LINES)):
            X, y, good = _parse_libsvm(block, begin, selection, zero_based)
            rows, begin = np.arange(begin, begin + len(block))[good], begin + len(block)
            yield Batch(X, y, rows, begin)


def _parse_libsvm(
    lines: list[bytes], begin: int, selection: Selection, zero_based: bool
) -> tuple[Any, NDArray[Any], NDArray[np.bool_]]:
    """Return rows, labels, and which lines are good; look for the bad ones only if there are any."""

    def parse(lines: list[bytes]) -> Any:
        return load_svmlight_file(io.BytesIO(b"".join(lines)), n_features=selection.n_features, zero_based=zero_based)

    good = np.ones(len(lines), dtype=bool)
    try:
        return *parse(lines), good
    except ValueError:
        for number, line in enumerate(lines):
            try:
                parse([line])
            except ValueError as error:
                if not selection.skip_bad:
                    hint = " Pass format='libsvm-zero-based' if indices begin at 0." if "index 0" in str(error) else ""
                    raise ValueError(f"row {begin + number}: {str(error).rstrip('.')}.{hint}") from error
                good[number] = False
    X, y = parse([line for line, is_good in zip(lines, good, strict=True) if is_good])
    return X, y, good


def _array_batches(file: Location, format: str, selection: Selection) -> Iterator[Batch]:
    """Read a two-dimensional array from a memory map."""
    whole = np.load(file.path, mmap_mode="r")
    if whole.ndim != 2:
        raise DataFileError(f"{file.path} has an array of {whole.ndim} dimensions. Save one of two: rows and columns.")
    most = max(1, min(BATCH_ROWS, BATCH_VALUES // max(whole.shape[1], 1)))
    for begin in range(0, whole.shape[0], most):
        values = whole[begin : begin + most]
        X = values if selection.target is None else np.delete(values, int(selection.target), axis=1)
        y = None if selection.target is None else np.array(values[:, int(selection.target)])
        yield Batch(X, y, np.arange(begin, begin + len(values)), begin + len(values))

"""The files that a path stands for, and the reader of their format.

Standard input is copied to a temporary file, because learning makes several passes.
"""

import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from saccade.data import FORMATS
from saccade.data.batches import DataFile, Wanted
from saccade.data.columns import ArrowFile, NumpyFile, ParquetFile
from saccade.data.csv import CsvFile
from saccade.data.libsvm import open_libsvm
from saccade.data.several import DataSet, ParquetSet, open_alike
from saccade.exceptions import DataFileError

__all__ = ["DataPath", "data_files", "files_of", "open_data", "opened_again"]

DataPath = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_BY_SUFFIX = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
}
_TEXTS = ("csv", "libsvm")
_SAY_SO = f"Say so with format=, or --format: one of {', '.join(FORMATS)}."


@contextmanager
def open_data(path: DataPath, wanted: Wanted, kind: str | None = None) -> Iterator[DataFile]:
    """Open a data file, or several as one: a list, a pattern such as 'part-*.csv', a folder; '-' is standard input."""
    if kind is not None and kind not in FORMATS:
        raise DataFileError(f"{kind!r} is no format that can be read. {_SAY_SO}")
    if path != "-":
        yield _opened(path, data_files(path, kind), wanted, kind)
        return
    with tempfile.TemporaryDirectory(prefix="saccade-") as folder:
        kept = os.path.join(folder, "standard input")
        with open(kept, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield _opened(kept, [kept], wanted, kind or "csv")
        except DataFileError as error:
            raise DataFileError(str(error).replace(kept, "standard input")) from error


def files_of(data: DataFile, path: DataPath, kind: str | None) -> list[str]:
    """Return the files that opened data is read from; for standard input that is its copy."""
    return [data.path] if path == "-" else data_files(path, kind)


def opened_again(data: DataFile, path: DataPath, wanted: Wanted, kind: str | None) -> DataFile:
    """Open the files of opened data once more, to read something else of them."""
    if path == "-":
        return _opened(data.path, [data.path], wanted, kind or "csv")
    return _opened(path, data_files(path, kind), wanted, kind)


def data_files(path: DataPath, kind: str | None = None) -> list[str]:
    """Return the files that a path stands for, sorted by name where it is a folder or a pattern."""
    if not isinstance(path, str | os.PathLike):
        files = [file for entry in path for file in data_files(entry, kind)]
        if not files:
            raise DataFileError("No data file is given.")
        return files
    name = os.fspath(path)
    if os.path.isdir(name):
        return _files_in(name, kind)
    if os.path.isfile(name):
        return [name]
    if any(letter in name for letter in "*?["):
        files = sorted(file for file in glob.glob(name, recursive=True) if os.path.isfile(file))
        if files:
            return files
        raise DataFileError(f"{name} matches no file.")
    raise DataFileError(f"{name} is no file.")


def _files_in(folder: str, kind: str | None) -> list[str]:
    """Return the data files in a folder, without hidden files and markers of other tools such as _SUCCESS."""
    listed = sorted(entry.path for entry in os.scandir(folder) if entry.is_file() and entry.name[0] not in "._")
    files = [file for file in listed if (_kind_of(file) if kind is None else _kind_of(file) == kind)]
    if not files and kind is not None:  # part-0, part-1 …
        files = [file for file in listed if not Path(file).suffix]
    if not files:
        raise DataFileError(f"{folder} has no data files{'' if kind is None else f' of the format {kind}'}.")
    return files


def _kind_of(path: str) -> str | None:
    """Return the format that the name of a file implies; the text formats may be compressed."""
    suffix = Path(path).suffix.lower()
    if suffix == ".gz":
        kind = _BY_SUFFIX.get(Path(path).with_suffix("").suffix.lower())
        return kind if kind in _TEXTS else None
    return _BY_SUFFIX.get(suffix)


def _opened(path: DataPath, files: list[str], wanted: Wanted, kind: str | None) -> DataFile:
    kinds = {file: kind or _kind_of(file) for file in files}
    for file, its_kind in kinds.items():
        if its_kind is None:
            raise DataFileError(f"{file}: what kind of file is this? {_SAY_SO}")
        if its_kind != kinds[files[0]]:
            raise DataFileError(f"{files[0]} is {kinds[files[0]]}, but {file} is {its_kind}. Give files of one kind.")
    data = _joined(_name(path, files), files, wanted, kinds[files[0]])
    if data.n_features == 0:
        raise DataFileError(f"{data.path} has no features.")
    return data


def _name(path: DataPath, files: list[str]) -> str:
    """Return the name of the data in messages."""
    return os.fspath(path) if isinstance(path, str | os.PathLike) else f"{files[0]} and {len(files) - 1} more"


def _joined(name: str, paths: list[str], wanted: Wanted, kind: str | None) -> DataFile:
    files: Sequence[DataFile]
    match kind:
        case "csv":
            files = open_alike(CsvFile, paths, wanted)
        case "libsvm":
            files = open_libsvm(paths, wanted)
        case "arrow":
            files = open_alike(ArrowFile, paths, wanted)
        case "npy":
            files = open_alike(NumpyFile, paths, wanted)
        case _:
            parquet = open_alike(ParquetFile, paths, wanted)
            return parquet[0] if len(parquet) == 1 else ParquetSet(name, parquet)
    return files[0] if len(files) == 1 else DataSet(name, files)

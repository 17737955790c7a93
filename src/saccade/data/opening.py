"""Which reader suits which file; standard input is kept in a file of its own, because learning passes over it again."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from saccade.data import FORMATS
from saccade.data.batches import Source, Wanted
from saccade.data.columns import ArrowSource, NumpySource, ParquetSource
from saccade.data.csv import CsvSource
from saccade.data.libsvm import LibsvmSource
from saccade.exceptions import DataFileError

__all__ = ["open_data"]

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


@contextmanager
def open_data(path: str, wanted: Wanted, kind: str | None = None) -> Iterator[Source]:
    """Open a data file, or standard input for '-'."""
    if path != "-":
        yield _with_features(_opened(path, wanted, kind))
        return
    with tempfile.TemporaryDirectory(prefix="saccade-") as folder:
        kept = os.path.join(folder, "standard input")
        with open(kept, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield _with_features(_opened(kept, wanted, kind or "csv"))
        except DataFileError as error:
            raise DataFileError(str(error).replace(kept, "standard input")) from error


def _with_features(source: Source) -> Source:
    if source.n_features == 0:
        raise DataFileError(f"{source.path} has no features.")
    return source


def _opened(path: str, wanted: Wanted, kind: str | None) -> Source:
    kind = kind or _BY_SUFFIX.get(Path(path).suffix.lower())
    if not os.path.isfile(path):
        raise DataFileError(f"{path} is no file.")
    match kind:
        case "csv":
            return CsvSource(path, wanted)
        case "libsvm":
            return LibsvmSource(path, wanted)
        case "parquet":
            return ParquetSource(path, wanted)
        case "arrow":
            return ArrowSource(path, wanted)
        case "npy":
            return NumpySource(path, wanted)
    raise DataFileError(f"{path}: what kind of file is this? Say so with --format, one of {', '.join(FORMATS)}.")

"""Which reader suits which file; standard input is kept in a file of its own, because learning passes over it again."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from saccade.exceptions import DataFileError
from saccade.streams import FORMATS
from saccade.streams.batches import Source
from saccade.streams.columns import ArrowSource, NumpySource, ParquetSource
from saccade.streams.text import CsvSource, LibsvmSource

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
def open_data(
    path: str, target: str | None, kind: str | None = None, n_features: int | None = None
) -> Iterator[Source]:
    """Open a data file, or standard input for '-'."""
    if path != "-":
        yield _opened(path, target, kind, n_features)
        return
    with tempfile.TemporaryDirectory(prefix="saccade-") as folder:
        kept = os.path.join(folder, "standard input")
        with open(kept, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield _opened(kept, target, kind or "csv", n_features)


def _opened(path: str, target: str | None, kind: str | None, n_features: int | None) -> Source:
    kind = kind or _BY_SUFFIX.get(Path(path).suffix.lower())
    if not os.path.isfile(path):
        raise DataFileError(f"{path} is no file.")
    match kind:
        case "csv":
            return CsvSource(path, target)
        case "libsvm":
            return LibsvmSource(path, target, n_features)
        case "parquet":
            return ParquetSource(path, target)
        case "arrow":
            return ArrowSource(path, target)
        case "npy":
            return NumpySource(path, target)
    raise DataFileError(f"{path}: what kind of file is this? Say so with --format, one of {', '.join(FORMATS)}.")

"""Pyarrow, which is imported when a file needs it, and its errors with the name of the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from saccade.exceptions import DataFileError

__all__ = ["each", "named", "pyarrow"]


def pyarrow() -> Any:
    """Return the module, or say how to install it."""
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet
    except ModuleNotFoundError as missing:
        raise DataFileError(
            f"CSV, Parquet and Arrow files need {missing.name}. Install it with: pip install 'saccade[files]'"
        ) from missing
    return pyarrow


@contextmanager
def named(path: str) -> Iterator[None]:
    """Name the file in errors of reading it."""
    try:
        yield
    except (pyarrow().ArrowException, OSError) as error:
        raise DataFileError(f"{path} cannot be read, or is no such file: {error}") from error


def each(path: str, records: Iterator[Any]) -> Iterator[Any]:
    """Yield record after record; an error in reading a record names the file."""
    while True:
        with named(path):
            record = next(records, None)
        if record is None:
            return
        yield record

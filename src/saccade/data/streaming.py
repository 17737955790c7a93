"""CSV rows that come in on a stream which may never end: so many at a time, each time as a small data file."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import BinaryIO

from saccade.data.batches import Wanted
from saccade.data.csv import CsvFile
from saccade.exceptions import DataFileError

__all__ = ["naming_batches", "streamed"]

# A record of more lines than these is taken for a quote that was never closed.
MOST_LINES = 10_000


def streamed(stream: BinaryIO, wanted: Wanted, rows: int) -> Iterator[CsvFile]:
    """Yield a file for every so many rows of a stream, and for those that are left when it ends.

    Where the first line has names, every file begins with it. A file is gone when the next one is asked for.
    """
    head = b""
    with tempfile.TemporaryDirectory(prefix="saccade-") as folder:
        for number in count(1):
            # The first batch has a line more where that has names.
            lines = _records(stream, rows + (number == 1))
            if not lines:
                return
            path = os.path.join(folder, f"standard input, batch {number}")
            with open(path, "wb") as file:
                file.write(b"".join([head, *lines]))
            try:
                with naming_batches(path):
                    data = CsvFile(path, wanted)
                if number == 1:
                    head = lines[0] if data.names is not None else b""
                    wanted = replace(wanted, header=data.names is not None)
                yield data
            finally:
                os.unlink(path)


@contextmanager
def naming_batches(path: str) -> Iterator[None]:
    """Let errors about a batch name it, and not the folder that it lies in for a moment."""
    try:
        yield
    except DataFileError as error:
        raise DataFileError(str(error).replace(os.path.dirname(path) + os.sep, "")) from error


def _records(stream: BinaryIO, most: int) -> list[bytes]:
    """Return whole records, which end with a line in which no quote is open; blank lines are passed over."""
    records: list[bytes] = []
    while len(records) < most and (record := stream.readline()):
        lines = 1
        while record.count(b'"') % 2 and lines < MOST_LINES and (line := stream.readline()):
            record, lines = record + line, lines + 1
        if record.strip():
            records.append(record if record.endswith(b"\n") else record + b"\n")
    return records

"""Text files, compressed by gzip or not, in blocks of whole lines or records."""

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import numpy as np

from saccade.exceptions import DataFileError
from saccade.kernels.parsing import last_record

__all__ = ["blocks", "line_at", "opened", "text_length"]

BLOCK = 8_000_000
# A quoted field longer than this is taken for a quote that was never closed: else the rest of the file would be read
# into memory.
LONGEST_QUOTED = 64_000_000
MAGIC = b"\x1f\x8b"


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open a text file for reading bytes, decompressed if it is a gzip file."""
    try:
        with gzip.open(path, "rb") if _is_compressed(path) else open(path, "rb") as file:
            yield cast(BinaryIO, file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFileError(f"{path} is damaged: {error}.") from error


def _is_compressed(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def text_length(path: str) -> int:
    """Return the bytes of text in a file; a compressed file is read to its end for that."""
    if not _is_compressed(path):
        return os.path.getsize(path)
    with opened(path) as file:
        return sum(len(piece) for piece in iter(lambda: file.read(BLOCK), b""))


def blocks(path: str, start: int, separator: str | None = None) -> Iterator[tuple[bytes | memoryview, int, int]]:
    """Yield whole lines, or whole records of a CSV file with this separator, and where each block begins and ends.

    Places are bytes of the text. Blocks end at the last record before a multiple of BLOCK, so they are the same
    wherever reading began.
    """
    with opened(path) as file:
        file.seek(start)
        rest, place = b"", start
        while piece := file.read(BLOCK - file.tell() % BLOCK):
            text = rest + piece if rest else piece
            last = not file.peek(1)  # type: ignore[attr-defined] # both kinds of file are buffered
            cut, quote = _whole(text, separator)
            if quote >= 0 and (last or len(text) - quote > LONGEST_QUOTED):
                line = line_at(path, place + quote)
                raise DataFileError(f"{path}, line {line}: a quote opens a field that does not end. Close it.")
            if last:
                yield text if text.endswith(b"\n") else text + b"\n", place, place + len(text)
                return
            if cut > 0:
                yield memoryview(text)[:cut], place, place + cut  # a view: a copy costs as much as reading
            rest, place = text[cut:], place + cut


def _whole(text: bytes, separator: str | None) -> tuple[int, int]:
    """Return where the last whole record ends, and where a quote is open at the end, or -1."""
    if separator is None or b'"' not in text:
        return text.rfind(b"\n") + 1, -1
    cut, quote = last_record(np.frombuffer(text, dtype=np.uint8), ord(separator))
    return int(cut), int(quote)


def line_at(path: str, place: int) -> int:
    """Return the number of the line, from 1, that a place in the text belongs to."""
    lines, left = 1, place
    with opened(path) as file:
        while left > 0 and (piece := file.read(min(BLOCK, left))):
            lines += piece.count(b"\n")
            left -= len(piece)
    return lines

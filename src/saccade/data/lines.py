"""Text files in blocks of whole lines, and the numbers of lines that are wrong."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import BadRows
from saccade.kernels.parsing import EXTREME

__all__ = ["Bytes", "blocks", "report"]

BLOCK = 8_000_000
Bytes = NDArray[np.uint8]


def blocks(path: str, start: int) -> Iterator[tuple[Bytes, int, int]]:
    """Yield whole lines as bytes, and where each block begins and ends in the file.

    Blocks end at the last line before a multiple of BLOCK, so they are the same wherever reading began.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        file.seek(start)
        rest, place = b"", start
        while piece := file.read(BLOCK - file.tell() % BLOCK):
            last = file.tell() >= size
            cut = len(piece) if last else piece.rfind(b"\n") + 1
            if cut == 0:
                rest += piece
                continue
            block, rest = rest + piece[:cut], piece[cut:]
            begin, place = place, place + len(block)
            yield np.frombuffer(block if block.endswith(b"\n") else block + b"\n", dtype=np.uint8), begin, place


def report(path: str, begin: int, found: NDArray[np.int8], bad: BadRows, what: Callable[..., str], *of: Any) -> None:
    """Count the bad lines of a block, or raise what is wrong with the first."""
    rows = np.flatnonzero(found > EXTREME)

    def first() -> tuple[str, str]:
        row = int(rows[0])
        return f"line {_newlines(path, begin) + 1 + row}", what(row, int(found[row]), *of)

    bad.found(rows.size, first)


def _newlines(path: str, end: int) -> int:
    """Return how many lines end before a place in the file."""
    lines, left = 0, end
    with open(path, "rb") as file:
        while left > 0 and (piece := file.read(min(BLOCK, left))):
            lines += piece.count(b"\n")
            left -= len(piece)
    return lines

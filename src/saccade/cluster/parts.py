"""How the row groups of many files are cut into parts, which are files of labels, and parts put together to tasks."""

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from saccade.cluster.sources import SourceFile
from saccade.data.footers import Footer

__all__ = ["Part", "parts_of", "tasks_of"]

# What a part has at the most, unless a single row group has more: it is what is lost with a worker. Bytes are those of
# all columns, without compression.
MOST_ROWS, MOST_BYTES = 2**20, 2**30
# A task costs the scheduler about a millisecond, and a part takes some for its file: tiny ones go together.
MOST_PARTS = 32


class Part(NamedTuple):
    """Consecutive row groups of a file, whose labels make one file."""

    path: str
    size: int  # of the file, and when it was changed: it must be the same when it is read
    changed: int
    labels: str  # the file of labels, below the target
    groups: tuple[int, int]  # the first, and the one after the last
    before: int  # row groups of all files before the first
    n_rows: int


def parts_of(files: Sequence[SourceFile], footers: Sequence[Footer]) -> list[Part]:
    """Return the parts of all files in the order of their rows; row groups without rows make none."""
    before = [0, *accumulate(len(footer.rows) for footer in footers)]
    return [
        part
        for file, footer, begin in zip(files, footers, before, strict=False)
        for part in _of_file(file, footer, begin)
    ]


def _of_file(file: SourceFile, footer: Footer, before: int) -> Iterator[Part]:
    for first, stop in _runs(list(zip(footer.rows, footer.sizes, strict=True)), (MOST_ROWS, MOST_BYTES)):
        labels, n_rows = os.path.join(file.name, f"{first:06}.parquet"), sum(footer.rows[first:stop])
        if n_rows:
            yield Part(file.path, footer.size, footer.changed, labels, (first, stop), before + first, n_rows)


def tasks_of(parts: Sequence[Part]) -> list[list[Part]]:
    """Return consecutive parts as tasks."""
    sizes = [(part.n_rows, 1) for part in parts]
    return [list(parts[first:stop]) for first, stop in _runs(sizes, (MOST_ROWS, MOST_PARTS))]


def _runs(sizes: Sequence[tuple[int, int]], most: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield runs whose two sizes together stay within limits, unless one entry alone exceeds them."""
    first, total = 0, (0, 0)
    for place, size in enumerate(sizes):
        grown = (total[0] + size[0], total[1] + size[1])
        if place > first and (grown[0] > most[0] or grown[1] > most[1]):
            yield first, place
            first, grown = place, size
        total = grown
    if first < len(sizes):
        yield first, len(sizes)

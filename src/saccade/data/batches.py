"""What every kind of data file is asked for and gives: batches of rows, and what was wrong with others."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import DataFileError
from saccade.reading.sources import Source, column_source

__all__ = [
    "BATCH_BYTES",
    "BadRows",
    "Batch",
    "DataFile",
    "Piece",
    "Wanted",
    "check_width",
    "chosen_columns",
    "whole_rows",
]

# A batch holds about so many bytes of numbers.
BATCH_BYTES = 16_000_000


@dataclass(frozen=True)
class Wanted:
    """What is wanted of a data file. Names are those of the features, in the order in which they are wanted."""

    target: str | None = None
    names: Sequence[str] | None = None  # None: every column but the target, as they come
    n_features: int | None = None
    header: bool | None = None  # of a CSV file: whether its first line has names; None: found out
    zero_based: bool | None = None  # of a libsvm file: whether its indices begin at 0; None: found out


@dataclass(frozen=True)
class Batch:
    """Some rows of a file."""

    X: Any  # (rows, n_features): an array, or a CSR matrix
    y: NDArray[Any] | None  # labels as they are written: texts, or numbers
    end: int  # where the next batch begins
    good: NDArray[np.bool_]  # which rows of the file these are, of those that the batch has read


@dataclass(frozen=True)
class Piece:
    """Some rows of a file as a source of the features: a value is read when it is asked for, or with its row."""

    source: Source
    good: NDArray[np.bool_]  # which rows of the file the source has, of those that the piece is about
    end: int  # where the next piece begins
    bytes_read: Callable[[], int]  # so far


class DataFile(Protocol):
    """A data file, or several that are read as one. ``names`` are those of the features, the target left out."""

    path: str
    names: list[str] | None
    n_features: int
    zero_based: bool | None  # of libsvm: whether indices begin at 0
    size: int  # in bytes

    @property
    def length(self) -> int:
        """Where the last batch ends: in bytes of text, or in rows."""

    def batches(self, start: int, bad: "BadRows") -> Iterator[Batch]:
        """Read from a place that an earlier batch ended at, or from 0."""

    def pieces(self, bad: "BadRows") -> Iterator[Piece]:
        """Read all rows as sources."""


def whole_rows(file: DataFile, bad: "BadRows") -> Iterator[Piece]:
    """Yield the pieces of a file that is read row by row: a batch each, with its share of the bytes."""
    place = 0
    for batch in file.batches(0, bad):
        size = file.size * batch.end // file.length - file.size * place // file.length
        yield Piece(column_source(batch.X), batch.good, batch.end, partial(int, size))
        place = batch.end


class BadRows:
    """What happens to rows that cannot be read: an error that names file and line, or a count."""

    def __init__(self, path: str, *, skip: bool) -> None:
        self.path, self.count = path, 0
        self._skip = skip

    def found(self, count: int, first: Callable[[], tuple[str, str]]) -> None:
        """Count so many rows, or raise where the first of them is and what is wrong with it."""
        if count and not self._skip:
            where, what = first()
            raise DataFileError(
                f"{self.path}, {where}: {what}. Mend it, or pass over such rows: skip_bad=True, or --skip-bad."
            )
        self.count += count


def chosen_columns(path: str, columns: list[str], wanted: Wanted) -> list[str]:
    """Return the columns that are read as features, in their order."""
    counted = Counter(columns)
    for name, times in counted.most_common(1):
        if times > 1:
            raise DataFileError(f"{path} has several columns {name!r}. Give each a name of its own.")
    for name in [*([] if wanted.target is None else [wanted.target]), *(wanted.names or [])]:
        if name not in counted:
            near = get_close_matches(name, columns, n=3)
            hint = f"Did you mean {', '.join(near)}?" if near else f"It has {', '.join(columns[:8])}."
            raise DataFileError(f"{path} has no column {name!r}. {hint}")
    if wanted.names is not None:
        if wanted.target in wanted.names:
            raise DataFileError(f"{path}: {wanted.target!r} is one of the features, and cannot be the target as well.")
        return list(wanted.names)
    found = [name for name in columns if name != wanted.target]
    check_width(path, len(found), wanted)
    return found


def check_width(path: str, found: int, wanted: Wanted) -> None:
    if wanted.n_features not in (None, found):
        raise DataFileError(
            f"{path} has {found} features, but the model knows {wanted.n_features}. A column that is none can be "
            "named as the target."
        )

"""The interface of data files: what to read, batches of rows, sources, and the report of bad rows."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.data.seen import Seen
from saccade.exceptions import DataFileError
from saccade.reading.sources import Source, column_source

__all__ = [
    "BATCH_BYTES",
    "BadRows",
    "Batch",
    "Coder",
    "DataFile",
    "Piece",
    "Wanted",
    "check_width",
    "chosen_columns",
    "whole_rows",
]

# The approximate size of a batch.
BATCH_BYTES = 16_000_000


class Coder(Protocol):
    """What makes numbers of a column that may hold texts, such as categories."""

    def __call__(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return a number for each value, NaN for one that is missing."""

    def are_known(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which numbers stand for something that the model knows."""


@dataclass(frozen=True)
class Wanted:
    """What to read of a data file; ``names`` are those of the features, in the order of the columns of ``X``.

    A feature that is not ``needed`` may be missing, in a row or in the file, or be no number: it is NaN then. A needed
    one that is among ``missing_ok`` may be so in a row: there a missing or infinite value is a value.
    """

    target: str | None = None
    names: Sequence[str] | None = None  # None: every column but the target, as they come
    n_features: int | None = None
    header: bool | None = None  # of a CSV file: whether its first line has names; None: detected
    zero_based: bool | None = None  # of a libsvm file: whether its indices begin at 0; None: detected
    needed: Collection[int] | None = None  # the features that a row must have, by their places; None: all
    others: bool = True  # whether features that are not needed are read where they can be
    missing_ok: Set[int] = frozenset()  # by their places
    # What makes numbers of columns that may hold texts, by their places.
    coders: Mapping[int, Coder] = field(default_factory=dict)

    def needed_of(self, n_features: int) -> list[int]:
        """Return the places of the features that a row must have."""
        return list(range(n_features)) if self.needed is None else sorted(self.needed)

    def never_missing(self, n_features: int) -> list[int]:
        """Return the places of those that must have a finite value in every row."""
        return [place for place in self.needed_of(n_features) if place not in self.missing_ok]


@dataclass(frozen=True)
class Batch:
    r"""Some rows of a file, as ``saccade.rows`` gives them.

    Examples
    --------
    >>> import os, tempfile
    >>> import saccade
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "trees.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("width,kind\n1.0,elm\nwide,oak\n2.0,oak\n")
    ...     (batch,) = saccade.rows(path, target="kind", skip_bad=True)
    >>> batch.X.tolist(), batch.y.tolist(), batch.good.tolist()
    ([[1.0], [2.0]], ['elm', 'oak'], [True, False, True])
    """

    X: Any  #: (rows, n_features): an array, or a CSR matrix
    y: NDArray[Any] | None  #: labels as written: texts, or numbers
    end: int  #: where the next batch begins
    good: NDArray[np.bool_]  #: of the rows of the file that were read for the batch, which it has

    def only(self, rows: NDArray[np.bool_]) -> "Batch":
        """Return the batch with some of its rows."""
        good = self.good.copy()
        good[self.good] = rows
        return Batch(self.X[rows], None if self.y is None else self.y[rows], self.end, good)


@dataclass(frozen=True)
class Piece:
    """Some rows of a file as a source: a value is read lazily, or with its row."""

    source: Source
    good: NDArray[np.bool_]  # of the rows of the file in this piece, which the source has
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

    def seen(self) -> Mapping[int, Seen]:
        """Return what features hold, by their places, as types or first rows tell; nothing where all are numbers."""

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
    """What happens to rows that cannot be read: an error that names file and line, or a count.

    ``row`` is the number of rows of the current file that were read before.
    """

    def __init__(self, path: str, *, skip: bool, hints: Mapping[str, str] | None = None) -> None:
        """Take what to do about faults that are so worded, besides mending them and passing over such rows."""
        self.path, self.row, self.count = path, 0, 0
        self._skip, self._hints = skip, hints or {}

    def begin_file(self, path: str) -> None:
        """Name another file in messages, and number rows from its first."""
        self.path, self.row = path, 0

    @property
    def passed_over(self) -> str:
        """How many were counted, in words."""
        return f"{self.count:,} bad {'row was' if self.count == 1 else 'rows were'} passed over"

    def count_or_raise(self, count: int, first: Callable[[], tuple[str, str]], of: int = 0) -> None:
        """Count bad rows, or raise an error about the first: ``first`` gives its place and what is wrong.

        They are so many ``of`` those that were read together. Where that is all of them there is no use in passing over
        such rows.
        """
        if count and not self._skip:
            where, what = first()
            hint = next((f" {hint}".rstrip() for words, hint in self._hints.items() if words in what), "")
            if count == of > 1:
                remedy = f"All {of:,} rows that were read with it are bad, too: is this the right column, or file?"
            else:
                remedy = "Mend it, or pass over such rows: skip_bad=True, or --skip-bad."
            raise DataFileError(f"{self.path}, {where}: {what}. {remedy}{hint}")
        self.count += count


def chosen_columns(path: str, columns: list[str], wanted: Wanted) -> list[str]:
    """Return the columns that are read as features, in their order."""
    counted = Counter(columns)
    for name, times in counted.most_common(1):
        if times > 1:
            raise DataFileError(f"{path} has several columns {name!r}. Give each a name of its own.")
    names = wanted.names or []
    needed = names if wanted.needed is None else [names[place] for place in wanted.needed if names]
    for name in [*([] if wanted.target is None else [wanted.target]), *needed]:
        if name not in counted:
            near = get_close_matches(name, columns, n=3)
            hint = f"Did you mean {', '.join(near)}?" if near else f"It has {', '.join(columns[:8])}."
            raise DataFileError(f"{path} has no column {name!r}. {hint}")
    if wanted.names is not None:
        if wanted.target in wanted.names:
            raise DataFileError(f"{path}: {wanted.target!r} is one of the features, and cannot be the target as well.")
        return list(wanted.names)
    features = [name for name in columns if name != wanted.target]
    check_width(path, len(features), wanted)
    return features


def check_width(path: str, n_features: int, wanted: Wanted) -> None:
    if wanted.n_features not in (None, n_features):
        raise DataFileError(
            f"{path} has {n_features} features, but the model knows {wanted.n_features}. A column that is none can be "
            "named as the target."
        )

"""What every kind of data file is asked for and gives: batches of rows, and what was wrong with others."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import DataFileError

__all__ = [
    "BATCH_BYTES",
    "BadRows",
    "Batch",
    "Source",
    "Wanted",
    "check_width",
    "chosen_columns",
    "labels_from_texts",
]

# A batch holds about so many bytes of numbers.
BATCH_BYTES = 16_000_000
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.0*)?")


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


class Source(Protocol):
    """A data file. ``names`` are those of the features, the target left out."""

    path: str
    names: list[str] | None
    n_features: int
    size: int  # in bytes
    length: int  # where the last batch ends: in bytes, or in rows

    def batches(self, start: int, bad: "BadRows") -> Iterator[Batch]:
        """Read from a place that an earlier batch ended at, or from 0."""


class BadRows:
    """What happens to rows that cannot be read: an error that names file and line, or a count."""

    def __init__(self, path: str, *, skip: bool) -> None:
        self.count = 0
        self._path = path
        self._skip = skip

    def found(self, count: int, first: Callable[[], tuple[str, str]]) -> None:
        """Count so many rows, or raise where the first of them is and what is wrong with it."""
        if count and not self._skip:
            where, what = first()
            raise DataFileError(f"{self._path}, {where}: {what}. Mend it, or pass over such rows with --skip-bad.")
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
        return list(wanted.names)
    found = [name for name in columns if name != wanted.target]
    check_width(path, len(found), wanted)
    return found


def check_width(path: str, found: int, wanted: Wanted) -> None:
    if wanted.n_features not in (None, found):
        raise DataFileError(
            f"{path} has {found} features, but the model knows {wanted.n_features}. Name a column that is none with "
            "--target."
        )


def labels_from_texts(texts: list[str]) -> NDArray[Any]:
    """Return labels as integers where all texts are whole numbers, each another, and else as texts.

    >>> labels_from_texts(["2", "3"]), labels_from_texts(["1", "01"])
    (array([2, 3]), array(['1', '01'], dtype='<U2'))
    """
    if all(_WHOLE.fullmatch(text) for text in texts):
        numbers = [int(text.partition(".")[0]) for text in texts]
        if len(set(numbers)) == len(texts) and all(abs(number) < 2**63 for number in numbers):
            return np.array(numbers)
    return np.array(texts)

"""What every kind of data file gives: batches of rows, where to go on after each, and what was wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import DataFileError

__all__ = ["BATCH_BYTES", "Batch", "BadRows", "Source", "labels_from_texts"]

# A batch holds about so many bytes of numbers.
BATCH_BYTES = 16_000_000


@dataclass(frozen=True)
class Batch:
    """Some rows of a file."""

    X: Any  # (rows, n_features): an array, or a CSR matrix
    y: NDArray[Any] | None  # labels as they are written: texts, or numbers
    end: int  # where the next batch begins


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

    def found(self, line: int, what: str) -> None:
        if not self._skip:
            raise DataFileError(f"{self._path}, line {line}: {what}. Mend it, or pass over such rows with --skip-bad.")
        self.count += 1


def labels_from_texts(texts: list[str]) -> NDArray[Any]:
    """Return labels as integers or floats where all texts are such, and else as texts.

    >>> labels_from_texts(["2", "3"]), labels_from_texts(["2", "x"])
    (array([2, 3]), array(['2', 'x'], dtype='<U1'))
    """
    for kind in (int, float):
        try:
            return np.array([kind(text) for text in texts])
        except (ValueError, OverflowError):
            continue
    return np.array(texts)

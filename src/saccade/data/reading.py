"""A model over the rows of a data file: what it reads, and how right it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import BadRows, DataFile
from saccade.data.labels import codes_of
from saccade.data.progress import bar
from saccade.exceptions import DataFileError
from saccade.reading.plan import Reading
from saccade.reading.sources import Source, column_source

__all__ = ["Measured", "RowsRead", "measure", "read_rows"]


class Reader(Protocol):
    """A fitted learner, or a certified model."""

    classes_: NDArray[Any]

    def read_source(self, source: Source, *, full: bool = False) -> Reading:
        """Read the rows of any storage."""


@dataclass(frozen=True)
class RowsRead:
    """What came of some rows of a file."""

    reading: Reading  # of the good rows
    good: NDArray[np.bool_]  # which rows of the file could be read
    bytes_read: int


def read_rows(model: Reader, data: DataFile, bad: BadRows) -> Iterator[RowsRead]:
    """Read a file piece by piece, of each no more than the model's plan demands."""
    place = rows = 0
    with bar(data.length, "Rows") as shown:
        for piece in data.pieces(bad):
            reading = model.read_source(piece.source)
            readable = _readable(reading)
            good = piece.good.copy()
            good[piece.good] = readable
            _report(bad, rows, piece.good, readable)
            yield RowsRead(_of(reading, readable), good, piece.bytes_read())
            shown(piece.end - place, good.size)
            place, rows = piece.end, rows + good.size


def _readable(reading: Reading) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(reading.margin.reshape(len(reading), -1)).all(axis=1))


def _of(reading: Reading, rows: NDArray[np.bool_]) -> Reading:
    return Reading(reading.label[rows], reading.margin[rows], reading.n_read[rows], reading.stopped[rows])


def _report(bad: BadRows, before: int, present: NDArray[np.bool_], readable: NDArray[np.bool_]) -> None:
    """Count the rows whose margin is not finite, or raise where the first is."""

    def first() -> tuple[str, str]:
        row = before + int(np.flatnonzero(present)[np.argmin(readable)])
        return f"row {row + 1}", "a value that is needed is missing or not finite, or the margin overflows"

    bad.found(int(np.sum(~readable)), first)


@dataclass(frozen=True)
class Measured:
    """How right a model is on the rows of a file, and how often stopping changed its label."""

    rows: int
    right: int
    changed: int  # rows that got another label than the full read gives them
    features: int  # read in all

    def __add__(self, other: "Measured") -> "Measured":
        return Measured(
            self.rows + other.rows,
            self.right + other.right,
            self.changed + other.changed,
            self.features + other.features,
        )


def measure(model: Reader, data: DataFile, bad: BadRows) -> Measured:
    """Compare a model with the labels of a file, and with its own full read."""
    total, place, rows = Measured(0, 0, 0, 0), 0, 0
    with bar(data.length, "Rows") as shown:
        for batch in data.batches(0, bad):
            if batch.y is None:
                raise DataFileError(f"{data.path}: name the column with the labels, the target.")
            source = column_source(batch.X)
            reading, full = model.read_source(source), model.read_source(source, full=True)
            readable = _readable(reading) & _readable(full)
            _report(bad, rows, batch.good, readable)
            total += _measured(model.classes_, _of(reading, readable), _of(full, readable), batch.y[readable])
            shown(batch.end - place, len(batch.y))
            place, rows = batch.end, rows + batch.good.size
    return total


def _measured(classes: NDArray[Any], reading: Reading, full: Reading, y: NDArray[Any]) -> Measured:
    right = np.searchsorted(classes, reading.label) == codes_of(y, classes)
    return Measured(len(reading), int(right.sum()), int(np.sum(full.label != reading.label)), int(reading.n_read.sum()))

"""Prediction of the rows of a data file, as a model's ``predict`` does it, and its accuracy."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import BadRows, DataFile, Piece
from saccade.data.held_out import HeldOut, held_out_batches
from saccade.data.labels import known_codes
from saccade.exceptions import DataFileError
from saccade.reading.plan import Reading
from saccade.reading.progress import Progress
from saccade.reading.sources import Source, column_source

__all__ = ["Measured", "RowsRead", "measure", "read_piece", "read_rows"]

_log = logging.getLogger(__name__)


class Predictor(Protocol):
    """A fitted learner, a certified model, or a watch over one."""

    def predict_source(self, source: Source) -> Reading:
        """Read the rows of any storage as ``predict`` does: a learner in full, a certified model by its plan."""


class Reader(Predictor, Protocol):
    """A fitted learner, or a certified model."""

    classes_: NDArray[Any]

    def read_source(self, source: Source, *, full: bool = False) -> Reading:
        """Read the rows of any storage."""


@dataclass(frozen=True)
class RowsRead:
    """The reading of some rows of a file."""

    reading: Reading  # of the good rows
    good: NDArray[np.bool_]  # which rows of the file could be read
    bytes_read: int


def read_rows(model: Predictor, data: DataFile, bad: BadRows) -> Iterator[RowsRead]:
    """Predict a file piece by piece; of each no more is read than a certified model's plan asks for."""
    rows = parts = 0
    with Progress("rows", label="Rows", length=data.length) as progress:
        for piece in data.pieces(bad):
            read = read_piece(model, piece, data.names, bad)
            yield read
            progress.advance(piece.good.size, piece.end)
            rows, parts = rows + piece.good.size, parts + int(read.reading.n_read.sum())
            _log.debug("%d rows of %s, %.2f s", rows, data.path, progress.seconds)
        _log.info("predicted %d rows of %s in %.2f s: %d parts read", rows, data.path, progress.seconds, parts)


def read_piece(model: Predictor, piece: Piece, names: list[str] | None, bad: BadRows) -> RowsRead:
    """Predict some rows of a file, whose features have these names."""
    reading = model.predict_source(piece.source)
    readable = _readable(reading)
    good = piece.good.copy()
    good[piece.good] = readable
    _report(bad, piece.good, readable, partial(_culprit, model, piece.source, names))
    return RowsRead(_select(reading, readable), good, piece.bytes_read())


def _readable(reading: Reading) -> NDArray[np.bool_]:
    finite = np.isfinite(reading.margin)
    return np.asarray(finite if finite.ndim == 1 else finite.all(axis=1))


def _select(reading: Reading, rows: NDArray[np.bool_]) -> Reading:
    """Return some rows of a reading, of whichever kind."""
    if rows.all():
        return reading
    return type(reading)(*(getattr(reading, field.name)[rows] for field in fields(reading)))


def _report(
    bad: BadRows, present: NDArray[np.bool_], readable: NDArray[np.bool_], culprit: Callable[[int], str]
) -> None:
    """Count the rows whose margin is not finite, or raise an error about the first; rows are numbered by file.

    ``culprit`` says which value of a row it is.
    """

    def first() -> tuple[str, str]:
        number = int(np.argmin(readable))
        row = bad.row + int(np.flatnonzero(present)[number])
        why = "a value that is needed is missing or not finite, or the margin overflows"
        return f"row {row + 1}", why + culprit(number)

    bad.count_or_raise(int(np.sum(~readable)), first)
    bad.row += present.size


def _culprit(model: Predictor, source: Source, names: list[str] | None, row: int) -> str:
    """Name the first column that the model can ask for whose value in a row is not finite; nothing where none is."""
    plan, additive = getattr(model, "plan_", None), getattr(model, "additive_", None)
    every = range(source.shape[1])
    if additive is not None and plan is not None:
        asked = additive.columns_of(plan.demanded)
        refused = None if additive.parts_are_columns else getattr(additive.source(source), "refused", None)
        if refused is not None:  # a model over raw columns, to which a missing value may be a value
            what = refused(row, asked)
            return "" if what is None else f" ({what})"
        every = asked.tolist()
    value = np.empty(1)
    for column in every:
        source.fill(column, np.array([row], dtype=np.uint32), 1, value)
        if not np.isfinite(value[0]):
            named = f"column {column}" if names is None else repr(names[column])
            return f" ({named} is {'missing' if np.isnan(value[0]) else value[0]})"
    return ""


@dataclass(frozen=True)
class Measured:
    """Accuracy on the rows of a file, and disagreement with the full read, as counts."""

    rows: int
    right: int
    compared: int  # rows of which the full read is known
    changed: int  # those of them whose label differs from that of the full read
    features: int  # read in all
    written: NDArray[np.int64]  # rows by the class that the file gives them
    predicted: NDArray[np.int64]  # rows by the class that the model gives them

    @property
    def majority(self) -> float:
        """The share of the commonest class: what always giving its label would get right."""
        return int(self.written.max()) / self.rows

    def __add__(self, other: "Measured") -> "Measured":
        return Measured(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


def measure(model: Reader, data: DataFile, bad: BadRows, held_out: HeldOut | None = None) -> Measured:
    """Compare a model with the labels of a file, and with its own full read where the file has what that needs.

    With ``held_out`` only the rows that were held out of learning are read.
    """
    none = np.zeros(len(model.classes_), dtype=np.int64)
    total = Measured(0, 0, 0, 0, 0, none, none)
    with Progress("rows", label="Rows", length=data.length) as progress:
        for batch in held_out_batches(data, bad, held_out):
            if batch.y is None:
                raise DataFileError(f"{data.path}: name the column with the labels, the target.")
            codes = known_codes(data.path, batch.y, model.classes_)
            source = column_source(batch.X)
            reading = model.predict_source(source)
            full = model.read_source(source, full=True) if reading.stopped.any() else reading
            readable = _readable(reading)
            _report(bad, batch.good, readable, partial(_culprit, model, source, data.names))
            total += _measured(model.classes_, _select(reading, readable), _select(full, readable), codes[readable])
            progress.advance(len(batch.y), batch.end)
        _log.info("measured on %d rows of %s in %.2f s", total.rows, data.path, progress.seconds)
    return total


def _measured(classes: NDArray[Any], reading: Reading, full: Reading, codes: NDArray[np.intp]) -> Measured:
    predicted, compared = np.searchsorted(classes, reading.label), _readable(full)
    return Measured(
        rows=len(reading),
        right=int(np.sum(predicted == codes)),
        compared=int(compared.sum()),
        changed=int(np.sum(compared & (full.label != reading.label))),
        features=int(reading.n_read.sum()),
        written=np.bincount(codes, minlength=len(classes)),
        predicted=np.bincount(predicted, minlength=len(classes)),
    )

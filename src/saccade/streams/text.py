"""CSV and libsvm files, in blocks of whole lines."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.exceptions import DataFileError
from saccade.kernels.parsing import (
    BAD_INDEX,
    COLON,
    FINE,
    MISSING,
    NEWLINE,
    NOT_A_NUMBER,
    WRONG_LENGTH,
    count,
    parse_csv,
    parse_libsvm,
)
from saccade.streams.batches import BadRows, Batch

__all__ = ["CsvSource", "LibsvmSource"]

BLOCK = 8_000_000


def _blocks(path: str, start: int) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """Yield whole lines as bytes, and where each block ends in the file.

    Blocks end at the last line before a multiple of BLOCK, so they are the same wherever reading began.
    """
    with open(path, "rb") as file:
        file.seek(start)
        rest, place = b"", start
        while piece := file.read(BLOCK - file.tell() % BLOCK):
            cut = piece.rfind(b"\n") + 1
            if cut == 0:
                rest += piece
                continue
            block = rest + piece[:cut]
            place += len(block)
            yield np.frombuffer(block, dtype=np.uint8), place
            rest = piece[cut:]
        if rest:
            yield np.frombuffer(rest + b"\n", dtype=np.uint8), place + len(rest)


class CsvSource:
    """Comma-, semicolon- or tab-separated values, with or without a header; every field but the target is a number."""

    def __init__(self, path: str, target: str | None) -> None:
        self.path, self.size = path, os.path.getsize(path)
        self.length = self.size
        with open(path, "rb") as file:
            first = file.readline()
        if not first.strip():
            raise DataFileError(f"{path} is empty.")
        self._separator = max(b",;\t", key=lambda code: first.count(bytes([code])))
        fields = [field.strip().strip('"') for field in first.decode("utf-8-sig").split(chr(self._separator))]
        headed = any(not _is_number(field) for field in fields)
        self._start = len(first) if headed else 0
        self._target = _position(path, target, fields if headed else None, len(fields))
        self._fields = fields if headed else [f"field {j}" for j in range(len(fields))]
        self.names: list[str] | None = [name for j, name in enumerate(fields) if j != self._target] if headed else None
        self.n_features = len(fields) - (self._target >= 0)

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        line = None if start else (1 if self._start == 0 else 2)
        for buffer, end in _blocks(self.path, max(start, self._start)):
            lines = int(count(buffer, NEWLINE))
            values = np.empty((lines, self.n_features))
            bounds, wrong = np.zeros((lines, 2), np.int64), np.empty(lines, np.int8)
            column = np.empty(lines, np.int64)
            parse_csv(buffer, self._separator, self._target, values, bounds, wrong, column)
            if (wrong > FINE).any():
                line = _line_number(self.path, end, lines) if line is None else line
                self._report(buffer, wrong, column, line, bad)
            line = None if line is None else line + lines
            good = wrong == FINE
            text = buffer.tobytes()
            y = None
            if self._target >= 0:
                y = np.array([text[first:last].decode() for first, last in bounds[good].tolist()], dtype=object)
            yield Batch(values[good], y, end)

    def _report(
        self, buffer: NDArray[np.uint8], wrong: NDArray[np.int8], column: NDArray[np.int64], line: int, bad: BadRows
    ) -> None:
        for row in np.flatnonzero(wrong > FINE).tolist():
            field = int(column[row])
            if wrong[row] == WRONG_LENGTH:
                what = f"it has {field} fields, not {len(self._fields)}"
            elif wrong[row] == MISSING:
                what = f"{'the target' if field == self._target else repr(self._fields[field])} is missing"
            else:
                shown = buffer.tobytes().split(b"\n")[row].decode(errors="replace").split(chr(self._separator))[field]
                what = f"{self._fields[field]!r} is {shown.strip()[:40]!r}, not a number"
            bad.found(line + row, what)


class LibsvmSource:
    """Lines of 'label index:value …', indices from 1, or from 0 where a 0 is met."""

    def __init__(self, path: str, target: str | None, n_features: int | None = None) -> None:
        if target is not None:
            raise DataFileError(f"{path} is a libsvm file: its target comes first in every line. Leave --target out.")
        self.path, self.size = path, os.path.getsize(path)
        self.length = self.size
        self.names: list[str] | None = None
        self._base, largest = 1, 0
        for buffer, _ in _blocks(path, 0):
            *_, indices, top = _parse(buffer)
            largest = max(largest, top)
            self._base = 0 if (indices == 0).any() else self._base
        found = largest + 1 - self._base
        if n_features is not None and found > n_features:
            raise DataFileError(f"{path} has features up to {found}, but the model knows {n_features}.")
        self.n_features = found if n_features is None else n_features

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        line = None if start else 1
        for buffer, end in _blocks(self.path, start):
            labels, data, indptr, wrong, indices, _ = _parse(buffer)
            if (wrong > FINE).any():
                line = _line_number(self.path, end, labels.size) if line is None else line
                for row in np.flatnonzero(wrong > FINE).tolist():
                    reasons = {NOT_A_NUMBER: "a label or a value is not a number", BAD_INDEX: "indices must ascend"}
                    bad.found(line + row, reasons[int(wrong[row])])
            line = None if line is None else line + labels.size
            good = wrong == FINE
            X = sp.csr_array((data, indices - self._base, indptr), shape=(labels.size, self.n_features))
            yield Batch(X[good], labels[good], end)


def _parse(buffer: NDArray[np.uint8]) -> tuple[Any, ...]:
    lines, pairs = int(count(buffer, NEWLINE)), int(count(buffer, COLON))
    labels, wrong = np.empty(lines), np.empty(lines, np.int8)
    data, indices, indptr = np.empty(pairs), np.empty(pairs, np.int32), np.zeros(lines + 1, np.int32)
    _, largest = parse_libsvm(buffer, labels, data, indices, indptr, wrong)
    stored = int(indptr[-1])
    return labels, data[:stored], indptr, wrong, indices[:stored], int(largest)


def _line_number(path: str, end: int, lines: int) -> int:
    """Return the number of the first of some lines that end at a place in the file: counted only for an error."""
    before = 0
    with open(path, "rb") as file:
        left = end
        while left > 0:
            piece = file.read(min(BLOCK, left))
            if not piece:
                break
            before += piece.count(b"\n")
            left -= len(piece)
    return before - lines + 1


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _position(path: str, target: str | None, names: list[str] | None, count: int) -> int:
    if target is None:
        return -1
    if names is not None and target in names:
        return names.index(target)
    if names is None and target.isdigit() and int(target) < count:
        return int(target)
    known = f"columns {', '.join(names[:8])}" if names is not None else f"no header, and columns 0 to {count - 1}"
    raise DataFileError(f"{Path(path).name} has no column {target!r}: it has {known}.")

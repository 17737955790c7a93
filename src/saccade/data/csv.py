"""CSV files: lines of fields, some of them numbers that are read, and one the target."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import BadRows, Batch, Wanted, check_width, chosen_columns
from saccade.data.headers import first_lines, has_names, split
from saccade.data.lines import Bytes, blocks, report
from saccade.exceptions import DataFileError
from saccade.kernels.parsing import (
    EMPTY,
    EXTREME,
    FINE,
    IGNORED,
    MISSING,
    NEWLINE,
    NOT_UTF8,
    TARGET,
    TOO_LARGE,
    WRONG_LENGTH,
    count,
    parse_csv,
)

__all__ = ["CsvSource"]


class CsvSource:
    """Comma-, semicolon- or tab-separated values, with or without a header."""

    def __init__(self, path: str, wanted: Wanted) -> None:
        self.path, self.size = path, os.path.getsize(path)
        self.length = self.size
        lines, begins = first_lines(path)
        self._separator = max(b",;\t", key=lambda code: len(split(lines[0], chr(code))))
        first, *others = (self._fields(line) for line in lines)
        headed = has_names(first, others, wanted) if wanted.header is None else wanted.header
        self._start = begins[1] if headed else begins[0]
        self._columns = first if headed else [f"field {j}" for j in range(len(first))]
        self._places = np.full(len(first), IGNORED, dtype=np.int64)
        self.names: list[str] | None = None
        if headed:
            self.names = chosen_columns(path, first, wanted)
            self.n_features = len(self.names)
            where = {name: field for field, name in enumerate(first)}
            self._places[[where[name] for name in self.names]] = np.arange(self.n_features)
            target = None if wanted.target is None else where[wanted.target]
        else:
            target = _number_of_column(path, wanted.target, len(first))
            self.n_features = len(first) - (target is not None)
            check_width(path, self.n_features, wanted)
            self._places[np.arange(len(first)) != target] = np.arange(self.n_features)
        self._labelled = target is not None
        if target is not None:
            self._places[target] = TARGET

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        for buffer, begin, end in blocks(self.path, max(start, self._start)):
            lines = int(count(buffer, NEWLINE))
            # Short lines make no rows, and so need no room; but one more row for the line that is being read.
            most = min(lines, buffer.size // self._places.size) + 1
            values, bounds = np.empty((most, self.n_features)), np.zeros((most, 2), np.int64)
            found, column = np.empty(lines, np.int8), np.empty(lines, np.int64)
            rows = parse_csv(buffer, self._separator, self._places, values, bounds, found, column)
            stored = np.flatnonzero((found == FINE) | (found == EXTREME))
            self._read_again(buffer, found, column, stored, values)
            y = self._labels(buffer, bounds[:rows], found, stored) if self._labelled else None
            report(self.path, begin, found, bad, self._what, buffer, column)
            kept = found[stored] == FINE
            good = found[found != EMPTY] == FINE
            yield Batch(values[:rows][kept], None if y is None else y[kept], end, good)

    def _fields(self, line: str) -> list[str]:
        return split(line, chr(self._separator))

    def _read_again(
        self,
        buffer: Bytes,
        found: NDArray[np.int8],
        column: NDArray[np.int64],
        stored: NDArray[np.intp],
        values: NDArray[np.float64],
    ) -> None:
        """Let Python read the lines with numbers that are very large or very small."""
        extreme = np.flatnonzero(found[stored] == EXTREME)
        lines = buffer.tobytes().split(b"\n") if extreme.size else []
        for row in extreme.tolist():
            fields = self._fields(lines[stored[row]].decode(errors="replace"))
            found[stored[row]] = FINE
            for field, place in enumerate(self._places.tolist()):
                if place >= 0:
                    values[row, place] = float(fields[field])
                    if np.isinf(values[row, place]):
                        found[stored[row]], column[stored[row]] = TOO_LARGE, field

    def _labels(
        self, buffer: Bytes, bounds: NDArray[np.int64], found: NDArray[np.int8], stored: NDArray[np.intp]
    ) -> NDArray[Any]:
        text, labels = buffer.tobytes(), np.empty(stored.size, dtype=object)
        for row, (first, last) in enumerate(bounds.tolist()):
            try:
                label = text[first:last].decode()
                labels[row] = label.replace('""', '"') if text[first - 1 : first] == b'"' else label
            except UnicodeDecodeError:
                found[stored[row]] = NOT_UTF8
        return labels

    def _what(self, row: int, what: int, buffer: Bytes, column: NDArray[np.int64]) -> str:
        """Say what is wrong with a line."""
        field = int(column[row])
        if what == WRONG_LENGTH:
            return f"it has {field} fields, not {len(self._columns)}"
        if what == NOT_UTF8:
            return "the target is no UTF-8 text"
        name = self._columns[field]
        if what == MISSING:
            return "the target is missing" if self._places[field] == TARGET else f"{name!r} is missing"
        shown = self._fields(buffer.tobytes().split(b"\n")[row].decode(errors="replace"))[field][:40]
        hint = "" if self._labelled else "; if it is to be predicted, or not to be read, name it with --target"
        return f"{name!r} is {shown!r}, " + ("too large for a number" if what == TOO_LARGE else f"not a number{hint}")


def _number_of_column(path: str, target: str | None, count: int) -> int | None:
    if target is None:
        return None
    if not (target.isascii() and target.isdigit() and int(target) < count):
        raise DataFileError(
            f"{path} has no header, and columns 0 to {count - 1}: there is no {target!r}. If its first line has names, "
            "say --header."
        )
    return int(target)

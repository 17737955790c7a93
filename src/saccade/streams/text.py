"""CSV and libsvm files, in blocks of whole lines."""

import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.exceptions import DataFileError
from saccade.kernels.parsing import (
    BAD_INDEX,
    COLON,
    EMPTY,
    EXTREME,
    FINE,
    IGNORED,
    MISSING,
    NEWLINE,
    NOT_A_NUMBER,
    NOT_UTF8,
    TARGET,
    TOO_LARGE,
    WRONG_LENGTH,
    count,
    parse_csv,
    parse_libsvm,
)
from saccade.streams.batches import BadRows, Batch, Wanted, check_width, chosen_columns

__all__ = ["CsvSource", "LibsvmSource"]

BLOCK = 8_000_000
BLANKS = " \t\r"
# What stands for a missing value where a number is expected: no header has it for a name.
MISSING_WORDS = {"", "na", "n/a", "nan", "null", "none", "?", "-"}
Bytes = NDArray[np.uint8]


def _blocks(path: str, start: int) -> Iterator[tuple[Bytes, int, int]]:
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


class CsvSource:
    """Comma-, semicolon- or tab-separated values, with or without a header."""

    def __init__(self, path: str, wanted: Wanted) -> None:
        self.path, self.size = path, os.path.getsize(path)
        self.length = self.size
        lines, begins = _first_lines(path)
        self._separator = max(b",;\t", key=lambda code: len(_split(lines[0], chr(code))))
        first, *others = (self._fields(line) for line in lines)
        headed = _has_names(first, others, wanted) if wanted.header is None else wanted.header
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
        for buffer, begin, end in _blocks(self.path, max(start, self._start)):
            lines = int(count(buffer, NEWLINE))
            # Short lines make no rows, and so need no room; but one more row for the line that is being read.
            most = min(lines, buffer.size // self._places.size) + 1
            values, bounds = np.empty((most, self.n_features)), np.zeros((most, 2), np.int64)
            found, column = np.empty(lines, np.int8), np.empty(lines, np.int64)
            rows = parse_csv(buffer, self._separator, self._places, values, bounds, found, column)
            stored = np.flatnonzero((found == FINE) | (found == EXTREME))
            self._read_again(buffer, found, column, stored, values)
            y = self._labels(buffer, bounds[:rows], found, stored) if self._labelled else None
            _report(self.path, begin, found, bad, self._what, buffer, column)
            kept = found[stored] == FINE
            good = found[found != EMPTY] == FINE
            yield Batch(values[:rows][kept], None if y is None else y[kept], end, good)

    def _fields(self, line: str) -> list[str]:
        return _split(line, chr(self._separator))

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


class LibsvmSource:
    """Lines of 'label index:value …', indices from 1, or from 0 where a 0 is met or said to be."""

    def __init__(self, path: str, wanted: Wanted) -> None:
        if wanted.target is not None:
            raise DataFileError(f"{path} is a libsvm file: its target comes first in every line. Leave --target out.")
        self.path, self.size = path, os.path.getsize(path)
        self.length = self.size
        self.names: list[str] | None = None
        smallest, largest = 1, 0
        for buffer, *_ in _blocks(path, 0):
            *_, low, high = _parse(buffer)
            smallest, largest = min(smallest, low), max(largest, high)
        self.zero_based = smallest == 0 if wanted.zero_based is None else wanted.zero_based
        if smallest == 0 and not self.zero_based:
            raise DataFileError(f"{path} has an index 0, but the model was learned from indices that begin at 1.")
        found = largest + 1 if self.zero_based else largest
        if wanted.n_features is not None and found > wanted.n_features:
            raise DataFileError(f"{path} has features up to {found}, but the model knows {wanted.n_features}.")
        self.n_features = found if wanted.n_features is None else wanted.n_features

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        for buffer, begin, end in _blocks(self.path, start):
            labels, data, indptr, found, indices, *_ = _parse(buffer)
            stored = np.flatnonzero((found == FINE) | (found == EXTREME))
            _read_libsvm_again(buffer, labels, data, indptr, found, stored)
            _report(self.path, begin, found, bad, lambda row, what: _LIBSVM_FAULTS[what])
            kept, good = found[stored] == FINE, found[found != EMPTY] == FINE
            X = sp.csr_array((data, indices - (not self.zero_based), indptr), shape=(stored.size, self.n_features))
            yield Batch(X if kept.all() else X[kept], labels[kept], end, good)


_LIBSVM_FAULTS = {
    NOT_A_NUMBER: "a label or a value is not a number",
    TOO_LARGE: "a label or a value is too large for a number",
    BAD_INDEX: "after the label, index:value is expected, the indices whole and ascending",
}


def _parse(buffer: Bytes) -> tuple[Any, ...]:
    lines, pairs = int(count(buffer, NEWLINE)), int(count(buffer, COLON))
    labels, found = np.empty(lines), np.empty(lines, np.int8)
    data, indices, indptr = np.empty(pairs), np.empty(pairs, np.int32), np.zeros(lines + 1, np.int32)
    rows, smallest, largest = parse_libsvm(buffer, labels, data, indices, indptr, found)
    stored = int(indptr[rows])
    return labels[:rows], data[:stored], indptr[: rows + 1], found, indices[:stored], int(smallest), int(largest)


def _read_libsvm_again(
    buffer: Bytes,
    labels: NDArray[np.float64],
    data: NDArray[np.float64],
    indptr: NDArray[np.int32],
    found: NDArray[np.int8],
    stored: NDArray[np.intp],
) -> None:
    """Let Python read the lines with numbers that are very large or very small."""
    extreme = np.flatnonzero(found[stored] == EXTREME)
    lines = buffer.tobytes().split(b"\n") if extreme.size else []
    for row in extreme.tolist():
        label, *pairs = lines[stored[row]].partition(b"#")[0].split()
        labels[row] = float(label)
        values = [float(pair.partition(b":")[2]) for pair in pairs if not pair.startswith(b"qid:")]
        data[indptr[row] : indptr[row + 1]] = values
        found[stored[row]] = FINE if np.isfinite([labels[row], *values]).all() else TOO_LARGE


def _report(path: str, begin: int, found: NDArray[np.int8], bad: BadRows, what: Callable[..., str], *of: Any) -> None:
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


def _first_lines(path: str) -> tuple[list[str], list[int]]:
    """Return the first two lines that are not blank, and where each begins; then, where the file goes on."""
    lines: list[str] = []
    begins: list[int] = []
    with open(path, "rb") as file:
        if file.read(len(BOM_UTF8)) != BOM_UTF8:
            file.seek(0)
        while len(lines) < 2 and (line := file.readline()):
            if line.strip():
                try:
                    lines.append(line.decode().rstrip("\r\n"))
                except UnicodeDecodeError as error:
                    raise DataFileError(f"{path} is no UTF-8 text: {error.reason} near its beginning.") from error
                begins.append(file.tell() - len(line))
        begins.append(file.tell())
    if not lines:
        raise DataFileError(f"{path} is empty.")
    return lines, begins


def _has_names(first: list[str], others: list[list[str]], wanted: Wanted) -> bool:
    """Return whether the first line of a CSV file has the names of its columns, from what it and the next one hold."""
    if wanted.names is not None and set(wanted.names) <= set(first):
        return True
    if wanted.target is not None and not _is_number(wanted.target):
        return True
    texts = [j for j, field in enumerate(first) if _is_word(field)]
    if not texts:
        return first == [str(j) for j in range(len(first))] and len(first) > 2  # as pandas numbers columns
    # Labels in words make texts in the second line, too; names stand above numbers.
    alike = [line for line in others if len(line) == len(first)]
    return any(not _is_word(alike[0][j]) for j in texts) if alike else len(texts) == len(first)


def _is_word(field: str) -> bool:
    return field.lower() not in MISSING_WORDS and not _is_number(field)


def _split(line: str, separator: str) -> list[str]:
    """Return the fields of a line, as the kernel tells them apart, without the blanks and the quotes around them."""
    fields, start = [], 0
    while start <= len(line):
        place = start
        while place < len(line) and line[place] in BLANKS and line[place] != separator:
            place += 1
        opens, quoted = line[place : place + 1] == '"', False
        while place < len(line) and (quoted or line[place] != separator):
            quoted = opens and quoted != (line[place] == '"')
            place += 1
        field = line[start:place].strip(BLANKS)
        if len(field) > 1 and field[0] == field[-1] == '"':
            field = field[1:-1].replace('""', '"')
        fields.append(field)
        start = place + 1
    return fields


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number_of_column(path: str, target: str | None, count: int) -> int | None:
    if target is None:
        return None
    if not (target.isascii() and target.isdigit() and int(target) < count):
        raise DataFileError(
            f"{path} has no header, and columns 0 to {count - 1}: there is no {target!r}. If its first line has names, "
            "say --header."
        )
    return int(target)

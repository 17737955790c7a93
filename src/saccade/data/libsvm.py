"""Libsvm files: lines of a label and index:value pairs."""

import os
from collections.abc import Iterator, Set
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.data.batches import BadRows, Batch, Piece, Wanted, whole_rows
from saccade.data.lines import blocks, line_at, text_length
from saccade.data.seen import Seen
from saccade.exceptions import DataFileError
from saccade.kernels.parsing import (
    BAD_INDEX,
    COLON,
    EMPTY,
    EXTREME,
    FINE,
    NEWLINE,
    NOT_A_NUMBER,
    TOO_LARGE,
    count,
    parse_libsvm,
)

__all__ = ["LibsvmFile", "open_libsvm"]


class LibsvmFile:
    """Lines of 'label index:value …', compressed by gzip or not."""

    names: list[str] | None = None

    def __init__(self, path: str, n_features: int, zero_based: bool, missing_ok: Set[int] = frozenset()) -> None:
        self.path, self.size = path, os.path.getsize(path)
        self.n_features = n_features
        self.zero_based: bool | None = zero_based
        self._may_lack = np.zeros(n_features, dtype=bool)
        self._may_lack[sorted(missing_ok)] = True

    @cached_property
    def length(self) -> int:
        """Where the last batch ends: the bytes of the text."""
        return text_length(self.path)

    def seen(self) -> dict[int, Seen]:
        return {}

    def pieces(self, bad: BadRows) -> Iterator[Piece]:
        return whole_rows(self, bad)

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        """Read from a place that an earlier batch ended at, or from 0."""
        for block, begin, end in blocks(self.path, start):
            labels, data, indptr, kinds, indices, *_ = _parse(block)
            stored = np.flatnonzero((kinds == FINE) | (kinds == EXTREME))
            columns = indices - (not self.zero_based)
            _read_again(block, labels, data, indptr, kinds, stored, self._may_lack[columns])
            self._report(begin, kinds, bad)
            kept, good = kinds[stored] == FINE, kinds[kinds != EMPTY] == FINE
            X = sp.csr_array((data, columns, indptr), shape=(stored.size, self.n_features))
            yield Batch(X if kept.all() else X[kept], labels[kept], end, good)

    def _report(self, begin: int, kinds: NDArray[np.int8], bad: BadRows) -> None:
        """Count the bad lines of a block, or raise what is wrong with the first."""
        lines = np.flatnonzero(kinds > EXTREME)
        bad.count_or_raise(
            lines.size, lambda: (f"line {line_at(self.path, begin) + int(lines[0])}", _FAULTS[int(kinds[lines[0]])])
        )


def open_libsvm(paths: list[str], wanted: Wanted) -> list[LibsvmFile]:
    """Open files with the same number of features; indices begin at 0 if said so or if an index is 0, else at 1."""
    if wanted.target is not None:
        raise DataFileError(f"{paths[0]} is a libsvm file: its target comes first in every line. Leave the target out.")
    ranges = [_index_range(path) for path in paths]
    zero = next((path for path, (low, _) in zip(paths, ranges, strict=True) if low == 0), None)
    zero_based = zero is not None if wanted.zero_based is None else wanted.zero_based
    if zero is not None and not zero_based:
        raise DataFileError(f"{zero} has an index 0, but indices were said, or learned, to begin at 1.")
    widest, largest = max(zip(paths, (high for _, high in ranges), strict=True), key=lambda pair: pair[1])
    n_features = largest + zero_based
    if wanted.n_features is not None and n_features > wanted.n_features:
        raise DataFileError(f"{widest} has features up to {n_features}, but the model knows {wanted.n_features}.")
    n_features = n_features if wanted.n_features is None else wanted.n_features
    return [LibsvmFile(path, n_features, zero_based, wanted.missing_ok) for path in paths]


def _index_range(path: str) -> tuple[int, int]:
    """Return the smallest index, at most 1, and the largest, at least 0."""
    smallest, largest = 1, 0
    for block, *_ in blocks(path, 0):
        *_, low, high = _parse(block)
        smallest, largest = min(smallest, low), max(largest, high)
    return smallest, largest


_FAULTS = {
    NOT_A_NUMBER: "a label or a value is not a number",
    TOO_LARGE: "a label or a value is too large for a number",
    BAD_INDEX: "after the label, index:value is expected, the indices whole and ascending",
}


def _parse(block: bytes | memoryview) -> tuple[Any, ...]:
    buffer = np.frombuffer(block, dtype=np.uint8)
    lines, pairs = int(count(buffer, NEWLINE)), int(count(buffer, COLON))
    labels, kinds = np.empty(lines), np.empty(lines, np.int8)
    data, indices, indptr = np.empty(pairs), np.empty(pairs, np.int32), np.zeros(lines + 1, np.int32)
    rows, smallest, largest = parse_libsvm(buffer, labels, data, indices, indptr, kinds)
    stored = int(indptr[rows])
    return labels[:rows], data[:stored], indptr[: rows + 1], kinds, indices[:stored], int(smallest), int(largest)


def _read_again(
    block: bytes | memoryview,
    labels: NDArray[np.float64],
    data: NDArray[np.float64],
    indptr: NDArray[np.int32],
    kinds: NDArray[np.int8],
    stored: NDArray[np.intp],
    may_lack: NDArray[np.bool_],
) -> None:
    """Parse lines with very large or very small numbers, or with NaN, again, by Python's float."""
    extreme = np.flatnonzero(kinds[stored] == EXTREME)
    lines = bytes(block).split(b"\n") if extreme.size else []
    for row in extreme.tolist():
        label, *pairs = lines[stored[row]].partition(b"#")[0].split()
        labels[row] = float(label)
        values = [float(pair.partition(b":")[2]) for pair in pairs if not pair.startswith(b"qid:")]
        own = slice(indptr[row], indptr[row + 1])
        data[own] = values
        kinds[stored[row]] = _kind(labels[row], np.array(values), may_lack[own])


def _kind(label: float, values: NDArray[np.float64], may_lack: NDArray[np.bool_]) -> int:
    if (np.isnan(values) & ~may_lack).any():
        return NOT_A_NUMBER
    return FINE if np.isfinite(label) and not np.isinf(values).any() else TOO_LARGE

"""Libsvm files: lines of a label and index:value pairs."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.data.batches import BadRows, Batch, Wanted
from saccade.data.lines import Bytes, blocks, report
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

__all__ = ["LibsvmSource"]


class LibsvmSource:
    """Lines of 'label index:value …', indices from 1, or from 0 where a 0 is met or said to be."""

    def __init__(self, path: str, wanted: Wanted) -> None:
        if wanted.target is not None:
            raise DataFileError(f"{path} is a libsvm file: its target comes first in every line. Leave --target out.")
        self.path, self.size = path, os.path.getsize(path)
        self.length = self.size
        self.names: list[str] | None = None
        smallest, largest = 1, 0
        for buffer, *_ in blocks(path, 0):
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
        for buffer, begin, end in blocks(self.path, start):
            labels, data, indptr, found, indices, *_ = _parse(buffer)
            stored = np.flatnonzero((found == FINE) | (found == EXTREME))
            _read_again(buffer, labels, data, indptr, found, stored)
            report(self.path, begin, found, bad, lambda row, what: _FAULTS[what])
            kept, good = found[stored] == FINE, found[found != EMPTY] == FINE
            X = sp.csr_array((data, indices - (not self.zero_based), indptr), shape=(stored.size, self.n_features))
            yield Batch(X if kept.all() else X[kept], labels[kept], end, good)


_FAULTS = {
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


def _read_again(
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

"""Columns of texts in Arrow's memory, looked up row by row: nothing is copied, and no other row is read."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from saccade.kernels.lookups import fill_slots, find_texts
from saccade.reading.distinct import series_of

__all__ = ["KnownTexts", "Texts", "texts_in", "texts_of"]

Bytes = NDArray[np.uint8]


class KnownTexts:
    """Texts that are looked for, all different: the k-th has the code k."""

    def __init__(self, texts: list[str]) -> None:
        encoded = [text.encode() for text in texts]
        self.data: Bytes = np.frombuffer(b"".join(encoded) + b"\0", dtype=np.uint8)  # never without memory
        self.bounds = np.cumsum([0, *map(len, encoded)])
        self.slots = np.full(1 << (2 * len(texts) + 1).bit_length(), -1, dtype=np.int32)
        self.ends = np.zeros((len(texts), 2), dtype=np.uint64)
        fill_slots(self.data, self.bounds, self.ends, self.slots)


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts of rows, as Arrow has them in memory."""

    data: Bytes
    offsets: NDArray[np.integer]
    valid: Bytes  # a bit for each row; empty where none is missing
    first: int  # the first row's place in these arrays

    def codes(self, known: KnownTexts, rows: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Return the codes of some rows' texts: n for any other than the n known ones, n + 1 where one is missing."""
        codes = np.empty(rows.size, np.intp)
        held = (self.data, self.offsets, self.valid, self.first)
        find_texts(*held, rows, known.data, known.bounds, known.ends, known.slots, codes)
        return codes


def texts_in(frame: "nw.DataFrame[Any]", place: int) -> Texts | None:
    """Return a column of a table where it holds texts in Arrow's memory; polars brings them there in 6 ns each."""
    native = frame.to_native()
    if frame.implementation.is_pyarrow():
        return texts_of(native.column(place))
    if frame.implementation.is_polars():
        series = native.to_series(place)
        if str(series.dtype) == "String":
            with suppress(ImportError):
                return texts_of(series.to_arrow())
        return None
    array = series_of(frame, place).array
    if getattr(array.dtype, "name", "") in ("str", "string") and hasattr(array, "__arrow_array__"):
        with suppress(ImportError):
            return texts_of(array.__arrow_array__())
    return None


def texts_of(array: Any) -> Texts | None:
    """Return an Arrow array of texts, or one in chunks, as plain arrays; None where it is of another kind."""
    if hasattr(array, "combine_chunks"):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    width = {"string": np.int32, "large_string": np.int64}.get(str(getattr(array, "type", "")))
    if width is None or not hasattr(array, "buffers"):
        return None
    valid, offsets, data = array.buffers()
    nothing = np.zeros(0, dtype=np.uint8)
    return Texts(
        np.zeros(1, dtype=np.uint8) if data is None or data.size == 0 else np.frombuffer(data, dtype=np.uint8),
        np.zeros(1, dtype=width) if offsets is None else np.frombuffer(offsets, dtype=width),
        nothing if valid is None or array.null_count == 0 else np.frombuffer(valid, dtype=np.uint8),
        int(array.offset),
    )

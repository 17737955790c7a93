"""The different values of a table's column, and which of them each row has: by the library that the table is of."""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from saccade.reading.arrays import Selection

__all__ = ["distinct_values"]

Codes = NDArray[np.intp]
Column = NDArray[Any]


def distinct_values(frame: "nw.DataFrame[Any]", place: int, rows: Selection | None) -> tuple[Codes, Column]:
    """Return for each row, or for some, the place of its value among the different ones; -1 where it is missing.

    What is stored as categories is read by its codes, and texts are hashed by the library itself.
    """
    native = frame.to_native()
    if frame.implementation.is_polars():
        return _of_polars(native.to_series(place), rows)
    if frame.implementation.is_pyarrow():
        return _of_arrow(native.column(place), rows)
    return _of_pandas(frame[:, place].to_native(), rows)


def _of_pandas(series: Any, rows: Selection | None) -> tuple[Codes, Column]:
    some = series if rows is None else series.iloc[rows]
    held = getattr(some, "cat", None)
    if held is not None:
        return held.codes.to_numpy().astype(np.intp), _as_array(held.categories)
    codes, different = some.factorize()
    return codes.astype(np.intp, copy=False), _as_array(different)


def _as_array(values: Any) -> Column:
    """Return values as an array of numbers or of objects, not of a library's own texts."""
    plain = np.asarray(values)
    return plain if plain.dtype.kind in "fiubO" else plain.astype(object)


def _of_polars(series: Any, rows: Selection | None) -> tuple[Codes, Column]:
    polars = nw.dependencies.get_polars()
    some = series if rows is None else series[rows] if isinstance(rows, slice) else series.gather(rows)
    if some.dtype.is_numeric() or some.dtype == polars.Boolean:
        return _of_array(some.to_numpy())
    if isinstance(some.dtype, polars.Enum):
        categories = some.dtype.categories
    elif some.dtype in (polars.String, polars.Categorical):
        some = some.cast(polars.String)
        categories = some.drop_nulls().unique(maintain_order=True)
        some = some.cast(polars.Enum(categories))
    else:  # dates and the like
        return _of_array(some.to_numpy())
    codes = some.to_physical().cast(polars.Int64).fill_null(-1).to_numpy()
    return codes.astype(np.intp, copy=False), np.array(categories.to_list(), dtype=object)


def _of_arrow(column: Any, rows: Selection | None) -> tuple[Codes, Column]:
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(len(column))
        column = column.slice(start, stop - start)
    elif rows is not None:
        column = column.take(rows)
    whole = column.combine_chunks()
    if hasattr(whole, "chunks"):  # a chunked array even so, in older versions
        whole = whole.chunk(0) if whole.num_chunks else whole
    encoded = whole if hasattr(whole, "dictionary") else whole.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    return codes, np.array(encoded.dictionary.to_pylist(), dtype=object)


def _of_array(values: Column) -> tuple[Codes, Column]:
    if values.dtype.kind == "O":
        codes: dict[Any, int] = {}
        places = [-1 if _is_missing(value) else codes.setdefault(value, len(codes)) for value in values.tolist()]
        return np.array(places, dtype=np.intp), np.array(list(codes), dtype=object)
    missing = values != values
    different, place = np.unique(values[~missing], return_inverse=True)
    held = np.full(values.shape, -1, dtype=np.intp)
    held[~missing] = place
    return held, different


def _is_missing(value: Any) -> bool:
    return value is None or value != value

"""The different values of a table's column, and which of them each row has: by the library that the table is of."""

from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from saccade.reading.arrays import Selection

__all__ = ["distinct_values", "is_missing", "series_of"]

Codes = NDArray[np.intp]
Column = NDArray[Any]


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, pandas.NA or pandas.NaT; pandas is not imported."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def distinct_values(frame: "nw.DataFrame[Any]", place: int, rows: Selection | None) -> tuple[Codes, Column]:
    """Return for each row, or for some, the place of its value among the different ones; -1 where it is missing.

    What is stored as categories is read by its codes, and texts are hashed by the library itself.
    """
    native = frame.to_native()
    if frame.implementation.is_polars():
        return _of_polars(native.to_series(place), rows)
    if frame.implementation.is_pyarrow():
        return _of_arrow(native.column(place), rows)
    return _of_pandas(series_of(frame, place), rows)


def series_of(frame: "nw.DataFrame[Any]", place: int) -> Any:
    """Return a column as the table's library has it; by pandas itself, and by its name, in a tenth of the time."""
    if not frame.implementation.is_pandas():
        return frame[:, place].to_native()
    native = frame.to_native()
    return native[native.columns[place]] if native.columns.is_unique else native.iloc[:, place]


def _of_pandas(series: Any, rows: Selection | None) -> tuple[Codes, Column]:
    held = getattr(series, "cat", None)
    if held is not None:
        codes = held.codes.to_numpy()
        return (codes if rows is None else codes[rows]).astype(np.intp), _as_array(held.categories)
    if hasattr(series.array, "__arrow_array__") and _is_text(series):  # in a third of the time
        with suppress(ImportError):
            return _of_arrow(series.array.__arrow_array__(), rows)
    codes, different = (series if rows is None else series.iloc[rows]).factorize()
    return codes.astype(np.intp, copy=False), _as_array(different)


def _is_text(values: Any) -> bool:
    return values.dtype.name in ("str", "string")


def _as_array(values: Any) -> Column:
    """Return values as an array of numbers or of objects, not of a library's own texts."""
    held = getattr(values, "array", values)  # of an index
    if hasattr(held, "__arrow_array__") and _is_text(held):
        with suppress(ImportError):
            return np.array(held.__arrow_array__().to_pylist(), dtype=object)
    plain = np.asarray(values)
    return plain if plain.dtype.kind in "fiubmMO" else plain.astype(object)


def _of_polars(series: Any, rows: Selection | None) -> tuple[Codes, Column]:
    polars = nw.dependencies.get_polars()
    if series.dtype.is_numeric() or series.dtype == polars.Boolean:
        values = series.to_numpy()
        return _of_array(values if rows is None else values[rows])
    if series.dtype not in (polars.String, polars.Categorical) and not isinstance(series.dtype, polars.Enum):
        values = series.to_numpy()  # dates and the like
        return _of_array(values if rows is None else values[rows])
    some = series if rows is None else series[rows] if isinstance(rows, slice) else series.gather(rows)
    with suppress(ImportError):  # by pyarrow, which may not be there, in a fifth of the time
        return _of_arrow(some.to_arrow(), None)
    some = some.cast(polars.String)
    categories = some.drop_nulls().unique(maintain_order=True)
    codes = some.cast(polars.Enum(categories)).to_physical().cast(polars.Int64).fill_null(-1).to_numpy()
    return codes.astype(np.intp, copy=False), np.array(categories.to_list(), dtype=object)


def _of_arrow(column: Any, rows: Selection | None) -> tuple[Codes, Column]:
    """Return the same of an Arrow array, or of one in chunks."""
    if str(column.type) == "string_view":  # rows of which cannot be taken
        column = column.cast("string")
    if hasattr(column, "unify_dictionaries"):
        column = column.unify_dictionaries()
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(len(column))
        column = column.slice(start, stop - start)
    elif rows is not None:
        column = column.take(rows)
    if hasattr(column, "combine_chunks"):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    different = np.array(encoded.dictionary.to_pylist(), dtype=object)
    if encoded.null_count == 0:
        return encoded.indices.to_numpy(zero_copy_only=False).astype(np.intp), different
    codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.intp)  # no -1: they may be unsigned
    codes[encoded.is_null().to_numpy(zero_copy_only=False)] = -1
    return codes, different


def _of_array(values: Column) -> tuple[Codes, Column]:
    if values.dtype.kind == "O":
        codes: dict[Any, int] = {}
        places = [-1 if is_missing(value) else codes.setdefault(value, len(codes)) for value in values.tolist()]
        return np.array(places, dtype=np.intp), np.array(list(codes), dtype=object)
    missing = values != values
    different, place = np.unique(values[~missing], return_inverse=True)
    held = np.full(values.shape, -1, dtype=np.intp)
    held[~missing] = place
    return held, different

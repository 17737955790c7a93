"""Tables as sources: only the columns that are asked for are made into arrays, one after another."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.exceptions import NotNumbersError
from saccade.kernels.checkpoints import gather
from saccade.reading.arrays import Selection
from saccade.reading.distinct import distinct_values, is_missing, series_of
from saccade.reading.partitions import is_collection
from saccade.reading.sparse import is_damaged
from saccade.reading.texts import Texts, texts_in
from saccade.terminal import printable

__all__ = ["ColumnSource", "Table", "as_table", "refuse_other_containers", "take_columns", "take_rows"]

Column = NDArray[Any]


class ColumnSource:
    """Columns that are fetched one by one when they are asked for, each once, and then kept."""

    def __init__(self, shape: tuple[int, int], fetch: Callable[[int], Column]) -> None:
        self.shape = shape
        self._fetch = fetch
        self._columns: dict[int, Column] = {}
        self._fetching = Lock()

    def column(self, part: int) -> Column:
        if part not in self._columns:
            with self._fetching:  # threads that read different rows want the same columns
                if part not in self._columns:
                    self._columns[part] = self._fetch(part)
        return self._columns[part]

    def fill(self, part: int, rows: NDArray[np.uint32], size: int, out: NDArray[np.floating]) -> None:
        gather(self.column(part), rows, size, out)

    def forget(self) -> None:
        """Let go of the columns that are kept; one that is asked for again is fetched anew."""
        self._columns.clear()

    def take(self, rows: Selection) -> "ColumnSource":
        size = np.arange(self.shape[0])[rows].size
        return ColumnSource((size, self.shape[1]), lambda part: self.column(part)[rows])


class Table(ColumnSource):
    """A pandas, polars or Arrow table as columns of numbers.

    ``names`` are the columns in their order, some of which the table may lack, as long as nobody asks for them; without
    names they are the table's own.
    """

    def __init__(self, frame: "nw.DataFrame[Any]", names: Sequence[str] | None = None) -> None:
        self._frame, self._chosen = frame, names
        places = {name: place for place, name in enumerate(frame.columns)}
        self._place: Callable[[int], int] = int if names is None else lambda part: places[names[part]]
        numbers = _numbers(frame)
        width = frame.shape[1] if names is None else len(names)
        super().__init__((frame.shape[0], width), lambda part: numbers(self._place(part)))

    def one_array(self) -> Column | None:
        """Return the array behind a pandas table whose columns all lie in one, or None."""
        if not self._frame.implementation.is_pandas() or 0 in self.shape or self._chosen is not None:
            return None
        fetch = _fetcher(self._frame)
        behind = [fetch(part).base for part in (0, -1)]
        if behind[0] is None or behind[0] is not behind[1] or sorted(behind[0].shape) != sorted(self.shape):
            return None
        whole: Column = self._frame.to_native().to_numpy()
        return whole

    def values(self, part: int, rows: NDArray[np.intp] | None = None) -> Column:
        """Return what a column holds, or some rows of it, texts and objects too."""
        return _fetcher(self._frame, rows)(self._place(part))

    def different(self, part: int, rows: Selection | None = None) -> tuple[NDArray[np.intp], Column]:
        """Return the place of each row's value among the different ones, -1 where it is missing, and these."""
        return distinct_values(self._frame, self._place(part), rows)

    def texts(self, part: int) -> Texts | None:
        """Return a column of texts that lies in Arrow's memory, or can be brought there soon; else None."""
        return texts_in(self._frame, self._place(part))

    @property
    def copies_texts(self) -> bool:
        """Whether a column of texts is copied before it is looked up."""
        return bool(self._frame.implementation.is_polars())

    def missing(self, part: int) -> NDArray[np.bool_]:
        """Return in which rows a column has no value."""
        series = self._frame[:, self._place(part)]
        missing: NDArray[np.bool_] = series.is_null().to_numpy().astype(bool)
        return missing | np.isnan(self.values(part)) if series.dtype.is_float() else missing

    def name(self, part: int) -> str:
        return str(self._frame.columns[self._place(part)])

    def are_numbers(self, part: int) -> bool:
        """Whether a column is held as numbers, some of which may be missing, and not by codes."""
        return bool(self._frame[:, self._place(part)].dtype.is_numeric())

    def fits_single(self, part: int) -> bool:
        """Whether a column of numbers fits into single precision."""
        small = (nw.Float32, nw.Int8, nw.UInt8, nw.Int16, nw.UInt16, nw.Boolean)
        return self._frame[:, self._place(part)].dtype in small

    def categorical(self, part: int) -> tuple[NDArray[np.integer[Any]], Column] | None:
        """Return the codes of a pandas column of categories, -1 where one is missing, and the categories; else None."""
        if not self._frame.implementation.is_pandas():
            return None
        held = getattr(series_of(self._frame, self._place(part)), "cat", None)
        return None if held is None else (held.codes.to_numpy(), held.categories.to_numpy())

    def check_numbers(self) -> None:
        """Raise where a column holds no numbers."""
        for part, kind in enumerate(self._frame.schema.dtypes()):
            if not (kind.is_numeric() or kind == nw.Boolean):
                self._fetch(part)

    @property
    def names(self) -> list[str]:
        return list(self._frame.columns)

    def columns_named(self, names: Sequence[str]) -> "Table":
        """Return the columns of these names, some of which the table may lack, as long as nobody asks for them."""
        return Table(self._frame, names)


def _numbers(frame: "nw.DataFrame[Any]") -> Callable[[int], Column]:
    fetch = _fetcher(frame)

    def column(part: int) -> Column:
        values = _as_numbers(fetch(part))
        if values is None:
            series = frame[:, part]
            raise NotNumbersError(
                f"Column {series.name!r} holds {series.dtype}, not numbers. Encode it, for example with OneHotEncoder."
            )
        return values

    return column


def _as_numbers(values: Column) -> Column | None:
    """Return a column as numbers that the kernels take, or None; a missing value is NaN."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "O":  # Python's numbers, or booleans of which some are missing
        return _objects_as_numbers(values)
    if kind not in "fiub":
        return None
    if kind == "f" and size not in (4, 8):  # half and extended precision
        return values.astype(np.float32 if size < 4 else np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _objects_as_numbers(values: Column) -> Column | None:
    if any(isinstance(value, str | bytes) for value in values):
        return None
    try:
        return np.array([np.nan if is_missing(value) else value for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _fetcher(frame: "nw.DataFrame[Any]", rows: NDArray[np.intp] | None = None) -> Callable[[int], Column]:
    """Return what makes a column, or some rows of it, an array, without a copy where its memory is one piece.

    The libraries' own ways: for a table of many columns a uniform one takes longer than reading the rows.
    """
    native = frame.to_native()
    if frame.implementation.is_polars():
        series = native.to_series
        return lambda part: np.asarray((series(part) if rows is None else series(part).gather(rows)).to_numpy())
    if frame.implementation.is_pyarrow():
        column = native.column
        return lambda part: _arrow_values(column(part) if rows is None else column(part).take(rows))
    return lambda part: _pandas_values(series_of(frame, part), rows)


def _pandas_values(series: Any, rows: NDArray[np.intp] | None) -> Column:
    """Return a column of pandas; one of numbers that knows gaps, nullable or of Arrow, without Python's objects."""
    kind = getattr(series.dtype, "numpy_dtype", None)
    if kind is None and series.dtype.kind in "fiub":
        values = np.asarray(series.to_numpy())  # its own memory
        return values if rows is None else values[rows]
    series = series if rows is None else series.iloc[rows]
    if kind is not None and kind.kind in "fiub" and series.hasnans:
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(series.to_numpy())


def _arrow_values(column: Any) -> Column:
    if hasattr(column.type, "value_type") and hasattr(column.type, "index_type"):  # a dictionary
        column = column.cast(column.type.value_type)
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return np.asarray(whole.to_numpy(zero_copy_only=False))


def _is_texts(X: Any) -> bool:
    """Whether X is a sequence of texts, as vectorizers take it."""
    listed = isinstance(X, list | tuple) or len(getattr(X, "shape", ())) == 1
    return listed and not is_collection(X) and any(isinstance(value, str) for value in X[:1])


def refuse_other_containers(X: Any) -> None:
    """Raise where X is of a kind that holds no rows, or none yet, or is damaged."""
    if _is_texts(X):
        raise ValueError(
            "X is a list of texts, not an array or a table of rows: what can be left unread are columns, not words. "
            "Apply the vectorizer first, and use the model behind it on the rows that it makes: of a pipeline "
            "attend(pipeline[-1], pipeline[:-1].transform(texts))."
        )
    if sp.issparse(X) and is_damaged(X):
        raise ValueError(
            f"X is a damaged {X.format.upper()} matrix: its indices or indptr point outside of it. Make it anew; "
            "X.check_format() says what is wrong."
        )
    if isinstance(X, np.ndarray) or sp.issparse(X):  # a DOK matrix is a mapping too
        return
    if is_collection(X):
        raise TypeError(
            f"X is a Dask {type(X).__name__}, whose rows are not there yet. To learn from it, use DaskPegasos, "
            "DaskPerceptron or DaskPassiveAggressive of saccade.dask, or pass partial_fit one computed partition after "
            "another. A fitted model predicts and reads it as it is, and saccade.attend plans and calibrates on it."
        )
    of_mappings = isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)
    if of_mappings or isinstance(X, Mapping):
        what = f"{type(X).__name__} of {type(X[0]).__name__}s" if of_mappings else type(X).__name__
        raise TypeError(
            f"X is a {what}, not an array or a table of rows. Make it one, for example with pandas.DataFrame(X)."
        )
    if twice := _names_twice(X):
        raise ValueError(
            f"X has several columns of one name: {', '.join(map(printable, twice))}. Rename them, or pass an array."
        )
    native = nw.from_native(X, pass_through=True, allow_series=True)
    if isinstance(native, nw.Series):
        raise ValueError(
            f"X is a Series of {len(native):,} values, not a table of rows. Pass a DataFrame, in pandas df.iloc[[i]] "
            "for a single row or df[[name]] for a single column."
        )
    if isinstance(native, nw.LazyFrame):
        raise TypeError(
            f"X is a {type(X).__name__}, whose rows are not there yet. Collect them first: in polars, pass X.collect()."
        )


def _names_twice(X: Any) -> list[str]:
    """Return the names that several columns have, which pandas and Arrow allow."""
    names = getattr(X, "column_names", [])
    if hasattr(X, "iloc") and not getattr(getattr(X, "columns", None), "is_unique", True):  # which pandas keeps
        names = X.columns
    return sorted(str(name) for name, count in Counter(names).items() if count > 1)


def as_table(X: Any) -> Table | None:
    """Return X as a table, or None where it is none."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return Table(frame) if isinstance(frame, nw.DataFrame) else None


def take_columns(X: Any, names: Sequence[str] | None) -> Any:
    """Return the columns of these names, in their order, if X is a table and there are any names."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame.select(list(names)).to_native() if names is not None and isinstance(frame, nw.DataFrame) else X


def take_rows(values: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a table, an array, a sparse matrix, a series or a list; those of a series as an array."""
    if sp.issparse(values):
        return values.tocsr()[rows]
    frame = nw.from_native(values, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows].to_native()
    return np.asarray(values)[rows] if hasattr(values, "__array__") else [values[row] for row in rows]

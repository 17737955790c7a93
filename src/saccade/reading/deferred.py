"""What a model says of rows: at once, or of a Dask collection when that is computed, partition by partition."""

from dataclasses import fields
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from saccade.reading.inputs import Demanded, checked_columns
from saccade.reading.partitions import is_collection, is_frame, shipped, stand_in, with_whole_rows
from saccade.reading.plan import Reading

__all__ = ["answer"]


def answer(model: Any, X: Any, field: str | None = None, *, full: bool) -> Any:
    """Return the reading of rows, or one field of it; for a Dask collection lazily, and nothing is computed.

    A DataFrame gives a Series or a DataFrame with its index; an Array gives Arrays, or a Reading of Arrays.

    The model has ``_reading(X, full, costs)``, ``_demanded_by(full)``, the columns that this can ask for, and
    ``_snapshot()``, a copy that is enough for it, and that later fits do not change.
    """
    if not is_collection(X):
        reading = model._reading(X, full=full, costs=field is None and not full)
        return reading if field is None else getattr(reading, field)
    check_is_fitted(model)
    whole = with_whole_rows(X)
    demanded = model._demanded_by(full)
    checked_columns(model, stand_in(whole), demanded)
    model = model._snapshot()
    return (_of_frame if is_frame(X) else _of_array)(_pruned(model, whole, demanded), model, field, full)


def _pruned(model: Any, X: Any, demanded: Demanded | None) -> Any:
    """Return the columns that can be asked for, in the order of fit, so that Dask need not read the others."""
    names = getattr(model, "feature_names_in_", None)
    if demanded is None or names is None or not is_frame(X):
        return X
    wanted = names[np.sort(demanded())].tolist()
    return X[wanted] if 0 < len(wanted) < len(X.columns) else X


def _of_frame(X: Any, model: Any, field: str | None, full: bool) -> Any:
    meta = _as_frame(X._meta, model, field, _none_read(model))
    return X.map_partitions(read_partition, shipped(model), field, full, meta=meta, enforce_metadata=False)


def read_partition(rows: Any, model: Any, field: str | None, full: bool) -> Any:
    return _as_frame(rows, model, field, _part_read(rows, model, field, full))


def _as_frame(rows: Any, model: Any, field: str | None, reading: Reading) -> Any:
    """Return a reading with the index of its rows: a Series of one field, or a DataFrame, with a margin per class."""
    pandas = nw.get_native_namespace(rows)
    columns: dict[str, NDArray[Any]] = {}
    for name in _fields(reading) if field is None else [field]:
        values = getattr(reading, name)
        if values.ndim == 1:
            columns[name] = values
        else:
            columns |= {f"{name}_{label}": own for label, own in zip(model.classes_, values.T, strict=True)}
    made = pandas.DataFrame(columns, index=rows.index)
    if "label" in columns:  # as pandas holds the classes, in a partition without rows too
        made = made.astype({"label": pandas.Series(model.classes_).dtype})
    return made[field] if [field] == list(columns) else made


def _of_array(X: Any, model: Any, field: str | None, full: bool) -> Any:
    model.__dict__.pop("feature_names_in_", None)  # that blocks have none has been said, if it is worth a warning
    none = _record(_none_read(model), field)
    shape = {"drop_axis": 1} if none.ndim == 1 else {"chunks": (X.chunks[0], none.shape[1:])}
    made = X.map_blocks(read_block, shipped(model), field, full, dtype=none.dtype, meta=none, **shape)
    return made if field is not None else Reading(**{name: made[name] for name in none.dtype.names or ()})


def read_block(rows: Any, model: Any, field: str | None, full: bool) -> NDArray[Any]:
    return _record(_part_read(rows, model, field, full), field)


def _record(reading: Reading, field: str | None) -> NDArray[Any]:
    """Return one field of a reading, or an array with a record for each row."""
    if field is not None:
        one: NDArray[Any] = getattr(reading, field)
        return one
    held = {name: getattr(reading, name) for name in _fields(reading)}
    record = np.empty(len(reading), dtype=[(name, values.dtype, values.shape[1:]) for name, values in held.items()])
    for name, values in held.items():
        record[name] = values
    return record


def _fields(reading: Reading) -> list[str]:
    return [field.name for field in fields(reading) if getattr(reading, field.name) is not None]


def _part_read(rows: Any, model: Any, field: str | None, full: bool) -> Reading:
    if rows.shape[0] == 0:
        return _none_read(model)
    try:
        reading: Reading = model._reading(rows, full=full, costs=field is None and not full)
    except ValueError as error:
        error.add_note("Rows are counted within one partition of X.")
        raise
    return reading


def _none_read(model: Any) -> Reading:
    """Return the reading of no rows, which has the types of any other."""
    classes: NDArray[Any] = model.classes_
    margin = np.empty((0,) if classes.size == 2 else (0, classes.size))
    cost = np.empty(0) if getattr(model, "_has_costs", False) else None
    return Reading(classes[:0], margin, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_), cost=cost)

"""The encodings of tables in files, as JSON."""

from math import isfinite
from typing import Any

from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive
from saccade.files.categories import categories_from, categories_parts
from saccade.models.categories import Categories
from saccade.models.tables.encoding import Encoded, Encoding, LeftOut, Number, OneHot

__all__ = ["encoding_from", "encoding_parts"]

# Features that a file may have its reader make: a smaller number than weights could be kept for.
MOST_FEATURES = 2**31


def encoding_parts(encoding: Encoding) -> dict[str, Any]:
    """Return what JSON can hold."""
    names = None if encoding.names is None else list(encoding.names)
    return {"names": names, "columns": [_parts(column) for column in encoding.columns]}


def _parts(column: Encoded) -> list[Any]:
    if isinstance(column, Number):
        return ["number", column.mean, column.centre, column.unit]
    if isinstance(column, LeftOut):
        return ["left out", column.why]
    return ["categories", categories_parts({0: column.categories}), column.n_kept, column.n_together]


def encoding_from(archive: Archive) -> Encoding | None:
    """Return the encoding of a learner's table; None where it has none."""
    match archive.header.get("encoding"):
        case None:
            return None
        case {"names": list() | None as names, "columns": list(columns)} if columns:
            made = Encoding(tuple(map(_column, columns)), None if names is None else tuple(names))
            right = names is None or (len(names) == len(columns) and all(isinstance(name, str) for name in names))
            if right and 0 < made.n_features < MOST_FEATURES:
                return made
    raise ModelFileError("its encoding is none of a table")


def _column(stored: Any) -> Encoded:
    match stored:
        case ["number", float(mean), float(centre), float(unit)] if isfinite(mean) and isfinite(centre):
            if 0 < unit < float("inf"):
                return Number(mean, centre, unit)
        case ["left out", str(why)]:
            return LeftOut(why)
        case ["categories", list(values), int(n_kept), int(n_together)] if len(values) == 1:
            own: Categories | None = categories_from(values, 1).get(0)
            if own is not None and 0 <= n_kept <= own.values.size == len(own.codes) and n_together >= 0:
                return OneHot(own.values, n_kept, n_together)
    raise ModelFileError(f"its encoding has a column {str(stored)[:80]}")

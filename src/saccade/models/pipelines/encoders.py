"""Encoders of categories: what each makes of every category, of any other value and of a missing one.

The fitted encoder itself is asked, a column at a time: rows that differ in that column alone. So rare categories that
it puts together, categories that it drops, and what it ignores or refuses are its own.
"""

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from saccade.models.categories import Categories, fit_floats
from saccade.models.pipelines.features import Blocks, RefusedError, singles
from saccade.models.tables.blocks import Block, Constant, Lookup, Made, Raw, dense, mapped
from saccade.models.tables.maps import Match
from saccade.reading.distinct import is_missing

__all__ = ["STEPS"]

Reals = NDArray[np.float64]

# A text that no column holds.
UNKNOWN = "\x00 no category \x00"
# So many values an encoder is asked for at once; larger tables are kept sparse.
MOST_AT_ONCE = 4_000_000
NUMBERS = frozenset("fiub")


@dataclass(frozen=True, eq=False)
class _Encoded:
    """What an encoder makes of one of its columns."""

    categories: NDArray[Any]  # none of them missing
    places: NDArray[np.intp]  # of its features among all that the encoder makes
    table: Any  # (categories + 2, features): for each, for any other value, and for a missing one; sparse if large
    refused: NDArray[np.bool_]  # (categories + 2,)
    knows_missing: bool  # whether a missing value is one of the categories


def encoder(step: Any, blocks: Blocks) -> Blocks:
    asked = _Asked(step)
    encoded = [asked.column(j) for j in range(step.n_features_in_)]
    behind = ((encoded[place].places, _behind(step, made, encoded[place])) for place, made in singles(blocks))
    made = [Block(places, features) for places, features in behind if places.size]
    claimed = np.concatenate([own.places for own in encoded])
    constant = np.setdiff1d(np.arange(asked.base.size), claimed)
    return [*made, Block(constant, Constant(asked.base[constant]))] if constant.size else made


def _behind(step: Any, made: Made, own: _Encoded) -> Made:
    """Return the features that an encoder makes of a feature."""
    if not isinstance(made, Raw):
        order = np.argsort(own.categories.astype(np.float64))
        rows = np.concatenate([order, [order.size, order.size + 1]])
        table = np.where(own.refused[:, None], np.nan, dense(own.table))[rows]
        return mapped(made, Match(own.categories[order].astype(np.float64), table))
    if own.knows_missing and any(before is None and after is not None for before, after in made.replaced):
        raise RefusedError(
            step,
            "has a category for None or NaN, which the imputer before it leaves as they are: it fills in one of them, "
            "and tables do not tell them apart. Fit the imputer with the other as missing_values.",
        )
    replaced = [before for before, _ in made.replaced if before is not None]
    known = _array(list(dict.fromkeys([*own.categories.tolist(), *replaced])))
    codes, n = Categories(own.categories, numbers_too=True).codes, own.categories.size
    places = {None: n + 1}
    rows_of = [made.reads(value) for value in known.tolist()]
    missing = made.reads(None)
    found = [places.get(value, int(codes.get(value, n))) for value in rows_of]
    found += [n, n + 1 if missing is None else int(codes.get(missing, n))]
    return Lookup(made.column, known, own.table[found], own.refused[found])


class _Asked:
    """A fitted encoder, asked for what it makes of rows."""

    def __init__(self, step: Any) -> None:
        self._step = step
        self._categories = [_without_missing(step, own) for own in step.categories_]
        self._gone = [_missing_of(step, own) for own in step.categories_]
        self._usual = [own[0] if len(own) else gone for own, gone in zip(self._categories, self._gone, strict=True)]
        self.base = self._made([self._usual])[0]

    def column(self, j: int) -> _Encoded:
        """Return what the encoder makes of column j."""
        known = self._categories[j]
        numbers = self._step.categories_[j].dtype.kind in NUMBERS or known.dtype.kind in NUMBERS
        others = [_beyond(known) if numbers else UNKNOWN, self._gone[j]]
        tables = [self._of(j, known.tolist()), *(self._or_none(j, value) for value in others)]
        refused = np.array([*([False] * known.size), *(made is None for made in tables[1:])])
        made = _stacked([np.tile(self.base, (1, 1)) if table is None else table for table in tables])
        places = _varying(made, self.base)
        return _Encoded(known, places, made[:, places], refused, known.size < len(self._step.categories_[j]))

    def _or_none(self, j: int, value: Any) -> Any:
        try:
            return self._of(j, [value])
        except (ValueError, TypeError):  # a category that is not known, or a missing value, is an error
            return None

    def _of(self, j: int, values: list[Any]) -> Any:
        """Return what is made of some values of a column: an array, or a sparse matrix where that would be large."""
        if len(values) * self.base.size <= MOST_AT_ONCE:
            return self._made([self._row(j, value) for value in values]) if values else np.zeros((0, self.base.size))
        # An encoder that makes sparse rows makes all of them at once.
        some = len(values) if getattr(self._step, "sparse_output", False) else max(1, MOST_AT_ONCE // self.base.size)
        parts = (values[start : start + some] for start in range(0, len(values), some))
        return _stacked([sp.csr_array(self._asked([self._row(j, value) for value in part])) for part in parts])

    def _row(self, j: int, value: Any) -> list[Any]:
        return [*self._usual[:j], value, *self._usual[j + 1 :]]

    def _made(self, rows: list[list[Any]]) -> Reals:
        made = self._asked(rows)
        values: Reals = made.toarray() if sp.issparse(made) else made
        return values

    def _asked(self, rows: list[list[Any]]) -> Any:
        """Return what the encoder makes of rows: an array, or a sparse matrix."""
        with warnings.catch_warnings():  # of names, and of categories that are ignored
            warnings.simplefilter("ignore")
            made = self._step.transform(self._table(rows))
        return made if sp.issparse(made) else np.asarray(made, dtype=np.float64)

    def _table(self, rows: list[list[Any]]) -> Any:
        """Return rows in what the encoder was fitted on: an array, or a table where columns are of several kinds."""
        kinds = {own.dtype.kind for own in self._step.categories_}
        if kinds <= NUMBERS:
            columns_of_numbers = [_numbers(list(column)) for column in zip(*rows, strict=True)]
            if len({column.dtype for column in columns_of_numbers}) == 1:
                return np.stack(columns_of_numbers, axis=1)
        values = np.empty((len(rows), len(rows[0])), dtype=object)
        values[:] = rows
        if kinds <= {"O", "U"}:
            return values
        names = getattr(self._step, "feature_names_in_", range(values.shape[1]))
        columns = {
            name: _numbers(values[:, k].tolist()) if own.dtype.kind in NUMBERS else values[:, k]
            for k, (name, own) in enumerate(zip(names, self._step.categories_, strict=True))
        }
        try:
            return import_module("pandas").DataFrame(columns)
        except ImportError:
            raise RefusedError(
                self._step, "was fitted on columns of several kinds, and needs pandas, which is not installed."
            ) from None


def _stacked(tables: list[Any]) -> Any:
    if not any(sp.issparse(table) for table in tables):
        return np.concatenate(tables)
    return sp.vstack([sp.csr_array(table) for table in tables], format="csr")


def _varying(table: Any, base: Reals) -> NDArray[np.intp]:
    """Return the features that are not the same in all rows."""
    if not sp.issparse(table):
        return np.flatnonzero(_varies(table, base))
    filled = np.flatnonzero(base)
    varies = np.bincount(table.nonzero()[1], minlength=table.shape[1]) > 0
    varies[filled] = _varies(table[:, filled].toarray(), base[filled])
    return np.flatnonzero(varies)


def _varies(table: Reals, base: Reals) -> NDArray[np.bool_]:
    varies: NDArray[np.bool_] = np.any((table != base) & ~(np.isnan(table) & np.isnan(base)), axis=0)
    return varies


def _without_missing(step: Any, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind in "mM":
        raise RefusedError(step, "has categories that are points or lengths of time. Make them texts or numbers.")
    listed = [value for value in np.asarray(values).tolist() if not is_missing(value)]
    if any(isinstance(value, bytes) for value in listed):
        raise RefusedError(step, "has categories that are bytes. Decode them to texts.")
    return _array(listed)


def _missing_of(step: Any, values: NDArray[Any]) -> Any:
    """Return what stands for a missing value among the categories, or would."""
    gone = [value for value in np.asarray(values).tolist() if is_missing(value)]
    if len(gone) > 1:
        raise RefusedError(step, "tells None from NaN, which tables do not. Fit it with one of them.")
    return gone[0] if gone else np.nan


def _beyond(known: NDArray[Any]) -> Any:
    """Return a number that is none of these: a small one, for beyond 2**53 the next one may be the same as float."""
    taken = set(known.tolist())
    return next(number for number in range(known.size + 1) if number not in taken)


def _numbers(values: list[Any]) -> NDArray[Any]:
    """Return numbers as floats, or as integers where floats do not tell these apart."""
    exact = np.array(values)
    return exact if exact.dtype.kind in "iu" and not fit_floats(exact) else exact.astype(np.float64)


def _array(values: list[Any]) -> NDArray[Any]:
    """Return an array of numbers, or of objects where there are others."""
    if values and all(isinstance(value, int | float) for value in values):
        return np.array(values)
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


STEPS: dict[type, Any] = {OneHotEncoder: encoder, OrdinalEncoder: encoder, TargetEncoder: encoder}

"""Columns of texts while rows are drawn from a file: codes in an array of numbers, and texts again in a table.

A model's own ``predict`` is asked for the labels of the rows that certify it, and it takes texts.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.data.arrow import pyarrow
from saccade.data.batches import Coder
from saccade.models.categories import Categories, is_missing
from saccade.models.coding import Spellings

__all__ = ["Remembered", "as_rows"]

Reals = NDArray[np.float64]

# So many values that are no categories are kept of a column; those that come later are taken for the last of these.
MOST_OTHERS = 200_000


class Remembered:
    """The values of a column, each with a code: a category its own, any other the next one when it is first seen."""

    def __init__(self, categories: Categories | None, missing: Set[str], *, others_alike: bool = False) -> None:
        """Take whether all other values are alike to the model, so that they need not be remembered."""
        self._values: list[Any] = [] if categories is None else categories.values.tolist()
        self._n_known = len(self._values)
        self._texts_only = categories is not None and not categories.are_numbers and self._n_known > 0
        self._numbers_only = categories is not None and categories.are_numbers
        self._spellings = None if categories is None else Spellings(categories)
        self._missing, self._others_alike = missing, others_alike
        self._others: dict[Any, int] = {}

    def __call__(self, values: NDArray[Any]) -> Reals:
        different, which = (
            np.unique(values, return_inverse=True) if values.dtype.kind in "fiub" else (values, np.arange(values.size))
        )
        codes: Reals = np.array([self._code(value) for value in different.tolist()], dtype=np.float64)[which]
        return codes

    def are_known(self, numbers: Reals) -> NDArray[np.bool_]:
        return numbers < self._n_known if self._n_known else np.ones(numbers.shape, dtype=bool)

    def _code(self, value: Any) -> float:
        if is_missing(value):
            return np.nan
        code = None if self._spellings is None else self._spellings.code(value)
        if code is not None:
            return code
        if isinstance(value, str) and value.strip().lower() in self._missing:
            return np.nan
        if self._others_alike:
            return self._n_known
        if value not in self._others:
            if len(self._others) == MOST_OTHERS:
                return len(self._values) - 1
            self._others[value] = len(self._values)
            self._values.append(value)
        return self._others[value]

    def column(self, codes: Reals) -> tuple[NDArray[np.int32], list[str] | Reals]:
        """Return places among values, -1 for a missing one, and the values: numbers where all are, else texts."""
        n = len(self._values)
        right = (codes >= 0) & (codes < n) & (codes == np.floor(codes))
        places = np.where(np.isnan(codes), -1, np.where(right, codes, n)).astype(np.int32)
        values = [*self._values, "a code of no category"] if n in places else self._values
        numbers = None if self._texts_only else _as_numbers(values, others_too=self._numbers_only)
        return places, list(map(str, values)) if numbers is None else numbers


def as_rows(X: Any, names: Sequence[str] | None, coders: Mapping[int, Coder], *, by_name: bool = False) -> Any:
    """Return rows as a model takes them that was fitted on texts: a table, or an array of objects without names.

    ``by_name`` says that it takes a table of numbers, too.
    """
    remembered = {column: coder for column, coder in coders.items() if isinstance(coder, Remembered)}
    if not remembered and (not by_name or names is None):
        return X
    dense = X.toarray() if sp.issparse(X) else X
    if names is None:
        return _objects(dense, remembered)
    columns = [_arrow(dense[:, j], remembered.get(j)) for j in range(dense.shape[1])]
    return pyarrow().table(dict(zip(names, columns, strict=True)))


def _arrow(values: Reals, coder: Remembered | None) -> Any:
    arrow = pyarrow()
    if coder is None:
        return arrow.array(values)
    places, held = coder.column(values)
    if isinstance(held, np.ndarray):
        return arrow.array(np.append(held, np.nan)[places])
    indices = arrow.array(places, mask=places < 0)
    return arrow.DictionaryArray.from_arrays(indices, arrow.array(held, arrow.string()))


def _objects(dense: Reals, remembered: Mapping[int, Remembered]) -> NDArray[Any]:
    made = dense.astype(object)
    for column, coder in remembered.items():
        places, held = coder.column(dense[:, column])
        made[:, column] = np.array([*held, np.nan], dtype=object)[places]
    return made


def _as_numbers(values: list[Any], *, others_too: bool) -> Reals | None:
    """Return values as numbers, where all are: a CSV file has them as texts.

    With ``others_too``, for a column whose categories are numbers, one that is no number becomes one that is none of
    them.
    """
    made = np.array([_number(value) for value in values], dtype=np.float64)
    bad = np.isnan(made)
    if bad.any() and not others_too:
        return None
    made[bad] = np.max(made, where=~bad, initial=0.0) + 1
    return made


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan

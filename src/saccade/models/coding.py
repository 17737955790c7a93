"""Columns of categories in data files, as the numbers that models take.

A CSV file has every value as a text, other files have texts or numbers. A value is the category that is written so.
"""

from collections.abc import Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.categories import Categories, is_missing

__all__ = ["Spellings", "ValueCoder", "coder_of", "holds_texts"]

Reals = NDArray[np.float64]


def coder_of(categories: Categories, missing: Set[str] = frozenset()) -> "ValueCoder":
    """Return what makes numbers of the values of a column.

    They are codes, or, where models look numbers up themselves, the categories' own values. What is no category is
    missing, an error where the library refuses it, or other than all categories where that is told apart, unless it is
    one of the words for ``missing`` values.
    """
    codes = np.arange(categories.values.size, dtype=np.float64)
    if categories.others_apart and not categories.are_numbers:
        return ValueCoder(categories, missing, codes, float(codes.size))
    if not categories.numbers_too or holds_texts(categories):
        return ValueCoder(categories, missing, codes, np.nan)
    numbers = categories.values.astype(np.float64)
    if np.unique(numbers).size < numbers.size:
        raise ValueError(
            f"The categories {categories.some} are not apart in double precision, in which data files are read. Give "
            "them smaller numbers, or texts."
        )
    return ValueCoder(categories, missing, numbers, np.inf if categories.others_apart else np.nan)


def holds_texts(categories: Categories) -> bool:
    """Whether there are texts among the categories."""
    return any(isinstance(value, str) for value in categories.values.tolist())


class ValueCoder:
    """What makes numbers of values: the number of its category, ``other`` where it is none, NaN where it is missing."""

    def __init__(self, categories: Categories, missing: Set[str], numbers: Reals, other: float) -> None:
        self._categories, self._missing, self._numbers, self._other = categories, missing, numbers, other
        self._spellings = Spellings(categories)

    def __call__(self, values: NDArray[Any]) -> Reals:
        if values.dtype.kind in "fiub":
            different, which = np.unique(values, return_inverse=True)
        else:
            different, which = values, np.arange(values.size)
        made: Reals = np.array([self._number(value) for value in different.tolist()], dtype=np.float64)[which]
        return made

    def are_known(self, numbers: Reals) -> NDArray[np.bool_]:
        """Return which numbers stand for a category; all of them where there is none, but other and missing values."""
        return np.isin(numbers, self._numbers) | (self._numbers.size == 0)

    def _number(self, value: Any) -> float:
        code = None if is_missing(value) else self._spellings.code(value)
        if code is not None:
            return float(self._numbers[code])
        if is_missing(value) or str(value).strip().lower() in self._missing:
            return np.nan
        if self._categories.refuses_others:
            some = self._categories.some
            raise ValueError(f"{value!r} is none of the categories that the model was fitted on, {some}.")
        return _as_number(value) if self._other == np.inf else self._other


class Spellings:
    """How categories are written."""

    def __init__(self, categories: Categories) -> None:
        self._texts: dict[str, int] = {}
        self._numbers: dict[float, int] = {}  # whole numbers stay whole: beyond 2^53 doubles do not tell them apart
        self._written: dict[str, set[int]] = {}  # as numbers and truth values are written
        self._stripped: dict[str, set[int]] = {}
        for code, value in enumerate(categories.values.tolist()):
            if isinstance(value, str):
                self._texts[value] = code
                self._stripped.setdefault(value.strip(), set()).add(code)
            else:
                self._numbers[value] = code
                for text in _ways(value):
                    self._written.setdefault(text, set()).add(code)

    def code(self, value: Any) -> int | None:
        """Return the category that is written so, None where there is none; raise where there are several."""
        if not isinstance(value, str):
            code = self._numbers.get(value)
            return (
                next((self._texts[text] for text in _ways(value) if text in self._texts), None)
                if code is None
                else code
            )
        text = value.strip()
        found = {self._texts[value]} if value in self._texts else set()
        found |= self._written.get(text, set()) or self._numbered(text)
        found = found or self._stripped.get(text, set())
        if len(found) > 1:
            raise ValueError(f"{value!r} may be any of several categories of the model, which are written alike.")
        return next(iter(found), None)

    def _numbered(self, text: str) -> set[int]:
        """Return the number that is written in another way, such as 2.50."""
        try:
            number = float(text)
        except ValueError:
            return set()
        code = self._numbers.get(number)
        return set() if code is None or abs(number) >= 2**53 else {code}


def _as_number(value: Any) -> float:
    """Return a number that is none of the categories, which are numbers; infinity for what is no number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return np.inf
    return number if abs(number) < 2**53 else np.inf


def _ways(value: Any) -> list[str]:
    """Return how a number or a truth value is written."""
    if isinstance(value, bool):
        return [str(value), str(value).lower(), str(value).upper()]
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return [str(int(value)), str(value)] if whole else [str(value)]

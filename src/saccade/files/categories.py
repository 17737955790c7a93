"""The categories of columns in files: texts and numbers, as JSON."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import ModelFileError
from saccade.models.categories import AS_PYTHON, NOT_SPELLED, PLAIN, Categories

__all__ = ["categories_from", "categories_parts"]

TEXTS, ANY = "texts", "any"
SPELLED = {f"texts, numbers {how}": how for how in (PLAIN, AS_PYTHON)}  # texts by which numbers are looked up, too


def categories_parts(categories: Mapping[int, Categories]) -> list[Any]:
    """Return what JSON can hold: of each column its number, two facts, the type and the values.

    A last entry says that other values have a code of their own, where they do.
    """
    return [
        [
            column,
            own.numbers_too,
            own.refuses_others,
            _kind(column, own),
            own.values.tolist(),
            *([True] if own.others_apart else []),
        ]
        for column, own in sorted(categories.items())
    ]


def _kind(column: int, categories: Categories) -> str:
    values = categories.values
    if categories.spelled:
        return next(kind for kind, how in SPELLED.items() if how == categories.spelled)
    if values.size == 0 or (all(isinstance(value, str) for value in values.tolist()) and values.dtype.kind in "UO"):
        return TEXTS
    right = all(isinstance(value, str | bool | int | float) and value == value for value in values.tolist())
    if not right or values.dtype.kind not in "biufO":
        raise TypeError(f"The categories of column {column} cannot be saved: they are to be texts or finite numbers.")
    return ANY if values.dtype.kind == "O" else values.dtype.str


def categories_from(stored: list[Any], n_columns: int) -> dict[int, Categories]:
    """Return the categories by column."""
    made: dict[int, Categories] = {}
    for entry in stored:
        match entry:
            case [int(column), bool(numbers_too), bool(refuses), str(kind), list(values), *others] if (
                0 <= column < n_columns and others in ([], [True])
            ):
                spelled = SPELLED.get(kind, NOT_SPELLED)
                made[column] = Categories(_values(kind, values), numbers_too, refuses, bool(others), spelled)
            case _:
                raise ModelFileError(f"its categories are {str(entry)[:80]}")
    return made


def _values(kind: str, values: list[Any]) -> NDArray[Any]:
    try:
        dtype = np.dtype(object if kind in (TEXTS, ANY, *SPELLED) or not values else kind)
        right = all(isinstance(value, _types(kind, dtype)) for value in values)
        if dtype.kind in "biufO" and right and all(isinstance(value, str) or abs(value) < 2**64 for value in values):
            # As objects, because an array of texts would be as wide as the longest.
            return np.array(values, dtype=dtype).reshape(len(values))
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"its categories are of the type {kind[:40]!r}: {error}") from error
    raise ModelFileError(f"its categories are {str(values)[:80]}")


def _types(kind: str, dtype: np.dtype[Any]) -> tuple[type, ...]:
    """Return the types that the values of a kind have in JSON."""
    if kind in (TEXTS, ANY, *SPELLED):
        return (str,) if kind != ANY else (str, bool, int, float)
    return {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float)}.get(dtype.kind, ())

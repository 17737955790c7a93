"""Columns of categories in data files, as the numbers that trees take."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.trees.imported import Categories, is_missing

__all__ = ["coder_of", "holds_texts"]

Reals = NDArray[np.float64]


def coder_of(categories: Categories) -> Callable[[NDArray[Any]], Reals]:
    """Return what makes numbers of the values of a column, which a file has as texts or as numbers.

    A text is looked up; so is a number where the categories are numbers, because files keep them so, and else it is a
    code already. What is no category is missing, or an error where the library refuses it. Where trees look numbers up
    themselves, they get them as they are.
    """
    coder = _coder(categories)
    return partial(_refusing, categories, coder) if categories.refuses_others else coder


def _coder(categories: Categories) -> Callable[[NDArray[Any]], Reals]:
    if holds_texts(categories):
        codes = {value: float(code) for code, value in enumerate(categories.values.tolist())}
        return partial(_codes, codes, numbers=None)
    numbers = {float(value): float(code) for code, value in enumerate(categories.values.tolist())}
    return _parsed if categories.numbers_too else partial(_codes, _written(categories), numbers=numbers)


def _refusing(categories: Categories, coder: Callable[[NDArray[Any]], Reals], values: NDArray[Any]) -> Reals:
    codes = coder(values)
    for value in values[np.isnan(codes)].tolist():
        if not is_missing(value):
            raise ValueError(f"{value!r} is none of the categories that the model was fitted on, {categories.some}.")
    return codes


def holds_texts(categories: Categories) -> bool:
    """Whether there are texts among the categories."""
    return any(isinstance(value, str) for value in categories.values.tolist())


def _codes(texts: dict[Any, float], values: NDArray[Any], numbers: dict[float, float] | None) -> Reals:
    if values.dtype.kind in "fiub":
        if numbers is None:
            return values.astype(np.float64)
        different, which = np.unique(values, return_inverse=True)
        return np.array([numbers.get(float(value), np.nan) for value in different.tolist()])[which]
    if numbers is None:
        return np.array([texts.get(value, np.nan) for value in values.tolist()], dtype=np.float64)
    known = [texts.get(value, numbers.get(_number(value), np.nan)) for value in values.tolist()]
    return np.array(known, dtype=np.float64)


def _written(categories: Categories) -> dict[Any, float]:
    """Return the codes of categories that are truth values, by how a file spells them."""
    if categories.values.dtype.kind != "b":
        return {}
    spelled = ((str(value), code) for code, value in enumerate(categories.values.tolist()))
    return {text: float(code) for word, code in spelled for text in (word, word.lower(), word.upper())}


def _parsed(values: NDArray[Any]) -> Reals:
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    return np.array([_number(value) for value in values.tolist()], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")

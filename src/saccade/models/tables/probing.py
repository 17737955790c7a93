"""Does a model have a way for a value of a column? Its terms are tried, with some values of the other columns."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.tables.storage import Kinds
from saccade.models.tables.terms import NoTerm, Term

__all__ = ["takes"]

# Of the other columns of a term so many categories are tried; some of these may be refused themselves.
MOST_TRIED = 8
NUMBERS = np.array([0.0, 1.0, np.nan])


def takes(terms: Iterable[Term], kinds: Kinds, column: int, value: NDArray[Any]) -> bool:
    """Whether every term of a column gives numbers for a value of it, (1,), with some values of its other columns."""
    return all(
        _gives_a_number(term, kinds, column, value)
        for term in terms
        if column in term.columns and not isinstance(term, NoTerm)
    )


def _gives_a_number(term: Term, kinds: Kinds, column: int, value: NDArray[Any]) -> bool:
    tried = [value if other == column else _some_values(kinds, other) for other in term.columns]
    places = np.indices([values.size for values in tried]).reshape(len(tried), -1)
    combined = {other: values[place] for other, values, place in zip(term.columns, tried, places, strict=True)}
    try:
        made = term.values(combined.__getitem__)
    except (TypeError, ValueError):  # of a transformer of the user's own
        return False
    return bool((~np.isnan(made).any(axis=1)).any())


def _some_values(kinds: Kinds, column: int) -> NDArray[Any]:
    categories = kinds.categories.get(column)
    if categories is not None:
        n = categories.values.size
        return np.append(np.arange(min(n, MOST_TRIED)), [n, n + 1])
    return kinds.none_of(column, 1) if column in kinds.as_held else NUMBERS

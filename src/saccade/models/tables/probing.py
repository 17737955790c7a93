"""Does a model have a way for a value of a column? Its terms are tried, with some values of the other columns."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.tables.storage import Kinds
from saccade.models.tables.terms import NoTerm, Term

__all__ = ["takes"]

# Of the other columns of a term so many categories are tried; some of these may be refused themselves.
MOST_TRIED = 8
# And so many combinations of them: a term of twenty columns would have millions.
MOST_COMBINED = 10_000
NUMBERS = np.array([0.0, 1.0, np.nan])


def takes(terms: Iterable[Term], kinds: Kinds, column: int, value: NDArray[Any]) -> bool:
    """Whether every term of a column gives numbers for a value of it, (1,), with some values of its other columns."""
    return all(
        _takes(term, kinds, column, value) for term in terms if column in term.columns and not isinstance(term, NoTerm)
    )


def _takes(term: Term, kinds: Kinds, column: int, value: NDArray[Any]) -> bool:
    if _gives_a_number(term, kinds, column, value):
        return True
    # Is it this value that is refused, or has nothing been tried that the term takes of its other columns?
    return len(term.columns) > 1 and not _gives_a_number(term, kinds, column, _some_values(kinds, column))


def _gives_a_number(term: Term, kinds: Kinds, column: int, values: NDArray[Any]) -> bool:
    """Whether a term gives numbers for any of some values of a column."""
    tried = [values if other == column else _some_values(kinds, other) for other in term.columns]
    places = _combinations([each.size for each in tried])
    combined = {other: each[place] for other, each, place in zip(term.columns, tried, places, strict=True)}
    try:
        with np.errstate(all="ignore"):
            made = term.values(combined.__getitem__)
    except Exception:  # a transformer of the user's own may raise anything
        return False
    return bool((~np.isnan(made).any(axis=1)).any())


def _combinations(sizes: list[int]) -> NDArray[np.intp]:
    """Return places among the values of each column, (columns, combinations): all, or some where they are many."""
    if math.prod(sizes) <= MOST_COMBINED:
        return np.indices(sizes).reshape(len(sizes), -1)
    return np.random.default_rng(0).integers(0, np.array(sizes)[:, None], (len(sizes), MOST_COMBINED), dtype=np.intp)


def _some_values(kinds: Kinds, column: int) -> NDArray[Any]:
    categories = kinds.categories.get(column)
    if categories is not None:
        n = categories.values.size
        return np.append(np.arange(min(n, MOST_TRIED)), [n, n + 1])
    return kinds.none_of(column, 1) if column in kinds.as_held else NUMBERS

"""The values of a column of categories, counted in bounded memory."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.headers import BLANKS
from saccade.models.categories import is_missing

__all__ = ["CountedValues"]

# A longer text is no category: such texts are counted, and not kept.
LONGEST = 200


class CountedValues:
    """Counts of the values of a column, and how many rows have none.

    While the rows of a batch are read it is called with values and gives each a number; ``add`` then counts the rows by
    these numbers. Where more than 2 ``most`` values differ, all counts are lowered by that of the first one beyond
    ``most``, and what comes to nothing is dropped (Misra and Gries 1982; merged as by Agarwal et al. 2013). So no count
    is ever too large, and none is too small by more than rows / ``most``.
    """

    def __init__(self, most: int) -> None:
        self.counts: dict[Any, int] = {}
        self.missing = self.n_long = self.n_dropped = 0
        self._most = most
        self._numbers: dict[Any, int] = {}  # of the values of the present batch

    def __call__(self, values: NDArray[Any]) -> NDArray[np.float64]:
        if values.dtype.kind in "fiub":
            different, places = np.unique(values, return_inverse=True)
            numbered: NDArray[np.float64] = self(different.astype(object))[places]
            return numbered
        return np.array([self._number(value) for value in values.tolist()], dtype=np.float64)

    def are_known(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return that all are: nothing is known before it is counted."""
        return np.ones(numbers.shape, dtype=bool)

    def _number(self, value: Any) -> float:
        if isinstance(value, str):
            value = value.strip(BLANKS)
        return np.nan if value == "" or is_missing(value) else self._numbers.setdefault(value, len(self._numbers))

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Count the rows of a batch; NaN stands for a missing value."""
        there = ~np.isnan(numbers)
        self.missing += int(there.size - there.sum())
        counts = np.bincount(numbers[there].astype(np.intp), minlength=len(self._numbers))
        self._merge(zip(self._numbers, counts.tolist(), strict=True))
        self._numbers = {}

    def _merge(self, counted: Iterable[tuple[Any, int]]) -> None:
        for value, count in counted:
            if isinstance(value, str) and (len(value) > LONGEST or not _is_unicode(value)):
                self.n_long += count
            elif count:
                self.counts[value] = self.counts.get(value, 0) + count
        if len(self.counts) > 2 * self._most:
            less = sorted(self.counts.values(), reverse=True)[self._most]
            before = len(self.counts)
            self.counts = {value: count - less for value, count in self.counts.items() if count > less}
            self.n_dropped += before - len(self.counts)

    @property
    def n_different(self) -> int:
        """How many different values there are: too many are counted only where some were dropped and came again."""
        return len(self.counts) + self.n_dropped + self.n_long


def _is_unicode(text: str) -> bool:
    """Whether a text can be written: bytes that are no UTF-8 are read as surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

"""The encoding of a table, made of what its rows hold, and its columns of categories as codes."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.choice import ColumnKind
from saccade.data.counting import CountedValues
from saccade.data.headers import BLANKS, MISSING_WORDS
from saccade.data.moments import ColumnMoments
from saccade.models.categories import is_missing
from saccade.models.coding import Spellings
from saccade.models.tables.encoding import Encoded, Encoding, LeftOut, Number, OneHot

__all__ = ["TableSeen", "coders_of"]

# A category is kept where so many rows have it, in a table of fewer than 1,000 rows 1 % of them, and at least two.
FEWEST = 10
# So many of a column are kept at the most, and so many different values are counted of a column, and of all together.
MOST_KEPT = 1_000
MOST_COUNTED, MOST_COUNTED_IN_ALL = 100_000, 1_000_000
# Numbers as tables have them, and no +1, 01, 1.50 or 1e3, which may be codes.
_PLAIN = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{0,8}[1-9]|\.0)?")
EMPTY, ALIKE, RARE = "no values", "nearly the same in all rows", "no value is in {:,} rows or more"


class TableSeen:
    """What the rows of a table hold, column by column, gathered batch by batch."""

    def __init__(self, kinds: Sequence[ColumnKind]) -> None:
        self._kinds, self._rows = kinds, 0
        texts = [j for j, kind in enumerate(kinds) if kind in (ColumnKind.TEXTS, ColumnKind.CATEGORIES)]
        most = min(MOST_COUNTED, max(2 * MOST_KEPT, MOST_COUNTED_IN_ALL // max(len(texts), 1)))
        self.counted = {j: CountedValues(most) for j in texts}
        self._moments = {j: ColumnMoments(1) for j, kind in enumerate(kinds) if kind is ColumnKind.NUMBERS}

    @property
    def numbers(self) -> list[int]:
        return list(self._moments)

    def add(self, X: NDArray[Any]) -> None:
        """Take rows in which the values of columns of texts are numbered by ``counted``."""
        self._rows += X.shape[0]
        for j, moments in self._moments.items():
            moments.add(X[~np.isnan(X[:, j]), j][:, None])
        for j, counted in self.counted.items():
            counted.add(X[:, j])

    def encoding(self, names: Sequence[str] | None, *, scale: bool, centred: bool) -> Encoding:
        """Return the encoding; numbers are not centred where there is no intercept, and as they are without a scale."""
        columns = tuple(self._encoded(j, kind, scale, centred) for j, kind in enumerate(self._kinds))
        return Encoding(columns, None if names is None else tuple(names))

    def _encoded(self, j: int, kind: ColumnKind, scale: bool, centred: bool) -> Encoded:
        if kind is ColumnKind.IGNORED:
            return LeftOut("ignored")
        if kind is not ColumnKind.NUMBERS:
            return _levels(self.counted[j], self._rows, may_be_key=kind is ColumnKind.TEXTS)
        moments = self._moments[j]
        if moments.mean is None:
            return LeftOut(EMPTY)
        if not scale:
            return Number(moments.mean, 0.0, 1.0)
        scaling = moments.scaling(centred=centred)
        return Number(moments.mean, float(scaling.centre[0]), float(scaling.unit[0]))


def _levels(counted: CountedValues, rows: int, *, may_be_key: bool) -> OneHot | LeftOut:
    """Return the categories that are kept, or why none are."""
    words = [value for value in counted.counts if isinstance(value, str) and value.lower() in MISSING_WORDS]
    missing = counted.missing + sum(counted.counts[word] for word in words)
    there, different = rows - missing, counted.n_different - len(words)
    fewest = min(FEWEST, max(2, rows // 100))
    is_key = may_be_key and 2 * different > there
    common = [(value, n) for value, n in counted.counts.items() if n >= fewest and value not in words and not is_key]
    common = sorted(common, key=lambda pair: (-pair[1], str(pair[0])))[:MOST_KEPT]
    together = there - sum(n for _, n in common)
    if len(common) + (together >= fewest) + (missing >= fewest) < 2:
        if is_key:
            return LeftOut(f"{different:,} different texts in {there:,} rows, as names and keys have")
        return LeftOut(EMPTY if there == 0 else ALIKE if common else RARE.format(fewest))
    kept = _as_values([value for value, _ in common])
    alike = sorted(words) if kept.dtype == object else []
    values = np.array([*kept.tolist(), *alike], dtype=object) if alike else kept
    return OneHot(values, kept.size, different - kept.size)


def _as_values(kept: list[Any]) -> NDArray[Any]:
    """Return categories in their order: as numbers or truth values where all are written as such, else as texts."""
    texts = [value for value in kept if isinstance(value, str)]
    if texts and len(texts) == len(kept):
        if {text.lower() for text in texts} == {"true", "false"} and len(texts) == 2:
            return np.array([False, True])
        if all(_PLAIN.fullmatch(text) for text in texts):
            numbers = np.unique(np.array(texts, dtype=float if any("." in text for text in texts) else int))
            if numbers.size == len(texts):
                return numbers
    if kept and not texts:
        return np.array(sorted(kept))
    values = np.empty(len(kept), dtype=object)
    values[:] = sorted(kept, key=str)
    return values


class _Coder:
    """Makes codes of the values of a column, as they are written in a file."""

    def __init__(self, column: OneHot) -> None:
        self._spellings, self._other = Spellings(column.categories), column.values.size

    def are_known(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return that all are: a batch may have nothing but rare values, and they are learned from."""
        return np.ones(numbers.shape, dtype=bool)

    def __call__(self, values: NDArray[Any]) -> NDArray[np.float64]:
        if values.dtype.kind in "fiub":
            different, places = np.unique(values, return_inverse=True)
            made: NDArray[np.float64] = self(different.astype(object))[places]
            return made
        return np.array([self._of(value) for value in values.tolist()], dtype=np.float64)

    def _of(self, value: Any) -> int:
        if is_missing(value) or (isinstance(value, str) and value.strip(BLANKS).lower() in MISSING_WORDS):
            return self._other + 1
        try:
            code = self._spellings.code(value)
        except ValueError:  # it may be any of several, which differ by blanks
            return self._other
        return self._other if code is None else code


def coders_of(encoding: Encoding) -> dict[int, _Coder]:
    """Return what makes codes of the values of columns of categories."""
    return {j: _Coder(column) for j, column in enumerate(encoding.columns) if isinstance(column, OneHot)}

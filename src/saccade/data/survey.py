"""The first pass over a data set: its labels, the moments of its columns, and columns that are likely a mistake."""

import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import numpy as np

from saccade.data.batches import BadRows, Batch, DataFile
from saccade.data.choice import ColumnKind
from saccade.data.encoded import Opened, TableFile
from saccade.data.encoding import TableSeen
from saccade.data.held_out import HeldOut
from saccade.data.labels import Labels, LabelsSeen
from saccade.exceptions import DataFileError, SuspectColumnWarning
from saccade.models.tables.encoding import Encoding, LeftOut

__all__ = ["survey", "survey_table", "warn_of_left_out"]

# Fewer rows may count up by chance.
FEWEST_COUNTED = 10


class Gathered(Protocol):
    """What is gathered of the rows that are learned from."""

    def add(self, X: Any) -> None:
        """Take some more rows."""


def survey(
    data: DataFile,
    bad: BadRows,
    held_out: HeldOut | None,
    moments: Gathered | None,
    progress: Callable[[int, int], None],
    numbers: Collection[int] | None = None,
) -> Labels:
    """Read the data once: return the labels of all rows, and add those that are learned from to the moments.

    ``progress`` is called with the rows of each batch and the place where it ends. ``numbers`` are the features that
    are numbers, None for all.
    """
    seen, first = LabelsSeen(data.path), 0
    for batch in data.batches(0, bad):
        if batch.y is None:
            raise DataFileError(f"{data.path}: name the column that is to be predicted as the target.")
        seen.add(batch.y)
        if first == 0:
            _warn_of_row_numbers(data, batch, range(data.n_features) if numbers is None else numbers)
        if moments is not None:
            moments.add((batch if held_out is None else held_out.split(batch, first)[0]).X)
        first += batch.good.size
        progress(batch.X.shape[0], batch.end)
    return seen.labels(bad)


def survey_table(
    opened: Opened,
    kinds: Sequence[ColumnKind],
    bad: BadRows,
    held_out: HeldOut | None,
    progress: Callable[[int, int], None],
) -> tuple[Labels, TableSeen]:
    """Read a table once: return the labels of all rows, and what the columns hold in those that are learned from."""
    seen = TableSeen(kinds)
    table = TableFile(opened.as_table([*seen.numbers, *seen.counted], seen.counted), seen.numbers)
    return survey(table, bad, held_out, seen, progress, seen.numbers), seen


def warn_of_left_out(path: str, encoding: Encoding, kinds: Sequence[ColumnKind]) -> None:
    """Warn of columns of texts that are not learned from."""
    for j, column in enumerate(encoding.columns):
        if isinstance(column, LeftOut) and kinds[j] is ColumnKind.TEXTS:
            name = j if encoding.names is None else repr(encoding.name(j))
            warnings.warn(
                f"{path}: column {name} is left out: {column.why}. Say so with ignore=, or --ignore; or have the "
                "values that are common learned from: categorical=, or --categorical.",
                SuspectColumnWarning,
                stacklevel=2,
            )


def _warn_of_row_numbers(data: DataFile, batch: Batch, numbers: Collection[int]) -> None:
    """Warn of features that say nothing but where a row stands: those that count rows, and one without a name."""
    counting = [feature for feature in _counting(batch) if feature in numbers]
    for feature in counting:
        _warn(data, f"column {feature if data.names is None else repr(data.names[feature])} counts the rows")
    for feature, name in enumerate(data.names or []):
        if not name.strip() and feature not in counting:
            _warn(data, "a column has no name")


def _counting(batch: Batch) -> list[int]:
    rows = np.flatnonzero(batch.good)
    if rows.size < FEWEST_COUNTED or not isinstance(batch.X, np.ndarray):
        return []
    begins = batch.X[0] - rows[0]
    candidates = np.flatnonzero((begins == 0) | (begins == 1))
    return [int(j) for j in candidates if np.array_equal(batch.X[:, j], rows + begins[j])]


def _warn(data: DataFile, what: str) -> None:
    warnings.warn(
        f"{data.path}: {what}, and is learned from as a feature. If it is the number or the key of a row, leave it "
        "out: ignore=, or --ignore; pandas writes no index with to_csv(..., index=False).",
        SuspectColumnWarning,
        stacklevel=2,
    )

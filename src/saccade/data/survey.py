"""The first pass over a data set: its labels, the moments of its columns, and columns that are likely a mistake."""

import warnings
from collections.abc import Callable

import numpy as np

from saccade.data.batches import BadRows, Batch, DataFile
from saccade.data.held_out import HeldOut
from saccade.data.labels import Labels, LabelsSeen
from saccade.data.moments import ColumnMoments
from saccade.exceptions import DataFileError, SuspectColumnWarning

__all__ = ["survey"]

# Fewer rows may count up by chance.
FEWEST_COUNTED = 10


def survey(
    data: DataFile,
    bad: BadRows,
    held_out: HeldOut | None,
    moments: ColumnMoments | None,
    progress: Callable[[int, int], None],
) -> Labels:
    """Read the data once: return the labels of all rows, and add those that are learned from to the moments.

    ``progress`` is called with the rows of each batch and the place where it ends.
    """
    seen, first = LabelsSeen(data.path), 0
    for batch in data.batches(0, bad):
        if batch.y is None:
            raise DataFileError(f"{data.path}: name the column that is to be predicted as the target.")
        seen.add(batch.y)
        if first == 0:
            _warn_of_row_numbers(data, batch)
        if moments is not None:
            moments.add((batch if held_out is None else held_out.split(batch, first)[0]).X)
        first += batch.good.size
        progress(batch.X.shape[0], batch.end)
    return seen.labels(bad.count)


def _warn_of_row_numbers(data: DataFile, batch: Batch) -> None:
    """Warn of features that say nothing but where a row stands: those that count rows, and one without a name."""
    counting = _counting(batch)
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
        f"{data.path}: {what}, and is learned from as a feature. If it is the number or the key of a row, write the "
        "data without it; pandas does with to_csv(..., index=False).",
        SuspectColumnWarning,
        stacklevel=2,
    )

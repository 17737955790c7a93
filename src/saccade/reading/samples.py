"""How many rows are enough to plan and calibrate on, and a uniform sample of so many rows of a Dask collection."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from saccade.reading.partitions import computed, delayed_parts, is_collection, is_frame, joined
from saccade.reading.tables import take_rows

__all__ = ["Drawn", "draw", "enough_rows"]

# Limits of a sample. A rare class needs many rows to be promised anything; where there are more than 100 columns, the
# values, all in memory, set the limit.
MOST_ROWS = 500_000
MOST_VALUES = 50_000_000
FEWEST_ROWS = 2_000
# By so many standard deviations more rows are kept at first than are drawn in the end, so that there are enough.
SPARE = 6.0


class Drawn(NamedTuple):
    """Rows in memory that were drawn from a collection, and their labels."""

    X: Any
    y: Any
    n_from: int  # how many rows the collection has


class Kept(NamedTuple):
    """What a partition gives to a sample."""

    rows: Any
    keys: NDArray[np.float64]
    places: NDArray[np.intp]
    n_rows: int  # that the partition has


def enough_rows(n_columns: int) -> int:
    """Return how many rows are worth having in memory.

    >>> enough_rows(10), enough_rows(1000), enough_rows(100_000)
    (500000, 50000, 2000)
    """
    return min(MOST_ROWS, max(MOST_VALUES // max(n_columns, 1), FEWEST_ROWS))


def draw(X: Any, y: Any, random_state: Any) -> Drawn:
    """Draw a uniform sample of the rows of a collection, in their order, and the labels of these rows.

    Every row has a random key, and those with the least keys are the sample, as of a file. Rows are counted first, so
    that a partition gives few more than its share: besides the sample, memory holds the partitions that are computed at
    a time. Keys depend on the place of a partition, and not on when or where it is computed.
    """
    most, n_rows = enough_rows(X.shape[1]), _count(X)
    if n_rows <= most:
        return Drawn(X.compute(), y.compute() if is_collection(y) else y, n_rows)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    share = (most + SPARE * math.sqrt(most)) / n_rows
    kept = computed(_keep, ((part, seed, place, share) for place, part in enumerate(delayed_parts(X))))
    keys = np.sort(np.concatenate([part.keys for part in kept]))
    least = [np.flatnonzero(part.keys <= keys[:most][-1]) for part in kept]
    begins = np.cumsum([0, *(part.n_rows for part in kept)])
    rows = [begin + part.places[own] for begin, part, own in zip(begins[:-1], kept, least, strict=True)]
    drawn = joined([take_rows(part.rows, own) for part, own in zip(kept, least, strict=True)])
    n_from = int(begins[-1])
    return Drawn(drawn, None if y is None else _labels(y, np.concatenate(rows), n_from), n_from)


def _count(X: Any) -> int:
    if is_frame(X):
        return len(X)  # which Dask may know without reading rows
    return sum(computed(_length, ((part,) for part in delayed_parts(X)))) if np.isnan(X.shape[0]) else int(X.shape[0])


def _keep(part: Any, seed: int, place: int, share: float) -> Kept:
    keys = np.random.default_rng([seed, place]).random(part.shape[0])
    places = np.flatnonzero(keys < share)
    return Kept(take_rows(part, places), keys[places], places, part.shape[0])


def _labels(y: Any, rows: NDArray[np.intp], n_rows: int) -> Any:
    """Return the labels of some rows, ascending; of a collection, however it is divided, by partition."""
    parts = delayed_parts(y) if is_collection(y) else []
    lengths = computed(_length, ((part,) for part in parts)) if parts else [len(y)]
    if sum(lengths) != n_rows:
        raise ValueError(f"y has {sum(lengths):,} labels, but X has {n_rows:,} rows. Pass a label for each row.")
    if not parts:
        return take_rows(y, rows)
    begins = np.cumsum([0, *lengths])
    own = np.split(rows, np.searchsorted(rows, begins[1:-1]))
    given = zip(parts, own, begins, strict=False)
    return np.concatenate(computed(_taken, ((part, some - begin) for part, some, begin in given)))


def _length(part: Any) -> int:
    return int(part.shape[0])


def _taken(part: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    return np.asarray(part)[rows]

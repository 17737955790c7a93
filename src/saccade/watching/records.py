"""What a watch gives back: readings that say which rows were audited, and counts by class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.asking.lazily import LazyReading
from saccade.reading.plan import Reading

__all__ = ["ClassWatch", "WatchedLazyReading", "WatchedReading"]


@dataclass(frozen=True, eq=False)
class WatchedReading(Reading):
    """A reading of which some rows were read in full as well: these have the full model's label and margin."""

    audited: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class WatchedLazyReading(LazyReading):
    """Rows that were fetched lazily, but for audited ones, of which everything was fetched.

    ``n_asked`` and ``spent`` of an audited row are those of the full read; ``audit_spent`` is what all audited rows
    cost beyond what would have decided them.
    """

    audited: NDArray[np.bool_]
    audit_spent: float


@dataclass(frozen=True)
class ClassWatch:
    """One class among the audited rows; a class of which nothing is promised has the level 1."""

    label: Any
    delta: float
    state: str  # "holds", "open" or "broken"
    full: int  # audited rows that the full model labels so
    here: int  # those labelled so early
    lost: int  # of the first, those with another label early
    false: int  # of the second, those with another label from the full model
    lost_lower: float  # bounds on the share that is lost
    lost_upper: float
    false_lower: float
    false_upper: float

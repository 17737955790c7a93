"""One row, of which some columns are known, and the seam between a conversation about it and how it is read."""

import math
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.planning.prices import Feature
from saccade.reading.plan import Plan

__all__ = ["Decision", "Row", "RowReader", "Value", "finite_number"]

Reals = NDArray[np.float64]
Value = float | str | None  # of a column, as JSON has it; None: it cannot be had


@dataclass(frozen=True)
class Row:
    """What is known of one row, by column."""

    values: Reals  # as the model takes them, categories as codes; NaN where there is none
    known: NDArray[np.bool_]  # whether anything was told
    missing: NDArray[np.bool_]  # whether it was told that the value cannot be had
    told: NDArray[np.object_]  # the values themselves; None where there is none

    @classmethod
    def unknown(cls, n_columns: int) -> "Row":
        nothing = np.zeros(n_columns, dtype=bool)
        return cls(np.full(n_columns, np.nan), nothing, nothing.copy(), np.full(n_columns, None, dtype=object))

    def put(self, column: int, value: Value, number: float) -> None:
        self.values[column], self.known[column], self.missing[column] = number, True, value is None
        self.told[column] = value

    def forget(self, columns: list[int]) -> None:
        self.values[columns], self.known[columns], self.missing[columns] = np.nan, False, False
        self.told[columns] = None


@dataclass(frozen=True)
class Decision:
    """What a plan decides."""

    code: int
    margin: Reals  # (scores,)
    lacked: bool  # whether a column that was to be read had no value, though it never lacked one in calibration


class RowReader(Protocol):
    """How a row is read by a plan while its columns become known."""

    @property
    def plan(self) -> Plan: ...

    @property
    def n_columns(self) -> int: ...

    def arrays(self) -> list[NDArray[Any]]:
        """Return what, beside the plan, tells this model from others."""

    def taken(self, column: int, feature: Feature, value: Any) -> tuple[Value, float]:
        """Return what was told of a column, and the number that it is for the model; or raise.

        ``feature`` is what the column is called in errors.
        """

    def needed(self, row: Row) -> list[int]:
        """Return the columns that a row is certain to need next, in reading order; none where nothing is open."""

    def decide(self, row: Row) -> Decision | None:
        """Return what the plan decides, or None where too little is known."""

    def estimate(self, row: Row) -> tuple[Reals, Reals]:
        """Return mean and covariance of the full scores given what is known; zeros where they are certain."""

    def outside(self, row: Row) -> list[int]:
        """Return the columns whose values lie outside of what was seen when the model was certified.

        Numbers go by the range, categories by which were seen; a missing value does not lie outside.
        """


def finite_number(value: Any, feature: Feature) -> float:
    """Return a number as a float, or raise."""
    if not isinstance(value, Real | Decimal | np.bool_):
        raise TypeError(f"{feature!r}: expected a number, or None where it cannot be had; got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{feature!r} is not finite. Tell a finite number, or None where it cannot be had.")
    return number

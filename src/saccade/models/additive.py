"""The record that every kind of model is taken apart into: parts, and how each counts in each score."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.models.categories import Categories
from saccade.reading.sources import Source

__all__ = ["Additive", "Ranges"]

Reals = NDArray[np.float64]


class Ranges(NamedTuple):
    """What some rows were seen to hold, by column."""

    low: Reals  # (columns,)
    high: Reals
    missing: NDArray[np.bool_]  # whether a value was missing in any row
    codes: Mapping[int, Reals]  # of a column of categories, which codes: ascending, by column

    def joined(self, other: "Ranges") -> "Ranges":
        return Ranges(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.missing | other.missing,
            {
                column: np.union1d(self.codes.get(column, []), other.codes.get(column, []))
                for column in sorted({*self.codes, *other.codes})
            },
        )


class Additive(Protocol):
    """A fitted classifier as a sum of parts: S = intercept + coef · parts, one score for two classes, else one each.

    A part may be a column, a tree, a look-up. Planning and certification see ``coef``, ``intercept`` and part values
    alone, so that a new kind of model is one file with a class of this shape and a function that makes it.
    """

    @property
    def coef(self) -> Reals:
        """(scores, parts)."""

    @property
    def intercept(self) -> Reals:
        """(scores,)."""

    @property
    def unit(self) -> NDArray[np.uint32]:
        """(parts,) the unit that each part is read and counted with, such as a tree of several outputs.

        Empty where each part is a unit of its own.
        """

    @property
    def parts_are_columns(self) -> bool:
        """Whether each part needs one column, the one in its place."""

    @property
    def each_needs_one(self) -> bool:
        """Whether the parts of each unit need one column, the one in its place."""

    @property
    def of_trees(self) -> bool:
        """Whether a part is a tree, or an output of one."""

    @property
    def takes_objects(self) -> bool:
        """Whether it takes arrays of texts and of other objects."""

    @property
    def as_held(self) -> frozenset[int]:
        """The columns whose values may be of any type."""

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, in the order of the scores."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the user's columns, where they are known."""

    @property
    def unit_names(self) -> tuple[str, ...] | None:
        """The names of the units, where they are columns or terms, and names are known."""

    @property
    def n_columns(self) -> int:
        """How many columns the user's rows have."""

    @property
    def categories(self) -> Mapping[int, Categories]:
        """The categories of those columns that hold no numbers, or numbers that are names."""

    @property
    def used(self) -> NDArray[np.integer[Any]]:
        """The columns that any part asks for, ascending."""

    @property
    def takes_missing(self) -> NDArray[np.bool_]:
        """(columns,) whether a missing value is a value like another."""

    def columns_of(self, parts: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the columns that some parts can ask for, in the order of the parts."""

    def values(self, X: Any, rows: NDArray[np.intp]) -> NDArray[np.floating]:
        """Return the parts of some rows, (rows, parts), all of them finite: to plan and to calibrate on."""

    def full(self, X: Any, rows: NDArray[np.intp]) -> Reals | None:
        """Return the full margins of some rows, (rows, scores), where they are more exact than a sum of ``values``."""

    def ranges(self, X: Any, rows: NDArray[np.intp]) -> Ranges | None:
        """Return what some rows have in each column; None if the columns are the parts."""

    def check_own(self, X: Any, rows: NDArray[np.intp]) -> None:
        """Raise where the margins of X are not the model's own, if these are to be the same to the bit.

        ``rows`` are the numbers of these rows among those that a user passed.
        """

    def as_taken(self, X: Any) -> Any:
        """Return rows as the model's own library takes them, where that is not as they are."""

    def source(self, X: Any) -> Source:
        """Return the parts of X, which was checked, as a source: to read."""

    def named(self, columns: tuple[str, ...]) -> "Additive":
        """Return the same model with these names for the user's columns."""

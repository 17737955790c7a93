"""What an importer makes of a library's model."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.trees.ensemble import Ensemble

__all__ = ["Categories", "Imported", "is_missing"]


def is_missing(value: Any) -> bool:
    """Whether a value of a column is None, NaN or pandas.NA."""
    return value is None or type(value).__name__ == "NAType" or value != value


@dataclass(frozen=True)
class Categories:
    """The categories of a column: the k-th has the code k, and any other value is missing, or an error."""

    values: NDArray[Any]  # texts, or numbers
    # Whether numbers are values, as everywhere in scikit-learn. Else they are codes already, and only what a table
    # holds as categories or texts is looked up.
    numbers_too: bool
    refuses_others: bool = False  # as XGBoost does since 3.1

    @cached_property
    def codes(self) -> dict[Any, float]:
        return {value: float(code) for code, value in enumerate(self.values.tolist())}

    @property
    def some(self) -> str:
        """The first of them, for messages."""
        return f"{self.values[:5].tolist()}{' …' if self.values.size > 5 else ''}"

    def code(self, value: Any) -> float:
        """Return the code of a value, or NaN."""
        code = self.codes.get(value, np.nan)
        if self.refuses_others and code != code and not is_missing(value):
            raise ValueError(f"{value!r} is none of the categories that the model was fitted on, {self.some}.")
        return code


@dataclass(frozen=True)
class Imported:
    """A library's model, taken apart."""

    ensemble: Ensemble
    classes: NDArray[Any]
    columns: tuple[str, ...] | None  # names, where the model was fitted with names that a user gave
    library: str  # and its version, for errors
    # The library's own margins and labels of rows in a storage that it takes, as a user would ask for them. Margins
    # are (rows, scores); of two classes' probabilities the second less the first.
    # None where the model was read from a file.
    margins: Callable[[Any], NDArray[np.floating]] | None
    labels: Callable[[Any], NDArray[Any]] | None
    categories: dict[int, Categories] = field(default_factory=dict)  # by column
    # Whether the library adds in a fixed order: forests in several threads do not.
    same_bits: bool = True
    absent: float = 0.0  # what a value that a CSR matrix does not store stands for: zero, or NaN

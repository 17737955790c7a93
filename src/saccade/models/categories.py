"""The categories of a column, and the codes that stand for them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Categories", "is_missing"]


def is_missing(value: Any) -> bool:
    """Whether a value of a column is None, NaN or pandas.NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


@dataclass(frozen=True)
class Categories:
    """The categories of a column: the k-th has the code k. Any other value is missing, an error, or a code of its own.

    A missing value is NaN.
    """

    values: NDArray[Any]  # texts, or numbers
    # Whether numbers are values, as everywhere in scikit-learn. Else they are codes already, and only what a table
    # holds as categories or texts is looked up.
    numbers_too: bool
    refuses_others: bool = False  # as XGBoost does since 3.1
    others_apart: bool = False  # whether any other value has the code that follows those of the categories

    @cached_property
    def codes(self) -> dict[Any, float]:
        return {value: float(code) for code, value in enumerate(self.values.tolist())}

    @property
    def are_numbers(self) -> bool:
        """Whether all are, so that numbers can be looked up among them at once."""
        return self.values.dtype.kind in "fiub"

    @property
    def some(self) -> str:
        """The first of them, for messages."""
        return f"{self.values[:5].tolist()}{' …' if self.values.size > 5 else ''}"

    def code(self, value: Any) -> float:
        """Return the code of a value, or NaN."""
        if self.others_apart and not is_missing(value):
            return self.codes.get(value, float(self.values.size))
        code = self.codes.get(value, np.nan)
        if self.refuses_others and code != code and not is_missing(value):
            raise ValueError(f"{value!r} is none of the categories that the model was fitted on, {self.some}.")
        return code

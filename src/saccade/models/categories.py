"""The categories of a column, and the codes that stand for them."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import NotNumbersError
from saccade.reading.distinct import is_missing
from saccade.reading.texts import KnownTexts

__all__ = ["AS_PYTHON", "NOT_SPELLED", "PLAIN", "Categories", "fit_floats"]

# How numbers are written where they stand for texts: whole ones without a point, and truth values as 0 and 1; or as
# Python does, 1.0 and True.
NOT_SPELLED, PLAIN, AS_PYTHON = "", "plain", "python"


def fit_floats(numbers: NDArray[Any]) -> bool:
    """Whether whole numbers are all told apart as floats; beyond 2**53 some are not."""
    return all(-(2**53) <= int(end) <= 2**53 for end in (numbers.min(initial=0), numbers.max(initial=0)))


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
    spelled: str = NOT_SPELLED  # where values are texts, and a number stands for the text that it is written as: how

    @cached_property
    def codes(self) -> dict[Any, float]:
        codes = {value: float(code) for code, value in enumerate(self.values.tolist())}
        if self.spelled:
            numbers = {text: _number_in(text, self.spelled) for text in codes}
            codes |= {number: codes[text] for text, number in numbers.items() if number is not None}
        return codes

    @cached_property
    def texts(self) -> KnownTexts | None:
        """What texts are looked up by, where all categories are texts."""
        values = self.values.tolist()
        return KnownTexts(values) if all(isinstance(value, str) for value in values) else None

    @cached_property
    def hold_texts(self) -> bool:
        """Whether there are texts among the categories."""
        return any(isinstance(value, str) for value in self.values.tolist())

    @property
    def are_numbers(self) -> bool:
        """Whether all are, so that numbers can be looked up among them at once."""
        return self.values.dtype.kind in "fiub"

    @cached_property
    def fit_floats(self) -> bool:
        """Whether numbers can be looked up among them as floats."""
        return self.values.dtype.kind in "fb" or (self.are_numbers and fit_floats(self.values))

    @property
    def some(self) -> str:
        """The first of them, for messages."""
        return f"{self.values[:5].tolist()}{' …' if self.values.size > 5 else ''}"

    def check_kind(self, value: Any, column: Any) -> None:
        """Raise if a value cannot be a category: a date, or a number where the model knows texts, or the opposite."""
        numbers = (Number, np.bool_)
        kinds = (str, *numbers) if self.numbers_too else (str,) if self.hold_texts else numbers
        is_time = isinstance(value, np.timedelta64)  # which NumPy registers as a whole number
        if (is_time or not isinstance(value, kinds)) and not is_missing(value):
            raise NotNumbersError(
                f"Column {column!r} of X holds {value!r}, which is no category that the model was fitted on: "
                f"{self.some}. Make it a column of such categories."
            )

    def code(self, value: Any) -> float:
        """Return the code of a value, or NaN."""
        if self.others_apart and not is_missing(value):
            return self.codes.get(value, float(self.values.size))
        code = self.codes.get(value, np.nan)
        if self.refuses_others and code != code and not is_missing(value):
            raise ValueError(f"{value!r} is none of the categories that the model was fitted on, {self.some}.")
        return code


def _number_in(text: str, spelled: str) -> float | None:
    """Return the number, or truth value, that is written as this text."""
    if spelled == AS_PYTHON and text in ("False", "True"):
        return text == "True"
    try:
        number = int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return None
    right = str(number) == text and number == number
    return number if right and (spelled == AS_PYTHON or not text.endswith(".0")) else None

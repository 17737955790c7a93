"""Columns of texts as the numbers that a model takes for its categories."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import Coder
from saccade.data.labels import shown_labels
from saccade.exceptions import SuspectColumnWarning
from saccade.models.categories import FEWEST_TO_JUDGE

__all__ = ["coded", "warn_if_none_is_known"]


def coded(path: str, name: str, values: Sequence[Any], places: NDArray[Any], coder: Coder) -> NDArray[np.float64]:
    """Return the numbers of a column of which each different value is given once, and its place for each row.

    Where none is a category, it is likely the wrong column, or codes were written.
    """
    codes = coder(np.array([*values, None], dtype=object))[:-1]
    written = [value for value in values if value is not None and str(value).strip()]
    warn_if_none_is_known(path, name, written, places.size, codes, coder)
    numbers: NDArray[np.float64] = codes[places]
    return numbers


def warn_if_none_is_known(
    path: str, name: str, written: Sequence[Any], rows: int, codes: NDArray[np.float64], coder: Coder
) -> None:
    """Warn of a column that has values, and no category among them."""
    if written and rows >= FEWEST_TO_JUDGE and not coder.are_known(codes).any():
        shown = shown_labels(list(map(str, written)))
        taken = "missing values" if np.isnan(codes).all() else "values that it does not know"
        warnings.warn(
            f"{path}: column {name!r} has none of the model's categories, but {shown}: these are all "
            f"taken for {taken}. Write the categories as the model was fitted on them.",
            SuspectColumnWarning,
            stacklevel=3,
        )

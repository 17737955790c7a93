"""Columns of texts as the numbers that a model takes for its categories."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import Coder
from saccade.data.labels import shown_labels
from saccade.exceptions import SuspectColumnWarning

__all__ = ["coded"]

# Fewer rows may have no known category by chance.
FEWEST = 20


def coded(path: str, name: str, texts: Sequence[str | None], places: NDArray[Any], coder: Coder) -> NDArray[np.float64]:
    """Return the numbers of a column of which each different text is given once, and its place for each row.

    A text that is no category is missing; where all are, it is likely the wrong column, or codes were written.
    """
    codes = coder(np.array([*texts, None], dtype=object))[:-1]
    written = [text for text in texts if text]
    if written and places.size >= FEWEST and np.isnan(codes).all():
        warnings.warn(
            f"{path}: column {name!r} has none of the model's categories, but {shown_labels(written)}: these are all "
            "taken for missing values. Write the categories as the model was fitted on them.",
            SuspectColumnWarning,
            stacklevel=2,
        )
    numbers: NDArray[np.float64] = codes[places]
    return numbers

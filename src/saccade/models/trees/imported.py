"""What an importer makes of a library's model."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.categories import Categories
from saccade.models.trees.ensemble import Ensemble

__all__ = ["Imported"]


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
    # Of two classes: the second one's probability at margins, as the library computes it to the last bit.
    probability: Callable[[NDArray[np.float64]], NDArray[np.floating]] | None = None
    absent: float = 0.0  # what a value that a CSR matrix does not store stands for: zero, or NaN

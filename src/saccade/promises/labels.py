"""The labels of some rows, as codes into the classes: what a promise is kept, or broken, by."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Labels"]

Codes = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Labels:
    """What the full model says of each row, and where it is known what is true."""

    full: Codes
    n_classes: int
    true: Codes | None = None  # -1 for a label that the model does not know

    def part(self, rows: slice) -> "Labels":
        """Return the labels of some of the rows."""
        return Labels(self.full[rows], self.n_classes, None if self.true is None else self.true[rows])

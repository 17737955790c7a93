"""From margins to the probabilities of two classes."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["probabilities_at"]


def probabilities_at(margin: NDArray[np.float64], slope: float | None) -> NDArray[np.float64]:
    """Return (rows, 2) probabilities at margins; ``slope`` is that of ``Ensemble``."""
    second = (1 + margin) / 2 if slope is None else expit(slope * margin)
    return np.stack([1 - second, second], axis=1)

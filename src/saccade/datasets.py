"""Data sets for examples and experiments."""

from saccade.data.mnist import load_mnist
from saccade.data.small_digits import load_digits

__all__ = ["load_digits", "load_mnist"]

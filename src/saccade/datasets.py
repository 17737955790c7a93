"""Data sets for examples and experiments."""

from saccade.data.mnist import load_mnist

__all__ = ["load_mnist"]

"""MNIST, which the package of experiments in this repository loads."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reproduction.mnist import load_mnist

__all__ = ["load_mnist"]

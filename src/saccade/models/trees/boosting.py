"""What LightGBM's and XGBoost's models have in common: rounds of trees of one output, a tree for each score."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.trees.assembling import Tree

__all__ = [
    "FIT_A_CLASSIFIER",
    "Rounds",
    "class_names",
    "classes_of",
    "library_name",
    "logistic",
    "margins_from",
    "smallest",
]

# The way out for models without labels.
FIT_A_CLASSIFIER = "Fit a classifier, for example on whether the target exceeds a threshold."
# e to a higher power is no double.
LARGEST_EXPONENT = 709.0


@dataclass(frozen=True)
class Rounds:
    """Trees in the order in which they are added, and the score that each counts in."""

    trees: Sequence[Tree]
    score: NDArray[np.int32]
    n_scores: int

    def merged(self) -> "Rounds":
        """Return two classes' scores as one: each tree gets two outputs, one of which is zero."""
        if self.n_scores != 2:
            return self
        both = [
            replace(tree, value=np.stack([tree.value * (score == 0), tree.value * (score == 1)], axis=1))
            for tree, score in zip(self.trees, self.score.tolist(), strict=True)
        ]
        return Rounds(both, np.zeros_like(self.score), 1)


def class_names(model: Any, library: str) -> set[str]:
    """Return the names of a model's classes that a library defines: empty for an object of another library."""
    return {
        cls.__name__
        for cls in type(model).__mro__
        if cls.__module__ == library or cls.__module__.startswith(f"{library}.")
    }


def classes_of(model: Any, expected: int) -> NDArray[Any]:
    """Return the labels of a wrapper, as many as its trees have."""
    classes: NDArray[Any] = np.asarray(model.classes_)
    if classes.size != expected:
        raise ValueError(f"The model was fitted on {classes.size} classes, and its trees decide between {expected}.")
    return classes


def library_name(title: str, module: str) -> str:
    """Return a library and its version, which is imported already where one of its models is at hand."""
    return f"{title} {getattr(sys.modules.get(module), '__version__', '')}".rstrip()


def margins_from(raw: Any) -> NDArray[np.floating]:
    """Return what a library calls raw scores as (rows, scores): of two, the second less the first, as doubles."""
    scores: NDArray[np.floating] = np.asarray(raw)
    scores = scores.reshape(len(scores), -1)
    return np.diff(scores.astype(np.float64), axis=1) if scores.shape[1] == 2 else scores


def logistic(margin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities at margins, with the C library's exponential, which libraries take, and not NumPy's."""
    return np.array([1 / (1 + math.exp(min(-value, LARGEST_EXPONENT))) for value in margin.tolist()])


def smallest(is_positive: Callable[[Any], bool], dtype: type[np.floating]) -> float:
    """Return the smallest positive number for which a condition holds that holds for all larger ones."""
    # The bits of positive numbers, taken as integers, have the order of the numbers.
    integer = np.dtype(f"i{np.dtype(dtype).itemsize}").type
    low, high = 0, int(np.array(np.finfo(dtype).max, dtype).view(integer))
    while high - low > 1:
        middle = (low + high) // 2
        if is_positive(np.array(middle, integer).view(dtype)[()]):
            high = middle
        else:
            low = middle
    return float(np.array(high, integer).view(dtype))

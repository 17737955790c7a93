"""The arrays that every library's trees become, and how a full read of them is summed.

A node sends a value left where it is at most the node's threshold, compared in double precision. Libraries compare in
single precision, or with 'less than': their thresholds are moved to the double that decides every value as they do
(``thresholds.py``), so that whoever walks trees knows one comparison.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.tree_walks import MOST_CATEGORIES

__all__ = ["NO_SCORE", "Ensemble", "Nodes", "Sum"]

Reals = NDArray[np.float64]

# The smallest positive number: the margin from which on most libraries give two classes' second label.
ABOVE_ZERO = float(np.nextafter(0.0, 1.0))
# In place of a score, for the trees that count in none (``screens.py``).
NO_SCORE = -1


class Nodes(NamedTuple):
    """The nodes of all trees, as arrays that a kernel takes.

    The right child of a node follows its left child. A leaf is its own left child, and has the threshold infinity and
    ``missing_left``, so that a walk that goes on stays there.
    """

    root: NDArray[np.int32]  # (trees,)
    column: NDArray[np.int32]  # (nodes,)
    threshold: Reals  # (nodes,)
    left: NDArray[np.int32]  # (nodes,)
    missing_left: NDArray[np.bool_]  # (nodes,) whether NaN goes left
    first_word: NDArray[np.int32]  # (nodes,) where in ``words`` a node's set of categories begins; -1: no categories
    n_words: NDArray[np.int32]  # (nodes,)
    words: NDArray[np.uint32]  # category k is in the set where bit k % 32 of word k // 32 is one; it goes left
    value: Reals  # (nodes, outputs) of the leaves; 0 elsewhere


@dataclass(frozen=True)
class Sum:
    """How a library makes margins of leaves: in this order and precision, for the same bits.

    ``start`` and then every tree in turn, in ``dtype``; the sum is divided by ``divisor``, multiplied by ``scale``, and
    ``bias`` is added.
    """

    start: Reals  # (outputs or scores,)
    dtype: type[np.floating] = np.float64
    divisor: float = 1.0
    scale: float = 1.0
    bias: Reals | float = 0.0
    # Two classes: the smallest margin that the library labels with the second.
    positive_from: float = ABOVE_ZERO


@dataclass(frozen=True)
class Ensemble:
    """Trees, and how they make scores.

    A tree has one output, which counts in one score; or as many outputs as there are classes, which count in one score
    each. With two classes such trees have a single score, the second sum less the first.
    """

    nodes: Nodes
    # (trees,) the score that a tree of one output counts in; zeros where there are several; trees of no score come last
    score: NDArray[np.int32]
    n_scores: int  # 1 for two classes
    n_columns: int
    sum: Sum
    single: bool = False  # the library takes categories in single precision
    least_category: float = -1.0  # a value above this, truncated, is a category; others are in no set
    zero_is_missing: NDArray[np.bool_] | None = None  # (columns,) |x| <= 1e-35 counts as NaN, as in LightGBM
    integers_single: bool = False  # arrays of integers are taken in single precision, as by LightGBM
    takes_missing: bool = True  # else NaN is an error, as it is for the library
    # Probability of the second class, by the margin: 1 / (1 + exp(-slope * margin)); None: (1 + margin) / 2.
    slope: float | None = 1.0

    @property
    def n_counting(self) -> int:
        """How many trees count in a score."""
        return int(np.count_nonzero(self.score != NO_SCORE))

    def codes_of(self, values: NDArray[np.floating]) -> Reals:
        """Return the categories that numbers are taken for, as walks take them; -1 for what is in no set."""
        with np.errstate(over="ignore"):
            seen = values.astype(np.float32 if self.single else np.float64).astype(np.float64)
        return np.where((seen > self.least_category) & (seen < MOST_CATEGORIES), np.trunc(seen) + 0.0, -1.0)

"""How deep trees are."""

import numpy as np
from numpy.typing import NDArray

from saccade.models.trees.ensemble import Nodes

__all__ = ["depths"]


def depths(nodes: Nodes) -> NDArray[np.int32]:
    """Return the steps from the root of each tree to its deepest leaf.

    By doubling: in each round all nodes look twice as far up, so that a tree that is one long chain takes few rounds.
    """
    own = np.arange(nodes.left.size)
    inner = own[nodes.left != own]
    above = own.copy()
    above[nodes.left[inner]] = above[nodes.left[inner] + 1] = inner
    steps = (above != own).astype(np.int32)
    while not np.array_equal(above, further := above[above]):
        steps += steps[above]
        above = further
    deepest: NDArray[np.int32] = np.maximum.reduceat(steps, nodes.root)
    return deepest

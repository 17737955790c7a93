"""What a scan over trees goes by: see ``kernels/tree_scans.py``."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.tree_scans import SEQUENCE_32, SEQUENCE_64, SHIFT_32, SHIFT_64, number_leaves
from saccade.models.trees.ensemble import Nodes

__all__ = ["MOST_LEAVES", "Scan", "scan_of"]

# A row has a bit for each leaf.
MOST_LEAVES = 64


class Scan(NamedTuple):
    """The nodes of all trees in the order in which they are asked."""

    first: NDArray[np.int64]  # (trees + 1,) where each tree's nodes begin
    node: NDArray[np.int64]
    slot: NDArray[np.int32]  # where a node's column stands among those that are used
    keep: NDArray[Any]  # the bits that stay where a row goes right
    every: NDArray[Any]  # (1,) all bits: one element says which kind of integer they are
    sequence: NDArray[Any]  # (1,)
    shift: NDArray[Any]  # (1,)
    width: int  # places for leaves that each tree has


def scan_of(nodes: Nodes, slot: NDArray[np.int32]) -> tuple[Scan, NDArray[np.int64]] | None:
    """Return what a scan goes by, and the leaf at each of its places; None where a tree has too many leaves.

    ``slot`` is the place of each column among those that are used.
    """
    n_trees, n_nodes = nodes.root.size, nodes.left.size
    is_leaf = nodes.left == np.arange(n_nodes)
    leaves = np.add.reduceat(is_leaf.astype(np.int64), nodes.root)
    most = int(leaves.max(initial=1))
    if most > MOST_LEAVES:
        return None
    wide = most > 32
    kind, width = (np.uint64, 64) if wide else (np.uint32, 32)
    sequence, shift = (SEQUENCE_64, SHIFT_64) if wide else (SEQUENCE_32, SHIFT_32)
    n_inner = int((~is_leaf).sum())
    first, node = np.zeros(n_trees + 1, np.int64), np.empty(n_inner, np.int64)
    keep, slots = np.empty(n_inner, kind), np.empty(n_inner, np.int32)
    leaf_at = np.repeat(nodes.root.astype(np.int64), width)  # places that no leaf takes are never come to
    stack, begins = np.empty(2 * most + 2, np.int64), np.empty(n_nodes, np.int64)
    number_leaves(nodes, first, node, keep, slots, slot, leaf_at, width, sequence, shift, stack, begins, kind(1))
    every = np.array([np.iinfo(kind).max], kind)
    return Scan(first, node, slots, keep, every, np.array([sequence]), np.array([shift]), width), leaf_at

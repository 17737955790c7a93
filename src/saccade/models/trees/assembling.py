"""From the trees that an importer reads, each with child numbers of its own, to the arrays of an ensemble."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.tree_building import number_siblings
from saccade.models.trees.ensemble import Nodes

__all__ = ["Tree", "assemble"]

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """One tree as a library has it. Node 0 is the root; a leaf has the left child -1.

    ``threshold`` is already that of x <= threshold in double precision (``thresholds.py``); of leaves and categorical
    nodes it does not matter. ``sets`` holds, by node, the categories that go left.
    """

    column: NDArray[np.integer]
    threshold: Reals
    left: NDArray[np.integer]
    right: NDArray[np.integer]
    missing_left: NDArray[np.bool_]
    value: Reals  # (nodes,) or (nodes, outputs)
    sets: dict[int, NDArray[np.integer]] | None = None


def assemble(trees: Sequence[Tree]) -> Nodes:
    """Return the nodes of all trees, siblings side by side."""
    sizes = np.array([tree.left.size for tree in trees], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    n_nodes = int(sizes.sum())
    if n_nodes >= 2**31:
        raise ValueError(f"The trees have {n_nodes:,} nodes, more than 2,147,483,647.")

    def joined(name: str, dtype: type) -> NDArray[Any]:
        return np.concatenate([np.asarray(getattr(tree, name), dtype=dtype) for tree in trees])

    given = (joined("left", np.int64), joined("right", np.int64))
    to, where = np.full(n_nodes, -1), np.full(n_nodes, -1)  # the new place of each node, and the node at each place
    if not number_siblings(*given, starts, sizes, to, where):
        raise ValueError("A tree has a child that is no node of it, or a node with two parents.")
    value = np.concatenate([np.asarray(tree.value, np.float64).reshape(tree.left.size, -1) for tree in trees])
    if not np.isfinite(value[given[0] < 0]).all():
        raise ValueError("A leaf has a value that is not finite.")
    column, threshold, missing_left = (
        joined(name, kind) for name, kind in (("column", np.int32), ("threshold", np.float64), ("missing_left", bool))
    )
    is_leaf = given[0] < 0
    place = np.repeat(starts, sizes)
    left = np.where(is_leaf, np.arange(n_nodes), place + given[0])
    words, first_word, n_words = _sets(trees, starts, n_nodes)

    def placed(values: NDArray[Any], at_leaves: object) -> NDArray[Any]:
        filled: NDArray[Any] = np.where(is_leaf, np.asarray(at_leaves, values.dtype), values)[where]
        return filled

    return Nodes(
        root=starts.astype(np.int32),
        column=placed(column, 0),
        threshold=placed(threshold, np.inf),
        left=to[left][where].astype(np.int32),
        missing_left=placed(missing_left, True),
        first_word=placed(first_word, -1),
        n_words=placed(n_words, 0),
        words=words,
        value=np.where(is_leaf[:, None], value, 0.0)[where],
    )


def _sets(
    trees: Sequence[Tree], starts: NDArray[np.int64], n_nodes: int
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the categories that go left, as bits, and where each node's begin."""
    first, count, words = np.full(n_nodes, -1, np.int32), np.zeros(n_nodes, np.int32), [np.zeros(1, np.uint32)]
    used = 1
    for tree, start in zip(trees, starts.tolist(), strict=True):
        for node, categories in (tree.sets or {}).items():
            bits = np.zeros(int(categories.max(initial=0)) // 32 + 1, np.uint32)  # a word at least: kernels look at one
            np.bitwise_or.at(bits, categories // 32, np.uint32(1) << (categories % 32).astype(np.uint32))
            first[start + node], count[start + node] = used, bits.size
            words.append(bits)
            used += bits.size
    return np.concatenate(words), first, count

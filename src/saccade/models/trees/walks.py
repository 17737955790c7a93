"""Everything that kernels need to bring rows to the leaves of an ensemble."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.tree_walks import LARGE
from saccade.models.trees.ensemble import Ensemble
from saccade.models.trees.scan import Scan, scan_of
from saccade.models.trees.storage import BLOCK, BLOCK_OF_LARGE_TREES
from saccade.models.trees.thresholds import at_most, single

__all__ = ["Rules", "Trees", "Walks"]

Reals = NDArray[np.float64]

# Of a block so many rows have their values side by side in the nearer caches: fewer where all nodes are scanned for
# each of them, and more where they are walked, so that a large tree is fetched once for many rows.
MOST_SCANNED_VALUES, MOST_WALKED_VALUES = 2**16, 2**17
MOST_SCANNED, FEWEST_TOGETHER = 1024, 256
# Of a table so many values of a block are held.
MOST_HELD_VALUES = 2**22


class Rules(NamedTuple):
    """What a comparison with a set of categories goes by; one compiled kernel for all of them."""

    categories: bool  # whether there are any
    single: bool
    least: float


class Trees(NamedTuple):
    """What a walk needs of an ensemble beside its packed nodes: few arrays, because each costs time in every call."""

    root: NDArray[np.int32]
    large: bool
    first_word: NDArray[np.int32]
    n_words: NDArray[np.int32]
    words: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Walks:
    """The arrays of an ensemble, as the kernels take them.

    Tables are looked up by leaf: a node's number after a walk, a place among a scan's leaves after a scan.
    """

    ensemble: Ensemble

    @cached_property
    def rules(self) -> Rules:
        ensemble = self.ensemble
        any_set = bool((ensemble.nodes.first_word >= 0).any())
        return Rules(any_set, ensemble.single, float(ensemble.least_category))

    @cached_property
    def used(self) -> NDArray[np.int32]:
        """The columns that any tree asks for."""
        nodes = self.ensemble.nodes
        inner = nodes.left != np.arange(nodes.left.size)
        return np.unique(nodes.column[inner]).astype(np.int32)

    @cached_property
    def slot(self) -> NDArray[np.int32]:
        """Where each column stands among those that are used."""
        slot = np.zeros(self.ensemble.n_columns, np.int32)
        slot[self.used] = np.arange(self.used.size, dtype=np.int32)
        return slot

    @cached_property
    def node_slot(self) -> NDArray[np.int32]:
        by_node: NDArray[np.int32] = self.slot[self.ensemble.nodes.column]
        return by_node

    @cached_property
    def _scan(self) -> tuple[Scan, NDArray[np.int64]] | None:
        return scan_of(self.ensemble.nodes, self.slot)

    @property
    def scan(self) -> Scan | None:
        return None if self._scan is None else self._scan[0]

    @cached_property
    def threshold_32(self) -> NDArray[np.float32]:
        """Thresholds for values in single precision."""
        return at_most(self.ensemble.nodes.threshold)

    @cached_property
    def trees(self) -> Trees:
        nodes = self.ensemble.nodes
        large = nodes.left.size > LARGE * nodes.root.size
        return Trees(nodes.root, large, nodes.first_word, nodes.n_words, nodes.words)

    @property
    def block(self) -> int:
        """How many rows a plan is run over together: more of large trees, unless a table took much room."""
        if not self.trees.large:
            return BLOCK
        return max(BLOCK, min(BLOCK_OF_LARGE_TREES, MOST_HELD_VALUES // max(self.used.size, 1)))

    @cached_property
    def together(self) -> int:
        """How many rows of a block have their values side by side."""
        width, scanned = max(self.used.size, 1), self.scan is not None
        rows = (MOST_SCANNED_VALUES if scanned else MOST_WALKED_VALUES) // width
        return min(max(rows, FEWEST_TOGETHER), MOST_SCANNED if scanned else self.block)

    @cached_property
    def castable(self) -> bool:
        """Whether no comparison changes where rows are rounded to single precision first, as most libraries do."""
        ensemble, nodes = self.ensemble, self.ensemble.nodes
        if ensemble.zero_is_missing is not None or (self.rules.categories and not ensemble.single):
            return False
        compared = nodes.threshold[(nodes.left != np.arange(nodes.left.size)) & (nodes.first_word < 0)]
        return bool((single(compared) == compared).all())

    def threshold(self, dtype: Any) -> NDArray[np.floating]:
        return self.ensemble.nodes.threshold if dtype == np.float64 else self.threshold_32

    @cached_property
    def _packed(self) -> dict[tuple[np.dtype[Any], bool], NDArray[Any]]:
        return {}

    def packed(self, dtype: Any, *, by_slot: bool) -> NDArray[Any]:
        """Return what a walk asks of each node, side by side in as few bytes as they fit into: caches hold more nodes.

        Columns are the user's own, or the slots of those that are used. ``column`` is twice the column, and one more
        where NaN goes right; ``skip`` is how far ahead the left child is, 0 at a leaf. A leaf asks a slot of its own,
        behind the others, which holds -inf, so that its threshold may be what the leaf is worth, where that is one
        number: a walk that has arrived need not look it up elsewhere.
        """
        kind, nodes = np.dtype(dtype), self.ensemble.nodes
        if (kind, by_slot) not in self._packed:
            skip, threshold = nodes.left - np.arange(nodes.left.size), self.threshold(kind)
            column = 2 * (self.node_slot if by_slot else nodes.column).astype(np.int64) + ~nodes.missing_left
            if by_slot:
                column = np.where(skip == 0, 2 * self.used.size, column)
                threshold = np.where(skip == 0, self.parts[:, 0], threshold)
            whole = "u2" if max(column.max(initial=0), skip.max(initial=0)) < 2**16 else "u4"
            fields = [("threshold", kind), ("column", whole), ("skip", whole)]
            made = np.empty(skip.size, np.dtype(fields, align=True))
            made["threshold"], made["column"], made["skip"] = threshold, column, skip
            self._packed[kind, by_slot] = made
        return self._packed[kind, by_slot]

    def in_walk(self, table: NDArray[Any], packed: NDArray[Any]) -> NDArray[Any]:
        """Return a table by node, or the same numbers as they stand at the leaves of walks by slot."""
        return packed["threshold"].reshape(-1, 1) if table is self.parts and table.shape[1] == 1 else table

    @cached_property
    def parts(self) -> NDArray[np.float32]:
        """(nodes, outputs) what a tree's parts are at each leaf, as plans see them.

        With two classes and two outputs a tree is one part: what speaks for the second class and against the first.
        """
        value = self.ensemble.nodes.value
        if value.shape[1] == 2 and self.ensemble.n_scores == 1:
            value = value[:, 1:] - value[:, :1]
        return np.ascontiguousarray(value, dtype=np.float32)

    @cached_property
    def sums(self) -> NDArray[np.floating]:
        """(nodes, outputs) what a full read adds up, in the library's precision."""
        return np.ascontiguousarray(self.ensemble.nodes.value, dtype=self.ensemble.sum.dtype)

    def in_scan(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return a table by node as one by a scan's places; kept, because there are only two."""
        if self._scan is None:
            raise ValueError("Trees of so many leaves are not scanned.")
        if id(table) not in self._tables:
            self._tables[id(table)] = (
                table,
                np.ascontiguousarray(table[self._scan[1]]),
            )  # held, so that its id stays its own
        return self._tables[id(table)][1]

    @cached_property
    def _tables(self) -> dict[int, tuple[NDArray[Any], NDArray[Any]]]:
        return {}

    @cached_property
    def steps(self) -> NDArray[np.float32]:
        """(nodes, 1) how many steps lead from the root to each node."""
        nodes = self.ensemble.nodes
        steps = np.zeros(nodes.left.size, np.float32)
        level, depth = nodes.root.astype(np.int64), 0
        while level.size:
            steps[level] = depth
            inner = level[nodes.left[level] != level]
            level, depth = np.concatenate([nodes.left[inner], nodes.left[inner] + 1]), depth + 1
        return steps[:, None]

    @cached_property
    def numbers(self) -> NDArray[np.int32]:
        """(nodes, 1) the number of each node."""
        return np.arange(self.ensemble.nodes.left.size, dtype=np.int32)[:, None]

    @cached_property
    def every(self) -> NDArray[np.uint32]:
        """The numbers of the trees that a full read adds up."""
        return np.arange(self.ensemble.n_counting, dtype=np.uint32)

    @cached_property
    def score(self) -> NDArray[np.int32]:
        """The score that each of them counts in."""
        return self.ensemble.score[: self.ensemble.n_counting]

    def needs(self, purchase: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return the purchases that bring the columns on the way to each node: bits, in (nodes, words).

        ``purchase`` says what brings each column.
        """
        nodes, bought = self.ensemble.nodes, purchase[self.ensemble.nodes.column]
        needs = np.zeros((nodes.left.size, int(purchase.max()) // 64 + 1), np.uint64)
        bit = np.uint64(1) << (bought % 64).astype(np.uint64)
        level = nodes.root.astype(np.int64)
        while level.size:
            inner = level[nodes.left[level] != level]
            for child in (nodes.left[inner], nodes.left[inner] + 1):
                needs[child] = needs[inner]
                needs[child, bought[inner] // 64] |= bit[inner]
            level = np.concatenate([nodes.left[inner], nodes.left[inner] + 1])
        return needs

    @cached_property
    def _bounds(self) -> NDArray[np.int64]:
        """(trees + 1,) where the nodes of each tree begin."""
        nodes = self.ensemble.nodes
        return np.append(nodes.root, nodes.left.size).astype(np.int64)

    def columns_of(self, tree: int) -> list[int]:
        """Return the columns that a tree can ask for, those nearest to its root first."""
        nodes, own = self.ensemble.nodes, slice(*self._bounds[tree : tree + 2].tolist())
        inner = nodes.left[own] != np.arange(own.start, own.stop)
        return list(dict.fromkeys(nodes.column[own][inner].tolist()))

"""Everything that kernels need to bring rows to the leaves of an ensemble."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.models.trees.ensemble import Ensemble
from saccade.models.trees.scan import Scan, scan_of
from saccade.models.trees.thresholds import at_most

__all__ = ["Rules", "Walks"]

Reals = NDArray[np.float64]


class Rules(NamedTuple):
    """What a comparison with a set of categories goes by; one compiled kernel for all of them."""

    categories: bool  # whether there are any
    single: bool
    least: float


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

    def threshold(self, dtype: Any) -> NDArray[np.floating]:
        return self.ensemble.nodes.threshold if dtype == np.float64 else self.threshold_32

    @cached_property
    def _packed(self) -> dict[tuple[np.dtype[Any], bool], NDArray[Any]]:
        return {}

    def packed(self, dtype: Any, *, by_slot: bool) -> NDArray[Any]:
        """Return what a walk asks of each node, side by side, for values of a precision.

        Columns are the user's own, or the slots of those that are used.
        """
        kind, nodes = np.dtype(dtype), self.ensemble.nodes
        if (kind, by_slot) not in self._packed:
            fields = [("threshold", kind), ("column", "u4"), ("left", "u4"), ("missing_left", "u4")]
            made = np.empty(nodes.left.size, np.dtype(fields, align=True))
            made["threshold"], made["left"], made["missing_left"] = self.threshold(kind), nodes.left, nodes.missing_left
            made["column"] = self.node_slot if by_slot else nodes.column
            self._packed[kind, by_slot] = made
        return self._packed[kind, by_slot]

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

"""Where rows meet trees: over the rows as they are, or over their columns brought side by side, whichever is sooner."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.blocks import check
from saccade.kernels.tree_columns import rows_without
from saccade.kernels.trees import fill_by_scan, fill_by_walk, sum_by_scan, sum_by_walk, walk_stages
from saccade.models.trees.stages import Stage, Stages, stage_of
from saccade.models.trees.storage import BLOCK, Direct, Storage
from saccade.models.trees.walks import Walks
from saccade.reading.arrays import as_read_only
from saccade.reading.plan import Plan
from saccade.reading.room import Room, Written

__all__ = ["Bench"]

Rows = NDArray[np.uint32]

# Of a block so many rows have their columns side by side in the nearer caches.
MOST_VALUES, MOST_TOGETHER, FEWEST_TOGETHER = 2**16, 1024, 256
# A scan asks every node of a tree for all rows at once: below so many rows a walk is sooner done.
FEWEST_TO_SCAN = 24
# So many walks, each of a row down a tree, go on at once: enough to wait for many values together.
GROUP = 64


class Bench:
    """Trees over the rows of one storage."""

    def __init__(self, walks: Walks, storage: Storage) -> None:
        self._walks, self._storage = walks, storage
        together = min(max(MOST_VALUES // max(walks.used.size, 1), FEWEST_TOGETHER), MOST_TOGETHER)
        self._together = min(together, max(storage.n_rows, 1))

    @cached_property
    def _columns(self) -> NDArray[np.floating]:
        return np.empty((max(self._walks.used.size, 1), self._together), self._storage.dtype)

    @cached_property
    def _as_rows(self) -> Direct:
        return Direct(as_read_only(self._columns.reshape(-1)), 1, self._together)

    @cached_property
    def _numbers(self) -> Rows:
        return np.arange(self._together, dtype=np.uint32)

    @cached_property
    def _bits(self) -> NDArray[Any]:
        scan = self._walks.scan
        return np.empty(self._together, np.uint32 if scan is None else scan.keep.dtype)

    @cached_property
    def _leaf(self) -> NDArray[np.int64]:
        return np.empty(self._together, np.int64)

    @cached_property
    def _every(self) -> NDArray[np.int32]:
        return np.arange(self._walks.used.size, dtype=np.int32)

    def run(self, plan: Plan, stages: Stages, size: int, room: Room, written: Written) -> int:
        """Read rows by a plan; return how many stay undecided."""
        walks, X, k = self._walks, self._storage.direct, 0
        while k < len(stages.stages) and size:
            if X is not None:
                packed = walks.packed(X.values.dtype, by_slot=False)
                size, k = walk_stages(
                    packed, walks.ensemble.nodes, walks.rules, walks.parts, X, plan, stages.walked, FEWEST_TO_SCAN, k,
                    size, room, *_group(), written,
                )  # fmt: skip
            if k < len(stages.stages) and size:
                begin = int(plan.checkpoints[k - 1]) if k else 0
                self.fill(walks.parts, stages.stages[k], room.rows, size, room.values[begin:])
                size, k = check(plan, k, size, *room, *written), k + 1
        return size

    def values(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return what a table holds at the leaves of all rows, (rows, parts)."""
        n_rows, outputs = self._storage.n_rows, table.shape[1]
        stage = stage_of(self._walks, np.arange(self._walks.ensemble.score.size * outputs), outputs)
        values = np.empty((n_rows, stage.parts.size), table.dtype)
        block = np.empty((stage.parts.size, min(BLOCK, n_rows)), table.dtype)
        for start in range(0, n_rows, BLOCK):
            rows = np.arange(start, min(start + BLOCK, n_rows), dtype=np.uint32)
            self.fill(table, stage, rows, rows.size, block)
            values[start : start + rows.size] = block[:, : rows.size].T
        return values

    def part(self, part: int, rows: Rows, size: int, out: NDArray[np.floating]) -> None:
        """Write one part of some rows."""
        values, table = np.empty((1, size), np.float32), self._walks.parts
        self.fill(table, stage_of(self._walks, np.array([part]), table.shape[1]), rows, size, values)
        out[:size] = values[0]

    def fill(self, table: NDArray[Any], stage: Stage, rows: Rows, size: int, values: NDArray[Any]) -> None:
        """Write what a table holds for some parts at the leaves of some rows, (parts, rows)."""
        walks, storage, parts = self._walks, self._storage, stage.parts
        nodes, rules, X = walks.ensemble.nodes, walks.rules, storage.direct
        if X is not None and (stage.walked or size < FEWEST_TO_SCAN):
            packed = walks.packed(X.values.dtype, by_slot=False)
            fill_by_walk(packed, nodes, rules, table, parts, X, rows, size, *_group(), values, 0)
            return
        for at in range(0, size, self._together):
            count = min(self._together, size - at)
            storage.gather(stage.slots, rows[at : at + count], count, self._columns)
            if walks.scan is not None and count >= FEWEST_TO_SCAN:
                fill_by_scan(
                    walks.scan, nodes, walks.threshold(storage.dtype), rules, walks.in_scan(table), parts,
                    self._columns, count, self._bits, self._leaf, values, at,
                )  # fmt: skip
            else:
                fill_by_walk(
                    walks.packed(storage.dtype, by_slot=True), nodes, rules, table, parts, self._as_rows,
                    self._numbers, count, *_group(), values, at,
                )  # fmt: skip

    def sums(self, rows: Rows, size: int) -> NDArray[np.floating]:
        """Return the sums of all trees, (sums, rows), in the library's order and precision."""
        walks, storage, ensemble = self._walks, self._storage, self._walks.ensemble
        nodes, rules, table, X = ensemble.nodes, walks.rules, walks.sums, storage.direct
        total = np.repeat(ensemble.sum.start.astype(ensemble.sum.dtype)[:, None], size, axis=1)
        scan = walks.scan if size >= FEWEST_TO_SCAN else None
        if X is not None and scan is None:
            packed = walks.packed(X.values.dtype, by_slot=False)
            sum_by_walk(packed, nodes, rules, table, walks.score, walks.every, X, rows, *_group(), total)
            return total
        for at in range(0, size, self._together):
            count = min(self._together, size - at)
            storage.gather(self._every, rows[at : at + count], count, self._columns)
            part = np.ascontiguousarray(total[:, at : at + count])
            if scan is not None:
                sum_by_scan(
                    scan, nodes, walks.threshold(storage.dtype), rules, walks.in_scan(table), walks.score,
                    self._columns, count, self._bits, self._leaf, part,
                )  # fmt: skip
            else:
                sum_by_walk(
                    walks.packed(storage.dtype, by_slot=True), nodes, rules, table, walks.score, walks.every,
                    self._as_rows, self._numbers, *_group(), part,
                )  # fmt: skip
            total[:, at : at + count] = part
        return total

    def lacking(self, rows: Rows, size: int) -> NDArray[np.bool_]:
        """Return which rows lack a value that a tree could ask for."""
        missing, some = np.zeros(size, np.bool_), np.empty(self._together, np.bool_)
        for at in range(0, size, self._together):
            count = min(self._together, size - at)
            self._storage.gather(self._every, rows[at : at + count], count, self._columns)
            if rows_without(self._columns, self._every, count, some):
                missing[at : at + count] = some[:count]
        return missing


def _group() -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return room for walks: where the row of each begins, and the node that it has come to."""
    return np.empty(GROUP, np.uint64), np.empty(GROUP, np.uint32)

"""Where rows meet trees: over the rows as they are, or over their columns brought side by side, whichever is sooner."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.checkpoints import check
from saccade.kernels.tree_columns import is_complete, rows_without
from saccade.kernels.tree_scans import fill_by_scan, sum_by_scan
from saccade.kernels.tree_walks import fill_by_walk, sum_by_walk, walk_stages
from saccade.models.trees.stages import Stage, Stages, are_walked, stage_of
from saccade.models.trees.storage import BLOCK, Direct, Storage
from saccade.models.trees.walks import Walks
from saccade.reading.arrays import as_read_only
from saccade.reading.plan import Plan
from saccade.reading.room import Room, Written

__all__ = ["Bench"]

Rows = NDArray[np.uint32]

# A scan asks every node of a tree for all rows at once: below so many rows a walk is sooner done.
FEWEST_TO_SCAN = 24
# So many walks go on at once: enough to wait for many values together, and more where a tree must be fetched first.
GROUP, GROUP_IN_LARGE_TREES = 64, 256


class Bench:
    """Trees over the rows of one storage."""

    def __init__(self, walks: Walks, storage: Storage) -> None:
        self._walks, self._storage = walks, storage
        self._dtype: type[np.floating] = np.float32 if walks.castable else storage.dtype
        self._together = min(walks.together, max(storage.n_rows, 1))
        group = GROUP_IN_LARGE_TREES if walks.trees.large else GROUP
        self._lanes = np.empty((4, group), np.uint32)  # see kernels/tree_walks.py

    @cached_property
    def _columns(self) -> NDArray[np.floating]:
        """(slots, rows), for scans; of another length than a power of two, which would crowd one set of the cache."""
        return np.empty((max(self._walks.used.size, 1), self._together + 16), self._dtype)

    @cached_property
    def _rows(self) -> NDArray[np.floating]:
        """(rows, slots), for walks: and the slot that leaves ask."""
        rows = np.zeros((self._together, self._walks.used.size + 1), self._dtype)
        rows[:, -1] = -np.inf
        return rows

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
                    packed, walks.trees, walks.rules, walks.parts, X, plan, stages.walked, FEWEST_TO_SCAN, k,
                    size, room, self._lanes, written,
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
            fill_by_walk(packed, walks.trees, rules, table, parts, X, rows, size, self._lanes, values, 0)
            return
        for at in range(0, size, self._together):
            count = min(self._together, size - at)
            if walks.scan is not None and count >= FEWEST_TO_SCAN:
                storage.gather(stage.slots, rows[at : at + count], count, self._columns)
                fill_by_scan(
                    walks.scan, nodes, walks.threshold(self._dtype), rules, walks.in_scan(table), parts,
                    self._columns, count, self._bits, self._leaf, values, at,
                )  # fmt: skip
            else:
                brought = self._brought(stage.slots, rows[at : at + count], count)
                packed = walks.packed(self._dtype, by_slot=True)
                fill_by_walk(
                    packed, walks.trees, rules, walks.in_walk(table, packed), parts, brought, self._numbers, count,
                    self._lanes, values, at,
                )  # fmt: skip

    def _brought(self, slots: NDArray[np.int32], rows: Rows, count: int) -> Direct:
        """Return some rows, of which the columns at some slots are brought side by side."""
        self._storage.gather(slots, rows, count, self._rows.T)
        complete = is_complete(self._rows[:count].reshape(-1))
        return Direct.of(as_read_only(self._rows), complete=complete)

    def sums(self, rows: Rows, size: int) -> NDArray[np.floating]:
        """Return the sums of all trees, (sums, rows), in the library's order and precision."""
        walks, storage, ensemble = self._walks, self._storage, self._walks.ensemble
        nodes, rules, table, X, slots = ensemble.nodes, walks.rules, walks.sums, storage.direct, self._every
        total = np.repeat(ensemble.sum.start.astype(ensemble.sum.dtype)[:, None], size, axis=1)
        if X is not None and (size < FEWEST_TO_SCAN or are_walked(walks, slots.size, ensemble.score.size)):
            packed = walks.packed(X.values.dtype, by_slot=False)
            sum_by_walk(packed, walks.trees, rules, table, walks.score, walks.every, X, rows, self._lanes, total)
            return total
        for at in range(0, size, self._together):
            count = min(self._together, size - at)
            part = np.ascontiguousarray(total[:, at : at + count])
            if walks.scan is not None and count >= FEWEST_TO_SCAN:
                storage.gather(slots, rows[at : at + count], count, self._columns)
                sum_by_scan(
                    walks.scan, nodes, walks.threshold(self._dtype), rules, walks.in_scan(table), walks.score,
                    self._columns, count, self._bits, self._leaf, part,
                )  # fmt: skip
            else:
                brought = self._brought(slots, rows[at : at + count], count)
                sum_by_walk(
                    walks.packed(self._dtype, by_slot=True), walks.trees, rules, table, walks.score, walks.every,
                    brought, self._numbers, self._lanes, part,
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

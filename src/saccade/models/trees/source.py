"""Trees as the parts of rows: by blocks of rows, stage by stage, each stage by whichever way costs least."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.blocks import check
from saccade.kernels.tree_columns import rows_without
from saccade.kernels.trees import fill_by_scan, fill_by_walk, read_tree_row, sum_by_scan, sum_by_walk
from saccade.models.trees.storage import Storage
from saccade.models.trees.walks import Walks
from saccade.reading.arrays import Selection
from saccade.reading.plan import Outcome, Plan
from saccade.reading.room import new_outcome, new_room
from saccade.reading.tables import ColumnSource

if TYPE_CHECKING:
    from saccade.models.trees.model import TreeModel

__all__ = ["TreeSource"]

Reals = NDArray[np.float64]
Rows = NDArray[np.uint32]

# Rows that a plan is run over together, and of these so many whose columns lie side by side in the nearer caches.
BLOCK = 4096
MOST_VALUES, MOST_TOGETHER, FEWEST_TOGETHER = 2**16, 1024, 256
# A scan asks every node of a tree for all rows at once: below so many rows a walk is sooner done.
FEWEST_TO_SCAN = 24
# Fetching a column for a row costs about as much as scanning a fifth of a tree in place of walking it.
COLUMNS_PER_TREE = 5


class TreeSource:
    """The trees of a model, over the rows of one storage."""

    def __init__(self, model: "TreeModel", storage: Storage) -> None:
        self._model, self.storage = model, storage
        self.shape = (storage.n_rows, int(model.coef.shape[1]))

    def fill(self, part: int, rows: Rows, size: int, out: NDArray[np.floating]) -> None:
        values = np.empty((1, size), np.float32)
        self.bench.fill(self._model.walks.parts, np.array([part]), rows, size, values)
        out[:size] = values[0]

    def take(self, rows: Selection) -> "TreeSource":
        return TreeSource(self._model, self.storage.take(rows))

    @cached_property
    def bench(self) -> "_Bench":
        return _Bench(self._model.walks, self.storage)

    @property
    def columns(self) -> ColumnSource:
        """The columns that trees ask for; zeros stand for the others."""
        n_rows, used = self.storage.n_rows, self._model.walks.used.tolist()
        rows = np.arange(n_rows, dtype=np.uint32)

        def fetch(column: int) -> NDArray[np.floating]:
            if column not in used:
                return np.zeros(n_rows)
            slot, out = used.index(column), np.empty((len(used), n_rows), self.storage.dtype)
            self.storage.gather(np.array([slot], np.int32), rows, n_rows, out)
            return out[slot]

        return ColumnSource((n_rows, self._model.n_columns), fetch)

    def run(self, plan: Plan) -> Outcome:
        n_rows = self.storage.n_rows
        written = new_outcome(plan, n_rows)
        margin, n_read, stopped = written
        strict = not self._model.ensemble.takes_missing
        if n_rows == 1 and self.storage.direct is not None and not strict:
            if not self._run_row(plan, written):
                self._read_out(np.zeros(1, np.uint32), 1, margin, n_read, stopped)
            return Outcome(*written, -1)
        room = new_room(plan, min(BLOCK, max(n_rows, 1)), np.float32, plan.positions)
        for start in range(0, n_rows, BLOCK):
            size = min(BLOCK, n_rows - start)
            room.rows[:size] = np.arange(start, start + size)
            if strict:
                size = self._without_missing(room.rows, size, margin, n_read, stopped)
            begin, table = 0, self._model.walks.parts
            for k, end in enumerate(plan.checkpoints.tolist()):
                parts = plan.order[begin:end].astype(np.int64)
                self.bench.fill(table, parts, room.rows, size, room.values[begin:end])
                size, begin = check(plan, k, size, *room, *written), end
                if size == 0:
                    break
            self._read_out(room.rows, size, margin, n_read, stopped)
        wrong = ~np.isfinite(margin).all(axis=1)
        return Outcome(*written, int(np.argmax(wrong)) if wrong.any() else -1)

    def _run_row(self, plan: Plan, written: tuple[Any, ...]) -> bool:
        walks, X = self._model.walks, self.storage.direct
        assert X is not None
        values = np.empty(plan.positions, np.float32)
        threshold = walks.threshold(X.dtype)
        decided: bool = read_tree_row(
            walks.ensemble.nodes, threshold, walks.rules, walks.parts, X[0], plan, values, *written
        )
        return decided

    def _without_missing(self, rows: Rows, size: int, margin: Reals, n_read: Any, stopped: Any) -> int:
        """Give rows that lack a value, which the library refuses, no margin; return how many others there are."""
        lacking = self.bench.lacking(rows, size)
        if not lacking.any():
            return size
        bad, good = rows[:size][lacking], rows[:size][~lacking]
        margin[bad], n_read[bad], stopped[bad] = np.nan, 0, False
        rows[: good.size] = good
        return int(good.size)

    def _read_out(self, rows: Rows, size: int, margin: Reals, n_read: Any, stopped: Any) -> None:
        """Read rows by all trees."""
        if size:
            there = rows[:size]
            margin[there] = self._model.margins(self.bench.sums(there, size))
            n_read[there], stopped[there] = self.shape[1], False


class _Bench:
    """Where columns lie side by side while trees are asked, for one storage."""

    def __init__(self, walks: Walks, storage: Storage) -> None:
        self._walks, self._storage = walks, storage
        slots = max(walks.used.size, 1)
        together = int(np.clip(MOST_VALUES // slots, FEWEST_TOGETHER, MOST_TOGETHER))
        self._together = min(together, max(storage.n_rows, 1))
        self._every = np.arange(walks.used.size, dtype=np.int32)

    @cached_property
    def _columns(self) -> NDArray[np.floating]:
        return np.empty((max(self._walks.used.size, 1), self._together), self._storage.dtype)

    @cached_property
    def _as_rows(self) -> NDArray[np.floating]:
        rows = self._columns.T
        rows.flags.writeable = False
        return rows

    @cached_property
    def _numbers(self) -> Rows:
        return np.arange(self._together, dtype=np.uint32)

    @cached_property
    def _bits(self) -> NDArray[Any]:
        scan = self._walks.scan
        return np.empty(self._together, np.uint32 if scan is None else scan.keep.dtype)

    def values(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return what a table holds at the leaves of all rows, (rows, parts)."""
        n_rows, parts = self._storage.n_rows, np.arange(self._walks.ensemble.score.size * table.shape[1])
        values, block = np.empty((n_rows, parts.size), table.dtype), np.empty((parts.size, BLOCK), table.dtype)
        for start in range(0, n_rows, BLOCK):
            rows = np.arange(start, min(start + BLOCK, n_rows), dtype=np.uint32)
            self.fill(table, parts, rows, rows.size, block)
            values[start : start + rows.size] = block[:, : rows.size].T
        return values

    def fill(
        self, table: NDArray[Any], parts: NDArray[np.int64], rows: Rows, size: int, values: NDArray[Any]
    ) -> None:
        """Write what a table holds for some parts at the leaves of some rows, (parts, rows)."""
        walks, storage = self._walks, self._storage
        nodes, rules = walks.ensemble.nodes, walks.rules
        trees = np.unique(parts // table.shape[1])
        slots = walks.slots_of(trees.tobytes())
        if storage.direct is not None and not self._pays(slots.size, trees.size, size):
            threshold, leaf = walks.threshold(storage.direct.dtype), np.empty(size, np.int64)
            X = storage.direct
            fill_by_walk(nodes, threshold, nodes.column, rules, table, parts, X, rows, size, leaf, values, 0)
            return
        threshold, leaf = walks.threshold(storage.dtype), np.empty(self._together, np.int64)
        for at in range(0, size, self._together):
            count = min(self._together, size - at)
            storage.gather(slots, rows[at : at + count], count, self._columns)
            if walks.scan is not None and count >= FEWEST_TO_SCAN:
                looked_up = walks.in_scan(table)
                fill_by_scan(
                    walks.scan, nodes, threshold, rules, looked_up, parts, self._columns, count, self._bits, leaf,
                    values, at,
                )  # fmt: skip
            else:
                fill_by_walk(
                    nodes, threshold, walks.node_slot, rules, table, parts, self._as_rows, self._numbers, count, leaf,
                    values, at,
                )  # fmt: skip

    def sums(self, rows: Rows, size: int) -> NDArray[np.floating]:
        """Return the sums of all trees, (sums, rows), in the library's order and precision."""
        walks, storage, ensemble = self._walks, self._storage, self._walks.ensemble
        nodes, rules, table, start = ensemble.nodes, walks.rules, walks.sums, ensemble.sum.start
        total = np.repeat(start.astype(ensemble.sum.dtype)[:, None], size, axis=1)
        scan = walks.scan if size >= FEWEST_TO_SCAN else None
        if storage.direct is not None and scan is None:
            threshold, leaf = walks.threshold(storage.direct.dtype), np.empty(size, np.int64)
            X = storage.direct
            sum_by_walk(nodes, threshold, nodes.column, rules, table, ensemble.score, X, rows, size, leaf, total)
            return total
        threshold, leaf = walks.threshold(storage.dtype), np.empty(self._together, np.int64)
        for at in range(0, size, self._together):
            count = min(self._together, size - at)
            storage.gather(self._every, rows[at : at + count], count, self._columns)
            part = np.ascontiguousarray(total[:, at : at + count])
            if scan is not None:
                sum_by_scan(
                    scan, nodes, threshold, rules, walks.in_scan(table), ensemble.score, self._columns, count,
                    self._bits, leaf, part,
                )  # fmt: skip
            else:
                sum_by_walk(
                    nodes, threshold, walks.node_slot, rules, table, ensemble.score, self._as_rows, self._numbers,
                    count, leaf, part,
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

    def _pays(self, n_slots: int, n_trees: int, size: int) -> bool:
        """Whether bringing columns side by side and scanning takes less time than walking over the rows as they are."""
        return self._walks.scan is not None and size >= FEWEST_TO_SCAN and n_slots <= COLUMNS_PER_TREE * n_trees

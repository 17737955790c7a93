"""Trees as the parts of rows."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.trees.bench import Bench
from saccade.models.trees.storage import Storage
from saccade.reading.arrays import Selection
from saccade.reading.plan import Outcome, Plan
from saccade.reading.room import new_outcome, new_room
from saccade.reading.tables import ColumnSource

if TYPE_CHECKING:
    from saccade.models.trees.model import TreeModel

__all__ = ["TreeSource"]

Reals = NDArray[np.float64]
Rows = NDArray[np.uint32]


class TreeSource:
    """The trees of a model, over the rows of one storage."""

    def __init__(self, model: "TreeModel", storage: Storage) -> None:
        self._model, self.storage = model, storage
        self.shape = (storage.n_rows, int(model.coef.shape[1]))
        self.bench = Bench(model.walks, storage)

    def fill(self, part: int, rows: Rows, size: int, out: NDArray[np.floating]) -> None:
        self.bench.part(part, rows, size, out)

    def take(self, rows: Selection) -> "TreeSource":
        return TreeSource(self._model, self.storage.take(rows))

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
            gathered: NDArray[np.floating] = out[slot]
            return gathered

        return ColumnSource((n_rows, self._model.n_columns), fetch)

    def run(self, plan: Plan) -> Outcome:
        n_rows, block = self.storage.n_rows, self._model.walks.block
        written = new_outcome(plan, n_rows)
        margin, n_read, stopped = written
        strict = not self._model.ensemble.takes_missing
        stages, undecided = self._model.stages(plan), []
        room = new_room(plan, min(block, max(n_rows, 1)), np.float32, plan.positions)
        for start in range(0, n_rows, block):
            size = min(block, n_rows - start)
            room.rows[:size] = np.arange(start, start + size)
            if strict:
                size = self._without_missing(room.rows, size, margin, n_read, stopped)
            size = self.bench.run(plan, stages, size, room, written)
            if size:
                undecided.append(room.rows[:size].copy())
        # Those of all blocks together, so that a large tree is fetched once for many rows.
        if undecided:
            self._read_out(plan, np.concatenate(undecided), margin, n_read, stopped)
        lacking = strict and np.isnan(margin[:, 0]).any()  # leaves are finite, and so are their sums
        return Outcome(*written, int(np.argmax(np.isnan(margin[:, 0]))) if lacking else -1)

    def in_full(self, plan: Plan, rows: Rows) -> Outcome:
        """Read some rows by all trees that count."""
        margin, n_read, stopped = new_outcome(plan, rows.size)
        margin[:] = self._model.margins(self.bench.sums(rows, rows.size))
        n_read[:], stopped[:] = self._model.walks.every.size if plan.unit.size == 0 else plan.n_features, False
        if self._model.ensemble.takes_missing:
            return Outcome(margin, n_read, stopped, -1)
        lacking = self.bench.lacking(rows, rows.size)
        margin[lacking], n_read[lacking] = np.nan, 0
        return Outcome(margin, n_read, stopped, int(np.argmax(lacking)) if lacking.any() else -1)

    def _without_missing(self, rows: Rows, size: int, margin: Reals, n_read: Any, stopped: Any) -> int:
        """Give rows that lack a value, which the library refuses, no margin; return how many others there are."""
        lacking = self.bench.lacking(rows, size)
        if not lacking.any():
            return size
        bad, good = rows[:size][lacking], rows[:size][~lacking]
        margin[bad], n_read[bad], stopped[bad] = np.nan, 0, False
        rows[: good.size] = good
        return int(good.size)

    def _read_out(self, plan: Plan, rows: Rows, margin: Reals, n_read: Any, stopped: Any) -> None:
        """Read rows by all trees that count."""
        margin[rows] = self._model.margins(self.bench.sums(rows, rows.size))
        n_read[rows], stopped[rows] = plan.n_to_the_end if plan.n_screens else plan.n_features, False

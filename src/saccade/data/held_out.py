"""Rows that are held out of learning: a function of the seed and of the row's number, so that nothing is remembered."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import BadRows, Batch, DataFile

__all__ = ["HeldOut", "held_out_batches"]


@dataclass(frozen=True)
class HeldOut:
    """A share of the rows of a data set."""

    share: float
    seed: int

    def among(self, first: int, count: int) -> NDArray[np.bool_]:
        """Return which of ``count`` rows, from the one with the number ``first`` on, are held out."""
        bits = np.random.PCG64(self.seed).advance(first).random_raw(count)  # NumPy keeps these bits the same for ever
        held: NDArray[np.bool_] = bits < np.uint64(self.share * 2.0**64)
        return held

    def split(self, batch: Batch, first: int) -> tuple[Batch, Batch]:
        """Return the rows of a batch that are learned from, and those that are held out; ``first`` is its first row."""
        held = self.among(first, batch.good.size)[batch.good]
        return batch.only(~held), batch.only(held)


def held_out_batches(data: DataFile, bad: BadRows, held_out: HeldOut | None) -> Iterator[Batch]:
    """Yield the rows that were held out, or all rows where none were."""
    first = 0
    for batch in data.batches(0, bad):
        yield batch if held_out is None else held_out.split(batch, first)[1]
        first += batch.good.size

"""CSR rows that plan or calibrate: planned on as dense values, and counted as they are stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from saccade.models.additive import Ranges
from saccade.planning.choosing import Sample
from saccade.planning.narrowed import Narrowed
from saccade.reading.plan import Outcome, Plan
from saccade.reading.sparse import CsrSource

__all__ = ["SparseSample"]

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SparseSample(Sample):
    """Some rows of a CSR matrix.

    ``read`` walks a plan of their part values wherever it leads, as any storage may. Stored rows are read in full where
    that is sooner done, and their stored values are counted.
    """

    stored: CsrSource | None = None
    narrowed: Narrowed | None = None  # None where all columns are parts

    @property
    def stored_per_row(self) -> float:
        return float(self._source.canonical.nnz / self._source.shape[0])

    def as_stored(self, plan: Plan) -> Outcome:
        return self._source.run(plan if self.narrowed is None else self.narrowed.in_columns(plan))

    def read_otherwise(self, plan: Plan) -> Iterator[Outcome]:
        yield self.as_stored(plan)

    def moments(self) -> tuple[Reals, Reals]:
        mean, variance = mean_variance_axis(self._source.canonical.astype(np.float64), axis=0)
        return mean, variance

    def ranges(self) -> Ranges:
        low, high = min_max_axis(self._source.canonical.astype(np.float64), axis=0)
        return Ranges(low, high, np.zeros(low.size, dtype=bool), {})

    def taken(self, columns: NDArray[np.intp], rows: slice) -> NDArray[Any]:
        dense: NDArray[Any] = self._source.canonical[rows][:, columns].toarray()
        return dense.astype(self.values.dtype, copy=False)

    @property
    def _source(self) -> CsrSource:
        assert self.stored is not None
        return self.stored

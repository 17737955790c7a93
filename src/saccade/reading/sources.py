"""Where the values of a part come from: the seam between a plan and any storage."""

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.reading.arrays import FLOATS_AND_BYTES, ArraySource, Selection
from saccade.reading.sparse import CsrSource
from saccade.reading.tables import ColumnSource, as_table

__all__ = ["Source", "column_source"]


class Source(Protocol):
    """The values of an additive model's parts for the rows of one storage.

    A storage for which a compiled loop pays has, besides, ``run(plan) -> Outcome``, which the reader then calls, and
    ``in_full(plan, rows) -> Outcome``, which reads some rows, in ascending order, to their end. Where parts are no
    columns, such as trees, ``columns`` is a source of the columns that they are made of.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and parts."""

    def fill(self, part: int, rows: NDArray[np.uint32], size: int, out: NDArray[np.floating]) -> None:
        """Write the part's values for the first ``size`` of these rows into ``out``; a missing value is NaN."""

    def take(self, rows: Selection) -> "Source":
        """Return the source of some of the rows."""


def column_source(X: Any) -> Source:
    """Return the columns of X as a source: of an array or CSR matrix that was checked, or of a table."""
    if type(X) is np.ndarray:  # the commonest first: a row at a time is worth microseconds
        return ArraySource(X)
    if isinstance(X, ColumnSource):
        return X
    if sp.issparse(X):
        return CsrSource(X)
    table = as_table(X)
    if table is None:
        return ArraySource(X)
    whole = table.one_array()
    if whole is not None and whole.dtype in FLOATS_AND_BYTES:
        return ArraySource(whole)
    return table

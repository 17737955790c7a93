"""A row group of a Parquet file, read no further than a plan demands."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import BadRows
from saccade.data.columns import RowGroup
from saccade.reading.plan import Reading

__all__ = ["read_by_columns"]


def read_by_columns(model: Any, group: RowGroup, bad: BadRows) -> tuple[Reading, NDArray[np.bool_]]:
    """Read a row group column by column, until all its rows are decided; return which rows could be read, too."""
    reading = model.read_source(group)
    good = np.isfinite(reading.margin.reshape(len(reading), -1)).all(axis=1)
    where = f"row {group.first_row + int(np.argmin(good)) + 1}" if len(reading) else ""
    bad.found(int(np.sum(~good)), lambda: (where, "a value that is needed is missing or not finite"))
    kept = Reading(reading.label[good], reading.margin[good], reading.n_read[good], reading.stopped[good])
    return kept, good

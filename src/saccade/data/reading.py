"""A row group of a Parquet file, read no further than a plan demands."""

import numpy as np
from numpy.typing import NDArray

from saccade.attentive import AttentiveClassifier
from saccade.data.batches import BadRows
from saccade.data.columns import RowGroup
from saccade.reading.plan import Reading, decided
from saccade.reading.tables import read_table

__all__ = ["read_by_columns"]


def read_by_columns(model: AttentiveClassifier, group: RowGroup, bad: BadRows) -> tuple[Reading, NDArray[np.bool_]]:
    """Read a row group column by column, until all its rows are decided; return which rows could be read, too."""
    margin, n_read, stopped, first = read_table(model.plan_, group)
    good = np.asarray(np.isfinite(margin).all(axis=1))
    where = f"row {group.first_row + first + 1}"
    bad.found(int(np.sum(~good)), lambda: (where, "a value that is needed is missing or not finite"))
    margin = margin[good]
    label, shown = model.classes_[decided(margin)], margin[:, 0] if margin.shape[1] == 1 else margin
    return Reading(label, shown, n_read[good], stopped[good]), good

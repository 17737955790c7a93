"""A row group of a Parquet file, read no further than a plan demands."""

from saccade.attentive import AttentiveClassifier
from saccade.exceptions import DataFileError
from saccade.plan import Reading, decided
from saccade.readers.tables import read_table
from saccade.streams.columns import RowGroup

__all__ = ["read_by_columns"]


def read_by_columns(model: AttentiveClassifier, group: RowGroup) -> Reading:
    """Read a row group column by column, until all its rows are decided."""
    margin, n_read, stopped, bad = read_table(model.plan_, group)
    if bad >= 0:
        raise DataFileError(
            f"{group.path}, row {group.first_row + bad + 1}: a value that is needed is missing or not finite. Mend it, "
            "or pass over such rows with --skip-bad."
        )
    return Reading(model.classes_[decided(margin)], margin[:, 0] if margin.shape[1] == 1 else margin, n_read, stopped)

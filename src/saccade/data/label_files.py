"""Parquet files of labels, each with what was counted when it was made, so that both are there or neither."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.arrow import pyarrow
from saccade.data.reading import RowsRead
from saccade.files.writing import writing_whole

__all__ = ["LabelFile", "Made", "made_before", "writing_labels"]

KEY = "saccade"


@dataclass(frozen=True)
class Made:
    """What was counted when a file of labels was made. Nothing in it depends on when or where that was."""

    run: str  # what the file belongs to
    rows: int
    bad_rows: int
    units_read: int  # features, terms or trees
    bytes_read: int
    in_full: bool  # whether every row was read in full, because a promise was broken
    watch: dict[str, Any] | None  # what the audited rows say


def made_before(path: Path, run: str) -> Made | None:
    """Return what was counted when a file was made; None where it is not there, damaged, or of another run."""
    arrow = pyarrow()
    try:
        about = json.loads(arrow.parquet.read_metadata(path).metadata[KEY.encode()])
        made = Made(**about)
    except (FileNotFoundError, arrow.ArrowException, KeyError, TypeError, ValueError):
        return None
    return made if made.run == run else None


class LabelFile:
    """A file of labels that is being written."""

    def __init__(self, writer: Any, schema: Any) -> None:
        """Take a writer, and a schema whose names are those of a reading."""
        self._writer, self._schema = writer, schema

    def add(self, read: Iterable[RowsRead]) -> None:
        """Write the rows of a row group as one; what is known of a bad row is null."""
        tables = [pyarrow().table(self._columns(rows), schema=self._schema) for rows in read]
        if tables:
            table = pyarrow().concat_tables(tables)
            self._writer.write_table(table, row_group_size=table.num_rows)

    def _columns(self, rows: RowsRead) -> list[Any]:
        return [_among(rows.good, getattr(rows.reading, field.name), field.type) for field in self._schema]

    def finish(self, made: Made) -> None:
        """Add what was counted."""
        self._writer.add_key_value_metadata({KEY: json.dumps(asdict(made))})


@contextmanager
def writing_labels(path: Path, classes: NDArray[Any], *, watched: bool) -> Iterator[LabelFile]:
    """Write a file with one of these classes for each row; it appears whole or not at all."""
    arrow = pyarrow()
    schema = arrow.schema([("label", arrow.array(classes.tolist()).type), ("n_read", arrow.int32())])
    if watched:
        schema = schema.append(arrow.field("audited", arrow.bool_()))
    with writing_whole(path) as file, arrow.parquet.ParquetWriter(file, schema) as writer:
        yield LabelFile(writer, schema)


def _among(good: NDArray[np.bool_], values: NDArray[Any], kind: Any) -> Any:
    """Return the values of good rows among all, as an Arrow array."""
    arrow = pyarrow()
    if good.all():
        return arrow.array(values, kind)
    spread = np.zeros(good.size, dtype=values.dtype)
    spread[good] = values
    return arrow.array(spread, kind, mask=~good)

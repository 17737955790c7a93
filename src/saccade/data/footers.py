"""The footers of Parquet files: what there is to read, and whether it can be read, before anything is."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.data.arrow import named, pyarrow
from saccade.data.batches import Wanted, chosen_columns
from saccade.data.columns import holds_texts
from saccade.exceptions import DataFileError

__all__ = ["Footer", "check_alike", "column_names", "read_footers"]


@dataclass(frozen=True)
class Footer:
    """What the footer of a file says, and the file itself."""

    path: str
    size: int
    changed: int  # when, in nanoseconds
    columns: dict[str, str]  # the types of those that are wanted, in their order
    rows: list[int]  # of each row group
    sizes: list[int]  # the bytes of each row group, without compression


def column_names(path: str) -> list[str]:
    """Return the names of all columns of a file."""
    with named(path):
        names: list[str] = pyarrow().parquet.read_schema(path).names
    return names


def read_footers(paths: Sequence[str], columns: Sequence[str], coded: Collection[str]) -> list[Footer]:
    """Read footers; raise where a wanted column is not there, or holds neither numbers nor texts that are ``coded``."""
    return [_read_footer(path, columns, coded) for path in paths]


def _read_footer(path: str, columns: Sequence[str], coded: Collection[str]) -> Footer:
    with named(path):
        metadata, about = pyarrow().parquet.read_metadata(path), os.stat(path)
    schema = metadata.schema.to_arrow_schema()
    types = {name: schema.field(name).type for name in chosen_columns(path, schema.names, Wanted(names=columns))}
    for name, kind in types.items():
        if not _is_readable(kind, name in coded):
            raise DataFileError(f"{path}: column {name!r} holds {kind}, not numbers. Encode it.")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return Footer(
        path,
        about.st_size,
        about.st_mtime_ns,
        {name: _shown(kind) for name, kind in types.items()},
        [group.num_rows for group in groups],
        [group.total_byte_size for group in groups],
    )


def check_alike(footers: Sequence[Footer]) -> None:
    """Raise where a column of a file is of another type than in the first file."""
    first = footers[0]
    for footer in footers:
        for name, kind in footer.columns.items():
            if kind != first.columns[name]:
                raise DataFileError(
                    f"{footer.path}: column {name!r} holds {kind}, but {first.columns[name]} in {first.path}. Write "
                    "all files with one schema, or predict them apart."
                )


def _value_type(kind: Any) -> Any:
    return kind.value_type if pyarrow().types.is_dictionary(kind) else kind


def _is_readable(kind: Any, coded: bool) -> bool:
    types, held = pyarrow().types, _value_type(kind)
    numbers = types.is_integer(held) or types.is_floating(held) or types.is_boolean(held)
    return bool(numbers or (coded and holds_texts(held)))


def _shown(kind: Any) -> str:
    """Return the name of a type; texts are texts, however they are held."""
    held = _value_type(kind)
    return "string" if holds_texts(held) else str(held)

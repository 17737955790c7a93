"""Several files of one format, read as one data set."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from saccade.data.batches import BadRows, Batch, DataFile, Piece, Wanted
from saccade.data.columns import ParquetFile
from saccade.data.seen import Seen
from saccade.exceptions import DataFileError

__all__ = ["DataSet", "ParquetSet", "open_alike"]

File = TypeVar("File", bound=DataFile)
# So many files tell what their columns hold.
FIRST_FILES = 8


class DataSet:
    """Files with the same features; a place is an offset into their concatenation."""

    def __init__(self, path: str, files: Sequence[DataFile]) -> None:
        self.path, self._files = path, files
        self.names, self.n_features, self.zero_based = files[0].names, files[0].n_features, files[0].zero_based
        self.size = sum(file.size for file in files)
        *self._begins, self.length = accumulate((file.length for file in files), initial=0)

    def seen(self) -> dict[int, Seen]:
        """Return what the first rows of the first files hold."""
        joined: dict[int, Seen] = {}
        for file in self._files[:FIRST_FILES]:
            for place, seen in file.seen().items():
                joined[place] = joined.get(place, Seen()).joined(seen)
        return joined

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        """Read from a place that an earlier batch ended at, or from 0."""
        for begin, file in zip(self._begins, self._files, strict=True):
            if begin + file.length <= start:
                continue
            bad.begin_file(file.path)
            for batch in file.batches(max(start - begin, 0), bad):
                yield replace(batch, end=begin + batch.end)

    def pieces(self, bad: BadRows) -> Iterator[Piece]:
        """Read all rows as sources, file after file."""
        for begin, file in zip(self._begins, self._files, strict=True):
            bad.begin_file(file.path)
            for piece in file.pieces(bad):
                yield replace(piece, end=begin + piece.end)


class ParquetSet(DataSet):
    """Parquet files, which know the compressed bytes of their columns."""

    def __init__(self, path: str, files: Sequence[ParquetFile]) -> None:
        super().__init__(path, files)
        self._parquet = files

    def column_bytes(self) -> dict[str, int]:
        """Return the compressed bytes of each column, summed over files."""
        total: Counter[str] = Counter()
        for file in self._parquet:
            total.update(file.column_bytes())
        return dict(total)


def open_alike(reader: Callable[[str, Wanted], File], paths: list[str], wanted: Wanted) -> list[File]:
    """Open files with the same features; the order of columns may differ."""
    files = [reader(path, wanted) for path in paths]
    first = files[0]
    for k, file in enumerate(files):
        if (file.names is None) != (first.names is None):
            named, bare = (first, file) if file.names is None else (file, first)
            raise DataFileError(f"{named.path} has a header, but {bare.path} has none. Give all a header, or none.")
        if file.names is None and file.n_features != first.n_features:
            raise DataFileError(f"{file.path} has {file.n_features} features, but {first.path} has {first.n_features}.")
        if file.names is not None and file.names != first.names:
            apart = sorted(set(file.names) ^ set(first.names or []))
            if apart:
                shown = ", ".join(map(repr, apart[:5])) + (" …" if len(apart) > 5 else "")
                raise DataFileError(f"{file.path} and {first.path} have other columns: only one of them has {shown}.")
            files[k] = reader(file.path, replace(wanted, names=first.names))
    return files

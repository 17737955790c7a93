"""The Parquet files that a path stands for, and what those that are made of them are called."""

import glob
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from saccade.data.opening import DataPath
from saccade.exceptions import DataFileError

__all__ = ["SourceFile", "check_apart", "source_files"]

SUFFIXES = (".parquet", ".parq", ".pq")


class SourceFile(NamedTuple):
    """A file of rows, and its name below the folder that all of them lie in."""

    path: str
    name: str


def source_files(source: DataPath) -> list[SourceFile]:
    """Return the files that a path, a pattern or a list of them stands for, in the order of their names.

    Of a folder these are all Parquet files in it and in its folders. Files and folders whose names begin with _ or .
    are passed over, unless they are named themselves: tools mark so what is no data.
    """
    paths = [os.path.abspath(path) for path in _listed(source)]
    if not paths:
        raise DataFileError("No data file is given.")
    doubled = {path for path in paths if paths.count(path) > 1} if len(set(paths)) < len(paths) else set()
    if doubled:
        raise DataFileError(f"{min(doubled)} is given twice. Give every file once.")
    if isinstance(source, str | os.PathLike) and os.path.isdir(source):
        base = os.path.abspath(source)
    else:
        base = os.path.commonpath({os.path.dirname(path) for path in paths})
    return [SourceFile(path, os.path.relpath(path, base)) for path in paths]


def check_apart(files: Sequence[SourceFile], source: DataPath, target: str) -> None:
    """Raise where the target lies among the files, or these in the target."""
    given = [source] if isinstance(source, str | os.PathLike) else source
    inside = os.path.realpath(target)
    for folder in given:
        if os.path.isdir(folder) and _lies_in(inside, os.path.realpath(folder)):
            raise DataFileError(
                f"The target {target} lies in {os.fspath(folder)}, whose files are read. Give it a place outside."
            )
    for folder in {os.path.dirname(file.path) for file in files}:
        if _lies_in(os.path.realpath(folder), inside):
            raise DataFileError(f"{folder}, whose files are read, lies in the target {target}. Give another target.")


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _listed(source: DataPath) -> Iterator[str]:
    if not isinstance(source, str | os.PathLike):
        for entry in source:
            yield from _listed(entry)
        return
    name = os.fspath(source)
    if os.path.isdir(name):
        yield from _in_folder(name)
    elif os.path.isfile(name):
        yield name
    elif _is_pattern(name):
        matched = _matched(name)
        if not matched:
            raise DataFileError(f"{name} matches no file.")
        files = (_in_folder(path) if os.path.isdir(path) else [path] for path in matched)
        yield from dict.fromkeys(chain.from_iterable(files))  # ** matches folders and what is in them
    else:
        raise DataFileError(f"{name} is no file.")


def _matched(pattern: str) -> list[str]:
    fixed = next(place for place, part in enumerate(Path(pattern).parts) if _is_pattern(part))
    matched = sorted(glob.glob(pattern, recursive=True))
    return [path for path in matched if all(map(_is_visible, Path(path).parts[fixed:]))]


def _in_folder(folder: str) -> list[str]:
    files = list(_below(folder))
    # Where none has such a suffix, files without any are taken: part-0, part-1 …
    named = [file for file in files if file.endswith(SUFFIXES)] or [file for file in files if not Path(file).suffix]
    if not named:
        raise DataFileError(f"{folder} has no Parquet files.")
    return named


def _is_pattern(name: str) -> bool:
    return any(letter in name for letter in "*?[")


def _is_visible(name: str) -> bool:
    return not name.startswith(("_", "."))


def _below(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        visible = [entry for entry in entries if _is_visible(entry.name)]
    for entry in sorted(visible, key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _below(entry.path)
        elif entry.is_file():
            yield entry.path

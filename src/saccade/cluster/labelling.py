"""What a worker does: the labels of some parts of Parquet files. It knows paths, and no engine."""

import os
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from saccade.cluster.parts import Part
from saccade.data.batches import BadRows, Piece, Wanted
from saccade.data.columns import ParquetFile
from saccade.data.demand import demanded_by, wanted_by
from saccade.data.label_files import Made, made_before, writing_labels
from saccade.data.reading import RowsRead, read_piece
from saccade.exceptions import DataFileError
from saccade.files.models import load
from saccade.watching.groups import AuditedGroups, GroupWatch

__all__ = ["Done", "Job", "asked_of", "label_parts"]


@dataclass(frozen=True)
class Job:
    """What all parts have in common; it goes along with every task, and is small."""

    target: str
    model: str  # the path of its file
    run: str  # what tells this work from other work on the same target
    columns: tuple[str, ...] | None  # the features by name, where the model knows them by their places
    skip_bad: bool
    audited: AuditedGroups | None  # without a watch None
    in_full: bool = False


class Done(NamedTuple):
    """A part whose labels are there, and whether they were there already."""

    made: Made
    found: bool


def asked_of(model: Any, *, watched: bool) -> Wanted:
    """Return what a model asks of a file: what its plan does, or all that it can where rows are audited."""
    return wanted_by(model) if watched else demanded_by(model)


def label_parts(job: Job, parts: Sequence[Part]) -> list[Done]:
    """Write the labels of parts, unless they are there, and return what was counted.

    So it does not matter how often a part is begun, and by whom: what is done is not done again.
    """
    if not os.path.exists(job.model):
        raise DataFileError(
            f"{job.target} is not there on {socket.gethostname()}, where a worker runs. Give one with the same path "
            "on all machines."
        )
    return [_found(job, part) or Done(_made(job, part), found=False) for part in parts]


def _found(job: Job, part: Part) -> Done | None:
    made = made_before(Path(job.target, part.labels), job.run)
    return None if made is None or (job.in_full and not made.in_full) else Done(made, found=True)


def _made(job: Job, part: Part) -> Made:
    model = _loaded(job.model, job.run)
    watch = None if job.audited is None else GroupWatch(model, job.audited, in_full=job.in_full)
    data, numbers = _opened(job, part, model), range(*part.groups)
    path, bad = Path(job.target, part.labels), BadRows(part.path, skip=job.skip_bad)
    bad.row = data.group_begins[numbers.start]
    counted = Counter[str]()

    def read(pieces: Iterator[Piece]) -> Iterator[RowsRead]:
        for piece in pieces:
            rows = read_piece(model if watch is None else watch, piece, data.names, bad)
            counted.update(units=int(rows.reading.n_read.sum()), bytes=rows.bytes_read)
            yield rows

    path.parent.mkdir(parents=True, exist_ok=True)
    with writing_labels(path, model.classes_, watched=watch is not None) as labels:
        for number, pieces in enumerate(data.groups(numbers), start=part.before):
            if watch is not None:
                watch.begin_group(number)
            labels.add(read(pieces))
            if watch is not None:
                watch.end_group()
        counts = None if watch is None else watch.counts
        made = Made(job.run, part.n_rows, bad.count, counted["units"], counted["bytes"], job.in_full, counts)
        labels.finish(made)
    return made


def _opened(job: Job, part: Part, model: Any) -> ParquetFile:
    about = os.stat(part.path)
    if (about.st_size, about.st_mtime_ns) != (part.size, part.changed):
        raise DataFileError(f"{part.path} was changed while it was read. Begin anew, in another target.")
    wanted = asked_of(model, watched=job.audited is not None)
    return ParquetFile(part.path, wanted if job.columns is None else replace(wanted, names=job.columns))


@lru_cache(maxsize=2)
def _loaded(path: str, run: str) -> Any:
    """Return the model of a run, which many tasks of a process share."""
    return load(path)

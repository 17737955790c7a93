"""Checkpoints: the state of learning from files, saved so that it can resume after a kill."""

import hashlib
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data.labels import Labels
from saccade.exceptions import CheckpointError
from saccade.files.models import load_with, save_with
from saccade.files.writing import check_writable

__all__ = ["Checkpoint", "Place", "Run", "digests"]


@dataclass(frozen=True)
class Place:
    """The progress of learning: the pass, the batch in it, the offset of that batch in the data, its first row."""

    turn: int = 0
    batch: int = 0
    start: int = 0
    row: int = 0
    best: float | None = None  # mean loss of a pass
    waited: int = 0  # for a better one, in passes


@dataclass(frozen=True)
class Run:
    """The state of a run besides its model: labels, number of bad rows, seed, and place in the data."""

    written: list[Any]
    classes: list[Any]
    bad: int
    seed: int
    turn: int = 0
    batch: int = 0
    start: int = 0
    row: int = 0
    best: float | None = None
    waited: int = 0

    @property
    def labels(self) -> Labels:
        return Labels(self.written, np.array(self.classes))


class Checkpoint:
    """A file with a partly trained model; ``replace`` allows to overwrite an older file."""

    def __init__(self, path: Path, *, every: float, resume: bool, replace: bool, data: list[str]) -> None:
        """Refuse to overwrite the data, or an older file without ``resume`` or ``replace``."""
        self._path, self._every, self._resume = path.resolve(), every, resume
        self._last = time.monotonic()
        if self._path in [Path(file).resolve() for file in data]:
            raise CheckpointError(f"The checkpoint {path} needs a file of its own: this is the data.")
        if self._path.exists() and not (resume or replace):
            raise CheckpointError(
                f"The checkpoint {path} exists already. Go on from it (resume=True, or --resume), or remove it."
            )
        try:
            check_writable(self._path)
        except OSError as error:
            raise CheckpointError(f"The checkpoint {path} cannot be written: {error.strerror or error}.") from error
        self._shown = path

    def load(self, made_with: dict[str, Any], length: int) -> tuple[Any, Run] | None:
        """Return the saved model and run, or None without a checkpoint; other data or options are an error."""
        if not (self._resume and self._path.exists()):
            return None
        model, state = load_with(self._path)
        match state:
            case {"made_with": dict(kept), "run": dict(saved)} if set(saved) == {field.name for field in fields(Run)}:
                if kept != made_with:
                    raise CheckpointError(f"{self._shown} was made with other data, other options or another version.")
                run = Run(**saved)
                if _possible(run, model, length):
                    return model, run
        raise CheckpointError(f"{self._shown} is no checkpoint of learning from files.")

    def keep(self, model: Any, made_with: dict[str, Any], run: Run, place: Place) -> None:
        """Save a partly trained model, unless the last checkpoint is recent."""
        begun = hasattr(model, "coef_")  # not while all rows so far were bad
        if begun and time.monotonic() - self._last >= self._every:
            save_with(model, self._path, {"made_with": made_with, "run": asdict(replace(run, **asdict(place)))})
            self._last = time.monotonic()


def digests(paths: list[str]) -> list[str]:
    """Return a hash of the contents of each data file."""
    hashes = []
    for path in paths:
        with open(path, "rb") as file:
            hashes.append(hashlib.file_digest(file, "blake2b").hexdigest())
    return hashes


def _possible(run: Run, model: Any, length: int) -> bool:
    counts = (run.bad, run.seed, run.turn, run.batch, run.start, run.row, run.waited)
    return (
        all(type(count) is int and 0 <= count < 2**63 for count in counts)
        and (run.best is None or isinstance(run.best, float))
        and run.start <= length
        and run.turn <= model.max_iter
        and isinstance(run.written, list)
        and isinstance(run.classes, list)
        and len(run.written) == len(run.classes)
        and all(isinstance(label, str | int | float) for label in run.written + run.classes)
        and np.array_equal(np.unique(run.classes), model.classes_)
    )

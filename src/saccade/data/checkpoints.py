"""How far learning from files has come, in a file from which it goes on after a kill."""

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

__all__ = ["Checkpoint", "Place", "Run", "digest"]


@dataclass(frozen=True)
class Place:
    """How far learning has come: the pass, the batch in it, and where that batch begins in the data."""

    turn: int = 0
    batch: int = 0
    start: int = 0


@dataclass(frozen=True)
class Run:
    """What a run knows besides its model: the labels, the bad rows, the seed, and the place in the data."""

    written: list[Any]
    classes: list[Any]
    bad: int
    seed: int
    turn: int = 0
    batch: int = 0
    start: int = 0

    @property
    def labels(self) -> Labels:
        return Labels(self.written, np.array(self.classes))

    @property
    def place(self) -> Place:
        return Place(self.turn, self.batch, self.start)


class Checkpoint:
    """A file that keeps a model in the midst of learning; ``replace`` allows to write over an older one."""

    def __init__(self, path: Path, *, every: float, resume: bool, replace: bool, data: list[str]) -> None:
        """Refuse at once to write over anything that is no checkpoint of this run."""
        self._path, self._every, self._resume = path.resolve(), every, resume
        self._last = time.monotonic()
        if self._path in [Path(one).resolve() for one in data]:
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
        """Return what was kept, where it was made with the same data and options; None where there is nothing yet."""
        if not (self._resume and self._path.exists()):
            return None
        model, state = load_with(self._path)
        match state:
            case {"made_with": dict(kept), "run": dict(found)} if set(found) == {one.name for one in fields(Run)}:
                if kept != made_with:
                    raise CheckpointError(f"{self._shown} was made with other data or other options.")
                run = Run(**found)
                if _possible(run, model, length):
                    return model, run
        raise CheckpointError(f"{self._shown} is no checkpoint of learning from files.")

    def keep(self, model: Any, made_with: dict[str, Any], run: Run, place: Place) -> None:
        """Save a model in the midst of learning, if it is time to."""
        if time.monotonic() - self._last >= self._every:
            save_with(model, self._path, {"made_with": made_with, "run": asdict(replace(run, **asdict(place)))})
            self._last = time.monotonic()


def digest(paths: list[str]) -> str:
    """Return what tells some data files from others: their bytes, in their order."""
    digests = []
    for path in paths:
        with open(path, "rb") as file:
            digests.append(hashlib.file_digest(file, "blake2b").hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.blake2b("".join(digests).encode()).hexdigest()


def _possible(run: Run, model: Any, length: int) -> bool:
    counts = (run.bad, run.seed, run.turn, run.batch, run.start)
    return (
        all(type(one) is int and 0 <= one < 2**63 for one in counts)
        and run.start <= length
        and run.turn <= model.max_iter
        and isinstance(run.written, list)
        and isinstance(run.classes, list)
        and len(run.written) == len(run.classes)
        and all(isinstance(one, str | int | float) for one in run.written + run.classes)
        and np.array_equal(np.unique(run.classes), model.classes_)
    )

"""How far learning from a file has come, in a file from which it goes on after a kill."""

import hashlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from saccade.cli.data import check_output

if TYPE_CHECKING:
    from saccade.data.learning import Labels, Place

__all__ = ["Run", "check_checkpoint", "digest", "keep_run", "resumed"]


@dataclass(frozen=True)
class Run:
    """What a run knows besides its model: the labels, the bad rows, the seed, and the place in the file."""

    written: list[Any]
    classes: list[Any]
    bad: int
    seed: int
    turn: int = 0
    batch: int = 0
    start: int = 0

    @property
    def labels(self) -> "Labels":
        import numpy as np

        from saccade.data.learning import Labels

        return Labels(self.written, np.array(self.classes))

    @property
    def place(self) -> "Place":
        from saccade.data.learning import Place

        return Place(self.turn, self.batch, self.start)


def check_checkpoint(checkpoint: Path | None, resume: bool, force: bool, data: str, out: Path) -> Path | None:
    """Return where the checkpoint goes; refuse at once to write over anything else."""
    if checkpoint is None:
        if resume:
            raise click.UsageError("--resume needs --checkpoint, the file to go on from.")
        return None
    if checkpoint.resolve() in (Path(data).resolve(), out.resolve()):
        raise click.UsageError(f"--checkpoint {checkpoint} needs a file of its own.")
    if checkpoint.exists() and not (resume or force):
        raise click.UsageError(f"{checkpoint} exists already. Go on from it with --resume, or replace it with --force.")
    return check_output(checkpoint, force=True)


def digest(path: str) -> str:
    """Return what tells one data file from another."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def keep_run(model: Any, path: Path, made_with: dict[str, Any], run: Run) -> None:
    """Save a model in the midst of learning."""
    from saccade.files.models import save_with

    save_with(model, path, {"made_with": made_with, "run": asdict(run)})


def resumed(path: Path, made_with: dict[str, Any], length: int) -> tuple[Any, Run]:
    """Load what was kept, where it was made with the same data and options."""
    from saccade.files.models import load_with

    model, state = load_with(path)
    match state:
        case {"made_with": dict(kept), "run": dict(found)} if set(found) == {one.name for one in fields(Run)}:
            if kept != made_with:
                raise click.UsageError(f"{path} was made with other data or other options.")
            run = Run(**found)
            if _possible(run, model, length):
                return model, run
    raise click.UsageError(f"{path} is no checkpoint of saccade fit.")


def _possible(run: Run, model: Any, length: int) -> bool:
    import numpy as np

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

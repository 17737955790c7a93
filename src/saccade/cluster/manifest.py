"""What a folder of labels was begun with, as JSON in it: it is gone on with by the same, or not at all."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.cluster.sources import SourceFile
from saccade.data.footers import Footer
from saccade.exceptions import CheckpointError
from saccade.files.writing import write_new, write_whole
from saccade.version import __version__

__all__ = ["MODEL", "Manifest", "begin", "begun_in", "check_same", "finish", "keep_model", "manifest_of", "run_of"]

# Whatever reads a folder of Parquet files passes over names that begin so.
FOLDER, SUCCESS = "_saccade", "_SUCCESS"
MANIFEST, MODEL = f"{FOLDER}/manifest.json", f"{FOLDER}/model"
ANEW = "Give another target, or remove this one."

Manifest = dict[str, Any]


def manifest_of(
    model: bytes,
    files: Sequence[SourceFile],
    footers: Sequence[Footer],
    *,
    skip_bad: bool,
    watch: Mapping[str, Any] | None,
) -> Manifest:
    """Return all that labels, and how they are cut into parts, depend on."""
    described = [
        [file.name, footer.size, footer.changed, sum(footer.rows)] for file, footer in zip(files, footers, strict=True)
    ]
    return {
        "saccade": __version__,
        "model": hashlib.sha256(model).hexdigest(),
        "skip_bad": skip_bad,
        "watch": watch,
        "files": described,
    }


def run_of(manifest: Manifest) -> str:
    """Return what tells the labels of this work from those of other work."""
    return hashlib.sha256(json.dumps(manifest).encode()).hexdigest()[:16]


def begun_in(target: str) -> Manifest | None:
    """Return what a folder was begun with; None where there is none, or it is empty."""
    if not os.path.lexists(target):
        return None
    if not os.path.isdir(target):
        raise CheckpointError(f"{target} is no folder. Give one that is empty, or is not there yet.")
    try:
        begun = json.loads(Path(target, MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        others = sorted(set(os.listdir(target)) - {FOLDER})
        if not others:
            return None
        raise CheckpointError(f"{target} is not empty: it has {others[0]!r}. Give another target.") from None
    except ValueError as error:
        raise CheckpointError(f"{target}/{MANIFEST} is damaged: {error}. {ANEW}") from error
    if not isinstance(begun, dict) or set(begun) != {"saccade", "model", "skip_bad", "watch", "files"}:
        raise CheckpointError(f"{target}/{MANIFEST} is not what this version of saccade writes. {ANEW}")
    return begun


def check_same(target: str, begun: Manifest, manifest: Manifest) -> None:
    """Raise where a folder was begun with something else, and say with what."""
    if begun == manifest:
        return
    differ = next(name for name in manifest if begun[name] != manifest[name])
    was, now = begun[differ], manifest[differ]
    match differ:
        case "saccade":
            what = f"by saccade {was}, and this is {now}"
        case "model":
            what = "with another model, or with other parameters"
        case "skip_bad":
            what = f"with skip_bad={was}"
        case "watch":
            what = _watch(was, now)
        case _:
            what = _files(was, now)
    raise CheckpointError(f"The labels in {target} were begun {what}: they would be mixed. {ANEW}")


def begin(target: str, manifest: Manifest) -> None:
    """Write down what a folder is begun with; raise where another call has done so since this one has looked."""
    os.makedirs(os.path.join(target, FOLDER), exist_ok=True)
    try:
        write_new(Path(target, MANIFEST), json.dumps(manifest, indent=1).encode())
    except FileExistsError:
        raise CheckpointError(
            f"Another call has begun in {target} at the same time. Wait for it, or give another target."
        ) from None


def keep_model(target: str, model: bytes) -> None:
    """Put the model that a folder was begun with there for its workers."""
    if not os.path.exists(os.path.join(target, MODEL)):
        write_whole(Path(target, MODEL), model)


def finish(target: str, said: str) -> None:
    """Mark a folder as complete, and remove what killed workers have left behind."""
    for scratch in Path(target).rglob(".*.parquet-*"):
        scratch.unlink(missing_ok=True)
    write_whole(Path(target, SUCCESS), f"{said}\n".encode())


def _watch(was: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str:
    if was is None or now is None:
        return "without a watch" if was is None else "with a watch"
    return f"with a watch over a share of {was['share']} of the rows, and this one is over {now['share']}"


def _files(was: Sequence[Sequence[Any]], now: Sequence[Sequence[Any]]) -> str:
    then, here = ({name: about for name, *about in files} for files in (was, now))
    changed = [name for name in here if name in then and here[name] != then[name]]
    if changed:
        return f"before {changed[0]!r} was changed"
    more, fewer = ([name for name in mine if name not in other] for mine, other in ((here, then), (then, here)))
    if more or fewer:
        return f"without {more[0]!r}" if more else f"with {fewer[0]!r}, too"
    return "with the same files in another order"

"""Shared by the commands on files: options, loading models, opening data, and printing."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from saccade.data import FORMATS

if TYPE_CHECKING:
    from saccade.data.batches import DataFile, Wanted
    from saccade.data.origin import Origin

__all__ = [
    "HELD_OUT",
    "Loaded",
    "check_output",
    "data_options",
    "demanded_by",
    "loaded",
    "names_of",
    "one_line",
    "opened",
    "print_record",
    "wanted_by",
]

HELD_OUT = "rows held out of learning"


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a data file is to be read."""
    for option in (
        click.option("--format", "kind", type=click.Choice(FORMATS), help="Of DATA; else its name tells."),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether the first line of a CSV file has names; else it is guessed.",
        ),
        click.option("--skip-bad", is_flag=True, help="Pass over rows that cannot be read, and count them."),
        click.option("--json", "as_json", is_flag=True, help="Print for machines."),
    ):
        command = option(command)
    return command


def check_output(path: Path, force: bool, data: str | None = None) -> Path:
    """Check before the work that the output can be written, and is none of the files of ``data``."""
    from saccade.files.writing import check_writable

    target = path.resolve()
    if str(path) == "-" or target.is_dir():
        raise click.UsageError(f"-o {path} is no file: give it a name.")
    if data is not None and target in _files(data):
        raise click.UsageError(f"-o {path} would replace the data.")
    if target.exists() and not force:
        raise click.UsageError(f"{path} exists already. Choose another name, or replace it with --force.")
    try:
        check_writable(target)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
    return target


def _files(data: str) -> list[Path]:
    """Return the files that are read; none where the path is wrong, which opening it reports."""
    from saccade.data.opening import data_files
    from saccade.exceptions import DataFileError

    try:
        return [Path(file).resolve() for file in data_files(data)]
    except DataFileError:
        return []


@dataclass(frozen=True)
class Loaded:
    """A saved model, and what its file remembers of the data that it learned from."""

    model: Any
    origin: "Origin"


def loaded(path: Path, *, or_skops: bool = False) -> Loaded:
    """Load a model that saccade saved, or a skops file of a fitted scikit-learn model."""
    from saccade.data.origin import Origin

    if path.suffix.lower() == ".skops":
        if not or_skops:
            raise click.UsageError(
                f"{path} is no model of saccade. Certify it first: saccade attend {path} DATA -o MODEL"
            )
        return Loaded(_from_skops(path), Origin())
    from saccade.files.models import load_with

    try:
        model, about = load_with(path)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    return Loaded(model, Origin.of(about))


def _from_skops(path: Path) -> Any:
    try:
        import skops.io
    except ModuleNotFoundError as missing:
        raise click.UsageError("skops is missing. Install it with: pip install 'saccade[skops]'") from missing
    try:
        unknown = skops.io.get_untrusted_types(file=path)
        if not unknown:
            return skops.io.load(path, trusted=[])
    except OSError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise click.ClickException(f"{path} is damaged, or no skops file ({type(error).__name__}: {error}).") from error
    raise click.ClickException(f"{path} holds types that are not trusted: {', '.join(unknown)}.")


def names_of(model: Any) -> list[str] | None:
    """Return the names of a model's features, where it knows them."""
    from saccade.models.thresholds import step_inside

    names = getattr(model, "feature_names_in_", None)
    if names is None and hasattr(model, "additive_"):
        names = model.additive_.columns
    while names is None and (model := step_inside(model)) is not None:  # a wrapper may know less than what it holds
        names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def wanted_by(saved: Loaded, target: str | None, header: bool | None) -> "Wanted":
    """Return what a model reads of a data file: its features by name, where it knows names."""
    from saccade.data.batches import Wanted

    width = getattr(saved.model, "n_features_in_", None)
    return Wanted(target, names_of(saved.model), width, header, saved.origin.zero_based)


def demanded_by(saved: Loaded, target: str | None, header: bool | None, *, others: bool) -> "Wanted":
    """Return what a model must find in every row: of a certified one, what its plan can ask for.

    ``others`` says whether the other features are read, too, where they are there.
    """
    plan, additive = (getattr(saved.model, name, None) for name in ("plan_", "additive_"))
    # A row of no columns cannot be counted.
    needed = None if plan is None or additive is None else additive.columns_of(plan.demanded).tolist() or None
    return replace(wanted_by(saved, target, header), needed=needed, others=others)


@contextmanager
def one_line() -> Iterator[None]:
    """Turn errors about data or a checkpoint into messages of one line."""
    from saccade.exceptions import CheckpointError

    try:
        yield
    except CheckpointError as error:
        raise click.UsageError(str(error)) from error
    except (ValueError, TypeError) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def opened(data: str, wanted: "Wanted", kind: str | None) -> Iterator["DataFile"]:
    """Open a data file, or several as one; errors about them or their rows are messages of one line."""
    from saccade.data.opening import open_data

    with one_line(), open_data(data, wanted, kind) as source:
        yield source


def print_record(record: dict[str, Any], as_json: bool) -> None:
    """Print names and values, or one JSON object."""
    if as_json:
        print(json.dumps(record, default=_plain))
        return
    width = max(map(len, record))
    for name, value in record.items():
        shown = f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
        print(f"{name:{width}}  {shown}")


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)

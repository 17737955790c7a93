"""What the commands on files have in common: options, opening, and writing whole files."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from saccade.streams import FORMATS

__all__ = ["check_output", "data_options", "loaded", "matching", "print_record"]


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a data file is to be read."""
    for option in (
        click.option("--format", "kind", type=click.Choice(FORMATS), help="Of DATA."),
        click.option("--skip-bad", is_flag=True, help="Pass over rows that cannot be read, and count them."),
        click.option("--json", "as_json", is_flag=True, help="Print for machines."),
    ):
        command = option(command)
    return command


def check_output(path: Path, force: bool) -> Path:
    """Raise at once what would go wrong at the end."""
    from saccade.files.writing import check_writable

    target = path.resolve()
    if target.exists() and not force:
        raise click.UsageError(f"{path} exists already. Choose another name, or replace it with --force.")
    try:
        check_writable(target)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
    return target


def loaded(path: Path) -> Any:
    """Load a model of ours, or a skops file of a fitted scikit-learn model."""
    import saccade

    if path.suffix == ".skops":
        return _from_skops(path)
    try:
        return saccade.load(path)
    except ModuleNotFoundError as missing:
        raise click.UsageError(str(missing)) from missing
    except ValueError as error:
        raise click.ClickException(str(error)) from error


def _from_skops(path: Path) -> Any:
    try:
        import skops.io
    except ModuleNotFoundError as missing:
        raise click.UsageError("skops is missing. Install it with: pip install skops") from missing
    unknown = skops.io.get_untrusted_types(file=path)
    if unknown:
        raise click.ClickException(f"{path} holds types that are not trusted: {', '.join(unknown)}.")
    return skops.io.load(path, trusted=[])


def matching(model: Any, source: Any) -> list[int]:
    """Return where each of the model's features is among the file's columns, and let the model go by places."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = getattr(model, "_names", None)
    if names is None or source.names is None:
        if source.n_features != model.n_features_in_:
            raise click.ClickException(
                f"{source.path} has {source.n_features} features, but the model knows {model.n_features_in_}. Name a "
                "column that is none with --target."
            )
        places = list(range(model.n_features_in_))
    else:
        where = {name: place for place, name in enumerate(source.names)}
        missing = [str(name) for name in names if name not in where]
        if missing:
            raise click.ClickException(f"{source.path} has no columns {', '.join(missing[:5])}, which the model reads.")
        places = [where[name] for name in names]
    vars(model).pop("feature_names_in_", None)
    return places


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


class bar:  # noqa: N801 - used like the function that it wraps
    """A progress bar over a file, with the rows so far: on a terminal only."""

    def __init__(self, length: int, label: str) -> None:
        self._label, self._rows = label, 0
        silent = not sys.stderr.isatty()
        self._bar = click.progressbar(length=max(length, 1), label=label, file=sys.stderr, hidden=silent)

    def __enter__(self) -> Callable[[int, int], None]:
        self._shown = self._bar.__enter__()
        return self.advance

    def __exit__(self, *raised: Any) -> None:
        self._bar.__exit__(*raised)

    def advance(self, steps: int, rows: int) -> None:
        self._rows += rows
        self._shown.label = f"{self._label}, {self._rows:,} rows"
        self._shown.update(steps)

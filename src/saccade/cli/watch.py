"""``saccade watch``: does the promise of a certified model hold on these rows?"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from saccade.cli.data import demanded_by, file_options, loaded, one_line, opened
from saccade.terminal import show_progress

if TYPE_CHECKING:
    from saccade.data.batches import DataFile, Wanted
    from saccade.watching.watch import Watch

# The exit status that says so: 1 is for errors, 2 for wrong usage.
BROKEN = 3


@click.command(short_help="Audit a certified model on rows as they come.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("--share", type=click.FloatRange(0, 1), default=0.01, show_default=True, help="Of rows, those audited.")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="1 minus the chance of a false alarm.",
)
@click.option(
    "--on-broken",
    type=click.Choice(["warn", "read"]),
    default="warn",
    show_default=True,
    help="Warn, or read every later row in full, too.",
)
@click.option("--rows", type=click.IntRange(1), default=1000, show_default=True, help="Of a batch of standard input.")
@click.option("--random-state", type=click.IntRange(0, 2**32 - 1), help="Decides which rows are audited.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file that keeps the counts, so that the watch goes on another day.",
)
@click.option("--target", help="A column that is not to be read.")
@file_options
def watch(
    model: Path,
    data: str,
    share: float,
    confidence: float,
    on_broken: str,
    rows: int,
    random_state: int | None,
    state: Path | None,
    target: str | None,
    kind: str | None,
    header: bool | None,
    skip_bad: bool,
) -> int:
    """Read the rows of DATA by the plan of MODEL, a share of them in full as well, and say whether the promise holds.

    DATA may be -: rows of CSV on standard input, which are read as they come. One line of JSON is printed for each
    batch, about all rows so far. The exit status is 3 if the promise was broken after any batch.
    """
    from saccade.data.batches import BadRows
    from saccade.data.reading import read_rows
    from saccade.data.streaming import naming_batches

    if sys.stdout.isatty():
        show_progress(False)  # a line for each batch is
    if data == "-" and kind not in (None, "csv"):
        raise click.UsageError("Standard input is read as CSV.")
    saved = loaded(model)
    options = {"share": share, "confidence": confidence, "on_broken": on_broken, "random_state": random_state}
    watching, broken, batch, n_bad = _begun(saved.model, model, state, options), False, 0, 0
    wanted = demanded_by(saved, target, header, others=True)
    with one_line():
        for source in _sources(data, wanted, kind, rows):
            bad = BadRows(source.path, skip=skip_bad)
            with naming_batches(source.path) if data == "-" else nullcontext():
                for _ in read_rows(watching, source, bad):
                    batch += 1
                    broken |= watching.state == "broken"
                    print(json.dumps(_line(watching, batch, n_bad + bad.count), default=str), flush=True)
                    _kept(watching, state)
            n_bad += bad.count
    return BROKEN if broken else 0


def _sources(data: str, wanted: "Wanted", kind: str | None, rows: int) -> Iterator["DataFile"]:
    """Yield the file, or small ones of what comes in on standard input."""
    from saccade.data.streaming import streamed

    if data == "-":
        yield from streamed(sys.stdin.buffer, wanted, rows)
        return
    with opened(data, wanted, kind) as source:
        yield source


def _begun(attentive: Any, path: Path, state: Path | None, options: dict[str, Any]) -> "Watch":
    """Begin a watch, or go on with the one that a file keeps."""
    from saccade.attentive import AttentiveClassifier
    from saccade.watching.watch import Watch

    if not isinstance(attentive, AttentiveClassifier):
        raise click.ClickException(
            f"{path} holds a {type(attentive).__name__}, which promises nothing. Certify it first: "
            f"saccade attend {path} DATA -o MODEL"
        )
    if state is None or not state.exists():
        return Watch(attentive, **options)
    with _option("--state", state):
        return Watch.from_json(state.read_text(encoding="utf-8"), attentive)


@contextmanager
def _option(name: str, path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise click.UsageError(f"{name} {path}: {error}") from error


def _kept(watching: "Watch", state: Path | None) -> None:
    from saccade.files.writing import write_whole

    if state is not None:
        write_whole(state, watching.to_json().encode())


def _line(watching: "Watch", batch: int, n_bad: int) -> dict[str, Any]:
    """Return what is known after a batch, of all rows so far."""
    return {
        "batch": batch,
        "state": watching.state,
        "rows": watching.n_rows,
        "audited": watching.n_audited,
        "disagreements": watching.n_disagreements,
        "lower_bound": watching.lower_bound,
        "upper_bound": watching.upper_bound,
        "incomparable": watching.n_incomparable,
        "bad_rows": n_bad,
        "by_class": [asdict(record) for record in watching.by_class],
    }

"""``saccade predict`` and ``saccade evaluate``: prediction of the rows of a file, and its accuracy."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from saccade.cli.data import HELD_OUT, check_output, data_options, demanded_by, keep_model, loaded, opened, print_record
from saccade.terminal import show_progress

if TYPE_CHECKING:
    from saccade.reading.plan import Reading

FIELDS = ("label", "margin", "n_read")
# What a measurement is worth depends on whether the model has seen the rows.
MEASURED_ON = {
    "same": "rows that it learned from",
    "some": "rows, some of which it learned from",
    "other": "all rows",
}


@click.command(short_help="Predict the rows of a file.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="A CSV file; standard output without it, or for -.")
@click.option("--target", help="A column that is not to be read.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@data_options
def predict(
    model: Path,
    data: str,
    out: Path | None,
    target: str | None,
    force: bool,
    kind: str | None,
    header: bool | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Write label, margin and number of features or trees read for every row of DATA; - is standard input.

    A certified model (saccade attend) reads by its plan, any other all features. Of a Parquet file only the columns
    are read that the plan, or a tree of it, asks for, row group by row group. A bad row that is passed over is written
    as an empty row, so that lines stay in step with the rows of DATA.
    """
    from saccade.data.batches import BadRows
    from saccade.data.reading import read_rows

    where = None if out is None or str(out) == "-" else check_output(out, force, data)
    if where is not None:
        keep_model(model, where)
    elif sys.stdout.isatty():
        show_progress(False)  # the rows themselves are
    saved, rows, features, read = loaded(model), 0, 0, 0
    wanted = demanded_by(saved, target, header, others=False)
    with opened(data, wanted, kind) as source, _written_to(where) as stream:
        bad = BadRows(source.path, skip=skip_bad)
        writer = csv.writer(stream, lineterminator="\n")
        if not as_json:
            writer.writerow(FIELDS)
        for piece in read_rows(saved.model, source, bad):
            listed = _lines(piece.reading, piece.good)
            if as_json:
                stream.writelines(json.dumps(dict(zip(FIELDS, row, strict=True))) + "\n" for row in listed)
            else:
                writer.writerows(listed)
            rows, features = rows + len(piece.reading), features + int(piece.reading.n_read.sum())
            read += piece.bytes_read
    share = f"{read:,} of {source.size:,} bytes were read"
    skipped = f"; {bad.passed_over}" if bad.count else ""
    each = f"{features / max(rows, 1):.1f} {_noun(saved.model)} per row"
    print(f"{rows:,} rows, {each}; {share}{skipped}", file=sys.stderr)


def _noun(model: Any) -> str:
    """Return what a certified model reads of a row, features or trees; any other reads features."""
    certificate = getattr(model, "certificate_", None)
    return "features" if certificate is None else str(certificate.noun)


@contextmanager
def _written_to(path: Path | None) -> Iterator[TextIO]:
    """Open standard output, or a file that is created only when it is complete."""
    from saccade.files.writing import writing_whole

    if path is None:
        yield sys.stdout
        return
    with writing_whole(path) as file:
        stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield stream
        stream.detach()


def _lines(reading: "Reading", good: Any) -> Iterator[tuple[Any, ...]]:
    """Yield label, margin and features read of every row of a file, and empty fields for bad rows."""
    margins = reading.margin if reading.margin.ndim == 1 else reading.margin.max(axis=1)
    listed = zip(reading.label.tolist(), margins.tolist(), reading.n_read.tolist(), strict=True)
    for is_good in good.tolist():
        yield next(listed) if is_good else (None, None, None)


@click.command(short_help="Measure a model on the rows of a file.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("--target", help="The column with the labels; a libsvm file has them first.")
@data_options
def evaluate(
    model: Path, data: str, target: str | None, kind: str | None, header: bool | None, skip_bad: bool, as_json: bool
) -> None:
    """Print accuracy beside the majority's share, disagreement with the full read, features or trees per row.

    Columns that the plan of a certified model cannot ask for may be missing; rows without them are not compared with
    the full read. Where DATA is what saccade fit learned from with --hold-out, the rows that were held out are
    measured.
    """
    from saccade.data.batches import BadRows
    from saccade.data.opening import files_of
    from saccade.data.reading import measure

    saved = loaded(model)
    with opened(data, demanded_by(saved, target, header, others=True), kind) as source:
        if target is None and source.zero_based is None:  # only libsvm files have labels without a target
            raise click.UsageError("Name the column with the labels, with --target.")
        bad = BadRows(source.path, skip=skip_bad)
        known = saved.origin.compared_with(files_of(source, data, kind))
        held_out = saved.origin.held_out if known == "same" else None
        measured = measure(saved.model, source, bad, held_out)
    if measured.rows == 0:
        raise click.ClickException(f"{data} has no rows to measure on; {bad.passed_over}.")
    if measured.compared < measured.rows:
        print(
            f"{measured.rows - measured.compared:,} of {measured.rows:,} rows are not compared with the full read: "
            "features that the plan does not ask for are missing or no numbers there, or in the same block of the file",
            file=sys.stderr,
        )
    certificate = getattr(saved.model, "certificate_", None)
    print_record(
        {
            "rows": measured.rows,
            "measured on": HELD_OUT if held_out is not None else MEASURED_ON[known],
            "accuracy": measured.right / measured.rows,
            "majority class": measured.majority,
            "disagreement with the full read": measured.changed / measured.compared if measured.compared else None,
            f"{_noun(saved.model)} per row": measured.features / measured.rows,
            "certificate": None if certificate is None else str(certificate),
            "bad rows": bad.count,
        },
        as_json,
    )

"""``saccade predict`` and ``saccade evaluate``: rows of a file, read no further than the plan demands."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from saccade.cli.data import bar, check_output, data_options, loaded, opened, print_record, wanted_by

if TYPE_CHECKING:
    from saccade.data.batches import Batch
    from saccade.reading.plan import Reading

FIELDS = ("label", "margin", "n_read")


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
    """Write label, margin and number of features read for every row of DATA; - is standard input.

    Of a Parquet file only the columns are read that the plan asks for, row group by row group. A bad row that is passed
    over is written as an empty one, so that lines stay in step with the rows of DATA.
    """
    where = None if out is None or str(out) == "-" else check_output(out, force, data)
    found, counted, rows, features = loaded(model), _Counted(), 0, 0
    with opened(data, wanted_by(found, target, header), kind) as source:
        readings = _readings(found.model, source, skip_bad, counted)
        with _written_to(where) as stream:
            writer = csv.writer(stream, lineterminator="\n")
            if not as_json:
                writer.writerow(FIELDS)
            for reading, batch in readings:
                listed = _lines(reading, batch.good)
                if as_json:
                    stream.writelines(json.dumps(dict(zip(FIELDS, row, strict=True))) + "\n" for row in listed)
                else:
                    writer.writerows(listed)
                rows, features = rows + len(reading), features + int(reading.n_read.sum())
        read = source.size if counted.bytes is None else counted.bytes
        share = f"{read:,} of {source.size:,} bytes were read"
    skipped = f"; {counted.bad} bad rows were passed over" if counted.bad else ""
    print(f"{rows:,} rows, {features / max(rows, 1):.1f} features per row; {share}{skipped}", file=sys.stderr)


@contextmanager
def _written_to(path: Path | None) -> Iterator[TextIO]:
    """Open standard output, or a file that appears when it is whole."""
    from saccade.files.writing import writing_whole

    if path is None:
        yield sys.stdout
        return
    with writing_whole(path) as file:
        stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield stream
        stream.detach()


def _lines(reading: "Reading", good: Any) -> Iterator[tuple[Any, ...]]:
    """Yield label, margin and features read of every row of a file, and nothing for bad ones."""
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
    """Print accuracy, disagreement with the full read, features per row, and the certificate beside them."""
    import numpy as np

    from saccade.data.labels import codes_of
    from saccade.reading.plan import decided

    found, counted = loaded(model), _Counted()
    rows = right = apart = features = 0
    with opened(data, wanted_by(found, target, header), kind) as source:
        classes = found.model.classes_
        for reading, batch in _readings(found.model, source, skip_bad, counted, whole=True):
            if batch.y is None:
                raise click.UsageError("Name the column with the labels, with --target.")
            if not len(reading):
                continue
            full = found.model.full_margin(batch.X).reshape(len(reading), -1)
            right += int(np.sum(np.searchsorted(classes, reading.label) == codes_of(batch.y, classes)))
            apart += int(np.sum(classes[decided(full)] != reading.label))
            rows, features = rows + len(reading), features + int(reading.n_read.sum())
    if rows == 0:
        raise click.ClickException(f"{data} has no rows to measure on; {counted.bad} bad ones were passed over.")
    certificate = getattr(found.model, "certificate_", None)
    print_record(
        {
            "rows": rows,
            "accuracy": right / rows,
            "disagreement with the full read": apart / rows,
            "features per row": features / rows,
            "certificate": None if certificate is None else str(certificate),
            "bad rows": counted.bad,
        },
        as_json,
    )


@dataclass
class _Counted:
    """What was read, in bytes where not all were, and how many rows could not be."""

    bytes: int | None = None
    bad: int = 0


def _readings(
    model: Any, source: Any, skip_bad: bool, counted: _Counted, *, whole: bool = False
) -> Iterator[tuple["Reading", "Batch"]]:
    """Yield readings, and the batches they are of; of Parquet, where no whole rows are needed, by its columns."""
    from saccade import AttentiveClassifier
    from saccade.data.batches import BadRows, Batch
    from saccade.data.reading import read_by_columns

    vars(model).pop("feature_names_in_", None)  # the columns come in the model's own order
    bad, place = BadRows(source.path, skip=skip_bad), 0
    with bar(source.length, "Rows") as shown:
        if hasattr(source, "row_groups") and isinstance(model, AttentiveClassifier) and not whole:
            counted.bytes = 0
            for group in source.row_groups():
                reading, good = read_by_columns(model, group, bad)
                yield reading, Batch(None, None, group.first_row + good.size, good)
                counted.bytes += group.bytes_read
                shown(good.size, good.size)
        else:
            for batch in source.batches(0, bad):
                yield model.read(batch.X) if batch.X.shape[0] else _nothing(model), batch
                shown(batch.end - place, batch.X.shape[0])
                place = batch.end
    counted.bad = bad.count


def _nothing(model: Any) -> "Reading":
    """Return the reading of no rows."""
    import numpy as np

    from saccade.reading.plan import Reading

    return Reading(model.classes_[:0], np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool))

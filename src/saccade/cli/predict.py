"""``saccade predict`` and ``saccade evaluate``: rows of a file, read no further than the plan demands."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from saccade.cli.data import bar, check_output, data_options, loaded, matching, print_record

if TYPE_CHECKING:
    from saccade.plan import Reading


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
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Write label, margin and number of features read for every row of DATA; - is standard input.

    Of a Parquet file only the columns are read that the plan asks for, row group by row group.
    """
    from saccade.files.writing import write_whole

    where = None if out is None or str(out) == "-" else check_output(out, force)
    written = io.StringIO()
    stream = sys.stdout if where is None else written
    rows = features = 0
    with _opened(model, data, target, kind) as (found, source):
        writer = csv.writer(stream, lineterminator="\n")
        if not as_json:
            writer.writerow(["label", "margin", "n_read"])
        counted = {"bytes": source.size, "bad": 0}
        for reading, _ in _readings(found, source, skip_bad, counted):
            margins = reading.margin if reading.margin.ndim == 1 else reading.margin.max(axis=1)
            listed = zip(reading.label.tolist(), margins.tolist(), reading.n_read.tolist(), strict=True)
            if as_json:
                stream.writelines(
                    json.dumps(dict(zip(("label", "margin", "n_read"), row, strict=True))) + "\n" for row in listed
                )
            else:
                writer.writerows(listed)
            rows, features = rows + len(reading), features + int(reading.n_read.sum())
    if where is not None:
        write_whole(where, written.getvalue().encode())
    share = f"{counted['bytes']:,} of {source.size:,} bytes were read"
    skipped = f"; {counted['bad']} bad rows were passed over" if counted["bad"] else ""
    print(f"{rows:,} rows, {features / max(rows, 1):.1f} features per row; {share}{skipped}", file=sys.stderr)


@click.command(short_help="Measure a model on the rows of a file.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("--target", help="The column with the labels; a libsvm file has them first.")
@data_options
def evaluate(model: Path, data: str, target: str | None, kind: str | None, skip_bad: bool, as_json: bool) -> None:
    """Print accuracy, disagreement with the full read, features per row, and the certificate beside them."""
    import numpy as np

    from saccade.plan import decided

    with _opened(model, data, target, kind) as (found, source):
        rows = right = apart = features = 0
        counted = {"bytes": 0, "bad": 0}
        for reading, batch in _readings(found, source, skip_bad, counted, whole=True):
            if batch.y is None:
                raise click.UsageError("Name the column with the labels, with --target.")
            full = found.full_margin(batch.X).reshape(len(reading), -1)
            numbers = reading.label.dtype.kind in "iufb"
            right += int(np.sum(reading.label == batch.y.astype(np.float64 if numbers else str)))
            apart += int(np.sum(found.classes_[decided(full)] != reading.label))
            rows, features = rows + len(reading), features + int(reading.n_read.sum())
    certificate = getattr(found, "certificate_", None)
    print_record(
        {
            "rows": rows,
            "accuracy": right / max(rows, 1),
            "disagreement with the full read": apart / max(rows, 1),
            "features per row": features / max(rows, 1),
            "certificate": None if certificate is None else str(certificate),
            "bad rows": counted["bad"],
        },
        as_json,
    )


@contextmanager
def _opened(model: Path, data: str, target: str | None, kind: str | None) -> Iterator[tuple[Any, Any]]:
    """Open a model and a data file, whose errors are one line each."""
    from saccade.streams.opening import open_data

    found = loaded(model)
    try:
        with open_data(data, target, kind, found.n_features_in_) as source:
            yield found, source
    except ValueError as error:
        raise click.ClickException(str(error)) from error


def _readings(
    model: Any, source: Any, skip_bad: bool, counted: dict[str, int], *, whole: bool = False
) -> Iterator[tuple["Reading", Any]]:
    """Yield readings, and the batches they are of; of Parquet, where no whole rows are needed, by its columns."""
    from saccade import AttentiveClassifier
    from saccade.streams.batches import BadRows
    from saccade.streams.columns import ParquetSource
    from saccade.streams.reading import read_by_columns

    places = matching(model, source)
    if isinstance(source, ParquetSource) and isinstance(model, AttentiveClassifier) and not (whole or skip_bad):
        names = [(source.names or [])[place] for place in places]
        counted["bytes"] = 0
        with bar(source.n_rows, "Rows") as shown:
            for group in source.row_groups(names):
                yield read_by_columns(model, group), None
                counted["bytes"] += group.bytes_read
                shown(group.shape[0], group.shape[0])
        return
    bad, place = BadRows(source.path, skip=skip_bad), 0
    with bar(source.length, "Rows") as shown:
        for batch in source.batches(0, bad):
            part = batch.X if places == list(range(batch.X.shape[1])) else _arranged(batch.X, places)
            if part.shape[0]:
                yield model.read(part), type(batch)(part, batch.y, batch.end)
            shown(batch.end - place, part.shape[0])
            place = batch.end
    counted["bad"] = bad.count


def _arranged(X: Any, places: list[int]) -> Any:
    """Return columns in the model's order, laid out as a file in that order would be: so sums have the same bits."""
    import numpy as np

    return np.ascontiguousarray(X[:, places]) if isinstance(X, np.ndarray) else X[:, places]

"""``predict_files``: labels for the rows of data files, one output for each input."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from saccade.attentive import AttentiveClassifier
from saccade.exceptions import DataFileError
from saccade.files.writing import write_whole, writing_whole
from saccade.io.batches import Batch, Location, Selection, find_files, pyarrow, read_batches
from saccade.learners.classifier import AttentiveLearner
from saccade.reading.digest import digest
from saccade.reading.plan import Reading
from saccade.reading.progress import Progress
from saccade.watching.watch import Watch

__all__ = ["FilesPrediction", "predict_files"]

# The file in the target folder that says whose labels it contains.
MARKER = "_saccade.txt"
CALLS_PER_THREAD = 2


class FilesPrediction(NamedTuple):
    """What ``predict_files`` did.

    Examples
    --------
    >>> from saccade.io.predict import FilesPrediction
    >>> print(FilesPrediction(n_files=2, n_skipped=1, n_rows=1000, n_bad=1, n_read=5994, noun="features"))
    2 files, 1 of them already there; 1,000 rows, 1 of them bad; 6.0 features read per row
    """

    n_files: int  #: input files
    n_skipped: int  #: those whose output was already there
    n_rows: int  #: rows of the other files
    n_bad: int  #: rows without a label, because a value could not be read
    n_read: int  #: features or trees read in all rows
    noun: str  #: "features", "terms" or "trees"

    def __str__(self) -> str:
        each = self.n_read / max(self.n_rows - self.n_bad, 1)
        skipped = f", {self.n_skipped:,} of them already there" if self.n_skipped else ""
        bad = f", {self.n_bad:,} of them bad" if self.n_bad else ""
        return f"{self.n_files:,} files{skipped}; {self.n_rows:,} rows{bad}; {each:.1f} {self.noun} read per row"


def predict_files(
    model: AttentiveClassifier | AttentiveLearner,
    source: Any,
    target: str | os.PathLike[str],
    *,
    format: Any = None,
    skip_bad: bool = False,
    client: Any = None,
    watch: Watch | None = None,
) -> FilesPrediction:
    """Predict the rows of data files; write one file with ``label`` and ``n_read`` for each.

    A row of an output belongs to the same row of the input. Outputs are CSV files for CSV and libsvm files, and Parquet
    files for all others. Each appears when it is complete, and an output newer than its input is not made again, so an
    interrupted call can be repeated. Only the columns that the plan can ask for are read.

    Parameters
    ----------
    model : AttentiveClassifier or learner, fitted
        Columns are matched by name if the model was fitted or certified on a table, else by position.
    source : path, or list of paths
        Files or folders. The columns of hive partitions (``year=2026/part-0.parquet``) are read as well.
    target : path
        Folder for the outputs. It must not contain labels of another model.
    format : {"parquet", "arrow", "csv", "libsvm", "libsvm-zero-based", "npy"} or pyarrow.dataset.CsvFileFormat, \
optional
        By default it follows from the names. Columns of CSV files have the types that the model expects.
    skip_bad : bool
        Leave the label of a row empty if one of its values cannot be read, or is missing and the model needs it. By
        default such a row is an error.
    client : dask.distributed.Client, optional
        Predict the files on its workers, which need the same paths.
    watch : Watch over the model, optional
        Audit rows of each file; outputs have a column ``audited``. All columns are read then. The response to a broken
        promise follows the file that broke it: files that are predicted at the same time are not affected.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> import saccade
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(6000, 20, n_informative=6, random_state=0)
    >>> rows = pd.DataFrame(X).add_prefix("x")
    >>> model = saccade.AttentiveClassifier(delta=0.1, random_state=0).fit(rows[:4000], y[:4000])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows[4000:].to_csv(os.path.join(folder, "rows.csv"), index=False)
    ...     done = saccade.predict_files(model, os.path.join(folder, "rows.csv"), os.path.join(folder, "labels"))
    ...     labels = pd.read_csv(os.path.join(folder, "labels", "rows.csv"))
    >>> done.n_rows, labels.columns.tolist(), bool((labels.label == model.predict(rows[4000:])).all())
    (2000, ['label', 'n_read'], True)
    """
    if not isinstance(model, AttentiveClassifier | AttentiveLearner):
        raise TypeError(
            f"Expected an AttentiveClassifier or a learner; got {type(model).__name__}. Use saccade.attend."
        )
    check_is_fitted(model)
    if watch is not None:
        if not isinstance(watch, Watch) or watch.attentive is not model:
            raise ValueError("watch must be a Watch over the model that predicts: Watch(model).")
        watch._check_usable()
    files, folder = find_files(source, format), Path(target)
    if any(folder.resolve() in (file.path.resolve(), *file.path.resolve().parents) for file in files):
        raise DataFileError(f"The target {target} contains data files that are to be read. Choose another folder.")
    kept = model._snapshot()
    _mark(folder, digest(kept))
    if watch is not None:
        kept.certificate_, kept.estimator_ = model.certificate_, model.estimator_
    outputs = [_output(folder, file, format) for file in files]
    if len(set(outputs)) < len(outputs):
        raise DataFileError("Two files differ only in their suffix, so their outputs would have one name. Rename one.")
    waiting = [(file, out) for file, out in zip(files, outputs, strict=True) if not _is_newer(out, file.path)]
    selection, before = _selection(model, watch, skip_bad), 0 if watch is None else watch.n_rows
    calls = (
        Call(file, output, format, selection, None if watch is None else watch._part(before, number).to_json())
        for number, (file, output) in enumerate(waiting)
    )
    n_rows = n_bad = n_read = n_done = 0
    with Progress("rows", label="Predicting", length=len(waiting)) as progress:
        results: Iterator[Counted]
        if client is None:
            results = (_predict_file(kept, call, lambda count: progress.advance(count, n_done)) for call in calls)
        else:
            results = _spread(client, kept, calls)
        for counted in results:
            n_rows, n_bad, n_read = n_rows + counted.n_rows, n_bad + counted.n_bad, n_read + counted.n_read
            n_done += 1
            progress.advance(0 if client is None else counted.n_rows, n_done)
            if watch is not None and counted.watch is not None:
                watch.merge(Watch.from_json(counted.watch, model))
                watch._answer(None)
    noun = model.plan_.noun if isinstance(model, AttentiveClassifier) else "features"
    return FilesPrediction(len(files), len(files) - len(waiting), n_rows, n_bad, n_read, noun)


class Call(NamedTuple):
    """One file to predict."""

    file: Location
    output: Path
    format: Any
    selection: Selection
    watch: str | None  # that audits the rows of the file, as JSON


class Counted(NamedTuple):
    """What was counted in one file."""

    n_rows: int
    n_bad: int
    n_read: int
    watch: str | None


def _selection(model: Any, watch: Watch | None, skip_bad: bool) -> Selection:
    """Return what is read of each file: what the plan can ask for, or everything that an audit needs."""
    names, kinds = getattr(model, "feature_names_in_", None), dict[int, str | None]()
    if isinstance(model, AttentiveClassifier):
        names = model.additive_.columns if names is None else names
        for position, categories in model.additive_.categories.items():
            kinds[position] = "number" if categories.are_numbers else "text" if categories.texts is not None else None
        kinds |= dict.fromkeys(model.additive_.as_held, None)
    if names is None:
        return Selection(n_features=model.n_features_in_, kind=Kinds(kinds), skip_bad=skip_bad)
    needed = model._demanded_by(full=watch is not None or not isinstance(model, AttentiveClassifier))
    positions = range(len(names)) if needed is None else sorted(needed().tolist()) or [0]
    chosen = Kinds({k: kinds[position] for k, position in enumerate(positions) if position in kinds})
    return Selection(tuple(str(names[position]) for position in positions), kind=chosen, skip_bad=skip_bad)


@dataclass(frozen=True)
class Kinds:
    """The kind of each column, a number if nothing else is known."""

    known: dict[int, str | None]

    def __call__(self, position: int) -> str | None:
        return self.known.get(position, "number")


def _output(folder: Path, file: Location, format: Any) -> Path:
    """Return the path of an output: a text for a text."""
    stem = file.name.with_suffix("") if file.name.suffix == ".gz" else file.name
    is_text = stem.suffix.lower() not in (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".npy")
    is_text = is_text if format is None else format not in ("parquet", "arrow", "npy")
    return folder / stem.with_suffix(".csv" if is_text else ".parquet")


def _is_newer(output: Path, file: Path) -> bool:
    return output.exists() and output.stat().st_mtime_ns >= file.stat().st_mtime_ns


def _mark(folder: Path, model: str) -> None:
    """Note in the folder whose labels it contains; raise if they are another model's."""
    marker = folder / MARKER
    if marker.exists() and marker.read_text().strip() != model:
        raise DataFileError(f"{folder} contains labels of another model. Choose another folder, or delete it.")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(marker, f"{model}\n".encode())


def _spread(client: Any, model: Any, calls: Iterator[Call]) -> Iterator[Counted]:
    """Yield the results of calls in their order, computed on the workers of a client.

    Only a few calls are submitted at a time, so that a broken promise stops those that follow.
    """
    sent = client.submit(_same, model)  # once, and again if the worker that has it is lost
    most = CALLS_PER_THREAD * max(sum(client.nthreads().values()), 1)
    running = deque(client.submit(_predict_file, sent, call, pure=False) for call in islice(calls, most))
    try:
        while running:
            yield running.popleft().result()
            running.extend(client.submit(_predict_file, sent, call, pure=False) for call in islice(calls, 1))
    finally:
        client.cancel(list(running))


def _same(value: Any) -> Any:
    return value


def _predict_file(model: Any, call: Call, advance: Callable[[int], None] = lambda count: None) -> Counted:
    """Write the labels of one file."""
    arrow, watch = pyarrow(), None if call.watch is None else Watch.from_json(call.watch, model)
    schema = arrow.schema([("label", arrow.array(model.classes_.tolist()).type), ("n_read", arrow.int32())])
    if watch is not None:
        schema = schema.append(arrow.field("audited", arrow.bool_()))
    n_rows = n_bad = n_read = 0
    call.output.parent.mkdir(parents=True, exist_ok=True)
    open_writer = arrow.csv.CSVWriter if call.output.suffix == ".csv" else arrow.parquet.ParquetWriter
    with writing_whole(call.output) as stream, open_writer(stream, schema) as writer:
        for batch in read_batches(call.file, call.format, call.selection):
            table, good = schema.empty_table(), np.zeros(0, dtype=np.bool_)
            if batch.rows.size:
                reading = _read(model, watch, batch, call)
                table = arrow.table([getattr(reading, name) for name in schema.names], schema=schema)
                good = np.asarray(np.isfinite(reading.margin.reshape(len(reading), -1)).all(axis=1))
                n_read += int(reading.n_read[good].sum())
            places = np.full(batch.end - n_rows, -1)
            places[batch.rows[good] - n_rows] = np.flatnonzero(good)
            writer.write_table(table.take(arrow.array(places, mask=places < 0)))
            n_rows, n_bad = batch.end, n_bad + int((places < 0).sum())
            advance(places.size)
    return Counted(n_rows, n_bad, n_read, None if watch is None else watch.to_json())


def _read(model: Any, watch: Watch | None, batch: Batch, call: Call) -> Reading:
    skip_bad = call.selection.skip_bad
    try:
        if watch is not None:
            return watch._reading(batch.X, skip_bad=skip_bad)
        reading: Reading = model._reading(batch.X, full=isinstance(model, AttentiveLearner), skip_bad=skip_bad)
        return reading
    except ValueError as error:
        rows = f"rows {batch.rows[0]:,} to {batch.rows[-1]:,}, counted from the first of them"
        raise DataFileError(f"{call.file.path}, in {rows}: {error}") from error

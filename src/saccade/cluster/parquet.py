"""``predict_parquet``: the labels of the rows of Parquet files, by row group, on the workers of a cluster or here."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np

from saccade.attentive import AttentiveClassifier
from saccade.cluster.labelling import Job, asked_of
from saccade.cluster.manifest import (
    MODEL,
    Manifest,
    begin,
    begun_in,
    check_same,
    finish,
    keep_model,
    manifest_of,
    run_of,
)
from saccade.cluster.parts import parts_of
from saccade.cluster.running import label_all
from saccade.cluster.sources import SourceFile, check_apart, source_files
from saccade.cluster.spreading import client_or_default, spread
from saccade.data.footers import Footer, check_alike, column_names, read_footers
from saccade.data.opening import DataPath
from saccade.exceptions import DataFileError
from saccade.files.models import load, model_bytes
from saccade.watching.groups import AuditedGroups
from saccade.watching.watch import Watch

__all__ = ["ParquetPrediction", "predict_parquet"]

# So many footers are read in one task.
FOOTERS = 64
# The line that called predict_parquet, from where a watch answers.
CALLER = 3


@dataclass(frozen=True)
class ParquetPrediction:
    """What was read to label the rows of Parquet files, in this call and in those that it goes on from."""

    target: str
    rows: int
    bad_rows: int  # have no label
    features_per_row: float  # of good rows
    noun: str  # what these are: features, terms or trees
    bytes_read: int  # the columns, of each row group, that a row asked for
    bytes_total: int  # of all files
    parts: int  # files of labels
    parts_resumed: int  # those that were there already
    in_full: bool  # whether every row was read in full, because the promise was broken
    seconds: float  # of this call

    def __str__(self) -> str:
        """Say it in one line."""
        resumed = f", {self.parts_resumed:,} of which were there already" if self.parts_resumed else ""
        have = "row has" if self.bad_rows == 1 else "rows have"
        bad = f"; {self.bad_rows:,} bad {have} no label" if self.bad_rows else ""
        return (
            f"{self.rows:,} rows, {self.features_per_row:.1f} {self.noun} per row; {self.bytes_read:,} of "
            f"{self.bytes_total:,} bytes read; {self.parts:,} parts{resumed}, in {self.seconds:.1f} s{bad}"
        )


def predict_parquet(
    model: Any,
    source: DataPath,
    target: str | os.PathLike[str],
    client: Any = None,
    *,
    watch: Watch | None = None,
    skip_bad: bool = False,
) -> ParquetPrediction:
    """Write the labels of the rows of Parquet files to other Parquet files.

    Workers get paths and numbers of row groups, and no rows: each opens the files itself and reads, of each row group,
    the next column only if a row of this group asks for it. So paths must be the same on all machines. What a worker
    has in memory at a time is bounded, however large row groups are (by pyarrow 23 and later).

    The labels of ``source/a/b.parquet`` are in the folder ``target/a/b.parquet``, in files named after their first row
    group. In the order of their names they have a row for each row of the source, in the same order, and its row
    groups, with the columns

    - ``label``,
    - ``n_read``: how many features, terms or trees were read,
    - ``audited``, with a watch: whether the row was read in full as well.

    A file of labels appears whole or not at all. A call that was interrupted, or lost its cluster, is made again with
    the same arguments: what is there is not done again, and the result is the same to the last bit. With another model
    or other data it is refused. When all is done there is a file ``_SUCCESS``. The model is kept in the folder
    ``_saccade``, from where workers load it.

    Parameters
    ----------
    model : AttentiveClassifier, which reads by its plan, or learner, which reads all features; fitted; or the path of
        the file of one
    source : str, path or list of them
        Parquet files with the same columns: a file, a folder, with the folders in it, a pattern such as
        ``"year=*/*.parquet"``, or a list. Columns that the model does not ask for may differ, or be damaged.
    target : str or path
        A folder that is empty, not there yet, or of an interrupted call.
    client : distributed.Client, optional
        None takes the default client. Where there is none the work is done in this process, part after part.
    watch : Watch of this model, optional
        Audits a share of the rows, and gets all counts when the work is done, those of resumed parts included. An
        audited row takes all columns of its row group. So where the plan asks for half of the columns or fewer, rows
        are audited in clusters: one row group of every 1 / √share, drawn at random, and √share of its rows. A drawn
        group is then one observation, and the watch says 'holds' after some hundreds of them at the earliest (340 at
        1 %: 3,400 row groups at share 1 %; of a class that is a tenth of the rows ten times as many); before, it is
        'open', or 'broken'. Which rows are audited depends on ``random_state`` and not on workers. When the promise is
        broken, ``on_broken="warn"`` warns at the end, ``"raise"`` ends the work, and ``"read"`` begins anew and reads
        every row of the source in full.
    skip_bad : bool
        Give rows that cannot be read, as a value that is needed is missing, null for a label, instead of raising an
        error at the first.

    Returns
    -------
    ParquetPrediction
        With ``rows``, ``bytes_read``, ``bytes_total``, ``parts``, ``parts_resumed`` and others; as text one line.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from saccade import attend
    >>> from saccade.dask import predict_parquet
    >>> X, y = make_classification(8000, 50, n_informative=10, shuffle=False, random_state=0)
    >>> rows = pd.DataFrame(X).add_prefix("x").sample(frac=1, random_state=0)
    >>> model = LogisticRegression().fit(rows[:3000], y[rows.index[:3000]])
    >>> attentive = attend(model, rows[3000:7000], delta=0.05, fewest="columns", random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows[7000:].to_parquet(os.path.join(folder, "rows.parquet"))
    ...     done = predict_parquet(attentive, os.path.join(folder, "rows.parquet"), os.path.join(folder, "labels"))
    ...     labels = pd.read_parquet(os.path.join(folder, "labels"))["label"]
    >>> bool((labels == attentive.predict(rows[7000:])).all())
    True
    >>> done.rows, done.bytes_read < done.bytes_total / 2
    (1000, True)
    """
    began, client = perf_counter(), client_or_default(client)
    model = load(model) if isinstance(model, str | os.PathLike) else model
    content = model_bytes(model)
    if watch is not None:
        _check_watch(watch, model)
    files, target = source_files(source), os.path.abspath(target)
    check_apart(files, source, target)
    begun = begun_in(target)
    columns, footers = _surveyed(model, files, client, watched=watch is not None)
    coins = None if watch is None else _coins(watch, begun)
    manifest = manifest_of(content, files, footers, skip_bad=skip_bad, watch=coins)
    if begun is None:
        begin(target, manifest)
    else:
        check_same(target, begun, manifest)
    keep_model(target, content)
    sizes = [rows for footer in footers for rows in footer.rows]
    audited = None if coins is None else AuditedGroups.of(**coins, sizes=sizes, draw=_asks_for_few_columns(model))
    job = Job(target, os.path.join(target, MODEL), run_of(manifest), columns, skip_bad, audited)
    parts = parts_of(files, footers)
    total = label_all(job, parts, client, set() if begun is None else _files_in(target), watch)
    done = ParquetPrediction(
        target,
        total.rows,
        total.bad_rows,
        total.units_read / max(total.rows - total.bad_rows, 1),
        model.certificate_.noun if hasattr(model, "certificate_") else "features",
        total.bytes_read,
        sum(footer.size for footer in footers),
        len(parts),
        total.resumed,
        total.in_full,
        perf_counter() - began,
    )
    finish(target, str(done))
    if watch is not None:
        total.count_in(watch)
        watch._answer(None, CALLER)
        if total.alarm is not None and not watch._all_in_full:  # later rows were good, and it stood broken for a while
            watch._all_in_full = True
            total.alarm._answer(None, CALLER)
    return done


def _check_watch(watch: Watch, model: Any) -> None:
    if not isinstance(watch, Watch):
        raise TypeError(f"Expected a Watch; got {type(watch).__name__}.")
    is_same = isinstance(model, AttentiveClassifier) and Watch(model)._fingerprint() == watch._fingerprint()
    if not is_same:
        raise ValueError("The watch is of another model, or of another promise. Make it of the one that predicts.")
    watch._refuse_if_broken()


def _asks_for_few_columns(model: AttentiveClassifier) -> bool:
    """Whether most bytes are left unread but for audits, so that these are to keep to few row groups."""
    return 2 * len(model.columns_) <= int(model.n_features_in_)


def _coins(watch: Watch, begun: Manifest | None) -> dict[str, Any]:
    """Return what decides which rows are audited: what a call did that is gone on from, else other rows every time."""
    if begun is not None and begun["watch"] is not None:
        return {"share": watch.share, "seed": begun["watch"]["seed"]}
    return {"share": watch.share, "seed": int(np.random.default_rng([watch._seed, watch.n_rows]).integers(2**31))}


def _surveyed(
    model: Any, files: Sequence[SourceFile], client: Any, *, watched: bool
) -> tuple[tuple[str, ...] | None, list[Footer]]:
    """Return the footers of all files, and the columns that a model knows by their places; raise where it cannot read.

    These are the columns of the first file, so that the others may have them in another order.
    """
    wanted, paths = asked_of(model, watched=watched), [file.path for file in files]
    names = wanted.names or _by_place(paths[0], wanted.n_features)
    needed = [names[place] for place in wanted.needed_of(len(names))]
    read = partial(read_footers, columns=needed, coded=frozenset(names[place] for place in wanted.coders))
    tasks = [paths[first : first + FOOTERS] for first in range(0, len(paths), FOOTERS)]
    with closing(spread(client, read, tasks, f"read_footers-{uuid4().hex}")) as results:
        by_task = dict(results)
    footers = [footer for number in range(len(tasks)) for footer in by_task[number]]
    check_alike(footers)
    if not any(sum(footer.rows) for footer in footers):
        raise DataFileError(f"{files[0].path} and {len(files) - 1} more files have no rows: there is nothing to label.")
    return None if wanted.names else tuple(names), footers


def _by_place(path: str, n_features: int | None) -> list[str]:
    """Return the names of the columns that a model knows by their places."""
    names = column_names(path)
    if len(names) != n_features:
        raise DataFileError(
            f"{path} has {len(names)} columns, and the model knows {n_features} by their places. Fit or certify it on "
            "a table: it then knows its columns by name, and the file may have others."
        )
    return names


def _files_in(target: str) -> set[str]:
    """Return the files below a folder by their names from there."""
    return {
        os.path.relpath(os.path.join(folder, name), target) for folder, _, names in os.walk(target) for name in names
    }

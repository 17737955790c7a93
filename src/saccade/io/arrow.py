"""A certified model as a function of Arrow rows, for engines that call functions of them: it knows none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from saccade.attentive import AttentiveClassifier
from saccade.io.batches import pyarrow
from saccade.watching.watch import Watch

__all__ = ["Mapper", "mapper"]

LABEL = "label"


@dataclass(frozen=True, eq=False, repr=False)
class Mapper:
    """The labels of Arrow rows; ``mapper`` makes one. It can be pickled, and what is sent is small.

    What goes in tells what comes out: a RecordBatch for a RecordBatch, a Table for a Table; of an iterable of them an
    iterator over as many; and of any other object with Arrow's stream interface, such as a RecordBatchReader, a DuckDB
    relation or a polars DataFrame, a RecordBatchReader. All but the first two are read as they are asked for.

    Attributes
    ----------
    columns : list of str
        What it asks for: the columns that are kept, then those that the plan can ask for. There may be others.
    """

    reads: AttentiveClassifier  # predicts places among the classes
    classes: Any  # an Arrow array
    features: tuple[str, ...]
    keep: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(self.keep + self.features))

    def schema(self, rows: Any) -> Any:
        """Return the schema of the labels of rows that have this schema; an error names the columns that these lack."""
        there = set(rows.names)
        lacking = [name for name in self.columns if name not in there]
        if lacking:
            shown = ", ".join(map(repr, lacking[:5])) + (f" and {len(lacking) - 5} more" if len(lacking) > 5 else "")
            raise ValueError(f"The rows have no column {shown}. Select those that the mapper's .columns names.")
        return pyarrow().schema([*(rows.field(name) for name in self.keep), (LABEL, self.classes.type)])

    def __call__(self, rows: Any) -> Any:
        arrow = pyarrow()
        if isinstance(rows, arrow.RecordBatch | arrow.Table):
            return self._labelled(rows)
        if hasattr(rows, "__arrow_c_stream__"):
            reader = arrow.RecordBatchReader.from_stream(rows)
            return arrow.RecordBatchReader.from_batches(self.schema(reader.schema), map(self._labelled, reader))
        if not hasattr(rows, "__iter__"):
            raise _no_batches(rows)
        return map(self._labelled, rows)

    def _labelled(self, rows: Any) -> Any:
        arrow = pyarrow()
        if not isinstance(rows, arrow.RecordBatch | arrow.Table):
            raise _no_batches(rows)
        schema = self.schema(rows.schema)
        read = rows.select(self.features)
        table = read if isinstance(read, arrow.Table) else arrow.Table.from_batches([read])
        labels = self.classes.take(arrow.array(self.reads.predict(table)))
        return type(rows).from_arrays([*(rows.column(name) for name in self.keep), labels], schema=schema)

    def __repr__(self) -> str:
        return f"Mapper(columns={self.columns})"


def mapper(model: AttentiveClassifier, *, keep: str | Sequence[str] = ()) -> Mapper:
    """Return a function from Arrow record batches to their labels, for the engines that run such functions.

    Spark's ``mapInArrow`` takes it as it is, and so does Ray's ``map_batches(batch_format="pyarrow")``; DuckDB and
    Polars read what it returns. It reads by the plan, as ``model.predict`` does, and needs only ``columns``. It can be
    pickled, by cloudpickle too. What is sent is the plan and the weights, terms or trees, not the model that they come
    from: workers need saccade and pyarrow, and not the library that made it.

    Parameters
    ----------
    model : AttentiveClassifier, fitted, which knows its columns by name
    keep : str or list of str
        Columns that come out as they are before the labels, such as the key of each row.

    Examples
    --------
    >>> import pandas as pd
    >>> import pyarrow as pa
    >>> import saccade
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(8000, 50, n_informative=20, random_state=0)
    >>> rows = pd.DataFrame(X).add_prefix("x")
    >>> model = LogisticRegression().fit(rows[:3000], y[:3000])
    >>> label = saccade.mapper(saccade.attend(model, rows[3000:7000], delta=0.05, random_state=0), keep="key")
    >>> batch = pa.RecordBatch.from_pandas(rows[7000:].assign(key=range(1000)))
    >>> [labels.column_names for labels in label(iter([batch]))]
    [['key', 'label']]
    """
    if isinstance(model, Watch):
        raise TypeError(
            "A Watch would count on the workers, and what it counts there would be lost. Map its model, "
            "watch.attentive; to watch many machines, pass watch= to saccade.predict_files, or have a Watch on "
            "each worker, bring home what its to_json says, and add them up with Watch.merge."
        )
    if not isinstance(model, AttentiveClassifier):
        raise TypeError(f"Expected a certified model; got {type(model).__name__}. Make one of it with saccade.attend.")
    check_is_fitted(model)
    kept = (keep,) if isinstance(keep, str) else tuple(keep)
    if LABEL in kept:
        raise ValueError(f"Another column than {LABEL!r} can be kept: this is what labels are called. Rename it.")
    reads = _what_reads(model)
    # One column is asked for where the plan reads none, to count the rows.
    features = tuple(map(str, reads.columns_ or reads.feature_names_in_[:1]))
    return Mapper(reads, pyarrow().array(model.classes_.tolist()), features, kept)


def _what_reads(model: AttentiveClassifier) -> AttentiveClassifier:
    """Return a model that predicts the places of this one's labels among the classes, and does nothing else."""
    names = getattr(model, "feature_names_in_", model.additive_.columns)
    if names is None:
        raise ValueError(
            "The model knows its columns by their places, and record batches have them by name. Certify it on a table, "
            "such as saccade.attend(model, pandas.DataFrame(X, columns=names))."
        )
    reads = model._snapshot()
    reads.feature_names_in_, reads.classes_ = np.array(names, dtype=object), np.arange(model.classes_.size)
    return reads


def _no_batches(rows: Any) -> TypeError:
    return TypeError(
        f"Expected Arrow record batches, one or an iterator over them, or a table; got {type(rows).__name__}."
    )

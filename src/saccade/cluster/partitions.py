"""Dask collections of rows and labels, partition by partition, as the learners take them.

What is large stays where it is: rows, labels and weights of a partition are on its worker, and a summary is collected.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from saccade.learners.classifier import AttentiveLearner
from saccade.reading.arrays import as_read_only
from saccade.reading.inputs import Rows, check_rows, check_weights, encode_labels
from saccade.terminal import printable

__all__ = [
    "Examples",
    "Part",
    "Summary",
    "Survey",
    "aligned",
    "as_compiled_for",
    "check_part",
    "encode_part",
    "naming",
    "summarise",
    "survey",
]

Reals = NDArray[np.float64]


class Part(NamedTuple):
    """The examples of one partition that has some, as they were given."""

    number: int  # of the partition
    X: Rows
    labels: NDArray[Any]  # the different ones
    codes: NDArray[np.integer]  # the index of each row's label among them
    weight: Reals | None
    names: NDArray[Any] | None  # of the features


class Summary(NamedTuple):
    """What has to be known of one partition to learn from all of them."""

    number: int
    n_rows: int
    n_weighted: int  # rows of a weight other than 0
    n_values: int  # stored ones, where rows are sparse
    n_features: int
    dtype: np.dtype[Any]
    is_sparse: bool
    names: NDArray[Any] | None
    labels: NDArray[Any]
    counts: NDArray[np.int64]  # of these labels
    held: NDArray[np.int64]  # in how many of the weighted rows a feature is not zero


class Survey(NamedTuple):
    """What has to be known of all partitions together."""

    parts: list[int]  # the places of those that have weighted rows
    sizes: list[int]  # how many each of these has
    n_rows: int  # weighted or not, in all partitions; and so on
    n_values: int
    n_features: int
    dtype: np.dtype[Any]
    is_sparse: bool
    names: NDArray[Any] | None
    classes: NDArray[Any]
    counts: NDArray[np.int64]  # of these classes
    held: Reals  # (partitions, features)


class Examples(NamedTuple):
    """The examples of one partition, as the learners take them."""

    number: int
    X: Rows
    codes: NDArray[np.integer]  # the index of each row's label among all classes
    weight: Reals  # empty where all weigh the same


def aligned(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return rows, labels and weights, or None, of each partition as delayed values; raise where they do not fit."""
    if not isinstance(X, dd.DataFrame | da.Array):
        raise TypeError(
            f"X is a {_kind(X)}, not a Dask DataFrame or a Dask Array. For rows in memory take the learner of the same "
            "name without 'Dask'."
        )
    if X.ndim != 2:
        raise ValueError(f"X is a Dask Array of {X.ndim} dimensions. Pass one of shape (rows, features).")
    if isinstance(X, da.Array) and X.numblocks[1] > 1:
        raise ValueError(
            f"X is a Dask Array whose rows are cut into chunks of {X.chunks[1]} features. Chunks must hold whole rows: "
            "pass X.rechunk({1: -1})."
        )
    labels = _beside(X, y, "y")
    weights = [None] * len(labels) if sample_weight is None else _beside(X, sample_weight, "sample_weight")
    return list(zip(_delayed(X), labels, weights, strict=True))


def _beside(X: Any, values: Any, name: str) -> list[Any]:
    """Return one value for each row of X, partition by partition."""
    if not isinstance(values, dd.Series | da.Array) or values.ndim != 1:
        raise TypeError(
            f"{name} is a {_kind(values)}, not a Dask Series or a Dask Array of one dimension that is partitioned like "
            "X."
        )
    mine, theirs = _partitioning(X), _partitioning(values)
    if not _may_fit(X, values):
        raise ValueError(
            f"X and {name} are partitioned differently: X has {mine}, {name} has {theirs}. Take both from one "
            f"collection, or repartition one like the other: {name}.rechunk((X.chunks[0],)) for arrays, "
            f"{name}.repartition(divisions=X.divisions) for series."
        )
    return _delayed(values)


def _may_fit(X: Any, values: Any) -> bool:
    """Whether two collections have as many partitions, and none that is known to have other rows."""
    if _n_partitions(X) != _n_partitions(values):
        return False
    if isinstance(X, da.Array) and isinstance(values, da.Array):
        sizes = np.array([X.chunks[0], values.chunks[0]], dtype=np.float64)  # NaN where they are unknown
        return bool(np.all((sizes[0] == sizes[1]) | np.isnan(sizes).any(axis=0)))
    if isinstance(X, dd.DataFrame) and isinstance(values, dd.Series) and X.known_divisions and values.known_divisions:
        return bool(X.divisions == values.divisions)
    return True


def _n_partitions(values: Any) -> int:
    return int(values.numblocks[0] if isinstance(values, da.Array) else values.npartitions)


def _partitioning(values: Any) -> str:
    """Say how a collection is partitioned."""
    if isinstance(values, da.Array):
        return f"{values.numblocks[0]} chunks of {_few(values.chunks[0])} rows"
    divisions = f" divided at {_few(values.divisions)}" if values.known_divisions else ""
    return f"{values.npartitions} partitions{divisions}"


def _few(values: Sequence[Any]) -> str:
    shown = ", ".join(map(printable, values[:8]))
    return f"{shown}, ..." if len(values) > 8 else shown


def _kind(values: Any) -> str:
    dimensions = f" of {values.ndim} dimensions" if isinstance(values, da.Array) else ""
    return f"{type(values).__module__.split('.')[0]} {type(values).__name__}{dimensions}"


def _delayed(values: Any) -> list[Any]:
    delayed = values.to_delayed()
    return list(delayed.ravel() if isinstance(values, da.Array) else delayed)


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Let an error say in which partition it arose."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ValueError(f"Partition {number}: {error}") from error


def check_part(number: int, model: AttentiveLearner, X: Any, y: Any, sample_weight: Any) -> Part | None:
    """Return the examples of a partition, checked as a fit of this model would; None where it has none."""
    with naming(number):
        return _checked(number, model, X, y, sample_weight)


def _checked(number: int, model: AttentiveLearner, X: Any, y: Any, sample_weight: Any) -> Part | None:
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    sizes = {name: values.shape[0] for name, values in given.items() if values is not None}
    if len(set(sizes.values())) > 1:
        words = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        raise ValueError(f"rows do not fit together, for {words} of them. Take all from one collection.")
    if sizes["X"] == 0:
        return None
    knows_names = clone(model)
    rows, labels = check_rows(knows_names, as_compiled_for(X), y=y, reset=True)
    weight = None if sample_weight is None else check_weights(sample_weight, sizes["X"], may_all_be_zero=True)
    names = getattr(knows_names, "feature_names_in_", None)
    # Columns of a table lie one after another, where a row is scattered.
    rows = rows if sp.issparse(rows) else np.ascontiguousarray(rows)
    return Part(number, rows, *encode_labels(labels), weight, names)


def as_compiled_for(X: Any) -> Any:
    """Return rows as the kernels were compiled for them.

    Whether an array can be written to depends on how it came to a worker, and the compiler tells the two kinds apart.
    """
    if sp.issparse(X) and X.format == "csr":
        data, indices, indptr = (np.require(array, requirements="W") for array in (X.data, X.indices, X.indptr))
        return type(X)((data, indices, indptr), shape=X.shape, copy=False)
    return as_read_only(X) if isinstance(X, np.ndarray) else X


def summarise(part: Part | None) -> Summary | None:
    """Return what has to be known of a partition, where it has rows."""
    if part is None:
        return None
    X, counts = part.X, np.bincount(part.codes, minlength=part.labels.size)
    weighted = X if part.weight is None else X[part.weight > 0]
    held = np.asarray(weighted.astype(bool).sum(axis=0)).ravel()
    return Summary(
        *(part.number, X.shape[0], weighted.shape[0], X.size, X.shape[1], X.dtype, sp.issparse(X), part.names),
        *(part.labels, counts, held),
    )


def survey(summaries: Sequence[Summary | None]) -> Survey:
    """Put together what is known of the partitions; raise where they do not fit together."""
    parts = [part for part in summaries if part is not None]
    if not parts:
        raise ValueError(f"X has no rows: all of its {len(summaries)} partitions are empty.")
    first = parts[0]
    for part in parts:
        if (part.n_features, part.is_sparse) != (first.n_features, first.is_sparse):
            raise ValueError(
                f"Partitions {first.number} and {part.number} of X differ: {_rows_of(first)}, {_rows_of(part)}. All "
                "must have the same features, and either all or none be sparse."
            )
        mine, theirs = _columns_of(first), _columns_of(part)
        if mine != theirs:  # features are told apart by their places
            raise ValueError(
                f"Partitions {first.number} and {part.number} of X differ: their columns are {_few(mine)} and "
                f"{_few(theirs)}. All must have the same ones in the same order: X.map_partitions(lambda X: X[names])."
            )
    check_weights([part.n_weighted for part in parts], len(parts), may_all_be_zero=False)
    classes = _all_labels(parts)
    counts = np.zeros(classes.size, dtype=np.int64)
    for part in parts:
        counts[np.searchsorted(classes, part.labels)] += part.counts
    weighted = [part for part in parts if part.n_weighted]
    return Survey(
        [part.number for part in weighted],
        [part.n_weighted for part in weighted],
        sum(part.n_rows for part in parts),
        sum(part.n_values for part in parts),
        first.n_features,
        np.result_type(*(part.dtype for part in parts)),
        first.is_sparse,
        first.names,
        classes,
        counts,
        np.array([part.held for part in weighted], dtype=np.float64),
    )


def _all_labels(parts: Sequence[Summary]) -> NDArray[Any]:
    """Return the different labels of all partitions."""
    examples = {isinstance(part.labels[0], str): (part.number, part.labels.tolist()[0]) for part in parts}
    if len(examples) > 1:  # which NumPy would take for texts, or not compare
        (text, word), (other, label) = examples[True], examples[False]
        raise ValueError(
            f"Partitions {text} and {other} of y differ: labels are texts in one, such as {word!r}, and none in the "
            f"other, such as {label!r}. Give all one type."
        )
    return np.unique(np.concatenate([part.labels for part in parts]))


def _columns_of(part: Summary) -> list[Any]:
    return [] if part.names is None else part.names.tolist()


def _rows_of(part: Summary) -> str:
    return f"{'sparse' if part.is_sparse else 'dense'} rows of {part.n_features:,} features"


def encode_part(part: Part, classes: NDArray[Any], by_class: Reals | None, dtype: np.dtype[Any]) -> Examples:
    """Return a partition's examples, now that all classes and the weights of theirs, or None, are known."""
    codes = np.searchsorted(classes, part.labels)[part.codes]
    weight = np.empty(0) if part.weight is None else part.weight
    if by_class is not None:
        weight = by_class[codes] if part.weight is None else part.weight * by_class[codes]
    return Examples(part.number, part.X.astype(dtype, copy=False), codes, weight)

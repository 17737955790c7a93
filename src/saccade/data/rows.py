"""Batches of rows from files, to predict, measure or learn in Python."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from saccade.data.batches import BadRows, Batch, DataFile, Wanted
from saccade.data.opening import DataPath, open_data

__all__ = ["rows"]


def rows(
    path: DataPath,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    n_features: int | None = None,
    format: str | None = None,
    header: bool | None = None,
    zero_based: bool | None = None,
    skip_bad: bool = False,
) -> Iterator[Batch]:
    r"""Return an iterator over the rows of files, in batches of some megabytes.

    A batch has the features ``X``, an array or, from libsvm files, a CSR matrix, and the labels ``y`` as
    written: texts in CSV files. ``y`` is None without a target. ``good`` says which rows of the file these are, where
    bad rows are passed over.

    Parameters
    ----------
    path : str, path or list of them
        One file, or several with the same columns: a list, a pattern such as ``"part-*.csv"``, or a folder. CSV,
        libsvm, Parquet, Arrow and NumPy files are read, the first two also compressed by gzip.
    target : str, optional
        The column with the labels, by its number where columns have no names; libsvm files have them first.
    columns : list of str, optional
        The features, by name, in the order in which they are wanted; else all columns but the target.
    n_features : int, optional
        How many features there must be; libsvm files may have fewer.
    format : {"csv", "libsvm", "parquet", "arrow", "npy"}, optional
        Of the files; else their names tell.
    header : bool, optional
        Whether the first line of a CSV file has names; else it is guessed.
    zero_based : bool, optional
        Whether the indices of libsvm files begin at 0; else they do where an index is 0.
    skip_bad : bool, default=False
        Pass over rows that cannot be read, instead of raising an error at the first.

    Examples
    --------
    >>> import os, tempfile, saccade
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "trees.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("width,height,kind\n1.0,2.0,elm\n3.0,1.0,oak\n")
    ...     for batch in saccade.rows(path, target="kind"):
    ...         print(batch.X.tolist(), batch.y.tolist())
    [[1.0, 2.0], [3.0, 1.0]] ['elm', 'oak']
    """
    names = None if columns is None else list(columns)
    wanted = Wanted(target, names, n_features, header, zero_based)
    opened = ExitStack()  # opened here, so that errors are raised now and not at the first batch
    return _batches(opened, opened.enter_context(open_data(path, wanted, format)), skip_bad)


def _batches(opened: ExitStack, data: DataFile, skip_bad: bool) -> Iterator[Batch]:
    with opened:
        yield from data.batches(0, BadRows(data.path, skip=skip_bad))

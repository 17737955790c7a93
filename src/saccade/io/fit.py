"""``fit_files``: learn from data files that need not fit into memory."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from saccade.exceptions import DataFileError
from saccade.io.batches import Batch, Selection, find_files, format_of, read_batches
from saccade.learners.classifier import AttentiveLearner
from saccade.reading.progress import Progress

__all__ = ["fit_files"]

Learner = TypeVar("Learner")


def fit_files(
    learner: Learner,
    source: Any,
    *,
    target: str | int | None,
    passes: int = 1,
    classes: ArrayLike | None = None,
    format: Any = None,
    skip_bad: bool = False,
) -> Learner:
    """Fit a learner to the rows of data files, batch by batch, and return it.

    This calls ``partial_fit`` with one batch of rows after another, in the order of the files. The rows of a batch are
    shuffled if the learner has ``shuffle=True``; files that are sorted by label should be shuffled beforehand.

    Parameters
    ----------
    learner : Pegasos or another learner, or a Pipeline that ends in one
        Steps of a pipeline must be fitted beforehand, for example a ColumnTransformer on a sample of the rows, unless
        they have ``partial_fit``, such as StandardScaler: these are fitted to the files first.
    source : path, or list of paths
        Files or folders, as for ``predict_files``.
    target : str, int or None
        The column with the labels: its name, or its number in NumPy files. None for libsvm files, in which labels come
        first.
    passes : int
        Number of passes over the files.
    classes : array of labels, optional
        All labels. By default the files are read once more to find them.
    format, skip_bad
        As for ``predict_files``; with ``skip_bad`` rows that cannot be read, or have no label, are left out.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> import saccade
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(2000, 10, random_state=0)
    >>> rows = pd.DataFrame(X).add_prefix("x").assign(label=y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows.to_csv(os.path.join(folder, "rows.csv"), index=False)
    ...     model = saccade.fit_files(saccade.Pegasos(random_state=0), folder, target="label", passes=3)
    >>> bool(model.score(rows.drop(columns="label"), y) > 0.8)
    True
    """
    steps, learns = _taken_apart(learner)
    files, n_features = find_files(source, format), None
    kind = format_of(files[0].path, format)
    is_libsvm = isinstance(kind, str) and kind.startswith("libsvm")
    if target is None and not is_libsvm:
        raise DataFileError(f"Name the column of {files[0].path} with the labels: target=.")
    selection = Selection(target=target, kind=_as_they_are if steps else _number, skip_bad=skip_bad)

    def batches(selection: Selection, label: str, most: int = 1) -> Iterator[Batch]:
        with Progress("rows", label=label, length=most * len(files)) as progress:
            for number in range(most * len(files)):
                for batch in read_batches(files[number % len(files)], format, selection):
                    if batch.rows.size:
                        yield batch
                    progress.advance(batch.rows.size, number)

    labels = None if classes is None else np.unique(classes)
    if labels is None or is_libsvm:
        found = set[Any]()
        alone = replace(selection, columns=()) if isinstance(target, str) else selection
        for batch in batches(alone, "Scanning"):
            found.update(np.unique(np.asarray(batch.y)).tolist())
            n_features = max(n_features or 0, batch.X.shape[1]) if is_libsvm else None
        labels = np.array(sorted(found)) if labels is None else labels
        selection = replace(selection, n_features=n_features)
    for k, step in enumerate(steps):
        if _needs_fit(step):
            for batch in batches(selection, f"Fitting {type(step).__name__}"):
                step.partial_fit(_transformed(batch.X, steps[:k]))
    random = check_random_state(learns.random_state)
    for batch in batches(selection, "Learning", passes):
        X, y = _transformed(batch.X, steps), batch.y
        order = random.permutation(len(y)) if learns.shuffle else np.arange(len(y))  # type: ignore[arg-type]
        learns.partial_fit(_in_order(X, order), y[order], classes=labels)  # type: ignore[index]
    return learner


def _taken_apart(learner: Any) -> tuple[list[Any], AttentiveLearner]:
    """Return the steps of a pipeline, and the learner at its end."""
    steps = [step for _, step in learner.steps] if isinstance(learner, Pipeline) else [learner]
    *before, last = [step for step in steps if step not in (None, "passthrough")]
    if not isinstance(last, AttentiveLearner):
        raise TypeError(
            f"Expected a learner such as Pegasos, or a Pipeline that ends in one; got {type(last).__name__}."
        )
    return before, last


def _needs_fit(step: Any) -> bool:
    """Return whether a step is to be fitted to the files; raise if it is not fitted and that is not possible."""
    try:
        check_is_fitted(step)
    except NotFittedError as error:
        if hasattr(step, "partial_fit"):
            return True
        raise ValueError(
            f"{type(step).__name__} is not fitted, and has no partial_fit with which it could be fitted to files. Fit "
            "it on a sample of the rows first."
        ) from error
    return False


def _transformed(X: Any, steps: list[Any]) -> Any:
    """Return rows as the steps make them. Steps that select columns by name take data frames, but no Arrow tables."""
    X = X.to_pandas() if steps and hasattr(X, "to_pandas") else X
    for step in steps:
        X = step.transform(X)
    return X


def _in_order(X: Any, order: Any) -> Any:
    return X.take(order) if hasattr(X, "column_names") else X[order]


def _number(position: int) -> str | None:
    return "number"


def _as_they_are(position: int) -> str | None:
    return None

"""Out-of-core learning from files, in several passes, with checkpoints from which it resumes.

A pass takes the rows batch by batch, shuffled within each batch. ``partial_fit`` gives the same bits however a stream
is split, and a saved learner resumes exactly; so learning that was killed and resumed gives the same bits as learning
without a break.
"""

import logging
import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from saccade.data.batches import BadRows, DataFile, Wanted
from saccade.data.checkpoints import Checkpoint, Place, Run, digests
from saccade.data.choice import Choice, chosen, kinds_of
from saccade.data.encoded import Opened, encoded_file
from saccade.data.held_out import HeldOut
from saccade.data.moments import ColumnMoments
from saccade.data.opening import DataPath, files_of, open_data
from saccade.data.origin import Origin
from saccade.data.reading import Measured, measure
from saccade.data.survey import survey, survey_table, warn_of_left_out
from saccade.exceptions import CheckpointError, DataFileError
from saccade.files.parameters import encode
from saccade.learners.classifier import AttentiveLearner
from saccade.learners.course import Patience, take_loss
from saccade.learners.passes import Memory, grow_older, new_memory
from saccade.learners.sketch import RowSketch
from saccade.reading.progress import Progress

__all__ = ["SECONDS_BETWEEN_CHECKPOINTS", "Learned", "learn", "learn_from"]

_log = logging.getLogger(__name__)
SECONDS_BETWEEN_CHECKPOINTS = 10.0
# Margins of so many rows, times the number of classes beyond two, are remembered from one pass to the next: 64 MB.
MOST_REMEMBERED = 2**23
Learner = TypeVar("Learner", bound=AttentiveLearner)
# What to do about faults that are so worded, besides passing over such rows.
HINTS = {
    "not a number": "A column of categories is to be named: categorical=, or --categorical.",
    "the target is missing": "",
    "is missing": "Columns whose missing values are to count as the mean are to be named: numeric=, or --numeric.",
}


def learn(
    model: Learner,
    path: DataPath,
    *,
    target: str | None = None,
    format: str | None = None,
    header: bool | None = None,
    scale: bool = True,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    skip_bad: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = SECONDS_BETWEEN_CHECKPOINTS,
    resume: bool = False,
) -> Learner:
    r"""Learn from files in up to ``max_iter`` passes, in bounded memory, and return a fitted copy of the model.

    The data is read once for its labels and the scales of its columns, then in batches of some megabytes; rows are
    shuffled within a batch, and known again in later passes, up to some millions of them. Where ``random_state`` is
    None, the copy has the seed that was drawn.

    A table with columns of texts is encoded: categories one-hot, those in fewer than 10 rows together, and missing
    values as one of them; numbers standardised, and missing ones at the mean. A column in which most texts differ, such
    as names, is left out with a warning. ``encoding_`` of the copy says what was done, and ``predict``, ``attend`` and
    all else take such tables as they are.

    Parameters
    ----------
    model : Pegasos, Perceptron, PassiveAggressive or ExponentiatedGradient
        It is not changed: an unfitted copy learns.
    path : str, path or list of them
        One file, or several with the same columns: a list, a pattern such as ``"part-*.csv"``, or a folder. CSV,
        libsvm, Parquet, Arrow and NumPy files are read, the first two also compressed by gzip.
    target : str, optional
        The column that is to be predicted, by its number where columns have no names; libsvm files have it first.
    format : {"csv", "libsvm", "parquet", "arrow", "npy"}, optional
        Of the files; else their names tell.
    header : bool, optional
        Whether the first line of a CSV file has names; else it is guessed.
    scale : bool, default=True
        Learn from standardised columns: each less its mean, in units of its standard deviation. Without an intercept,
        and for libsvm files, whose rows stay sparse, each in units of the root mean square of its (stored) values.
        The model takes rows as they are: ``coef_``, ``read`` and, with the same scales, a later ``partial_fit``.
        ``coef_`` of a model with an ``encoding_`` are the weights of its features, which ``feature_names()`` names.
    columns, ignore : list of str, optional
        The columns that are learned from, or those that are not; by number where columns have no names.
    numeric, categorical : list of str, optional
        Columns that are numbers, or categories such as 1, 2 and 3, whatever they look like. Naming one has a table
        encoded that has no texts, so that missing values are no longer bad rows.
    skip_bad : bool, default=False
        Pass over rows that cannot be read, instead of raising an error at the first.
    checkpoint : str or path, optional
        A file in which the state of learning is saved every ``checkpoint_every`` seconds.
    resume : bool, default=False
        Go on from the checkpoint, if it exists: the model gets the same bits as without a break.

    Examples
    --------
    >>> import tempfile, saccade
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in ("a", "b"):
    ...         with open(f"{folder}/{part}.csv", "w") as file:
    ...             _ = file.write("width,height,kind\n" + "1.0,2.0,elm\n3.0,1.0,oak\n" * 100)
    ...     model = saccade.learn(saccade.Pegasos(max_iter=1, random_state=0), folder, target="kind")
    >>> model.classes_, model.feature_names_in_
    (array(['elm', 'oak'], dtype='<U3'), array(['width', 'height'], dtype=object))
    >>> model.training_.n_examples
    400

    A table with a column of texts is encoded:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/trees.csv", "w") as file:
    ...         _ = file.write("width,place,kind\n" + "1.0,north,elm\n,south,oak\n3.0,south,oak\n" * 100)
    ...     model = saccade.learn(saccade.Pegasos(random_state=0), f"{folder}/trees.csv", target="kind")
    >>> model.encoding_.summary()
    {'numbers': ['width'], 'categories': {'place': 2}, 'left out': {}}
    >>> import pyarrow
    >>> model.predict(pyarrow.table({"width": [None, 2.0], "place": ["north", "south"]})).tolist()
    ['elm', 'oak']
    """
    learned: Learner = learn_from(
        model,
        path,
        Wanted(target, header=header),
        kind=format,
        scale=scale,
        choice=Choice(None if columns is None else list(columns), list(ignore), list(numeric), list(categorical)),
        skip_bad=skip_bad,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        resume=resume,
    ).model
    return learned


@dataclass(frozen=True)
class Learned:
    """A fitted learner, with its features' names, and what was learned about the files."""

    model: Any
    bad_rows: int
    origin: Origin
    measured: Measured | None  # on the rows that were held out; on those that were learned from where none were


def learn_from(
    model: AttentiveLearner,
    path: DataPath,
    wanted: Wanted,
    *,
    kind: str | None,
    scale: bool,
    skip_bad: bool,
    checkpoint: str | os.PathLike[str] | None,
    checkpoint_every: float,
    resume: bool,
    replace: bool = False,
    hold_out: float | None = None,
    measured: bool = False,
    choice: Choice | None = None,
) -> Learned:
    """Learn as ``learn`` does, and say on what.

    ``replace`` allows to overwrite an older checkpoint, ``hold_out`` is the share of rows that is not learned from, and
    ``measured`` asks for one more pass, which measures the model.
    """
    if resume and checkpoint is None:
        raise CheckpointError("To resume, name the checkpoint: the file to go on from.")
    model, choice = _checked(model), choice or Choice()
    path = path if isinstance(path, str | os.PathLike) else list(path)
    with open_data(path, wanted, kind) as whole:
        files = files_of(whole, path, kind)
        kept = None
        if checkpoint is not None:
            kept = Checkpoint(Path(checkpoint), every=checkpoint_every, resume=resume, replace=replace, data=files)
        made_with = _made_with(model, wanted, kind, skip_bad) | {"scale": scale, "hold_out": hold_out} | choice.state
        made_with["data"] = digests(files)
        data, narrow = chosen(whole, path, wanted, kind, choice)
        opened = Opened(data, path, narrow, kind)
        resumed = None if kept is None else kept.load(made_with, data.length)
        model, run = resumed or _begun(model, opened, choice, skip_bad, scale, hold_out)
        held_out = None if hold_out is None else HeldOut(hold_out, run.seed)

        def keep(so_far: AttentiveLearner, place: Place) -> None:
            if kept is not None:
                kept.keep(so_far, made_with, run, place)

        rows: DataFile = data if model.encoding_ is None else encoded_file(opened, model.encoding_)
        model = _passes(model, rows, run, held_out, keep)
        if not hasattr(model, "coef_"):
            raise DataFileError(f"{data.path}: no row is left to learn from. Hold fewer rows out.")
        found = measure(_of_features(model), rows, BadRows(data.path, skip=True), held_out) if measured else None
        if data.names is not None:
            model.feature_names_in_ = np.array(data.names, dtype=object)
        return Learned(model, run.bad, Origin(data.zero_based, tuple(made_with["data"]), held_out), found)


def _of_features(model: AttentiveLearner) -> AttentiveLearner:
    """Return a learner that takes encoded rows, where it has an encoding."""
    if model.encoding_ is None:
        return model
    plain = copy(model)
    plain._encoding, plain.n_features_in_ = None, model.encoding_.n_features
    return plain


def _checked(model: AttentiveLearner) -> AttentiveLearner:
    """Return an unfitted copy whose parameters can be kept in a file."""
    if not isinstance(model, AttentiveLearner):
        raise TypeError(
            f"{type(model).__name__} cannot learn from files: give a Pegasos, a Perceptron, a PassiveAggressive or an "
            "ExponentiatedGradient."
        )
    if model.class_weight == "balanced":
        raise ValueError(
            'class_weight="balanced" needs all labels in memory. Give weights by label: {"elm": 1.0, "oak": 3.0}.'
        )
    copied: AttentiveLearner = clone(model)
    copied._check_parameters()
    if copied.random_state is not None and not isinstance(copied.random_state, Integral):
        copied.set_params(random_state=int(check_random_state(copied.random_state).randint(2**31 - 1)))
    return copied


def _made_with(model: AttentiveLearner, wanted: Wanted, kind: str | None, skip_bad: bool) -> dict[str, Any]:
    """Return the options that a checkpoint must have been made with for learning to resume from it."""
    return {
        "learner": type(model).__name__,
        "parameters": {name: encode(name, value) for name, value in model.get_params(deep=False).items()},
        "target": wanted.target,
        "header": wanted.header,
        "format": kind,
        "skip_bad": skip_bad,
    }


def _begun(
    model: AttentiveLearner, opened: Opened, choice: Choice, skip_bad: bool, scale: bool, hold_out: float | None
) -> tuple[AttentiveLearner, Run]:
    """Read labels and scales, or what the columns of a table hold, and draw a seed where none is given."""
    seed = int(np.random.default_rng(model.random_state).integers(2**31))
    model.set_params(random_state=seed if model.random_state is None else model.random_state)
    held_out = None if hold_out is None else HeldOut(hold_out, seed)
    data, kinds = opened.data, kinds_of(opened.data, opened.wanted.target, choice)
    bad = BadRows(data.path, skip=skip_bad, hints=HINTS)
    with Progress("rows", label="Labels", length=data.length) as progress:
        if kinds is None:
            moments = ColumnMoments(data.n_features) if scale else None
            labels = survey(data, bad, held_out, moments, progress.advance)
            model._scaling = None if moments is None else moments.scaling(centred=model.fit_intercept)
        else:
            labels, seen = survey_table(opened, kinds, bad, held_out, progress.advance)
            model._encoding = seen.encoding(data.names, scale=scale, centred=model.fit_intercept)
            model.n_features_in_ = data.n_features
            warn_of_left_out(data.path, model._encoding, kinds)
    return model, Run(labels.written, labels.classes.tolist(), bad.count, seed)


def _passes(
    model: AttentiveLearner,
    data: DataFile,
    run: Run,
    held_out: HeldOut | None,
    keep: Callable[[AttentiveLearner, Place], None],
) -> AttentiveLearner:
    """Learn from the place of a run to the end of the last pass; ``keep`` is called after each batch."""
    labels, classes = run.labels, np.unique(run.classes)
    patience = Patience(model.tol, model.n_iter_no_change, run.best, run.waited)
    with Progress("rows", label="Learning", length=data.length * model.max_iter) as progress:
        for turn in range(run.turn, model.max_iter):
            start, number, row = (run.start, run.batch, run.row) if turn == run.turn else (0, 0, 0)
            for batch in data.batches(start, BadRows(data.path, skip=True)):
                learned = batch if held_out is None else held_out.split(batch, row)[0]
                rows = np.arange(learned.X.shape[0], dtype=np.uint32)
                if model.shuffle:
                    rows = np.random.default_rng([run.seed, turn, number]).permutation(rows)
                if rows.size and learned.y is not None:
                    sketch = getattr(model, "_sketch", RowSketch())
                    memory = _memory_of(model, number, learned.X, classes.size)
                    model._learn_part(learned.X, labels.of(learned.y), classes, rows=rows, memory=memory)
                    if turn > 0:  # the rows of the first pass again
                        model._sketch = sketch
                number, row = number + 1, row + batch.good.size
                progress.advance(rows.size, turn * data.length + batch.end)
                keep(model, Place(turn, number, batch.end, row, patience.best, patience.waited))
            if hasattr(model, "_learners") and _is_enough(model, turn + 1, patience):
                break
        _log.info("learned from %s in %.2f s", data.path, progress.seconds)
    model._memories = None
    return model


def _memory_of(model: AttentiveLearner, number: int, X: Any, n_classes: int) -> Memory:
    """Return what is remembered of a batch's rows: nothing where all batches before it fill the room."""
    model._memories = model._memories or []
    n_learners = 1 if n_classes == 2 else n_classes
    if number >= len(model._memories):
        taken = sum(memory.shape[1] for memory in model._memories) * n_learners
        worth_it = model._remembers(X.shape[0], X.size) and model.max_iter > 1 and taken < MOST_REMEMBERED
        model._memories += [new_memory(n_learners, 0)] * (number - len(model._memories))  # batches without a row
        model._memories.append(new_memory(n_learners, X.shape[0] if worth_it else 0))
    return model._memories[number]


def _is_enough(model: AttentiveLearner, passes: int, patience: Patience) -> bool:
    """End a pass: let what is remembered grow older; return whether it was the last one."""
    grow_older(model._learners, model._memories or [])
    model.n_iter_ = passes
    return patience.is_over(take_loss(model._learners) * passes / model.training_.n_examples)

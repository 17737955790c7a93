"""Learning from the partitions of a Dask cluster by iterative parameter mixing.

Pass p over partition k is a pure function of the partition, of what is remembered of it after pass p - 1, and of the
mean after pass p - 1. What is remembered never leaves the workers. Where one of them dies, Dask computes anew what it
held, from its partitions on and pass by pass; for this the scheduler keeps the means of all passes, as values.
"""

import logging
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from saccade.cluster.partitions import (
    Examples,
    Survey,
    aligned,
    as_compiled_for,
    check_part,
    encode_part,
    naming,
    summarise,
    survey,
)
from saccade.cluster.tasks import Result, Tasks
from saccade.kernels.walks import shuffle
from saccade.learners.classifier import AttentiveLearner, Totals, totals
from saccade.learners.course import Patience, take_loss
from saccade.learners.mixing import Mixing, copies_of, learn_apart, shares_walk, to_send
from saccade.learners.online import OnlineLearner
from saccade.learners.passes import Memory, new_memory
from saccade.reading.inputs import raise_not_finite
from saccade.reading.progress import Progress
from saccade.reading.sources import column_source

__all__ = ["learn_from_partitions"]

_log = logging.getLogger(__name__)


class Manner(NamedTuple):
    """How all partitions are learned from."""

    model: AttentiveLearner  # its parameters
    remembers: bool  # margins, from pass to pass
    shared: bool  # walks, which then stay where they are
    alone: bool  # where there is one partition
    factor: float  # that makes the mean weight 1


class Passed(NamedTuple):
    """What a pass over one partition leaves behind."""

    copies: list[OnlineLearner]
    rows: NDArray[np.uint32]  # in the order of this pass
    memory: Memory


def learn_from_partitions(model: AttentiveLearner, tasks: Tasks, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a model that is not fitted yet."""
    given = aligned(X, y, sample_weight)
    parts = tasks.begin([delayed(check_part)(k, model, *part) for k, part in enumerate(given)])
    known = survey(tasks.collect(tasks.map(summarise, parts)))
    model._check_classes(known.classes)
    model.n_features_in_ = known.n_features
    if known.names is not None:
        model.feature_names_in_ = known.names
    by_class = None if model.class_weight is None else model._class_weights(known.classes, known.counts)
    examples = tasks.map(encode_part, [parts[k] for k in known.parts], same=[known.classes, by_class, known.dtype])
    del parts
    learners = model._new_learners(np.empty((0, known.n_features), known.dtype), known.classes)
    model._weighted = known.n_rows, float(known.n_rows)
    if sample_weight is not None or by_class is not None:
        counts, sums = zip(*tasks.collect(tasks.map(_totals, examples)), strict=True)
        model._weighted = sum(counts), sum(sums)
    model.n_iter_ = _learn(model, learners, tasks, examples, known)
    model._take(learners, known.classes)


def _learn(
    model: AttentiveLearner, learners: list[OnlineLearner], tasks: Tasks, examples: list[Result], known: Survey
) -> int:
    """Learn in passes; return how many there were."""
    sizes, n_rows = known.sizes, known.n_rows
    shared = shares_walk(learners[0], known.is_sparse)
    remembers = model.max_iter > 1 and model._remembers(n_rows, known.n_values)
    n_weighted, total = model._weighted
    manner = Manner(model, remembers, shared, alone=len(sizes) == 1, factor=n_weighted / total)
    mixing, patience = Mixing(learners, shared), Patience(model.tol, model.n_iter_no_change)
    passed: list[Result] = [None] * len(sizes)
    with Progress("rows", label="Learning", length=n_rows * model.max_iter) as progress:
        for turn in range(model.max_iter):
            mean = tasks.keep(to_send(learners, shared))
            passed = tasks.map(learn_pass, range(len(sizes)), examples, passed, same=[mean, turn, manner])
            mixing.mix(tasks.collect(tasks.map(_copies, passed)), sizes, known.held)
            progress.advance(n_rows)
            if patience.is_over(take_loss(learners) / (n_weighted * len(learners))):
                break
        _log.info("learned from %d partitions in %d passes, %.2f s", len(sizes), turn + 1, progress.seconds)
    return turn + 1


def learn_pass(
    number: int,
    examples: Examples,
    before: Passed | None,
    learners: list[OnlineLearner],
    turn: int,
    manner: Manner,
) -> Passed:
    """Learn from a partition in one pass, from where the learners stand; nothing that is passed in is changed."""
    X, n_rows = as_compiled_for(examples.X), examples.X.shape[0]
    copies = copies_of(learners, number, manner.shared)
    if before is None:
        rows = np.arange(n_rows, dtype=np.uint32)
        memory = new_memory(len(copies), n_rows if manner.remembers else 0)
    else:
        rows, memory = before.rows.copy(), before.memory.copy()
    if manner.model.shuffle:
        shuffle(rows, copies[0].settings.seed, 1 + turn)
    weight = examples.weight * manner.factor
    bad = learn_apart(copies, memory, X, examples.codes, rows, weight, alone=manner.alone)
    if bad >= 0:
        with naming(examples.number):
            raise_not_finite(manner.model, column_source(X), bad)
    return Passed(copies, rows, memory)


def _totals(examples: Examples) -> Totals:
    return totals(examples.weight, examples.X.shape[0])


def _copies(passed: Passed) -> list[OnlineLearner]:
    return passed.copies

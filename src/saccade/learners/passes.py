"""One pass of binary learners over rows, with what they remember of earlier ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.kernels import state as codes
from saccade.kernels.state import Moments, State
from saccade.kernels.training import (
    Picked,
    age_all,
    age_rows,
    train_budget_dense,
    train_budget_sparse,
    train_dense,
    train_sparse,
)
from saccade.learners.online import OnlineLearner
from saccade.reading.inputs import Rows
from saccade.reading.sparse import stored_arrays

__all__ = ["Memory", "Team", "grow_older", "new_memory"]

# Rows that are picked together: few enough for the nearer caches, and for weights that move in the meantime.
BLOCK = 512

# (learners, rows, 2): by how much the margin of an example exceeded the importance threshold when it was last read, and
# how old this is, by the learner's clock. Eight bytes a row and learner; no rows where nothing is remembered.
Memory = NDArray[np.float32]
Whole = NDArray[np.integer]
Order = NDArray[np.uint32]
Reals = NDArray[np.float64]


def new_memory(n_learners: int, n_rows: int) -> Memory:
    """Return the memory of learners that have read none of these rows."""
    memory = np.zeros((n_learners, n_rows, 2), dtype=np.float32)
    memory[:, :, 0] = -np.inf
    return memory


def grow_older(learners: Sequence[OnlineLearner], memories: Sequence[Memory], rows: Order | None = None) -> None:
    """Let the clock of every learner begin anew, and what is remembered of all rows, or of some, be as much older."""
    kept = [memory for memory in memories if memory.size]
    for k, learner in enumerate(learners):
        clock = learner.state.scalars[codes.CLOCK]
        for memory in kept:
            if rows is None:
                age_all(memory[k], clock)
            else:
                age_rows(memory[k], rows, clock)
        learner.state.scalars[codes.CLOCK] = 0.0


class Team:
    """Learners that see the same rows, each the class that is positive for it against the others.

    Of sparse rows all learners see a block before the next one is fetched, and their weights for a feature lie side by
    side. Until ``done`` is called, the weights of the learners themselves are not up to date.
    """

    def __init__(self, learners: Sequence[OnlineLearner], positive: Sequence[int], memory: Memory) -> None:
        self._learners, self._positive, self._memory = learners, positive, memory
        self._together: State | None = None
        self._labels: Whole | None = None  # of which there are the targets
        self._targets: list[NDArray[np.int8]] = []

    def learn(self, X: Rows, labels: Whole, rows: Order, weight: Reals) -> int:
        """Learn from the given rows in turn; return -1, or a row that is not finite."""
        if sp.issparse(X) and self._learners[0].settings.limit == X.shape[1]:
            return self._learn_together(X, labels, rows, weight)
        for learner, target, remembered in zip(self._learners, self._targets_of(labels), self._memory, strict=True):
            bad = _learn_alone(learner, X, target, rows, weight, remembered)
            if bad >= 0:
                return bad
        return -1

    def grow_older(self, rows: Order | None = None) -> None:
        """Let what is remembered of all rows, or of these, be older by the steps since this was last called."""
        grow_older(self._learners, [self._memory], rows)

    def done(self) -> None:
        """Give every learner its own weights again."""
        if self._together is not None and len(self._learners) > 1:
            for k, learner in enumerate(self._learners):
                for mine, side_by_side in zip(learner.state[:3], self._together[:3], strict=True):
                    if mine is not None and side_by_side is not None:  # no potential
                        mine[:] = side_by_side[:, k]
        self._together = None

    def _targets_of(self, labels: Whole) -> list[NDArray[np.int8]]:
        """Return for each learner which labels are its own: the same in every pass over the same ones."""
        if labels is not self._labels:
            self._labels, self._targets = labels, [(labels == code).view(np.int8) for code in self._positive]
        return self._targets

    def _learn_together(self, X: Rows, labels: Whole, rows: Order, weight: Reals) -> int:
        states = [learner.state for learner in self._learners]
        if self._together is None:
            self._together = State._make(_side_by_side(arrays) for arrays in zip(*states, strict=True))
        scalars, counters = (np.stack(arrays) for arrays in list(zip(*states, strict=True))[3:])
        together = self._together._replace(scalars=scalars, counters=counters)
        seeds = np.array([learner.settings.seed for learner in self._learners], dtype=np.uint64)
        settings = self._learners[0].settings._replace(walks=0)  # absent features are no news
        if self._memory.shape[1] == 0:  # nothing is filtered, so that there is nothing to audit, and nothing to teach
            settings = settings._replace(fair=0, audit=0.0)
        bad = train_sparse(
            *(*stored_arrays(X), labels.astype(np.int32), np.array(self._positive)),
            *(rows, weight, self._memory, together, together.potential, seeds, settings, _room()),
        )
        for k, state in enumerate(states):
            state.scalars[:], state.counters[:] = scalars[k], counters[k]
        return int(bad)


def _learn_alone(
    learner: OnlineLearner,
    X: Rows,
    target: NDArray[np.int8],
    rows: Order,
    weight: Reals,
    remembered: NDArray[np.float32],
) -> int:
    state, walk, settings = learner.state, learner.walk, learner.settings
    n, kind = X.shape[1], state.weights.dtype
    if settings.limit == n:
        known = (walk, learner.checkpoints) if settings.walks else (Moments(walk.counts, walk.mean, walk.var), None)
        return int(train_dense(X, target, rows, weight, remembered, state, *known, settings, _room()))
    room = (np.empty(settings.limit, np.uint32), np.empty(settings.limit, kind))
    rest = (target, rows, weight, state, walk, settings, *room)
    if sp.issparse(X):
        return int(train_budget_sparse(*stored_arrays(X), *rest, np.zeros(n, kind)))
    return int(train_budget_dense(X, *rest))


def _side_by_side(arrays: Sequence[Any]) -> Any:
    """Return one array whose last axis tells the learners apart: the learner's own where there is but one."""
    if arrays[0] is None:  # no potential
        return None
    return arrays[0][:, None] if len(arrays) == 1 else np.stack(arrays, axis=1)


def _room() -> Picked:
    return Picked(np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.float64))

"""Learning in shards: a pass over each by itself, and the mean of what was learned (McDonald, Hall and Mann 2010).

Averaging once at the end is not enough: the mean goes into the next pass. What comes out depends on the number of
shards, and not on the threads that learn from them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.kernels import state as codes
from saccade.kernels.stepping import multiply_out, shift_exponents
from saccade.learners.online import OnlineLearner
from saccade.learners.passes import Memory, Team
from saccade.reading.inputs import Rows

__all__ = ["Shards"]

# Far enough apart that no two learners draw the same coins.
NEXT_SEED = 104_729
# Of the numbers that a learner keeps, those that add up over the shards; of the others the mean is taken.
ADDED = [codes.WEIGHT_SUM, codes.LOSS]


class Shards:
    """Copies of learners, each of which learns from one shard; they are made once, and refreshed before every pass."""

    def __init__(
        self,
        learners: Sequence[OnlineLearner],
        positive: Sequence[int],
        memory: Memory,
        n_shards: int,
        in_threads: Callable[[Any, list[tuple[Any, ...]]], list[int]],
    ) -> None:
        self._learners, self._positive, self._memory = learners, positive, memory
        self._n_shards, self._in_threads = n_shards, in_threads
        self._copies: list[list[OnlineLearner]] = []

    def learn(self, X: Rows, labels: NDArray[np.integer], rows: NDArray[np.uint32], weight: NDArray[np.float64]) -> int:
        """Let the learners learn from rows in turn, shard by shard; return -1, or a row that is not finite."""
        shards = [np.ascontiguousarray(rows[k :: self._n_shards]) for k in range(min(self._n_shards, rows.size))]
        if not self._copies:
            # Sparse rows that are read in full teach nothing of walks, so that all may share what is known of them.
            shared = sp.issparse(X) and self._learners[0].settings.limit == X.shape[1]
            self._copies = [[_copy(learner, k, shared) for learner in self._learners] for k in range(len(shards))]
        calls = [
            (self._learners, copies, Team(copies, self._positive, self._memory), X, labels, shard, weight)
            for copies, shard in zip(self._copies, shards, strict=True)
        ]
        bad = self._in_threads(_learn_shard, calls)
        shares = np.array([shard.size for shard in shards]) / rows.size
        for learner, *parts in zip(self._learners, *self._copies, strict=True):
            _mix(learner, parts, shares)
        return max(bad)


def _copy(learner: OnlineLearner, shard: int, shared: bool) -> OnlineLearner:
    """Return a copy with coins of its own, and with a walk of its own unless that is shared."""
    seed = (learner.settings.seed + shard * NEXT_SEED) % 2**31
    copied = replace(learner, state=learner.copied_state()) if shared else learner.copy()
    return replace(copied, settings=learner.settings._replace(seed=seed))


def _learn_shard(
    learners: Sequence[OnlineLearner],
    copies: Sequence[OnlineLearner],
    team: Team,
    X: Rows,
    labels: NDArray[np.integer],
    rows: NDArray[np.uint32],
    weight: NDArray[np.float64],
) -> int:
    for learner, copied in zip(learners, copies, strict=True):
        for mine, theirs in zip(_arrays(copied, learner), _arrays(learner, copied), strict=True):
            mine[...] = theirs
        copied.counters[:] = learner.counters
    bad = team.learn(X, labels, rows, weight)
    team.grow_older(rows)
    team.done()
    for copied in copies:
        exponentiated = copied.settings.rule == codes.EXPONENTIATED
        multiply_out(copied.state, 1.0 if exponentiated else copied.state.scalars[codes.SCALE])
    return bad


def _arrays(learner: OnlineLearner, other: OnlineLearner) -> list[NDArray[Any]]:
    """Return all that a learner knows, but for its counts and for what it shares with another one."""
    walk = () if learner.walk is other.walk else learner.walk
    return [array for array in (*learner.state[:4], *walk) if array is not None]  # no potential


def _mix(learner: OnlineLearner, parts: Sequence[OnlineLearner], shares: NDArray[np.float64]) -> None:
    """Give a learner the mean of its copies, which began where it stands; counts add up, steps go on side by side."""
    scalars, counters = learner.state.scalars, learner.state.counters
    before, counted = scalars.copy(), counters.copy()
    kept = zip(*(_arrays(part, learner) for part in parts), strict=True)
    for target, arrays in zip(_arrays(learner, parts[0]), kept, strict=True):
        target[...] = _mean(arrays, shares) if target.dtype.kind == "f" else arrays[0]
    for entry in ADDED:
        scalars[entry] = before[entry] + sum(part.state.scalars[entry] - before[entry] for part in parts)
    counters[:] = counted + sum(part.counters - counted for part in parts)
    for entry in (codes.STEP, codes.CHANGES, codes.NEXT_REORDER, codes.REORDERS):
        counters[entry] = max(part.counters[entry] for part in parts)
    _restore(learner)


def _mean(arrays: Sequence[NDArray[Any]], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    total, term = np.zeros(arrays[0].shape), np.empty(arrays[0].shape)
    for array, share in zip(arrays, shares, strict=True):
        total += np.multiply(array, share, out=term)
    return total


def _restore(learner: OnlineLearner) -> None:
    """Bring what follows from the weights in line with them."""
    state, settings = learner.state, learner.settings
    scalars = state.scalars
    if settings.rule == codes.EXPONENTIATED:
        shift_exponents(state, state.potential, settings)
        scalars[codes.SCALE] = settings.radius / scalars[codes.MASS]
    scalars[codes.NORM2] = float(state.weights.astype(np.float64) @ state.weights) + scalars[codes.INTERCEPT] ** 2

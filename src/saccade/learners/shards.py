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

__all__ = ["learn_in_shards"]

# Far enough apart that no two learners draw the same coins.
NEXT_SEED = 104_729
# Of the numbers that a learner keeps, those that add up over the shards; of the others the mean is taken.
ADDED = [codes.WEIGHT_SUM, codes.LOSS]


def learn_in_shards(
    learners: Sequence[OnlineLearner],
    positive: Sequence[int],
    memory: Memory,
    n_shards: int,
    in_threads: Callable[[Any, list[tuple[Any, ...]]], list[int]],
    X: Rows,
    labels: NDArray[np.integer],
    rows: NDArray[np.uint32],
    weight: NDArray[np.float64],
) -> int:
    """Let learners learn from rows in turn, shard by shard; return -1, or a row that is not finite."""
    shards = [np.ascontiguousarray(rows[k::n_shards]) for k in range(min(n_shards, rows.size))]
    # Sparse rows that are read in full teach nothing of walks, so that all may share what is known of them.
    shared = sp.issparse(X) and learners[0].settings.limit == X.shape[1]
    copies = [[_copy(learner, k, shared) for learner in learners] for k in range(len(shards))]
    bad = in_threads(
        _learn_shard,
        [
            (Team(copied, positive, memory), X, labels, shard, weight)
            for copied, shard in zip(copies, shards, strict=True)
        ],
    )
    shares = np.array([shard.size for shard in shards]) / rows.size
    for learner, *parts in zip(learners, *copies, strict=True):
        _mix(learner, parts, shares)
    return max(bad)


def _copy(learner: OnlineLearner, shard: int, shared: bool) -> OnlineLearner:
    """Return a copy with coins of its own, and with a walk of its own unless that is shared."""
    seed = (learner.settings.seed + shard * NEXT_SEED) % 2**31
    copied = replace(learner, state=learner.copied_state()) if shared else learner.copy()
    return replace(copied, settings=learner.settings._replace(seed=seed))


def _learn_shard(
    team: Team, X: Rows, labels: NDArray[np.integer], rows: NDArray[np.uint32], weight: NDArray[np.float64]
) -> int:
    bad = team.learn(X, labels, rows, weight)
    team.grow_older(rows)
    team.done()
    return bad


def _mix(learner: OnlineLearner, parts: Sequence[OnlineLearner], shares: NDArray[np.float64]) -> None:
    """Give a learner the mean of its copies, which began where it stands; counts add up, steps go on side by side."""
    for part in parts:
        exponentiated = part.settings.rule == codes.EXPONENTIATED
        multiply_out(part.state, 1.0 if exponentiated else part.state.scalars[codes.SCALE])
    before = learner.copied_state()
    kept = [(one.state[:4] if one.walk is learner.walk else (*one.state[:4], *one.walk)) for one in parts]
    mine = (*learner.state[:4], *learner.walk)[: len(kept[0])]
    for target, arrays in zip(mine, zip(*kept, strict=True), strict=True):
        if target is None:  # no potential
            continue
        if target.dtype.kind == "f":
            target[...] = sum(share * array for share, array in zip(shares, arrays, strict=True))
        else:
            target[...] = arrays[0]
    scalars, counters = learner.state.scalars, learner.state.counters
    for entry in ADDED:
        scalars[entry] = before.scalars[entry] + sum(
            part.state.scalars[entry] - before.scalars[entry] for part in parts
        )
    counters[:] = before.counters + sum(part.counters - before.counters for part in parts)
    for entry in (codes.STEP, codes.CHANGES, codes.NEXT_REORDER, codes.REORDERS):
        counters[entry] = max(part.counters[entry] for part in parts)
    _restore(learner)


def _restore(learner: OnlineLearner) -> None:
    """Bring what follows from the weights in line with them."""
    state, settings = learner.state, learner.settings
    scalars = state.scalars
    if settings.rule == codes.EXPONENTIATED:
        shift_exponents(state, state.potential, settings)
        scalars[codes.SCALE] = settings.radius / scalars[codes.MASS]
    scalars[codes.NORM2] = float(state.weights.astype(np.float64) @ state.weights) + scalars[codes.INTERCEPT] ** 2

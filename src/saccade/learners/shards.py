"""Learning in shards of the rows, side by side in the threads of one process.

What comes out depends on the number of shards, and not on the threads that learn from them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.learners.mixing import Mixing, copies_of, learn_apart, refresh, shares_walk
from saccade.learners.online import OnlineLearner
from saccade.learners.passes import Memory
from saccade.reading.inputs import Rows

__all__ = ["Shards"]


class Shards:
    """Copies of learners, each of which learns from one shard; they are made once, and refreshed before every pass."""

    def __init__(
        self,
        learners: Sequence[OnlineLearner],
        memory: Memory,
        n_shards: int,
        in_threads: Callable[[Any, list[tuple[Any, ...]]], list[int]],
    ) -> None:
        self._learners, self._memory = learners, memory
        self._n_shards, self._in_threads = n_shards, in_threads
        self._mixing: Mixing | None = None
        self._copies: list[list[OnlineLearner]] = []

    def learn(self, X: Rows, labels: NDArray[np.integer], rows: NDArray[np.uint32], weight: NDArray[np.float64]) -> int:
        """Let the learners learn from rows in turn, shard by shard; return -1, or a row that is not finite."""
        shards = [np.ascontiguousarray(rows[k :: self._n_shards]) for k in range(min(self._n_shards, rows.size))]
        shared = shares_walk(self._learners[0], sp.issparse(X))
        if self._mixing is None:
            self._mixing = Mixing(self._learners, shared)
            self._copies = [copies_of(self._learners, k, shared) for k in range(len(shards))]

        def learn_shard(copies: list[OnlineLearner], shard: NDArray[np.uint32]) -> int:
            for copied, learner in zip(copies, self._learners, strict=True):
                refresh(copied, learner, shared)
            return learn_apart(copies, self._memory, X, labels, shard, weight, alone=len(shards) == 1)

        bad = self._in_threads(learn_shard, list(zip(self._copies, shards, strict=True)))
        self._mixing.mix(self._copies, [shard.size for shard in shards])
        return max(bad)

"""What a learner misses, determined from outside: every example is read in full before the learner sees it."""

from typing import NamedTuple

import numpy as np

from saccade.kernels.state import N_AUDITED, N_FILTERED
from saccade.learners.passes import Team, new_memory
from saccade.reading.inputs import as_read_only


class Misses(NamedTuple):
    """Counts of the important examples of a stream."""

    tracked: int  # audited, so that the multiplier of the boundary followed them
    important: int  # not audited, so that the boundary decided about them
    missed: int  # those of the latter that were filtered

    @property
    def rate(self):
        """The decision error: the share of important examples that the boundary stopped."""
        return self.missed / self.important


def replay(model, X, y, *, theta, passes=1, settling=0, seed=0):
    """Teach a model one example at a time, and count its decision errors after the first ``settling`` examples.

    An example is important where its full margin, by the weights as they stand before it comes, lies below ``theta``.
    The model must not average, so that its weights are those.
    """
    rng, positive = np.random.default_rng(seed), (y == y.max()).astype(np.int8)
    rows = np.concatenate([rng.permutation(len(y)) for _ in range(passes)]).astype(np.uint32)
    X = as_read_only(X)  # as partial_fit has it, so that the same compiled kernel serves
    learner = model.partial_fit(X[rows[:1]], y[rows[:1]], np.unique(y))._learners[0]
    counters, unweighted = learner.counters, np.empty(0)
    team = Team([learner], [1], new_memory(1, 0))
    tracked = important = missed = 0
    for step in range(1, rows.size):
        row = rows[step]
        weights, intercept = learner.weights()
        margin = (weights @ X[row] + intercept) * (1 if positive[row] else -1)
        audited, filtered = counters[N_AUDITED], counters[N_FILTERED]
        assert team.learn(X, positive, rows[step : step + 1], unweighted) == -1
        if step < settling or margin >= theta:
            continue
        if counters[N_AUDITED] > audited:
            tracked += 1
        else:
            important += 1
            missed += int(counters[N_FILTERED] > filtered)
    return Misses(tracked, important, missed)

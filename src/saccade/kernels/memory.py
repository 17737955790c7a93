"""What a learner remembers of the examples of earlier passes: the margin of each, and when it was last read.

Margins go to and fro, so that one that has risen since the reading before is remembered as half as far up. Between two
readings a margin wanders, because the weights take steps: like a random walk whose variance grows with the sum of the
squared step lengths, the clock. So an example whose margin exceeded the importance threshold by more than
T sqrt(time since then) is still clear, and is skipped unread. T is what a step of length 1 is expected to move a margin
by, in proportion to the squared norm of a row, times the multiplier that follows the audited misses.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.compiling import inlined, internal, kernel
from saccade.kernels.randomness import uniform_of
from saccade.kernels.state import CLOCK, MEAN_NORM2, MULTIPLIER

# A step along one row moves the margin of another by this share of their squared norm, before misses say otherwise.
WANDERING = 0.048


class Picked(NamedTuple):
    """Those examples of a block that are to be read, and what each needs: room for a block of them."""

    place: NDArray[np.uint32]  # among the rows that are learned from
    step: NDArray[np.int64]
    coin: NDArray[np.float64]  # the random number of the step
    passed: NDArray[np.float64]  # the weights of the examples that were skipped since the one before


@inlined
def is_remembered(memory, i):
    """Whether this example was read in an earlier pass."""
    return memory.shape[0] > 0 and memory[i, 0] > -math.inf


@inlined
def squared_reach(scalars, settings):
    """Return the variance of a margin per unit of the clock."""
    wandering = WANDERING * scalars[MULTIPLIER] * (scalars[MEAN_NORM2] + settings.intercept)
    return wandering * wandering


@inlined
def is_clear(memory, i, reach, clock):
    """Whether this example's margin is clear from memory alone."""
    excess = memory[i, 0]
    return (excess > 0) & (excess * excess > reach * (clock - memory[i, 1]))


@inlined
def remember(memory, i, scalars, excess):
    """Write down by how much this example's margin exceeds the importance threshold, and when.

    A margin that has risen is expected to fall back: it counts as the mean of now and before.
    """
    if memory.shape[0] > 0:
        before = memory[i, 0]
        memory[i, 0] = 0.5 * (excess + before) if -math.inf < before < excess else excess
        memory[i, 1] = scalars[CLOCK]


@inlined
def is_witness(settings, coin, t):
    """Whether this step's example is read to its end, whatever is known of it."""
    return settings.fair & ((coin < settings.audit) | (coin < settings.teach) | (coin * t < settings.warm_up))


@internal
def pick(rows, begin, end, weights, memory, scalars, settings, coins, t, picked):
    """Pick the examples of a block that memory does not skip; return how many, the last step, and what weight is left.

    All at once and without a branch that depends on the data, for it would be guessed wrongly every third time.
    """
    reach, clock = squared_reach(scalars, settings), scalars[CLOCK]
    remembers, weighted = memory.shape[0] > 0, weights.shape[0] > 0
    count, passed = 0, 0.0
    for r in range(begin, end):
        weight = weights[rows[r]] if weighted else 1.0
        if weight == 0:
            continue
        t += 1
        coin = uniform_of(coins, t)
        skipped = remembers and is_clear(memory, rows[r], reach, clock) and not is_witness(settings, coin, t)
        picked.place[count], picked.step[count], picked.coin[count], picked.passed[count] = r, t, coin, passed
        passed = passed + weight if skipped else 0.0
        count += not skipped
    return count, t, passed


@kernel
def age_rows(memory, rows, age):
    """Let what is remembered of these rows be older. numpy would keep other threads waiting meanwhile."""
    for r in range(rows.shape[0]):
        memory[rows[r], 1] -= age

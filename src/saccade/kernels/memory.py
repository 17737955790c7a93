"""What a learner remembers of the examples of earlier passes: the margin of each, and when it was last read.

Margins go to and fro, so that one that has risen since the reading before is remembered as half as far up. Between two
readings a margin wanders, because the weights take steps: like a random walk whose variance grows with the sum of the
squared step lengths, the clock. So an example whose margin exceeded the importance threshold by more than
T sqrt(age) is still clear, and is skipped unread. T is what a step of length 1 is expected to move a margin by, in
proportion to the squared norm of a row, times the multiplier that follows the audited misses. The age is what the clock
counted in whole passes, the one of the reading among them: within a pass margins hardly depend on how long ago they
were read, for weights that have settled go to and fro, too.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.compiling import inlined, internal, kernel
from saccade.kernels.randomness import uniform_of
from saccade.kernels.state import MEAN_NORM2, MULTIPLIER

# A step along one row moves the margin of another by this share of their squared norm, before misses say otherwise.
WANDERING = 0.038


class Picked(NamedTuple):
    """Those examples of a block that are to be read, and what each needs: room for a block of them."""

    place: NDArray[np.uint32]  # among the rows that are learned from
    step: NDArray[np.int64]
    coin: NDArray[np.float64]  # the random number of the step


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
def is_clear(memory, i, reach):
    """Whether this example's margin is clear from memory alone."""
    excess = memory[i, 0]
    return (excess > 0) & (excess * excess > reach * memory[i, 1])


@inlined
def remember(memory, i, excess):
    """Write down by how much this example's margin exceeds the importance threshold, now.

    A margin that has risen is expected to fall back: it counts as the mean of now and before.
    """
    if memory.shape[0] > 0:
        before = memory[i, 0]
        memory[i, 0] = 0.5 * (excess + before) if -math.inf < before < excess else excess
        memory[i, 1] = 0.0


@inlined
def is_witness(settings, coin, t):
    """Whether this step's example is read to its end, whatever is known of it."""
    return settings.fair & ((coin < settings.audit) | (coin < settings.teach) | (coin * t < settings.warm_up))


@internal
def pick(rows, begin, end, weights, memory, scalars, settings, coins, t, picked):
    """Pick the examples of a block that memory does not skip; return how many, and the last step.

    All at once and without a branch that depends on the data, for it would be guessed wrongly every third time: so
    conditions are joined by operators that evaluate both sides.
    """
    reach = squared_reach(scalars, settings)
    remembers, weighted = memory.shape[0] > 0, weights.shape[0] > 0
    count = 0
    for r in range(begin, end):
        i = rows[r]
        weight = weights[i] if weighted else 1.0
        t += weight != 0
        coin = uniform_of(coins, t)
        clear = remembers and is_clear(memory, i, reach) & (not is_witness(settings, coin, t))
        skipped = clear | (weight == 0)
        picked.place[count], picked.step[count], picked.coin[count] = r, t, coin
        count += not skipped
    return count, t


@kernel
def age_all(memory, age):
    """Let all that is remembered be older. numpy would keep other threads waiting meanwhile, and take longer."""
    for i in range(memory.shape[0]):
        memory[i, 1] += age


@kernel
def age_rows(memory, rows, age):
    """Let what is remembered of these rows be older."""
    for r in range(rows.shape[0]):
        memory[rows[r], 1] += age

"""What a learner knows, as plain arrays, and the integer codes that the kernels understand."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

# Update rules.
PEGASOS, ALGORITHM1, PERCEPTRON, PA1, PA2, EXPONENTIATED = range(6)
# Orders. SAMPLED is weighted so that the walk is unbiased, SAMPLED_PRINTED is the paper's own, which is not.
NATURAL, PERMUTED, SORTED, SAMPLED, SAMPLED_PRINTED = range(5)
# What a boundary's cushion grows with: var(S_n), the variance of the unread rest, or its sum of squared weights.
TOTAL_VARIANCE, REST_VARIANCE, REST_SQUARED_WEIGHTS = range(3)

# How many magnitudes the sorted order tells apart.
BUCKETS = 512

# Entries of State.scalars.
(
    SCALE,  # the weights are SCALE times State.weights, so that shrinking them costs one multiplication
    INTERCEPT,  # in units of SCALE, like the weights
    NORM2,  # squared norm of State.weights and, where one is fitted, INTERCEPT
    TOTAL,  # sum of average weight times SCALE over the steps so far
    AVERAGE_WEIGHT,  # sum of average weights over the steps so far
    INTERCEPT_CORRECTION,  # as State.correction, for the intercept
    EXPECTED_0,  # the unscaled margin expected of an example of the first class, from the centre
    EXPECTED_1,
    WIDTH_0,  # the measured standard deviation of the first class's margins over that of independent features
    WIDTH_1,
    IMPORTANT_SHARE,  # of the examples, as the audit sees it
    MULTIPLIER,  # follows the share of important examples that the boundary misses
    FACTOR_0,  # on the cushions of the first class: its width, the multiplier, and the price of rarity
    FACTOR_1,
    LOSS,  # weighted, of the examples that were read since the learner was last asked for it
    MEAN_NORM2,  # of the squared norms of the examples that moved the weights
    CLOCK,  # sum of the squared lengths of the steps, which is the variance of a margin that wanders
    GAIN,  # what a walk saves of a row's reading time on average, as counted
    MASS,  # of exponentiated weights: the sum of the positive and the negative ones, unscaled
    SHIFT,  # of exponentiated weights: what all exponents are lowered by
    INTERCEPT_POTENTIAL,  # as State.potential, for the intercept
    LARGEST,  # magnitude of any feature of the examples that moved exponentiated weights
    SCALARS_SIZE,
) = range(23)

# Entries of State.counters.
(
    STEP,  # t; the first example has t = 2, because at t = 1 the step of Pegasos erases the weights
    CHANGES,  # how often weights or moments have changed
    NEXT_REORDER,  # the number of changes at which order and cushions are made anew
    REORDERS,
    TRACKED,  # how often the multiplier was moved
    TAUGHT,  # how many examples taught the moments
    N_EXAMPLES,
    N_FILTERED,
    N_SKIPPED,  # those of them that were not read at all
    N_UPDATES,
    N_READ,
    N_READ_FILTERED,
    N_AUDITED,
    N_IMPORTANT,  # audited examples whose full margin lies below the threshold
    N_MISSED,  # those of them that the boundary would have filtered
    COUNTERS_SIZE,
) = range(16)


class State(NamedTuple):
    """What the steps of one binary learner move; n features."""

    weights: Floats  # (n,) unscaled
    correction: Floats  # (n,) the average of the weights is (TOTAL * weights - correction) / AVERAGE_WEIGHT
    potential: Floats | None  # (n,) the logarithms of exponentiated weights; None for weights that are added to
    scalars: NDArray[np.float64]  # (SCALARS_SIZE,)
    counters: NDArray[np.int64]  # (COUNTERS_SIZE,)


class Walk(NamedTuple):
    """What a binary learner knows of its features, for walks that stop early; n features, k checkpoints."""

    order: NDArray[np.uint32]  # (n,) the features in the order in which they are read; drawn with repeats if sampled
    ratio: Floats  # (n,) what the sampled orders multiply each draw's weight with; empty for the others
    counts: Floats  # (2, n) how many examples of each class taught the moments
    mean: Floats  # (2, n)
    var: Floats  # (2, n)
    neutral: Floats  # (2, n) zeros for a boundary that ignores means, ones for one that ignores variances
    cushion: NDArray[np.float64]  # (2, k) by how much a walk must exceed the importance threshold
    slope: NDArray[np.float64]  # (2, k) what the full margin deviates for each unit that the partial one does
    partial_square: NDArray[np.float64]  # (2, k) of the partial margin's deviation, mean over the independent variance
    partial_product: NDArray[np.float64]  # (2, k) of its deviation and the full margin's, likewise
    path: NDArray[np.float64]  # (k,) the deviations of one example
    work_real: NDArray[np.float64]  # (n,) room to work in
    work_whole: NDArray[np.int64]  # (n + BUCKETS + 1,)


class Moments(NamedTuple):
    """The part of a Walk that examples teach where nothing is walked over: less to hand from function to function."""

    counts: Floats
    mean: Floats
    var: Floats


class Law(NamedTuple):
    """A boundary as numbers: stop when y E[S_n] >= theta + cushion, with cushion = slope sqrt(shift + Q_k) - offset.

    E[S_n] is the full margin as expected after k features, Q_k what ``grows_with`` names. A factor c above 1
    widens the cushion to cushion + (c - 1) |cushion|.
    """

    theta: float
    centred: int  # 1 when unread features count with their class means, 0 when they count as zero
    slope: float
    shift: float
    offset: float
    grows_with: int


class Settings(NamedTuple):
    """What does not change while a learner learns."""

    rule: int
    order: int
    strength: float  # lambda of Pegasos, C of Passive-Aggressive, the rate of exponentiated gradients
    delay: float  # what is added to the number of a step in the schedule of Pegasos
    radius: float  # the sum of the magnitudes of exponentiated weights
    law: Law
    delta: float
    limit: int  # how many features are read of any example at the most: the budget, or all
    attentive: int  # 1 when examples may be filtered
    walks: int  # 1 when the boundary may stop a walk
    always: int  # 1 when every example is walked over, 0 when only where that pays
    regress: int  # 1 when it is also measured how partial margins predict full ones
    intercept: int
    average: int
    project: int
    audit: float
    fair: int  # 1 when examples are chosen to teach the moments, 0 when all that is read does
    teach: float  # the share that is chosen
    warm_up: float  # at step t a share warm_up / t is chosen besides
    seed: int

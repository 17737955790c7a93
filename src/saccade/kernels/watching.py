"""What a watch does for every row and for every audited row: coins, counts, and the weight of the evidence."""

import numpy as np

from saccade.kernels.compiling import internal, kernel
from saccade.kernels.randomness import WATCH, stream_key, uniform_of

# Beyond this a detector is long past any threshold: it stays finite.
LARGEST = 1e200


@kernel
def toss(seed, first, share, n_rows, chosen):
    """List the rows whose coin falls; ``first`` is the number of the first row among all rows. Return how many."""
    key, count = stream_key(seed, WATCH), 0
    for i in range(n_rows):
        if uniform_of(key, first + i) < share:
            chosen[count] = i
            count += 1
    return count


@internal
def count_one(test, wrong, gain, loss, weight, rows, errors, recent):
    """Add a row to a test: M <- (M + weight) LR for each alternative (Shiryaev and Roberts)."""
    rows[test] += 1
    errors[test] += wrong
    for j in range(weight.shape[0]):
        ratio = gain[test, j] if wrong else loss[test, j]
        recent[test, j] = min((recent[test, j] + weight[j]) * ratio, LARGEST)


@kernel
def count_rows(early, full, gain, loss, weight, rows, errors, recent):
    """Add audited rows, by the codes of their labels, to the test of all rows and to those of their classes.

    Test 0 is of all rows, 1 + 2c of those that the full model labels c, 2 + 2c of those labelled c early.
    """
    for i in range(early.shape[0]):
        wrong = early[i] != full[i]
        count_one(0, wrong, gain, loss, weight, rows, errors, recent)
        if rows.shape[0] > 1:
            count_one(1 + 2 * full[i], wrong, gain, loss, weight, rows, errors, recent)
            count_one(2 + 2 * early[i], wrong, gain, loss, weight, rows, errors, recent)


@kernel
def log_mixture(rows, errors, rate, ratio, weight):
    """Return log sum_j weight_j ratio_j^errors / (1 + (ratio_j - 1) rate)^rows."""
    highest = -np.inf
    for j in range(ratio.shape[0]):
        highest = max(highest, errors * np.log(ratio[j]) - rows * np.log1p((ratio[j] - 1.0) * rate))
    total = 0.0
    for j in range(ratio.shape[0]):
        total += weight[j] * np.exp(errors * np.log(ratio[j]) - rows * np.log1p((ratio[j] - 1.0) * rate) - highest)
    return highest + np.log(total)

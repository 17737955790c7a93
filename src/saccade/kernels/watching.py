"""What a watch does for every row and for every audited row: coins, counts, and the weight of the evidence."""

import numpy as np

from saccade.kernels.compiling import inlined, kernel
from saccade.kernels.hashing import WATCH, stream_key, uniform_of

# Beyond this a detector is long past any threshold: it stays finite.
LARGEST = 1e200
# Nobody will see so many rows.
LONGEST_GAP = 1e15


@inlined
def gap(key, counter, scale):
    """Return how many rows are passed over: floor(log(1 - u) / log(1 - share))."""
    return np.int64(min(np.log(1.0 - uniform_of(key, counter)) / scale, LONGEST_GAP))


@kernel
def toss(seed, share, first, n_rows, place, tossed, chosen):
    """List the rows whose coin falls, which is one row in 1 / share; ``first`` is the number of the first row.

    Coins that fall do so after geometric gaps, so a gap is drawn rather than a coin: that takes time for the chosen
    rows alone. ``place`` is the number of the next such row, once ``tossed`` gaps were drawn. Return how many rows are
    chosen, and both as they stand after these rows.
    """
    if share <= 0.0:
        return 0, place, tossed
    key, count, scale = stream_key(seed, WATCH), 0, np.log1p(-share)
    if tossed == 0:
        place, tossed = gap(key, 0, scale), 1
    place = max(place, first)  # from JSON it may be any number
    while place < first + n_rows:
        chosen[count] = place - first
        count += 1
        place, tossed = place + 1 + gap(key, tossed, scale), tossed + 1
    return count, place, tossed


@inlined
def count_one(test, wrong, gain, loss, weight, rows, errors, recent):
    """Add a row to a test: M <- (M + weight) LR for each alternative (Shiryaev and Roberts)."""
    rows[test] += 1
    errors[test] += wrong
    for j in range(weight.shape[0]):
        ratio = gain[test, j] if wrong else loss[test, j]
        recent[test, j] = min((recent[test, j] + weight[j]) * ratio, LARGEST)


@inlined
def count_row(early, full, gain, loss, weight, rows, errors, recent):
    """Add an audited row, by the codes of its labels, to the test of all rows and to those of its classes.

    Test 0 is of all rows, 1 + 2c of those that the full model labels c, 2 + 2c of those labelled c early. Return
    whether it is an error.
    """
    wrong = early != full
    count_one(0, wrong, gain, loss, weight, rows, errors, recent)
    if rows.shape[0] > 1:
        count_one(1 + 2 * full, wrong, gain, loss, weight, rows, errors, recent)
        count_one(2 + 2 * early, wrong, gain, loss, weight, rows, errors, recent)
    return wrong


@kernel
def count_rows(early, full, gain, loss, weight, rows, errors, recent):
    """Add audited rows; return how many are errors."""
    n_wrong = 0
    for i in range(early.shape[0]):
        n_wrong += count_row(early[i], full[i], gain, loss, weight, rows, errors, recent)
    return n_wrong


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


@kernel
def any_beyond(tests, rows, errors, levels, recent, ratio, weight, most_evidence, most_detected):
    """Whether the evidence against the level of one of some tests, or its detector, is as large as that."""
    beyond = False
    for k in range(tests.shape[0]):
        test = tests[k]
        evidence, detected = log_mixture(rows[test], errors[test], levels[test], ratio, weight), 0.0
        for j in range(recent.shape[1]):
            detected += recent[test, j]
        beyond = beyond or evidence >= most_evidence or detected >= most_detected
    return beyond

"""Read CSR rows by their stored values: a full read is one pass, for all scores at once.

A plan's columns are looked up in the row's indices, which ascend; values that are not stored are zero.
"""

import math

import numpy as np

from saccade.kernels.checkpoints import all_finite, first_bad, is_clear, weighted_sum
from saccade.kernels.compiling import inlined, kernel

# To look a column up costs about so many times what the next stored value costs, for every halving of the row: the
# steps of a search wait for each other, and which way they go cannot be guessed. Roughly 24 ns in rows of 100 stored
# values, 60 in rows of 3,000, where a value costs 1.
HALVING = 4.0
# The share of a full read that may be spent on looking columns up, before the row is read in full instead.
MOST_SPENT = 0.25


@inlined
def place_of(indices, column):
    """Return where a row stores a column, or -1."""
    low, high = 0, indices.shape[0]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low < indices.shape[0] and indices[low] == column else -1


@inlined
def most_looked_up(stored):
    """Return how many columns may be looked up in a row that stores so many values: a matter of the row alone."""
    return MOST_SPENT * stored / (HALVING * np.log2(stored + 2.0))


@inlined
def sum_stored(data, indices, coef, intercept, reached):
    """Write the full margins of a row into ``reached``, four scores at a time.

    A value that is not finite may stand in a column without weight. Then the row is summed once more without those.
    """
    scores = reached.shape[0]
    whole = scores // 4 * 4
    for first in range(0, whole, 4):
        a, b, c, d = intercept[first], intercept[first + 1], intercept[first + 2], intercept[first + 3]
        for k in range(data.shape[0]):
            weights, value = coef[indices[k]], data[k]
            a += weights[first] * value
            b += weights[first + 1] * value
            c += weights[first + 2] * value
            d += weights[first + 3] * value
        reached[first], reached[first + 1], reached[first + 2], reached[first + 3] = a, b, c, d
    for score in range(whole, scores):
        total = intercept[score]
        for k in range(data.shape[0]):
            total += coef[indices[k], score] * data[k]
        reached[score] = total
    if not all_finite(reached):
        for score in range(scores):
            reached[score] = intercept[score]
            for k in range(data.shape[0]):
                if coef[indices[k], score] != 0.0:
                    reached[score] += coef[indices[k], score] * data[k]


@inlined
def walk(data, indices, plan, most, values, reached):
    """Look up to ``most`` columns up; return how many the row stores where the plan decides it by them, else -1."""
    position, found = 0, 0
    decided = False
    for k in range(plan.checkpoints.shape[0]):
        first, end, begin = plan.first[k], plan.checkpoints[k], plan.begins[k]
        if end > most or decided:
            break
        for p in range(position, end):
            place = place_of(indices, plan.order[p])
            values[p] = data[place] if place >= 0 else 0.0
            found += place >= 0
        position = end
        for c in range(reached.shape[0]):
            before = reached[c] if first > 0 else 0.0
            added = weighted_sum(values[first:end], plan.weights[c, begin : begin + end - first])
            reached[c] = before + plan.shift[c, k] + added
        decided = is_clear(reached, plan.lower[:, k], plan.upper[:, k])
    return found if decided else -1


@kernel
def read_stored(data, indices, indptr, rows, coef, intercept, margin):
    """Write the full margins of some rows; ``coef`` is (columns, scores).

    Return -1, or the first one whose margin is not finite.
    """
    for s in range(rows.shape[0]):
        start, stop = indptr[rows[s]], indptr[rows[s] + 1]
        sum_stored(data[start:stop], indices[start:stop], coef, intercept, margin[s])
    return first_bad(margin)


@kernel
def read_looked_up(data, indices, indptr, plan, coef, values, margin, n_read, stopped):
    """Read all rows, whose indices ascend, until the plan decides each, or in full where that is sooner done.

    A row that is not finite in full is walked to the plan's end, which may not ask for the value that is not.
    ``coef`` is the plan's, (columns, scores); ``values`` is room for what is looked up. Stored values that were read
    are counted. Return -1, or the first row whose margin is not finite.
    """
    bad = -1
    for i in range(indptr.shape[0] - 1):
        start, stop, reached = indptr[i], indptr[i + 1], margin[i]
        for most in (most_looked_up(stop - start), math.inf):
            found = walk(data[start:stop], indices[start:stop], plan, most, values, reached)
            stopped[i] = found >= 0
            n_read[i] = found if found >= 0 else stop - start
            if found < 0:
                sum_stored(data[start:stop], indices[start:stop], coef, plan.intercept, reached)
            if all_finite(reached):
                break
        if bad < 0 and not all_finite(reached):
            bad = i
    return bad


@kernel
def look_up(data, indices, indptr, column, rows, size, out):
    """Write a column's values for the first ``size`` of these rows into ``out``."""
    for s in range(size):
        start, stop = indptr[rows[s]], indptr[rows[s] + 1]
        place = place_of(indices[start:stop], column)
        out[s] = data[start + place] if place >= 0 else 0.0

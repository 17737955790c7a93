"""Read rows of a dense array by a plan, or in full, along whichever way its memory runs.

Every row has the same bits whatever rows are read with it. Rows that do not follow one another are prefetched: the
processor foresees where a run of values goes on, but not where the next one begins.
"""

import numpy as np

from saccade.kernels.checkpoints import all_finite, check, first_bad, gather, weighted_sum
from saccade.kernels.compiling import inlined, kernel, loop
from saccade.kernels.prefetching import prefetch, prefetch_far


@kernel
def read_blocks(X, plan, rows, values, total, places, margin, n_read, stopped):
    """Read all rows of an array in the room that is given.

    Return -1, or the first row whose margin is not finite.
    """
    block, bad = rows.shape[0], -1
    for start in range(0, X.shape[0], block):
        size = min(block, X.shape[0] - start)
        for s in range(size):
            rows[s] = start + s
        position = 0
        for k in range(plan.checkpoints.shape[0]):
            for p in range(position, plan.checkpoints[k]):
                gather(X[:, plan.order[p]], rows, size, values[p])
            position = plan.checkpoints[k]
            size = check(plan, k, size, rows, values, total, places, margin, n_read, stopped)
            if size == 0:
                break
        read_to_the_end(X, plan, size, rows, total, margin, n_read, stopped)
        for i in range(start, min(start + block, X.shape[0])):
            if bad < 0 and not all_finite(margin[i]):
                bad = i
    return bad


# So many rows at a time are summed by columns, so that their sums stay in the nearest cache.
TILE = 256
# Of scattered rows fewer, each value of which is a cache line of its own, asked for so many columns ahead.
SCATTERED, COLUMNS_AHEAD = 64, 16
# A row is asked for so many rows ahead, up to so many cache lines: by then its run of values is foreseen.
ROWS_AHEAD, LINES, LINE = 4, 64, 64


@loop
def four_weighted_sums(values, first, second, third, fourth):
    """Return four sums over the same values, each of which is fetched once."""
    a = b = c = d = 0.0
    for k in range(values.shape[0]):
        value = values[k]
        a += first[k] * value
        b += second[k] * value
        c += third[k] * value
        d += fourth[k] * value
    return a, b, c, d


@inlined
def sum_row(values, coef, intercept, reached):
    scores = coef.shape[0]
    whole = scores // 4 * 4
    for c in range(0, whole, 4):
        sums = four_weighted_sums(values, coef[c], coef[c + 1], coef[c + 2], coef[c + 3])
        reached[c], reached[c + 1] = intercept[c] + sums[0], intercept[c + 1] + sums[1]
        reached[c + 2], reached[c + 3] = intercept[c + 2] + sums[2], intercept[c + 3] + sums[3]
    for c in range(whole, scores):
        reached[c] = intercept[c] + weighted_sum(values, coef[c])


@kernel
def add_columns(total, size, w, a, b, c, d):
    """Add four columns one after another, so that sums are fetched and put back once."""
    for s in range(size):
        total[s] = (((total[s] + w[0] * a[s]) + w[1] * b[s]) + w[2] * c[s]) + w[3] * d[s]


@inlined
def sum_run_of_rows(X, start, size, plan, total, place):
    """Add rows that follow one another, column by column, to the totals from a place on."""
    whole = X.shape[1] // 4 * 4
    end = start + size
    for j in range(0, whole, 4):
        # A part of a column: the compiler is to see that it is contiguous where columns are.
        a, b, c, d = X[:, j][start:end], X[:, j + 1][start:end], X[:, j + 2][start:end], X[:, j + 3][start:end]
        for score in range(total.shape[0]):
            add_columns(total[score][place : place + size], size, plan.coef[score][j : j + 4], a, b, c, d)
    for j in range(whole, X.shape[1]):
        for score in range(total.shape[0]):
            for s in range(size):
                total[score, place + s] += plan.coef[score, j] * X[start + s, j]


@inlined
def sum_scattered_rows(X, rows, start, end, coef, total):
    """Add rows that lie apart to their totals, column by column."""
    for place in range(start, end, SCATTERED):
        stop = min(place + SCATTERED, end)
        for j in range(X.shape[1]):
            column, later = X[:, j], X[:, min(j + COLUMNS_AHEAD, X.shape[1] - 1)]
            for s in range(place, stop):
                prefetch_far(later, rows[s])
            for score in range(total.shape[0]):
                for s in range(place, stop):
                    total[score, s] += coef[score, j] * column[rows[s]]


@kernel
def read_to_the_end(X, plan, size, rows, total, margin, n_read, stopped):
    """Give the rows that are still undecided, which ascend, their full margins."""
    if abs(X.strides[1]) <= abs(X.strides[0]):
        for s in range(size):
            sum_row(X[rows[s]], plan.coef, plan.intercept, margin[rows[s]])
    else:
        for c in range(total.shape[0]):
            for s in range(size):
                total[c, s] = plan.intercept[c]
        for place in range(0, size, TILE):
            count = min(TILE, size - place)
            first, last = rows[place], rows[place + count - 1]
            if last - first == count - 1:
                sum_run_of_rows(X, np.int64(first), count, plan, total, place)
            else:
                sum_scattered_rows(X, rows, place, place + count, plan.coef, total)
        for s in range(size):
            for c in range(total.shape[0]):
                margin[rows[s], c] = total[c, s]
    for s in range(size):
        n_read[rows[s]], stopped[rows[s]] = X.shape[1], False


@inlined
def ask_for(X, row, next_row):
    """Ask for a row, and for one that is needed next: the first into the second cache, this one into the nearest."""
    values, step = X[row], max(LINE // max(abs(X.strides[1]), 1), 1)
    end = min(X.shape[1], LINES * step)
    for j in range(0, end, step):
        prefetch_far(values, j)
    for j in range(0, end, step):
        prefetch(X, next_row, j)


@kernel
def read_some(X, coef, intercept, rows, margin, n_read, stopped):
    """Read some rows, which ascend and lie apart, in full, with the bits of ``read_to_the_end``.

    Return -1, or the first one whose margin is not finite.
    """
    size = rows.shape[0]
    for s in range(size):
        n_read[s], stopped[s] = X.shape[1], False
    if abs(X.strides[1]) <= abs(X.strides[0]):
        for s in range(size):
            ask_for(X, rows[min(s + ROWS_AHEAD, size - 1)], rows[min(s + 1, size - 1)])
            sum_row(X[rows[s]], coef, intercept, margin[s])
    else:
        for s in range(size):
            for c in range(intercept.shape[0]):
                margin[s, c] = intercept[c]
        sum_scattered_rows(X, rows, 0, size, coef, margin.T)
    return first_bad(margin)

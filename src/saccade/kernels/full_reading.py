"""Full margins of rows of a dense array, along whichever way its memory runs.

Every row has the same bits whatever rows are read with it.
"""

import numpy as np

from saccade.kernels.compiling import inlined, kernel, loop
from saccade.kernels.reading import weighted_sum

# So many rows at a time are summed by columns, so that their sums stay in the nearest cache.
TILE = 256


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
def sum_scattered_rows(X, rows, size, plan, total, place):
    for j in range(X.shape[1]):
        column = X[:, j]
        for score in range(total.shape[0]):
            for s in range(size):
                total[score, place + s] += plan.coef[score, j] * column[rows[place + s]]


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
                sum_scattered_rows(X, rows, count, plan, total, place)
        for s in range(size):
            for c in range(total.shape[0]):
                margin[rows[s], c] = total[c, s]
    for s in range(size):
        n_read[rows[s]], stopped[rows[s]] = X.shape[1], False


@kernel
def sum_some(X, plan, rows, total, margin):
    """Write the full margins of some rows, which ascend, with the bits that ``read_to_the_end`` gives them."""
    if abs(X.strides[1]) <= abs(X.strides[0]):
        for s in range(rows.shape[0]):
            sum_row(X[rows[s]], plan.coef, plan.intercept, margin[s])
        return
    for c in range(total.shape[0]):
        for s in range(rows.shape[0]):
            total[c, s] = plan.intercept[c]
    sum_scattered_rows(X, rows, rows.shape[0], plan, total, 0)
    for s in range(rows.shape[0]):
        for c in range(total.shape[0]):
            margin[s, c] = total[c, s]

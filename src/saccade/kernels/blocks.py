"""Running a plan over a dense array: a block of rows at a time, feature after feature, undecided rows moved together.

So a column is read from top to bottom where columns are contiguous; and where rows are, many rows are waited for at
once.
"""

import math

from saccade.kernels.compiling import inlined, kernel, loop
from saccade.kernels.reading import weighted_sum


@loop
def add_weighted(total, values, weight, size):
    for s in range(size):
        total[s] += weight * values[s]


@inlined
def settle(plan, k, size, rows, total, kept, margin, n_read, stopped):
    """Write down the rows that checkpoint k decides; list where the others are in ``kept`` and return how many.

    Decided ones are listed from the back. No branch depends on the data, for it would be guessed wrongly half the time.
    """
    upper, lower, end = plan.upper[k], plan.lower[k], plan.checkpoints[k]
    left = 0
    for s in range(size):
        going_on = not (total[s] >= upper) and not (total[s] <= lower)
        kept[left] = s
        kept[size - 1 - (s - left)] = s if not going_on else kept[size - 1 - (s - left)]
        left += going_on
    for d in range(left, size):
        s = kept[d]
        i = rows[s]
        margin[i], n_read[i], stopped[i] = total[s], end, True
    return left


@inlined
def move_together(plan, k, left, rows, total, kept, values):
    """Move what is known of the undecided rows to the front; values that no later checkpoint weighs are left behind."""
    for s in range(left):
        rows[s], total[s] = rows[kept[s]], total[kept[s]]
    if k + 1 < plan.checkpoints.shape[0] and plan.first[k + 1] == 0:
        for p in range(plan.checkpoints[k]):
            column = values[p]
            for s in range(left):
                column[s] = column[kept[s]]


@inlined
def gather(column, rows, size, target):
    """Fetch one feature of the undecided rows."""
    for s in range(size):
        target[s] = column[rows[s]]


@inlined
def check(plan, k, run, size, rows, values, total, kept, margin, n_read, stopped):
    """Weigh what was read at checkpoint k, whose weights begin at run; return how many rows stay undecided."""
    first, end = plan.first[k], plan.checkpoints[k]
    for s in range(size):
        total[s] = plan.shift[k] + (total[s] if first > 0 else 0.0)
    for p in range(first, end):
        add_weighted(total, values[p], plan.weights[run + p - first], size)
    left = settle(plan, k, size, rows, total, kept, margin, n_read, stopped)
    if left < size:
        move_together(plan, k, left, rows, total, kept, values)
    return left


@kernel
def read_blocks(X, plan, rows, values, total, kept, margin, n_read, stopped):
    """Read all rows of an array in the room that is given.

    Return -1, or the first row whose margin is not finite.
    """
    block = rows.shape[0]
    for start in range(0, X.shape[0], block):
        size = min(block, X.shape[0] - start)
        for s in range(size):
            rows[s] = start + s
        position = 0
        run = 0
        for k in range(plan.checkpoints.shape[0]):
            for p in range(position, plan.checkpoints[k]):
                gather(X[:, plan.order[p]], rows, size, values[p])
            position = plan.checkpoints[k]
            size = check(plan, k, run, size, rows, values, total, kept, margin, n_read, stopped)
            run += position - plan.first[k]
            if size == 0:
                break
        read_to_the_end(X, plan, size, rows, total, margin, n_read, stopped)
        for i in range(start, min(start + block, X.shape[0])):
            if not math.isfinite(margin[i]):
                return i
    return -1


@kernel
def read_to_the_end(X, plan, size, rows, total, margin, n_read, stopped):
    """Give the rows that are still undecided their full margins, along whichever way the memory runs."""
    if abs(X.strides[1]) <= abs(X.strides[0]):
        for s in range(size):
            total[s] = plan.offset + weighted_sum(X[rows[s]], plan.coef)
    else:
        for s in range(size):
            total[s] = plan.offset
        for j in range(X.shape[1]):
            column, weight = X[:, j], plan.coef[j]
            for s in range(size):
                total[s] += weight * column[rows[s]]
    for s in range(size):
        i = rows[s]
        margin[i], n_read[i], stopped[i] = total[s], X.shape[1], False

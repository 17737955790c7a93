"""Running a plan over one row at a time: the reference for every reader is ``tests/reference.py``."""

import math

from saccade.kernels.compiling import inlined, kernel, loop


@loop
def weighted_sum(values, weights):
    total = 0.0
    for k in range(values.shape[0]):
        total += weights[k] * values[k]
    return total


@inlined
def read_row(x, i, plan, values, margin, n_read, stopped):
    """Read one row until the plan decides; a row that is never decided gets its full margin.

    ``values`` is room for the values read, so that a checkpoint that weighs them anew does not fetch them again.
    """
    reached = 0.0
    position = 0
    run = 0
    for k in range(plan.checkpoints.shape[0]):
        first, end = plan.first[k], plan.checkpoints[k]
        for p in range(position, end):
            values[p] = x[plan.order[p]]
        position = end
        if first == 0:
            reached = 0.0
        reached += plan.shift[k] + weighted_sum(values[first:end], plan.weights[run : run + end - first])
        run += end - first
        if reached >= plan.upper[k] or reached <= plan.lower[k]:
            margin[i], n_read[i], stopped[i] = reached, end, True
            return math.isfinite(reached)
    margin[i], n_read[i], stopped[i] = plan.offset + weighted_sum(x, plan.coef), plan.coef.shape[0], False
    return math.isfinite(margin[i])


@kernel
def read_sparse(data, indices, indptr, row, plan, values, margin, n_read, stopped):
    """Read all CSR rows, each spread over ``row``, an array of zeros, and taken up again."""
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            row[indices[k]] += data[k]
        finite = read_row(row, i, plan, values, margin, n_read, stopped)
        for k in range(indptr[i], indptr[i + 1]):
            row[indices[k]] = 0
        if not finite:
            return i
    return -1

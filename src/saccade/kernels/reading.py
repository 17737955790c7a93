"""Running a prediction plan over rows: the reference for every reader is ``tests/reference.py``."""

import math

from saccade.kernels.compiling import inlined, kernel, loop


@loop
def partial_sum(x, features, weights):
    """Return the weighted sum of the given features of a row."""
    total = 0.0
    for k in range(features.shape[0]):
        total += weights[k] * x[features[k]]
    return total


@loop
def full_sum(x, coef):
    total = 0.0
    for j in range(coef.shape[0]):
        total += coef[j] * x[j]
    return total


@inlined
def read_row(x, i, plan, margin, n_read, stopped):
    """Read one row until the plan decides; a row that is never decided gets its full margin."""
    reached = plan.offset
    position = 0
    for k in range(plan.checkpoints.shape[0]):
        end = plan.checkpoints[k]
        reached += partial_sum(x, plan.order[position:end], plan.weights[position:end])
        position = end
        if reached >= plan.upper[k] or reached <= plan.lower[k]:
            margin[i], n_read[i], stopped[i] = reached, end, True
            return math.isfinite(reached)
    margin[i], n_read[i], stopped[i] = plan.offset + full_sum(x, plan.coef), plan.coef.shape[0], False
    return math.isfinite(margin[i])


@kernel
def read_dense(X, plan, margin, n_read, stopped):
    """Read all rows of an array; return -1, or the first row whose margin is not finite."""
    for i in range(X.shape[0]):
        if not read_row(X[i], i, plan, margin, n_read, stopped):
            return i
    return -1


@kernel
def read_sparse(data, indices, indptr, row, plan, margin, n_read, stopped):
    """Read all CSR rows, each spread over ``row``, an array of zeros, and taken up again."""
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            row[indices[k]] += data[k]
        finite = read_row(row, i, plan, margin, n_read, stopped)
        for k in range(indptr[i], indptr[i + 1]):
            row[indices[k]] = 0
        if not finite:
            return i
    return -1

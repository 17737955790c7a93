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
def is_clear(scores, lower, upper):
    """Whether one score is far enough on either side, or the best of several leads the second best by what it must."""
    if scores.shape[0] == 1:
        clear = (scores[0] >= upper[0]) | (scores[0] <= lower[0])
    else:
        best, second, demanded = -math.inf, -math.inf, math.inf
        for c in range(scores.shape[0]):
            second = max(second, min(best, scores[c]))
            demanded = upper[c] if scores[c] > best else demanded
            best = max(best, scores[c])
        clear = best - second >= demanded
    return clear


@inlined
def read_row(x, i, plan, values, margin, n_read, stopped):
    """Read one row until the plan decides; a row that is never decided gets its full margins.

    ``values`` is room for the values read, so that a checkpoint that weighs them anew does not fetch them again.
    """
    reached = margin[i]
    position = 0
    for k in range(plan.checkpoints.shape[0]):
        first, end, begin = plan.first[k], plan.checkpoints[k], plan.begins[k]
        for p in range(position, end):
            values[p] = x[plan.order[p]]
        position = end
        for c in range(reached.shape[0]):
            before = reached[c] if first > 0 else 0.0
            added = weighted_sum(values[first:end], plan.weights[c, begin : begin + end - first])
            reached[c] = before + plan.shift[c, k] + added
        if is_clear(reached, plan.lower[:, k], plan.upper[:, k]):
            n_read[i], stopped[i] = end, True
            return all_finite(reached)
    for c in range(reached.shape[0]):
        reached[c] = plan.intercept[c] + weighted_sum(x, plan.coef[c])
    n_read[i], stopped[i] = x.shape[0], False
    return all_finite(reached)


@inlined
def all_finite(scores):
    finite = True
    for c in range(scores.shape[0]):
        finite = finite and math.isfinite(scores[c])
    return finite


@kernel
def read_sparse(data, indices, indptr, row, plan, values, margin, n_read, stopped):
    """Read all CSR rows, each scattered into ``row``, an array of zeros, whose touched entries are zeroed again.

    Return -1, or the first row whose margin is not finite.
    """
    bad = -1
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            row[indices[k]] += data[k]
        finite = read_row(row, i, plan, values, margin, n_read, stopped)
        for k in range(indptr[i], indptr[i + 1]):
            row[indices[k]] = 0
        if not finite and bad < 0:
            bad = i
    return bad

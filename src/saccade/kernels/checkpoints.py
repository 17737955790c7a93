"""Weigh what was read at a checkpoint, and decide rows. The reference for all readers is ``tests/reference.py``.

A block of rows is read feature after feature, and undecided rows are moved together: so a column is read from top to
bottom where columns are contiguous, and where rows are, many cache lines are waited for at once.
"""

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
def all_finite(scores):
    finite = True
    for c in range(scores.shape[0]):
        finite = finite and math.isfinite(scores[c])
    return finite


@kernel
def first_bad(margin):
    """Return the first row whose scores, (rows, scores), are not all finite, or -1."""
    bad = -1
    for i in range(margin.shape[0]):
        if bad < 0 and not all_finite(margin[i]):
            bad = i
    return bad


@loop
def add_weighted(total, values, weight, size):
    for s in range(size):
        total[s] += weight * values[s]


@kernel
def copy_some(values, begin, size, rows, place, target):
    """Copy the values, (parts, rows), of some rows, from the one at ``place`` on, out of a run that begins there."""
    while place < rows.shape[0] and rows[place] < begin + size:
        for p in range(target.shape[0]):
            target[p, place] = values[p, rows[place] - begin]
        place += 1


@kernel
def add_part(total, values, coef, part):
    """Add one part of some rows to all of their scores, (rows, scores)."""
    for s in range(values.shape[0]):
        for c in range(coef.shape[0]):
            total[s, c] += coef[c, part] * values[s]


@inlined
def settle(plan, k, size, rows, total, places, margin, n_read, stopped):
    """Write down the rows that checkpoint k decides; list the places of the others and return how many.

    Decided ones are listed from the back. No branch depends on the data, for it would be guessed wrongly half the time.
    """
    upper, lower, end = plan.upper[:, k], plan.lower[:, k], plan.checkpoints[k]
    left = 0
    for s in range(size):
        going_on = not is_clear(total[:, s], lower, upper)
        places[left] = s
        places[size - 1 - (s - left)] = s if not going_on else places[size - 1 - (s - left)]
        left += going_on
    for c in range(total.shape[0]):
        score = total[c]
        for d in range(left, size):
            margin[rows[places[d]], c] = score[places[d]]
    for d in range(left, size):
        i = rows[places[d]]
        n_read[i], stopped[i] = end, True
    return left


@inlined
def move_together(plan, k, left, rows, total, places, values):
    """Move what is known of the undecided rows to the front; values that no later checkpoint weighs are left behind."""
    for s in range(left):
        rows[s] = rows[places[s]]
    for c in range(total.shape[0]):
        score = total[c]
        for s in range(left):
            score[s] = score[places[s]]
    weighed_again = False
    for later in range(k + 1, plan.checkpoints.shape[0]):
        weighed_again = weighed_again or plan.first[later] == 0
    if weighed_again:
        for p in range(plan.checkpoints[k]):
            column = values[p]
            for s in range(left):
                column[s] = column[places[s]]


@inlined
def gather(column, rows, size, target):
    """Fetch one feature of the undecided rows."""
    for s in range(size):
        target[s] = column[rows[s]]


@inlined
def weigh(plan, k, size, values, total):
    """Weigh what was read at checkpoint k: its scores of every row of the block."""
    first, end, begin = plan.first[k], plan.checkpoints[k], plan.begins[k]
    for c in range(total.shape[0]):
        score, shift = total[c], plan.shift[c, k]
        for s in range(size):
            score[s] = shift + (score[s] if first > 0 else 0.0)
        for p in range(first, end):
            add_weighted(score, values[p], plan.weights[c, begin + p - first], size)


@inlined
def check(plan, k, size, rows, values, total, places, margin, n_read, stopped):
    """Weigh what was read at checkpoint k; return how many rows stay undecided."""
    weigh(plan, k, size, values, total)
    left = settle(plan, k, size, rows, total, places, margin, n_read, stopped)
    if left < size:
        move_together(plan, k, left, rows, total, places, values)
    return left


@inlined
def note(k, start, size, total, reached, label):
    """Write down what a checkpoint's thresholds are compared with, and the class that it would decide for."""
    for s in range(size):
        if total.shape[0] == 1:
            reached[start + s, k], label[start + s, k] = total[0, s], total[0, s] > 0
        else:
            best, second, leader = -math.inf, -math.inf, 0
            for c in range(total.shape[0]):
                second = max(second, min(best, total[c, s]))
                leader = c if total[c, s] > best else leader
                best = max(best, total[c, s])
            reached[start + s, k], label[start + s, k] = best - second, leader


@kernel
def follow_blocks(X, plan, rows, values, total, reached, label):
    """Read all rows of an array up to the last checkpoint, in the room that is given, whatever the thresholds."""
    block = rows.shape[0]
    for start in range(0, X.shape[0], block):
        size, position = min(block, X.shape[0] - start), 0
        for s in range(size):
            rows[s] = start + s
        for k in range(plan.checkpoints.shape[0]):
            for p in range(position, plan.checkpoints[k]):
                gather(X[:, plan.order[p]], rows, size, values[p])
            position = plan.checkpoints[k]
            weigh(plan, k, size, values, total)
            note(k, start, size, total, reached, label)


@kernel
def find_stops(reached, label, lower, upper, stop):
    """Find the first checkpoint that decides each row; their number where none does."""
    one_score = upper.shape[0] == 1
    for i in range(reached.shape[0]):
        k, clear = 0, False
        while k < reached.shape[1] and not clear:
            if one_score:
                clear = (reached[i, k] >= upper[0, k]) | (reached[i, k] <= lower[0, k])
            else:
                clear = reached[i, k] >= upper[label[i, k], k]
            k += not clear
        stop[i] = k

"""Running a plan over a dense array: a block of rows at a time, feature after feature, undecided rows moved together.

So a column is read from top to bottom where columns are contiguous; and where rows are, many rows are waited for at
once.
"""

from saccade.kernels.compiling import inlined, kernel, loop
from saccade.kernels.full_reading import read_to_the_end
from saccade.kernels.reading import all_finite, is_clear


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

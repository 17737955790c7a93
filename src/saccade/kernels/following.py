"""What the checkpoints of a plan say of rows of a dense array, and where rows would stop by some thresholds."""

import math

from saccade.kernels.blocks import gather, weigh
from saccade.kernels.compiling import inlined, kernel


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

"""Random walks whose steps are given as standard normal draws, one walk a row."""

import math

from saccade.kernels.compiling import kernel


@kernel
def count_crossings(draws, persistence, path, pull, ends, thresholds):
    """Return how many of the walks that are bent to the given ends reach a threshold before their last step.

    A step is persistence times the one before it plus fresh noise, of variance 1 in all. The free walk in ``path`` ends
    where it likes; adding ``pull[i]`` times the distance to the wanted end makes it a draw from the law of walks that
    end there (Matheron's rule for conditioning normal variables).
    """
    fresh = math.sqrt(1.0 - persistence * persistence)
    crossed = 0
    n = draws.shape[1]
    for row in range(draws.shape[0]):
        step = draws[row, 0]
        total = step
        path[0] = total
        for i in range(1, n):
            step = persistence * step + fresh * draws[row, i]
            total += step
            path[i] = total
        distance = ends[row] - total
        for i in range(n - 1):
            if path[i] + pull[i] * distance >= thresholds[i]:
                crossed += 1
                break
    return crossed


@kernel
def go_on(draws, persistence, drift, first, walking, total, noise, thresholds, stopped_after):
    """Take the walks that still go on a few steps further; return how many of them are left, moved to the front.

    ``first`` is the number of steps taken before; a walk that stops leaves its number of steps in ``stopped_after``.
    """
    fresh = math.sqrt(1.0 - persistence * persistence)
    left = 0
    for row in range(draws.shape[0]):
        walk = walking[row]
        where, last = total[walk], noise[walk]
        stopped = False
        for i in range(draws.shape[1]):
            alone = first == 0 and i == 0
            last = draws[row, i] if alone else persistence * last + fresh * draws[row, i]
            where += drift + last
            if where >= thresholds[first + i]:
                stopped_after[walk] = first + i + 1
                stopped = True
                break
        if not stopped:
            total[walk], noise[walk] = where, last
            walking[left] = walk
            left += 1
    return left

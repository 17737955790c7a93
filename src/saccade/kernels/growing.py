"""Putting trees into the order in which they are walked."""

from saccade.kernels.compiling import kernel


@kernel
def number_siblings(left, right, starts, sizes, to, where):
    """Number each tree's nodes level by level, so that siblings are side by side.

    ``to`` gets the new place of each node, ``where`` the node at each place.
    Return whether these are trees: every node but the first has one parent.
    """
    for t in range(starts.shape[0]):
        start, size = starts[t], sizes[t]
        if size == 0:
            return False
        to[start], where[start] = start, start
        begin, end = 0, 1
        while begin < end:
            added = end
            for place in range(start + begin, start + end):
                first, second = left[where[place]], right[where[place]]
                if first < 0:
                    continue
                inside = first < size and 0 <= second < size and first != second
                if not inside or to[start + first] >= 0 or to[start + second] >= 0:
                    return False
                to[start + first], to[start + second] = start + added, start + added + 1
                where[start + added], where[start + added + 1] = start + first, start + second
                added += 2
            begin, end = end, added
        if end != size:
            return False
    return True

"""Number nodes, average over leaves, price paths, and make margins as libraries do."""

import numpy as np

from saccade.kernels.compiling import inlined, kernel


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


@kernel
def count_up(left, rows):
    """Add up the rows of leaves in the nodes above them; children stand behind their parents."""
    for node in range(left.shape[0] - 1, -1, -1):
        if left[node] != node:
            rows[node] = rows[left[node]] + rows[left[node] + 1]


@kernel
def asks_for(nodes, begin, end, column):
    asking = 0
    for node in range(begin, end):
        asking += nodes.left[node] != node and nodes.column[node] == column
    return asking > 0


@kernel
def add_expected(nodes, value, rows, n_trees, column, points, room, total):
    """Add what the first trees give of rows that have each of some values in a column, to ``total``, (points,).

    Nodes that ask for other columns are passed by shares of ``rows``. Trees that do not ask for the column would add
    the same to all points, and are left out. ``room`` is (nodes of the largest tree, points).
    """
    for tree in range(n_trees):
        begin = nodes.root[tree]
        end = nodes.root[tree + 1] if tree + 1 < nodes.root.shape[0] else nodes.left.shape[0]
        if not asks_for(nodes, begin, end, column):
            continue
        for node in range(end - 1, begin - 1, -1):
            left, here = nodes.left[node] - begin, node - begin
            share = rows[nodes.left[node]] / rows[node]
            for k in range(points.shape[0]):
                if left == here:
                    room[here, k] = value[node]
                elif nodes.column[node] != column:
                    room[here, k] = share * room[left, k] + (1 - share) * room[left + 1, k]
                elif points[k] <= nodes.threshold[node] or (points[k] != points[k] and nodes.missing_left[node]):
                    room[here, k] = room[left, k]
                else:
                    room[here, k] = room[left + 1, k]
        for k in range(points.shape[0]):
            total[k] += room[0, k]


ZERO, ONE = np.uint64(0), np.uint64(1)


@inlined
def price_of(purchases, first, price):
    """Return the price of the purchases in one word, which are numbered from ``first`` on."""
    total, k = 0.0, first
    while purchases != ZERO:
        if purchases & ONE != ZERO:
            total += price[k]
        purchases = purchases >> ONE
        k += 1
    return total


@kernel
def expected_prices(leaf, needs, price, expected):
    """Add up what each tree costs rows that have bought nothing, on average; ``leaf`` is (rows, trees)."""
    rows, trees = leaf.shape
    for row in range(rows):
        for tree in range(trees):
            for word in range(needs.shape[1]):
                expected[tree] += price_of(needs[leaf[row, tree], word], 64 * word, price) / rows


@kernel
def buy(tree, leaf, needs, price, bought, expected):
    """Let every row buy what its path through a tree needs, and take that off what other trees are expected to cost.

    A row buys a column once, so that all calls together cost no more than one comparison for each row, column and tree.
    """
    rows, trees = leaf.shape
    for row in range(rows):
        for word in range(needs.shape[1]):
            new = needs[leaf[row, tree], word] & ~bought[row, word]
            if new != ZERO:
                bought[row, word] |= new
                for other in range(trees):
                    expected[other] -= price_of(needs[leaf[row, other], word] & new, 64 * word, price) / rows


@kernel
def add_asked(leaf, needs, trees, counts, asked):
    """Add what each row asks for on its paths through the first so many trees of an order; all as bits."""
    for row in range(leaf.shape[0]):
        for k in range(counts[row]):
            for word in range(asked.shape[1]):
                asked[row, word] |= needs[leaf[row, trees[k]], word]


@kernel
def prices_at(leaf, needs, price, trees, sizes, bought, paid):
    """Write what each row has paid after so many trees of an order; ``bought`` is room for one row's purchases."""
    for row in range(leaf.shape[0]):
        position, total = 0, 0.0
        for word in range(bought.shape[0]):
            bought[word] = ZERO
        for k in range(sizes.shape[0]):
            for p in range(position, sizes[k]):
                for word in range(bought.shape[0]):
                    needed = needs[leaf[row, trees[p]], word]
                    total += price_of(needed & ~bought[word], 64 * word, price)
                    bought[word] |= needed
            position = sizes[k]
            paid[row, k] = total


SMALLEST = float(np.nextafter(0.0, 1.0))


@kernel
def keep_labels(margin, second_from):
    """Let the sign of margins, (rows, 1), say what the library does, which labels those from ``second_from`` second.

    The two differ next to zero alone, by what rounds to a probability of a half. In one call: few rows take less time
    than a dozen of NumPy's.
    """
    for i in range(margin.shape[0]):
        if second_from <= margin[i, 0] <= 0.0:
            margin[i, 0] = SMALLEST
        elif 0.0 < margin[i, 0] < second_from:
            margin[i, 0] = 0.0

"""What the columns on rows' paths cost: sets of purchases as bits."""

import numpy as np

from saccade.kernels.compiling import inlined, kernel

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

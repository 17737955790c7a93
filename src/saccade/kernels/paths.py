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
def expected_prices(leaf, needs, price, bought, expected):
    """Write what each tree is expected to cost rows that have bought some columns already; ``leaf`` is (trees, rows)."""
    trees, rows = leaf.shape
    for tree in range(trees):
        total = 0.0
        for row in range(rows):
            for word in range(needs.shape[1]):
                new = needs[leaf[tree, row], word] & ~bought[row, word]
                total += price_of(new, 64 * word, price)
        expected[tree] = total / rows


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

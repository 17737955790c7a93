"""Which leaf does each row come to? Two ways, and what is looked up there.

**Scanning**, for trees of at most 64 leaves and many rows: every row has a bit for each leaf, in order from left to
right, and each node of the tree in turn, whether it lies on the row's path or not, clears the bits of its left subtree
where the row goes right. The lowest bit that is left is the row's leaf (QuickScorer, Lucchese et al. 2015). Nodes ask
in the order of the arrays, not of the tree: nothing is guessed or fetched by address, and one comparison serves as many
rows as a vector holds.

**Walking**, for deep trees, for few rows, and where a tree's columns are not worth fetching: from node to node.
"""

import numpy as np

from saccade.kernels.compiling import inlined, kernel
from saccade.kernels.reading import is_clear, weighted_sum

# A number times this has, in its highest five bits, another pattern for each power of two (a de Bruijn sequence).
SEQUENCE_32, SHIFT_32 = np.uint32(0x077CB531), np.uint32(27)
SEQUENCE_64, SHIFT_64 = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
# Categories are whole numbers below this.
MOST_CATEGORIES = 2.0**31


@kernel
def is_member(value, first, count, words, single, least):
    """Whether a value is one of the categories of a set."""
    seen = np.float64(np.float32(value)) if single else np.float64(value)
    category = int(seen) if least < seen < MOST_CATEGORIES else -1
    inside = 0 <= category < 32 * count
    word = words[first + (category // 32 if inside else 0)]
    return inside and (word >> np.uint32(category % 32 if inside else 0)) & np.uint32(1) == 1


@kernel
def goes_right(value, node, nodes, threshold, rules):
    if rules.categories and nodes.first_word[node] >= 0 and value == value:
        return not is_member(value, nodes.first_word[node], nodes.n_words[node], nodes.words, rules.single, rules.least)
    return (value > threshold[node]) | ((value != value) & (not nodes.missing_left[node]))


@kernel
def walk_tree(nodes, threshold, column, rules, tree, X, rows, size, leaf):
    """Write the leaf of each row; ``column`` says where in X a node's column is.

    Four rows at a time: while one of them waits for its value, the others go on. Who has arrived stays where he is.
    """
    root, left = nodes.root[tree], nodes.left
    for s in range(0, size - 3, 4):
        a, b, c, d = root, root, root, root
        of_a, of_b, of_c, of_d = X[rows[s]], X[rows[s + 1]], X[rows[s + 2]], X[rows[s + 3]]
        while (left[a] != a) | (left[b] != b) | (left[c] != c) | (left[d] != d):
            a = left[a] + goes_right(of_a[column[a]], a, nodes, threshold, rules)
            b = left[b] + goes_right(of_b[column[b]], b, nodes, threshold, rules)
            c = left[c] + goes_right(of_c[column[c]], c, nodes, threshold, rules)
            d = left[d] + goes_right(of_d[column[d]], d, nodes, threshold, rules)
        leaf[s], leaf[s + 1], leaf[s + 2], leaf[s + 3] = a, b, c, d
    for s in range(size - size % 4, size):
        leaf[s] = walk_row(nodes, threshold, column, rules, tree, X[rows[s]])


@kernel
def walk_row(nodes, threshold, column, rules, tree, x):
    """Return the leaf of one row."""
    node = nodes.root[tree]
    while nodes.left[node] != node:
        node = nodes.left[node] + goes_right(x[column[node]], node, nodes, threshold, rules)
    return node


@kernel
def clear_where_above(bits, x, threshold, keep, every, size):
    """Clear the left subtree of rows that go right; NaN goes left."""
    for s in range(size):
        bits[s] &= keep if x[s] > threshold else every


@kernel
def clear_unless_below(bits, x, threshold, keep, every, size):
    """Clear the left subtree of rows that go right; NaN does, too."""
    for s in range(size):
        bits[s] &= every if x[s] <= threshold else keep


@kernel
def clear_unless_member(bits, x, node, nodes, threshold, rules, keep, every, size):
    for s in range(size):
        bits[s] &= keep if goes_right(x[s], node, nodes, threshold, rules) else every


@kernel
def scan_tree(scan, nodes, threshold, rules, tree, columns, size, bits, leaf):
    """Write the leaf of each row, as its place in the tables of a scan; ``columns`` is (slots, rows)."""
    every = scan.every[0]
    for s in range(size):
        bits[s] = every
    for k in range(scan.first[tree], scan.first[tree + 1]):
        node, keep = scan.node[k], scan.keep[k]
        x = columns[scan.slot[k]]
        if nodes.first_word[node] >= 0:
            clear_unless_member(bits, x, node, nodes, threshold, rules, keep, every, size)
        elif nodes.missing_left[node]:
            clear_where_above(bits, x, threshold[node], keep, every, size)
        else:
            clear_unless_below(bits, x, threshold[node], keep, every, size)
    name_leaves(bits, scan.sequence[0], scan.shift[0], tree * scan.width, leaf, size)


@kernel
def name_leaves(bits, sequence, shift, first, leaf, size):
    zero = bits.dtype.type(0)
    for s in range(size):
        lowest = bits[s] & (zero - bits[s])
        leaf[s] = first + np.int64(bits.dtype.type(lowest * sequence) >> shift)


@kernel
def look_up(table, leaf, output, size, out, at):
    for s in range(size):
        out[at + s] = table[leaf[s], output]


@kernel
def add_up(table, leaf, size, score, total):
    """Add the leaves' outputs to the sums: a single one to one sum, or each to its own."""
    outputs = table.shape[1]
    for output in range(outputs):
        sums = total[score if outputs == 1 else output]
        for s in range(size):
            sums[s] += table[leaf[s], output]


@kernel
def fill_by_scan(scan, nodes, threshold, rules, table, parts, columns, size, bits, leaf, values, at):
    """Write the values of some parts, (parts, rows), from row ``at`` on; parts of one tree share its scan."""
    outputs, before = table.shape[1], -1
    for p in range(parts.shape[0]):
        tree = parts[p] // outputs
        if tree != before:
            scan_tree(scan, nodes, threshold, rules, tree, columns, size, bits, leaf)
            before = tree
        look_up(table, leaf, parts[p] % outputs, size, values[p], at)


@kernel
def fill_by_walk(nodes, threshold, column, rules, table, parts, X, rows, size, leaf, values, at):
    """Write the values of some parts, (parts, rows), from row ``at`` on; parts of one tree share its walk."""
    outputs, before = table.shape[1], -1
    for p in range(parts.shape[0]):
        tree = parts[p] // outputs
        if tree != before:
            walk_tree(nodes, threshold, column, rules, tree, X, rows, size, leaf)
            before = tree
        look_up(table, leaf, parts[p] % outputs, size, values[p], at)


@kernel
def sum_by_scan(scan, nodes, threshold, rules, table, score, columns, size, bits, leaf, total):
    """Add up all trees in the library's order, in the precision of ``total``, (sums, rows)."""
    for tree in range(score.shape[0]):
        scan_tree(scan, nodes, threshold, rules, tree, columns, size, bits, leaf)
        add_up(table, leaf, size, score[tree], total)


@kernel
def sum_by_walk(nodes, threshold, column, rules, table, score, X, rows, size, leaf, total):
    """Add up all trees in the library's order, in the precision of ``total``, (sums, rows)."""
    for tree in range(score.shape[0]):
        walk_tree(nodes, threshold, column, rules, tree, X, rows, size, leaf)
        add_up(table, leaf, size, score[tree], total)


@kernel
def read_tree_row(nodes, threshold, rules, table, x, plan, values, margin, n_read, stopped):
    """Read one row until the plan decides, and return whether it did: ``kernels.reading.read_row``, for trees."""
    outputs, reached = table.shape[1], margin[0]
    position, before, leaf = 0, -1, 0
    for k in range(plan.checkpoints.shape[0]):
        first, end, begin = plan.first[k], plan.checkpoints[k], plan.begins[k]
        for p in range(position, end):
            tree = plan.order[p] // outputs
            if tree != before:
                leaf = walk_row(nodes, threshold, nodes.column, rules, tree, x)
                before = tree
            values[p] = table[leaf, plan.order[p] % outputs]
        position = end
        for c in range(reached.shape[0]):
            added = weighted_sum(values[first:end], plan.weights[c, begin : begin + end - first])
            reached[c] = (reached[c] if first > 0 else 0.0) + plan.shift[c, k] + added
        if is_clear(reached, plan.lower[:, k], plan.upper[:, k]):
            n_read[0], stopped[0] = end, True
            return True
    return False


@kernel
def number_leaves(nodes, first, node_at, keep_at, slot_at, slot, leaf_at, width, sequence, shift, stack, begins, one):
    """Write down, tree by tree, what a scan goes by: nodes, the bits that each keeps, and where its leaves stand.

    A node's left subtree holds the leaves from ``begins[node]`` to that of its right child.
    """
    used = 0
    for tree in range(nodes.root.shape[0]):
        first[tree] = used
        depth, leaves = 1, 0
        stack[0] = nodes.root[tree]
        while depth > 0:
            depth -= 1
            node = stack[depth]
            begins[node] = leaves
            if nodes.left[node] == node:
                place = keep_at.dtype.type((one << keep_at.dtype.type(leaves)) * sequence) >> shift
                leaf_at[tree * width + np.int64(place)] = node
                leaves += 1
            else:
                stack[depth], stack[depth + 1] = nodes.left[node] + 1, nodes.left[node]
                depth += 2
                node_at[used], slot_at[used] = node, slot[nodes.column[node]]
                used += 1
        for k in range(first[tree], used):
            begin, end = begins[node_at[k]], begins[nodes.left[node_at[k]] + 1]
            below_end = keep_at.dtype.type((one << keep_at.dtype.type(end)) - one)
            below_begin = keep_at.dtype.type((one << keep_at.dtype.type(begin)) - one)
            keep_at[k] = ~(below_end & ~below_begin)
    first[nodes.root.shape[0]] = used
    return used

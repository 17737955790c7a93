"""Which leaf does each row come to? By scanning all nodes of a tree: for at most 64 leaves and many rows.

Every row has a bit for each leaf, in order from left to right, and each node of the tree in turn, whether it lies on
the row's path or not, clears the bits of its left subtree where the row goes right. The lowest bit that is left is the
row's leaf (QuickScorer, Lucchese et al. 2015). Nodes ask in the order of the arrays, not of the tree: nothing is
guessed or fetched by address, and one comparison serves as many rows as a vector holds.
"""

import numpy as np

from saccade.kernels.compiling import inlined, kernel
from saccade.kernels.tree_walks import add_up, goes_right

# A number times this has, in its highest five bits, another pattern for each power of two (a de Bruijn sequence).
SEQUENCE_32, SHIFT_32 = np.uint32(0x077CB531), np.uint32(27)
SEQUENCE_64, SHIFT_64 = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
ZERO, ONE = np.uint64(0), np.uint64(1)


@inlined
def clear_where_above(bits, x, threshold, keep, every, size):
    """Clear the left subtree of rows that go right; NaN goes left."""
    for s in range(size):
        bits[s] &= keep if x[s] > threshold else every


@inlined
def clear_unless_below(bits, x, threshold, keep, every, size):
    """Clear the left subtree of rows that go right; NaN does, too."""
    for s in range(size):
        bits[s] &= every if x[s] <= threshold else keep


@kernel
def clear_unless_among_64(bits, x, members, missing_left, single, least, keep, every, size):
    """Clear the left subtree of rows whose category is none of ``members``, 64 bits: without a branch or a look-up."""
    for s in range(size):
        value = np.float64(np.float32(x[s])) if single else np.float64(x[s])
        inside = (value > least) & (value < 64.0)
        category = np.uint64(max(value, 0.0) if inside else 0.0)
        goes_left = (inside & ((members >> category) & ONE == ONE)) | ((x[s] != x[s]) & missing_left)
        bits[s] &= every if goes_left else keep


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
        if nodes.first_word[node] >= 0 and nodes.n_words[node] <= 2:
            members, first = ZERO, nodes.first_word[node]
            for word in range(nodes.n_words[node]):
                members |= np.uint64(nodes.words[first + word]) << np.uint64(32 * word)
            left = nodes.missing_left[node]
            clear_unless_among_64(bits, x, members, left, rules.single, rules.least, keep, every, size)
        elif nodes.first_word[node] >= 0:
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
def sum_by_scan(scan, nodes, threshold, rules, table, score, columns, size, bits, leaf, total):
    """Add up all trees in the library's order, in the precision of ``total``, (sums, rows)."""
    for tree in range(score.shape[0]):
        scan_tree(scan, nodes, threshold, rules, tree, columns, size, bits, leaf)
        add_up(table, leaf, size, score[tree], total)


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

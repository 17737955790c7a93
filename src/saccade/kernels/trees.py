"""Which leaf does each row come to? Two ways, and what is looked up there.

**Scanning**, for trees of at most 64 leaves and many rows: every row has a bit for each leaf, in order from left to
right, and each node of the tree in turn, whether it lies on the row's path or not, clears the bits of its left subtree
where the row goes right. The lowest bit that is left is the row's leaf (QuickScorer, Lucchese et al. 2015). Nodes ask
in the order of the arrays, not of the tree: nothing is guessed or fetched by address, and one comparison serves as many
rows as a vector holds.

**Walking**, for deep trees, for few rows, and where a tree's columns are not worth fetching: from node to node.
"""

import numpy as np

from saccade.kernels.blocks import check
from saccade.kernels.compiling import kernel

# A number times this has, in its highest five bits, another pattern for each power of two (a de Bruijn sequence).
SEQUENCE_32, SHIFT_32 = np.uint32(0x077CB531), np.uint32(27)
SEQUENCE_64, SHIFT_64 = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
ZERO, ONE = np.uint64(0), np.uint64(1)
# A tree of more nodes than this, on average, is large.
LARGE = 512
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
def descend(packed, X, place, count, steps, node):
    """Go down from ``count`` nodes, each with a row of its own, all by one step and then all by the next.

    ``place`` is where in X each row begins. While one walk waits for its value, the others go on. One that has arrived
    stays where it is. Places and nodes are unsigned, which spares the look whether they count from the end.
    """
    by_column = np.uint64(X.by_column)
    for _ in range(steps):
        moved = np.uint32(0)
        for j in range(count):
            here = packed[node[j]]
            value = X.values[place[j] + by_column * here.column]
            right = not ((value <= here.threshold) | ((value != value) & (here.missing_left != 0)))
            to = np.uint32(here.left + np.uint32(right))
            moved |= to ^ node[j]
            node[j] = to
        if moved == 0:
            break


@kernel
def descend_with_sets(packed, nodes, rules, X, place, count, steps, node):
    """Go down as ``descend`` does, where some nodes have sets of categories."""
    by_column = np.uint64(X.by_column)
    for _ in range(steps):
        moved = np.uint32(0)
        for j in range(count):
            here, at = packed[node[j]], node[j]
            value = X.values[place[j] + by_column * here.column]
            right = not ((value <= here.threshold) | ((value != value) & (here.missing_left != 0)))
            if nodes.first_word[at] >= 0 and value == value:
                inside = is_member(
                    value, nodes.first_word[at], nodes.n_words[at], nodes.words, rules.single, rules.least
                )
                right = not inside
            to = np.uint32(here.left + np.uint32(right))
            moved |= to ^ at
            node[j] = to
        if moved == 0:
            break


@kernel
def walk_group(packed, nodes, rules, outputs, parts, p, X, rows, size, place, node):
    """Walk some rows down the trees of as many parts, from the p-th on, as there is room for; return the next part.

    Parts of one tree follow each other and share its walk.
    """
    room, count, steps, before, q = node.shape[0] // size, 0, 0, -1, p
    while q < parts.shape[0]:
        tree = parts[q] // outputs
        if tree != before:
            if count == room:
                break
            for s in range(size):
                node[count * size + s], place[count * size + s] = nodes.root[tree], X.by_row * rows[s]
            steps, count, before = max(steps, nodes.depth[tree]), count + 1, tree
        q += 1
    if rules.categories:
        descend_with_sets(packed, nodes, rules, X, place, count * size, steps, node)
    else:
        descend(packed, X, place, count * size, steps, node)
    return q


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
def end_of_batch(nodes, parts, begin, outputs, several):
    """Return up to which part trees are brought to a group of rows before the next group is.

    All of them where they are small, because rows may be wide. Where there are ``several`` groups, a large tree is
    brought to all rows before the next tree: it stays in the nearer caches.
    """
    end = parts.shape[0]
    if several and nodes.left.shape[0] > LARGE * nodes.root.shape[0]:
        end = begin + 1
        while end < parts.shape[0] and parts[end] // outputs == parts[begin] // outputs:
            end += 1
    return end


@kernel
def fill_by_walk(packed, nodes, rules, table, parts, X, rows, size, place, node, values, at):
    """Write the values of some parts, (parts, rows), from row ``at`` on."""
    begin = 0
    while begin < parts.shape[0]:
        end = end_of_batch(nodes, parts, begin, table.shape[1], size > node.shape[0])
        fill_batch(packed, nodes, rules, table, parts[:end], begin, X, rows, size, place, node, values, at)
        begin = end


@kernel
def fill_batch(packed, nodes, rules, table, parts, begin, X, rows, size, place, node, values, at):
    outputs = table.shape[1]
    for b in range(0, size, node.shape[0]):
        m, p = min(node.shape[0], size - b), begin
        while p < parts.shape[0]:
            end = walk_group(packed, nodes, rules, outputs, parts, p, X, rows[b:], m, place, node)
            first, before = -m, -1
            for q in range(p, end):
                tree = parts[q] // outputs
                first, before = first + (m if tree != before else 0), tree
                for s in range(m):
                    values[q, at + b + s] = table[node[first + s], parts[q] % outputs]
            p = end


@kernel
def sum_by_walk(packed, nodes, rules, table, score, trees, X, rows, place, node, total):
    """Add up all ``trees`` in the library's order, in the precision of ``total``, (sums, rows)."""
    begin = 0
    while begin < trees.shape[0]:
        end = end_of_batch(nodes, trees, begin, 1, total.shape[1] > node.shape[0])
        sum_batch(packed, nodes, rules, table, score, trees[:end], begin, X, rows, place, node, total)
        begin = end


@kernel
def sum_batch(packed, nodes, rules, table, score, trees, begin, X, rows, place, node, total):
    outputs, size = table.shape[1], total.shape[1]
    for b in range(0, size, node.shape[0]):
        m, t = min(node.shape[0], size - b), begin
        while t < trees.shape[0]:
            end = walk_group(packed, nodes, rules, 1, trees, t, X, rows[b:], m, place, node)
            for tree in range(t, end):
                for output in range(outputs):
                    sums = total[score[tree] if outputs == 1 else output]
                    for s in range(m):
                        sums[b + s] += table[node[(tree - t) * m + s], output]
            t = end


@kernel
def walk_stages(packed, nodes, rules, table, X, plan, walked, fewest, k, size, room, place, node, written):
    """Read rows from checkpoint k on, while the next stage is to be walked or there are fewer rows than are scanned.

    Return how many rows stay undecided, and the next checkpoint.
    """
    while k < plan.checkpoints.shape[0] and size > 0 and (walked[k] or size < fewest):
        begin, end = plan.checkpoints[k - 1] if k > 0 else 0, plan.checkpoints[k]
        parts, values = plan.order[begin:end], room.values[begin:end]
        fill_by_walk(packed, nodes, rules, table, parts, X, room.rows, size, place, node, values, 0)
        size = check(plan, k, size, room.rows, room.values, room.total, room.places, written[0], written[1], written[2])
        k += 1
    return size, k


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

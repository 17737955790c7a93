"""Bring rows to the leaves of trees by walking from node to node: for deep trees, few rows, many columns.

Many walks go on at once, each of a row down a tree, so that while one waits for its value the others go on. Every few
steps those that have arrived leave, and the others move together: in deep trees most leaves are far above the
deepest.
"""

import numpy as np

from saccade.kernels.checkpoints import check
from saccade.kernels.compiling import inlined, kernel

# So many steps are made before arrived walks are looked for.
STEPS = 4
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


@inlined
def drop_arrived(packed, row, node, lane, leaf, count):
    """Write down where each walk is; move those that are not at a leaf to the front, and return how many there are."""
    left = 0
    for j in range(count):
        at, own = node[j], lane[j]
        leaf[own] = at
        row[left], node[left], lane[left] = row[j], at, own
        left += packed[at].skip != 0
    return left


@kernel
def descend_complete(packed, X, lanes, count):
    """Go down with ``count`` walks, each from its node by the values of its row, to the leaves.

    ``lanes`` has the row of each walk, the node that it has come to, which walk it is, and, by walk, the last node that
    it was seen at. No value is NaN. All are unsigned, which spares the look whether they count from the end. A leaf
    leads to itself.
    """
    row, node, lane, leaf = lanes[0], lanes[1], lanes[2], lanes[3]
    values, by_row, by_column = X.values, np.uint64(X.by_row), np.uint64(X.by_column)
    while count > 0:
        for _ in range(STEPS):
            for j in range(count):
                here, at = packed[node[j]], node[j]
                value = values[by_row * row[j] + by_column * np.uint64(here.column >> 1)]
                node[j] = np.uint32(at + here.skip + np.uint32(value > here.threshold))
        count = drop_arrived(packed, row, node, lane, leaf, count)


@kernel
def descend(packed, X, lanes, count):
    """Go down where values may be NaN."""
    row, node, lane, leaf = lanes[0], lanes[1], lanes[2], lanes[3]
    values, by_row, by_column = X.values, np.uint64(X.by_row), np.uint64(X.by_column)
    while count > 0:
        for _ in range(STEPS):
            for j in range(count):
                here, at = packed[node[j]], node[j]
                value = values[by_row * row[j] + by_column * np.uint64(here.column >> 1)]
                right = (value > here.threshold) | ((value != value) & (here.column & 1 == 1))
                node[j] = np.uint32(at + here.skip + np.uint32(right))
        count = drop_arrived(packed, row, node, lane, leaf, count)


@kernel
def descend_with_sets(packed, trees, rules, X, lanes, count):
    """Go down where values may be NaN, and some nodes have sets of categories."""
    row, node, lane, leaf = lanes[0], lanes[1], lanes[2], lanes[3]
    values, by_row, by_column = X.values, np.uint64(X.by_row), np.uint64(X.by_column)
    while count > 0:
        for _ in range(STEPS):
            for j in range(count):
                here, at = packed[node[j]], node[j]
                value = values[by_row * row[j] + by_column * np.uint64(here.column >> 1)]
                right = (value > here.threshold) | ((value != value) & (here.column & 1 == 1))
                if trees.first_word[at] >= 0 and value == value:
                    first, count_of = trees.first_word[at], trees.n_words[at]
                    right = not is_member(value, first, count_of, trees.words, rules.single, rules.least)
                node[j] = np.uint32(at + here.skip + np.uint32(right))
        count = drop_arrived(packed, row, node, lane, leaf, count)


@kernel
def walk_group(packed, trees, rules, outputs, parts, p, X, rows, size, lanes):
    """Walk some rows down the trees of as many parts, from the p-th on, as there is room for; return the next part.

    Parts of one tree follow each other and share its walk.
    """
    room, count, before, q = lanes.shape[1] // size, 0, -1, p
    while q < parts.shape[0]:
        tree = parts[q] // outputs
        if tree != before:
            if count == room:
                break
            first = count * size
            for s in range(size):
                lanes[0, first + s], lanes[1, first + s], lanes[2, first + s] = rows[s], trees.root[tree], first + s
            count, before = count + 1, tree
        q += 1
    if rules.categories:
        descend_with_sets(packed, trees, rules, X, lanes, count * size)
    elif X.complete:
        descend_complete(packed, X, lanes, count * size)
    else:
        descend(packed, X, lanes, count * size)
    return q


@kernel
def end_of_batch(trees, parts, begin, outputs, several):
    """Return up to which part trees are brought to a group of rows before the next group is.

    All of them where they are small, because rows may be wide. Where there are ``several`` groups, a large tree is
    brought to all rows before the next tree: it stays in the nearer caches.
    """
    end = parts.shape[0]
    if several and trees.large:
        end = begin + 1
        while end < parts.shape[0] and parts[end] // outputs == parts[begin] // outputs:
            end += 1
    return end


@kernel
def fill_by_walk(packed, trees, rules, table, parts, X, rows, size, lanes, values, at):
    """Write the values of some parts, (parts, rows), from row ``at`` on."""
    begin = 0
    while begin < parts.shape[0]:
        end = end_of_batch(trees, parts, begin, table.shape[1], size > lanes.shape[1])
        fill_batch(packed, trees, rules, table, parts[:end], begin, X, rows, size, lanes, values, at)
        begin = end


@kernel
def fill_batch(packed, trees, rules, table, parts, begin, X, rows, size, lanes, values, at):
    outputs = table.shape[1]
    for b in range(0, size, lanes.shape[1]):
        m, p = min(lanes.shape[1], size - b), begin
        while p < parts.shape[0]:
            end = walk_group(packed, trees, rules, outputs, parts, p, X, rows[b:], m, lanes)
            first, before = -m, -1
            for q in range(p, end):
                tree, output = parts[q] // outputs, parts[q] % outputs
                first, before = first + (m if tree != before else 0), tree
                leaf, target = lanes[3, first : first + m], values[q, at + b : at + b + m]
                for s in range(m):
                    target[s] = table[leaf[s], output]
            p = end


@kernel
def sum_by_walk(packed, trees, rules, table, score, numbers, X, rows, lanes, total):
    """Add up trees, by number in the library's order, in the precision of ``total``, (sums, rows)."""
    begin = 0
    while begin < numbers.shape[0]:
        end = end_of_batch(trees, numbers, begin, 1, total.shape[1] > lanes.shape[1])
        sum_batch(packed, trees, rules, table, score, numbers[:end], begin, X, rows, lanes, total)
        begin = end


@kernel
def sum_batch(packed, trees, rules, table, score, numbers, begin, X, rows, lanes, total):
    outputs, size = table.shape[1], total.shape[1]
    for b in range(0, size, lanes.shape[1]):
        m, t = min(lanes.shape[1], size - b), begin
        while t < numbers.shape[0]:
            end = walk_group(packed, trees, rules, 1, numbers, t, X, rows[b:], m, lanes)
            for k in range(t, end):
                leaf = lanes[3, (k - t) * m : (k - t + 1) * m]
                for output in range(outputs):
                    sums = total[score[numbers[k]] if outputs == 1 else output]
                    for s in range(m):
                        sums[b + s] += table[leaf[s], output]
            t = end


@kernel
def walk_stages(packed, trees, rules, table, X, plan, walked, fewest, k, size, room, lanes, written):
    """Read rows from checkpoint k on, while the next stage is to be walked or there are fewer rows than are scanned.

    Return how many rows stay undecided, and the next checkpoint.
    """
    while k < plan.checkpoints.shape[0] and size > 0 and (walked[k] or size < fewest):
        begin, end = plan.checkpoints[k - 1] if k > 0 else 0, plan.checkpoints[k]
        parts, values = plan.order[begin:end], room.values[begin:end]
        fill_by_walk(packed, trees, rules, table, parts, X, room.rows, size, lanes, values, 0)
        size = check(plan, k, size, room.rows, room.values, room.total, room.places, written[0], written[1], written[2])
        k += 1
    return size, k


@kernel
def add_up(table, leaf, size, score, total):
    """Add the leaves' outputs to the sums: a single one to one sum, or each to its own."""
    outputs = table.shape[1]
    for output in range(outputs):
        sums = total[score if outputs == 1 else output]
        for s in range(size):
            sums[s] += table[leaf[s], output]


@kernel
def walk_known(nodes, rules, x, known, trees, reached, passed):
    """Write where each of some trees brings a row: to a leaf, or to the first node whose column is not known.

    ``passed`` marks the columns of the nodes that were gone through.
    """
    for t in range(trees.shape[0]):
        node = nodes.root[trees[t]]
        while nodes.left[node] != node and known[nodes.column[node]]:
            column = nodes.column[node]
            passed[column] = True
            node = nodes.left[node] + goes_right(x[column], node, nodes, nodes.threshold, rules)
        reached[t] = node


@kernel
def sum_leaves(table, score, leaf, total):
    """Add up the leaves of one row in the library's order, in the precision of ``total``, (sums, 1)."""
    for tree in range(score.shape[0]):
        add_up(table, leaf[tree : tree + 1], 1, score[tree], total)

"""One row, of which some columns are known, on its ways through many trees."""

from saccade.kernels.compiling import kernel
from saccade.kernels.tree_scans import add_up
from saccade.kernels.tree_walks import goes_right


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

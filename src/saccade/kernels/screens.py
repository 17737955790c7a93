"""What trees give on average of rows of which one column is known."""

from saccade.kernels.compiling import kernel


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

"""Trees walked as slowly and as obviously as possible."""

import numpy as np


def leaf_of(ensemble, tree, x):
    """Return the leaf that a row of columns (codes for categories) comes to."""
    nodes = ensemble.nodes
    node = int(nodes.root[tree])
    while nodes.left[node] != node:
        column = int(nodes.column[node])
        value = float(x[column])
        if (
            ensemble.zero_is_missing is not None
            and ensemble.zero_is_missing[column]
            and abs(value) <= float(np.float32(1e-35))  # compared as doubles
        ):
            value = np.nan
        if np.isnan(value):
            goes_left = bool(nodes.missing_left[node])
        elif nodes.first_word[node] >= 0:
            with np.errstate(over="ignore"):
                goes_left = _is_member(ensemble, node, float(np.float32(value)) if ensemble.single else value)
        else:
            goes_left = value <= nodes.threshold[node]
        node = int(nodes.left[node]) + (0 if goes_left else 1)
    return node


def _is_member(ensemble, node, value):
    nodes = ensemble.nodes
    if not ensemble.least_category < value < 2**31:
        return False
    word, bit = divmod(int(value), 32)  # truncated
    if word >= nodes.n_words[node]:
        return False
    return bool(int(nodes.words[nodes.first_word[node] + word]) >> bit & 1)


def margins_of(ensemble, X):
    """Return the margins (rows, scores) of a full read, summed as the library sums them."""
    rule = ensemble.sum
    outputs = ensemble.nodes.value.shape[1]
    margins = np.empty((len(X), ensemble.n_scores))
    for i, x in enumerate(np.asarray(X)):
        total = rule.start.astype(rule.dtype).copy()
        for tree, score in enumerate(ensemble.score.tolist()):
            value = ensemble.nodes.value[leaf_of(ensemble, tree, x)].astype(rule.dtype)
            if outputs == 1:
                total[score] += value[0]
            else:
                total += value
        made = total.astype(np.float64) / rule.divisor * rule.scale + rule.bias
        margins[i] = made[1] - made[0] if made.size == 2 and ensemble.n_scores == 1 else made
    return margins

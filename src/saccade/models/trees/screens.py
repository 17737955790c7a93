"""Screens: what single columns tell of all trees together, as small trees that plans may read before the others.

A tree needs every column on a row's path, so that the cheapest one costs several of them, where a single column would
decide most rows. The screen of a column is what the trees give on average of rows of which this column alone is known:
at nodes that ask for it a row goes its way, and at others it is divided as rows are (the partial dependence of Friedman
2001, section 8.2). That is a step function, and so a tree that asks for one column. It counts in no score: a full read
passes it by, and a plan predicts the scores from it as from any other part.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.tree_building import add_expected, count_up
from saccade.models.trees.assembling import Tree, assemble
from saccade.models.trees.ensemble import NO_SCORE, Nodes
from saccade.models.trees.model import TreeModel

__all__ = ["screened"]

Reals = NDArray[np.float64]

# Each screen is one more part of every row that plans or calibrates: so many columns have one, those asked for most.
MOST_SCREENS = 256
# As many leaves as a scan of trees has in its smaller size.
MOST_LEAVES = 32
# What is averaged at nodes, for all columns and steps together, takes less than a second: of large forests the first
# trees tell enough.
MOST_AVERAGES = 3 * 10**8
# So many rows come to each leaf beside those that were seen there, so that no child is ruled out.
UNSEEN = 0.5


def screened(model: TreeModel, leaf: NDArray[np.int32]) -> TreeModel:
    """Return the model with screens, of which each needs one column of numbers, behind its own trees.

    ``leaf`` (rows, trees) is the node where each of some rows ends in each tree. Models of several scores, whose parts
    would have to be multiplied by them, and models that have screens stay as they are.
    """
    ensemble = model.ensemble
    if ensemble.n_scores > 1 or ensemble.n_counting < ensemble.score.size:
        return model
    screens = _screens(model, leaf)
    if not screens:
        return model
    nodes = _joined(ensemble.nodes, assemble(screens))
    score = np.concatenate([ensemble.score, np.full(len(screens), NO_SCORE, ensemble.score.dtype)])
    return replace(model, ensemble=replace(ensemble, nodes=nodes, score=score))


def _screens(model: TreeModel, leaf: NDArray[np.int32]) -> list[Tree]:
    nodes, value = model.ensemble.nodes, model.walks.parts[:, 0].astype(np.float64)
    is_leaf = nodes.left == np.arange(nodes.left.size)
    rows = np.where(is_leaf, np.bincount(leaf.ravel(), minlength=is_leaf.size) + UNSEEN, 0.0)
    count_up(nodes.left, rows)
    screens, columns = [], _columns(model, ~is_leaf)
    ends = np.append(nodes.root[1:], nodes.left.size)
    n_trees = max(int(np.searchsorted(ends, MOST_AVERAGES // (MOST_LEAVES * max(len(columns), 1)), side="right")), 1)
    largest = int((ends - nodes.root).max())
    for column in columns:
        cuts = _cuts(nodes.threshold[~is_leaf & (nodes.column == column)])
        points = np.concatenate([cuts, [np.inf, np.nan]])
        expected = np.zeros(points.size)
        add_expected(nodes, value, rows, n_trees, column, points, np.empty((largest, points.size)), expected)
        screens.append(_steps(column, cuts, expected[:-1], float(expected[-1]), nodes.value.shape[1]))
    return screens


def _columns(model: TreeModel, inner: NDArray[np.bool_]) -> list[int]:
    """Return the columns of numbers that most nodes ask for, as many as may have a screen."""
    nodes = model.ensemble.nodes
    asked = np.bincount(nodes.column[inner], minlength=model.n_columns)
    asked[model.coded] = 0
    most = np.argsort(-asked, kind="stable")[:MOST_SCREENS]
    chosen: list[int] = np.sort(most[asked[most] > 0]).tolist()
    return chosen


def _cuts(thresholds: Reals) -> Reals:
    """Return the thresholds of a column in ascending order; of many, some that leave as many between them."""
    ascending = np.sort(thresholds)
    every: Reals = np.unique(ascending)
    if every.size < MOST_LEAVES:
        return every
    return np.unique(ascending[np.linspace(0, ascending.size - 1, MOST_LEAVES - 1).round().astype(np.intp)])


def _steps(column: int, cuts: Reals, values: Reals, missing: float, outputs: int) -> Tree:
    """Return the step function with these values up to each cut, and beyond the last, as a balanced tree.

    A missing value goes to the step that is nearest to what trees give of rows that lack it.
    """
    spans, left = [(0, cuts.size)], []
    for first, last in spans:  # grows
        left.append(-1 if first == last else len(spans))
        if first < last:
            middle = (first + last) // 2
            spans += [(first, middle), (middle + 1, last)]
    first, last = np.array(spans).T
    child, middle, is_leaf = np.array(left), (first + last) // 2, first == last
    value = np.zeros((child.size, outputs))
    value[is_leaf, -1] = values[first[is_leaf]]  # of two outputs the second speaks for the second class
    return Tree(
        column=np.full(child.size, column),
        threshold=np.append(cuts, np.inf)[middle],
        left=child,
        right=np.where(is_leaf, -1, child + 1),
        missing_left=int(np.argmin(np.abs(values - missing))) <= middle,
        value=value,
    )


def _joined(nodes: Nodes, others: Nodes) -> Nodes:
    """Return the nodes of some trees and of others, which have no sets of categories, behind them."""
    moved = others._replace(root=others.root + nodes.left.size, left=others.left + nodes.left.size)
    joined = {name: np.concatenate([getattr(nodes, name), getattr(moved, name)]) for name in Nodes._fields}
    return Nodes(**joined)._replace(words=nodes.words)

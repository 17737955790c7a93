"""Trees grown at random, with everything that a library's trees may have."""

import numpy as np

from saccade.models.trees.assembling import Tree, assemble
from saccade.models.trees.ensemble import Ensemble, Sum
from saccade.models.trees.thresholds import single as in_single

N_COLUMNS = 5
EDGES = np.array([-np.inf, -1e300, -3.5, -1.0, -1e-36, -0.0, 0.0, 1e-36, 0.5, 1.0, 2.0, 7.0, 40.0, 1e300, np.inf])


def grown_tree(rng, n_leaves, outputs, categorical, single):
    """Return a tree of so many leaves; thresholds are values that rows have, too, or round to in single precision."""
    left, right = [-1], [-1]
    leaves = [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(int(rng.integers(len(leaves))))
        left[node], right[node] = len(left), len(left) + 1
        leaves += [len(left), len(left) + 1]
        left += [-1, -1]
        right += [-1, -1]
    n = len(left)
    column = rng.integers(0, N_COLUMNS, n)
    inner = np.flatnonzero(np.array(left) >= 0)
    sets = {
        int(node): np.unique(rng.integers(0, rng.choice([8, 70]), rng.integers(0, 6)))
        for node in inner
        if column[node] in categorical
    }
    threshold = rng.choice(EDGES[1:-1], n)
    return Tree(
        column=column,
        threshold=in_single(threshold) if single else threshold,
        left=np.array(left),
        right=np.array(right),
        missing_left=rng.random(n) < 0.5,
        value=rng.normal(size=(n, outputs)).round(2),
        sets=sets,
    )


def grown_ensemble(seed, n_trees=6, most_leaves=12, n_scores=1, outputs=1, categorical=(3,), single=False, zeros=False):
    rng = np.random.default_rng(seed)
    trees = [
        grown_tree(rng, int(rng.integers(1, most_leaves + 1)), outputs, categorical, single) for _ in range(n_trees)
    ]
    score = np.arange(n_trees) % n_scores if outputs == 1 else np.zeros(n_trees)
    return Ensemble(
        nodes=assemble(trees),
        score=score.astype(np.int32),
        n_scores=n_scores,
        n_columns=N_COLUMNS,
        sum=Sum(
            start=rng.normal(size=max(n_scores, outputs)),
            dtype=np.float32 if single else np.float64,
            divisor=1.0 if single else 3.0,
            bias=0.0 if single else 0.25,
        ),
        single=single,
        least_category=float(np.nextafter(0.0, -1.0)) if single else -1.0,
        zero_is_missing=np.arange(N_COLUMNS) == 1 if zeros else None,
    )


def edgy_rows(seed, n_rows, kind=np.float64):
    """Return rows of values that thresholds have, too, and of missing ones."""
    rng = np.random.default_rng(seed)
    between = [0.5 + 1e-9, 1.0 - 1e-9, 2.0 + 2.0**-23, 2.0 + 2.0**-23 + 1e-9, -3.5 - 1e-9]
    values = np.append(EDGES, [np.nan, np.nan, 3.0, 33.0, 69.0, -0.5, *between])
    with np.errstate(over="ignore", invalid="ignore"):
        rows = rng.choice(values, size=(n_rows, N_COLUMNS)).astype(kind)
    return rows

"""Tree ensembles in files: every array is audited before a kernel sees it.

Kernels walk from node to node without looking where they are: a child outside of its tree, a cycle, a leaf that can be
left, or a set of categories that ends behind its words would lead them out of memory, or round for ever.
"""

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive
from saccade.files.categories import categories_from, categories_parts
from saccade.models.trees.ensemble import NO_SCORE, Ensemble, Nodes, Sum
from saccade.models.trees.model import TreeModel

__all__ = ["trees_from", "trees_parts"]

Arrays = dict[str, NDArray[Any]]

KEPT = Nodes._fields
DTYPES: dict[str, type[np.floating]] = {"float32": np.float32, "float64": np.float64}
# The weights of all parts in all scores take at most a gigabyte: a small file can ask for many classes.
MOST_WEIGHTS = 2**27


def trees_parts(model: TreeModel) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a tree ensemble."""
    ensemble, rule = model.ensemble, model.ensemble.sum
    header = {
        "n_columns": ensemble.n_columns,
        "sum_dtype": np.dtype(rule.dtype).name,
        "single": ensemble.single,
        "integers_single": ensemble.integers_single,
        "takes_missing": ensemble.takes_missing,
        "categories": categories_parts(model.categories),
    }
    numbers = {
        "sum.divisor": rule.divisor,
        "sum.scale": rule.scale,
        "sum.bias": rule.bias,
        "sum.positive_from": rule.positive_from,
        "least_category": ensemble.least_category,
        "absent": model.absent,
        "slope": ensemble.slope,
        "threshold": model.threshold,
    }
    arrays = {f"nodes.{name}": getattr(ensemble.nodes, name) for name in KEPT}
    arrays |= {"score": ensemble.score, "sum.start": rule.start.astype(np.float64)}
    arrays |= {name: np.atleast_1d(np.float64(number)) for name, number in numbers.items() if number is not None}
    if ensemble.zero_is_missing is not None:
        arrays["zero_is_missing"] = ensemble.zero_is_missing
    return {"trees": header}, arrays


def trees_from(archive: Archive, classes: NDArray[Any]) -> TreeModel:
    """Return the trees of a file."""
    about = Archive(archive.field("trees", dict), archive.arrays)
    n_columns = about.field("n_columns", int)
    # What is built takes memory in proportion to the columns: a file has a price for each.
    archive.array("prices.purchase", np.int64, (n_columns,))
    names = archive.names(n_columns)
    return TreeModel(
        ensemble=_ensemble(about, n_columns, 1 if classes.size == 2 else classes.size),
        classes=classes,
        columns=None if names is None else tuple(names),
        categories=categories_from(about.field("categories", list), n_columns),
        absent=_number(about, "absent", lambda value: value == 0 or np.isnan(value)),
        threshold=_number(about, "threshold", np.isfinite) if "threshold" in about.arrays else None,
    )


def _ensemble(about: Archive, n_columns: int, n_scores: int) -> Ensemble:
    nodes = _nodes(about, n_columns)
    n_trees, outputs = nodes.root.size, nodes.value.shape[1]
    of_classes = 2 if n_scores == 1 else n_scores
    if outputs not in (1, of_classes) or n_scores * n_trees * outputs > MOST_WEIGHTS:
        raise ModelFileError(f"its {n_trees} trees have {outputs} outputs for {of_classes} classes")
    score = about.array("score", np.int32, (n_trees,))
    if ((score < NO_SCORE) | (score >= (n_scores if outputs == 1 else 1))).any():
        raise ModelFileError("its trees count in scores that there are not")
    counts = score != NO_SCORE
    if (np.diff(counts.astype(np.int8)) > 0).any() or (n_scores > 1 and not counts.all()):
        raise ModelFileError("its trees that count in no score are not behind the others, or have several classes")
    zeros = "zero_is_missing" in about.arrays
    return Ensemble(
        nodes=nodes,
        score=score,
        n_scores=n_scores,
        n_columns=n_columns,
        sum=_sum(about, max(n_scores, outputs)),
        single=about.field("single", bool),
        # A category is a number that a kernel can make an integer.
        least_category=_number(about, "least_category", lambda value: -1 <= value <= 0),
        zero_is_missing=about.array("zero_is_missing", np.bool_, (n_columns,)) if zeros else None,
        integers_single=about.field("integers_single", bool),
        takes_missing=about.field("takes_missing", bool),
        slope=_number(about, "slope", lambda value: 0 < value < np.inf) if "slope" in about.arrays else None,
    )


def _sum(about: Archive, n_sums: int) -> Sum:
    dtype = about.field("sum_dtype", str)
    if dtype not in DTYPES:
        raise ModelFileError(f"its field 'sum_dtype' is {dtype[:80]!r}")
    rule = Sum(
        start=about.array("sum.start", np.float64, (n_sums,)),
        dtype=DTYPES[dtype],
        divisor=_number(about, "sum.divisor", lambda value: 0 < value < np.inf),
        scale=_number(about, "sum.scale", np.isfinite),
        bias=_bias(about, n_sums),
        positive_from=_number(about, "sum.positive_from", lambda value: not np.isnan(value)),
    )
    if not isfinite(rule.scale / rule.divisor):
        raise ModelFileError("its scale and its divisor make a factor that is not finite")
    return rule


def _bias(about: Archive, n_sums: int) -> NDArray[np.float64] | float:
    bias = about.array("sum.bias", np.float64, (None,))
    if bias.size not in (1, n_sums):
        raise ModelFileError(f"its array 'sum.bias' has {bias.size} numbers for {n_sums} sums")
    return float(bias[0]) if bias.size == 1 else bias


def _number(about: Archive, name: str, is_right: Any) -> float:
    about.has([name])
    stored = about.arrays[name]  # which may be NaN
    if stored.dtype != np.float64 or stored.shape != (1,) or not is_right(float(stored[0])):
        raise ModelFileError(f"its number {name!r} is {str(stored)[:80]}")
    return float(stored[0])


def _nodes(about: Archive, n_columns: int) -> Nodes:
    left = about.array("nodes.left", np.int32, (None,))
    n_nodes = left.size
    nodes = Nodes(
        root=about.array("nodes.root", np.int32, (None,)),
        column=about.array("nodes.column", np.int32, (n_nodes,)),
        threshold=about.array("nodes.threshold", np.float64, (n_nodes,), finite=False),
        left=left,
        missing_left=about.array("nodes.missing_left", np.bool_, (n_nodes,)),
        first_word=about.array("nodes.first_word", np.int32, (n_nodes,)),
        n_words=about.array("nodes.n_words", np.int32, (n_nodes,)),
        words=about.array("nodes.words", np.uint32, (None,)),
        value=about.array("nodes.value", np.float64, (n_nodes, None)),
    )
    _check_children(nodes)
    _check_questions(nodes, n_columns)
    return nodes


def _check_children(nodes: Nodes) -> None:
    """Raise unless every node is a root, or the child of one node that stands before it in the same tree."""
    root, left = nodes.root.astype(np.int64), nodes.left.astype(np.int64)
    own = np.arange(left.size)
    if root.size == 0 or root[0] != 0 or (np.diff(root) <= 0).any() or root[-1] >= left.size:
        raise ModelFileError("its trees do not begin one after another")
    end = np.repeat(np.append(root[1:], left.size), np.diff(np.append(root, left.size)))
    inner = own[left != own]
    first = left[inner]
    inside = ((first > inner) & (first + 1 < end[inner])).all()
    if not inside or not np.array_equal(np.sort(np.concatenate([root, first, first + 1])), own):
        raise ModelFileError("its trees have children that are not theirs, or nodes that nobody comes to")


def _check_questions(nodes: Nodes, n_columns: int) -> None:
    """Raise unless every node asks for something that is there, and walks stay at leaves."""
    if ((nodes.column < 0) | (nodes.column >= n_columns)).any():
        raise ModelFileError("its trees ask for columns that there are not")
    first, count, n_words = nodes.first_word.astype(np.int64), nodes.n_words.astype(np.int64), nodes.words.size
    has_set = first >= 0
    fits = (first >= -1) & (count >= 0) & np.where(has_set, (first < n_words) & (first + count <= n_words), count == 0)
    if n_words == 0 or not fits.all():
        raise ModelFileError("its sets of categories end beyond their words")
    leaf = nodes.left == np.arange(nodes.left.size)
    if not (np.isposinf(nodes.threshold[leaf]) & nodes.missing_left[leaf] & ~has_set[leaf]).all():
        raise ModelFileError("its trees have leaves that ask for something")

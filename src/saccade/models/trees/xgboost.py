"""XGBoost: XGBClassifier, XGBRFClassifier, Booster, and the JSON and UBJSON files that ``save_model`` writes.

Everything is taken from that file's content, which a live model writes too: as UBJSON, which has its numbers' bits.
Nodes compare in single precision, and x < threshold goes left; categories in a node's set go right, all others left.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.categories import Categories
from saccade.models.trees import ubjson
from saccade.models.trees.assembling import Tree, assemble
from saccade.models.trees.boosting import Rounds, class_names, classes_of, library_name, margins_from, smallest
from saccade.models.trees.c_library import logf
from saccade.models.trees.ensemble import ABOVE_ZERO, Ensemble, Sum
from saccade.models.trees.imported import Imported
from saccade.models.trees.records import Record
from saccade.models.trees.thresholds import below, single

__all__ = ["ACCEPTED", "from_file", "take_apart"]

Integers = NDArray[np.int64]

OBJECTIVES = ("binary:logistic", "binary:logitraw", "multi:softmax", "multi:softprob")
ACCEPTED = (
    "XGBoost's XGBClassifier, XGBRFClassifier and Booster with trees (gbtree, dart) and the objective "
    f"{', '.join(OBJECTIVES[:-1])} or {OBJECTIVES[-1]}"
)
# Versions whose files are laid out as this module reads them.
FIRST_VERSION, VERSION_AFTER = (1, 6), (4, 0)
# Since when unseen categories go left, and base scores stay a millionth away from 0 and 1.
FIRST_SETS, FIRST_CLIPPED = (1, 7), (3, 2)
DELETED = 2**31 - 1  # the column of a node that was pruned
N_CATEGORIES = 2**24  # a category is below this
N_WORDS = 2**26  # sets of categories take at most a quarter of a gigabyte


@dataclass(frozen=True)
class Header:
    """What a file says about all trees."""

    version: tuple[int, ...]
    booster: str  # gbtree or dart
    objective: str
    n_scores: int
    n_columns: int
    names: tuple[str, ...]
    start: NDArray[np.float32]
    # Whether XGBClassifier wrote it, which stops at the best iteration and has labels of its own for binary:logitraw.
    wrapped: bool
    best_iteration: int | None


def take_apart(model: Any) -> Imported | None:
    """Return a fitted model's trees; None for a model of another library."""
    names = class_names(model, "xgboost")
    if not names & {"Booster", "XGBModel"}:
        return None
    if not names & {"Booster", "XGBClassifier"}:
        raise TypeError(f"{type(model).__name__} is none of the classifiers that can be read. Accepted are {ACCEPTED}.")
    is_booster = "Booster" in names
    booster = model if is_booster else model.get_booster()
    record = Record(ubjson.decode(bytes(booster.save_raw("ubj"))), "The XGBoost model")
    header = _header(record, wrapped=not is_booster)
    imported = replace(_imported(record, header), library=library_name("XGBoost", "xgboost"))
    if is_booster:
        return replace(imported, margins=_raw_scores(booster, header), labels=_labels(booster, header))
    _check_wrapper(model, header)

    def own_margins(X: Any) -> NDArray[np.floating]:
        return margins_from(model.predict(X, output_margin=True))

    # XGBClassifier predicts in place, which for dart gives other bits than Booster.predict.
    margins = _raw_scores(booster, header) if header.booster == "dart" else own_margins
    return replace(imported, classes=classes_of(model, imported.classes.size), margins=margins, labels=model.predict)


def _check_wrapper(model: Any, header: Header) -> None:
    missing = model.missing
    if missing is not None and not isnan(missing):
        raise ValueError(
            f"The model takes {missing!r} for a missing value. Only NaN can be read so: fit it with missing=nan, on "
            f"rows in which NaN stands for {missing!r}."
        )
    if header.objective == "multi:softprob" and header.n_scores == 2:
        raise ValueError(
            f"{type(model).__name__} with multi:softprob and two classes predicts a matrix instead of labels. Fit it "
            "with binary:logistic, or pass its Booster."
        )


def _matrix(X: Any) -> Any:
    """Return rows in the storage that Booster.predict takes. Whoever has a Booster has imported the library."""
    return sys.modules["xgboost"].DMatrix(X, enable_categorical=True)


def _raw_scores(booster: Any, header: Header) -> Callable[[Any], NDArray[np.floating]]:
    rounds = (0, 0 if header.best_iteration is None else header.best_iteration + 1)  # 0: all

    def margins(X: Any) -> NDArray[np.floating]:
        raw = booster.predict(_matrix(X), output_margin=True, validate_features=False, iteration_range=rounds)
        return margins_from(raw)

    return margins


def _labels(booster: Any, header: Header) -> Callable[[Any], NDArray[Any]]:
    limit = 0.0 if header.objective == "binary:logitraw" else 0.5

    def labels(X: Any) -> NDArray[Any]:
        predicted = booster.predict(_matrix(X), validate_features=False)
        if header.objective == "multi:softmax":
            return predicted.astype(int)  # type: ignore[no-any-return]
        codes: NDArray[Any] = predicted.argmax(axis=1) if predicted.ndim == 2 else (predicted > limit).astype(int)
        return codes

    return labels


def from_file(content: bytes, name: str) -> Imported | None:
    """Return the trees of a model file; None for a file of another kind."""
    is_json = content.lstrip()[:1] == b"{" and b'"learner"' in content and b'"gradient_booster"' in content
    if not is_json and not (content[:1] == b"{" and b"learner" in content[:64]):
        return None
    try:
        values = json.loads(content) if is_json else ubjson.decode(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is no XGBoost model that is whole: {error}.") from None
    record = Record(values, name)
    return _imported(record, _header(record, wrapped=None))


# What holds for all trees


def _header(record: Record, wrapped: bool | None) -> Header:
    """Read the header; ``wrapped`` None: the file says so itself."""
    version = _version(record)
    learner = record.part("learner")
    parameters, attributes = learner.part("learner_model_param"), learner.part("attributes")
    objective = learner.part("objective").text("name")
    booster = learner.part("gradient_booster").text("name")
    _check_kind(objective, booster, parameters)
    n_columns = parameters.integer("num_feature")
    names = learner.texts("feature_names") if "feature_names" in learner else ()
    if names and len(names) != n_columns:
        raise ValueError(f"{record.where} is damaged: {len(names)} feature_names for {n_columns} columns.")
    is_binary = objective.startswith("binary:")
    n_scores = 1 if is_binary else parameters.integer("num_class")
    model = _model(learner.part("gradient_booster"))
    n_trees = len(model.parts("trees"))
    if not is_binary and not 2 <= n_scores <= n_trees:
        raise ValueError(f"{record.where} is damaged: {objective} has {n_scores} classes, and {n_trees} trees.")
    wrapped = "scikit_learn" in attributes if wrapped is None else wrapped
    uses_best = wrapped and "best_iteration" in attributes
    return Header(
        version=version,
        booster="dart" if "weight_drop" in model else booster,  # since 3.4 it calls itself gbtree
        objective=objective,
        n_scores=n_scores,
        n_columns=n_columns,
        names=names,
        start=_start(parameters, n_scores, objective, version),
        wrapped=wrapped,
        best_iteration=attributes.integer("best_iteration") if uses_best else None,
    )


def _model(booster: Record) -> Record:
    """Return what holds the trees; before 3.4 dart had a booster inside of it."""
    return (booster.part("gbtree") if "gbtree" in booster else booster).part("model")


def _version(record: Record) -> tuple[int, ...]:
    version = tuple(record.integers("version", 3).tolist())
    if not FIRST_VERSION <= version < VERSION_AFTER:
        written = ".".join(map(str, version))
        raise ValueError(
            f"{record.where} was written by XGBoost {written}. Files of XGBoost 1.6 to 3 can be read: load this one "
            "into such a version and save it again."
        )
    return version


def _check_kind(objective: str, booster: str, parameters: Record) -> None:
    if objective not in OBJECTIVES:
        reason = f"the objective {objective}, which makes no labels"
    elif booster not in ("gbtree", "dart"):
        reason = f"the booster {booster}, which has no trees"
    elif "num_target" in parameters and parameters.integer("num_target") > 1:
        reason = "several targets"
    else:
        return
    raise TypeError(f"A model of XGBoost with {reason}, cannot be read tree by tree. Accepted are {ACCEPTED}.")


def _start(parameters: Record, n_scores: int, objective: str, version: tuple[int, ...]) -> NDArray[np.float32]:
    """Return the margins that sums start from, which base_score has as a probability for binary:logistic."""
    text = parameters.text("base_score")  # since 3.1 in brackets, and one for each class
    try:
        base = np.array([float(number) for number in text.strip("[]").split(",")], dtype=np.float32)
    except ValueError:
        base = np.zeros(0, np.float32)
    if objective == "binary:logistic" and base.size == 1:
        base = _margin(base, version)
    if base.size not in (1, n_scores) or not np.isfinite(base).all():
        raise ValueError(f"{parameters.where} is damaged: base_score is {text[:80]!r}.")
    return np.broadcast_to(base, n_scores).copy()


def _margin(probability: NDArray[np.float32], version: tuple[int, ...]) -> NDArray[np.float32]:
    """Return a probability's log-odds, NaN where it is none, in single precision throughout."""
    if not 0 <= probability[0] <= 1:
        return np.full(1, np.nan, np.float32)
    one, least = np.float32(1), np.float32(1e-6)
    if version >= FIRST_CLIPPED:
        probability = np.clip(probability, least, one - least)
    with np.errstate(divide="ignore"):
        odds = one / probability - one
    finite = 0 < odds[0] < np.inf
    return np.array([-logf(odds[0])]) if finite else np.where(odds > 0, -odds, np.float32(np.inf))


# Trees


def _imported(record: Record, header: Header) -> Imported:
    booster = record.part("learner").part("gradient_booster")
    model = _model(booster)
    records = model.parts("trees")
    info = model.integers("tree_info", len(records))
    if info.size and (info.min() < 0 or info.max() >= header.n_scores):
        raise ValueError(f"{model.where} is damaged: tree_info is to be below {header.n_scores}.")
    # A product in single precision, as Booster.predict has it.
    weight = np.ones(len(records), np.float32)
    if header.booster == "dart":
        weight = (model if "weight_drop" in model else booster).singles("weight_drop", len(records))
    n_trees = _n_trees(model, header, len(records))
    if n_trees == 0:
        raise ValueError(f"{record.where} has no trees.")
    trees = [_tree(tree, header, factor) for tree, factor in zip(records[:n_trees], weight, strict=False)]
    _check_sets(trees, record.where)
    rounds = Rounds(trees, info[:n_trees].astype(np.int32), header.n_scores).merged()
    return Imported(
        ensemble=Ensemble(
            nodes=assemble(rounds.trees),
            score=rounds.score,
            n_scores=rounds.n_scores,
            n_columns=header.n_columns,
            sum=Sum(header.start.astype(np.float64), np.float32, positive_from=_positive_from(header)),
            single=True,
            least_category=-ABOVE_ZERO,  # negative zero is a category
        ),
        classes=np.arange(max(header.n_scores, 2)),
        columns=header.names or None,
        library=f"XGBoost {'.'.join(map(str, header.version))}",
        margins=None,
        labels=None,
        categories=_categories(model, header),
        absent=float("nan"),
    )


def _n_trees(model: Record, header: Header, n_trees: int) -> int:
    """Return how many trees count."""
    if header.best_iteration is None:
        return n_trees
    after = header.best_iteration + 1
    if "iteration_indptr" in model:  # since 2.0
        ends = model.integers("iteration_indptr")
        used = int(ends[after]) if after < ends.size else -1
    else:
        used = after * header.n_scores * model.part("gbtree_model_param").integer("num_parallel_tree")
    if not 0 <= used <= n_trees:
        raise ValueError(f"{model.where} is damaged: the best iteration, {after - 1}, is not among its trees.")
    return used


def _tree(record: Record, header: Header, weight: np.float32) -> Tree:
    if "tree_param" in record and record.part("tree_param").integer("size_leaf_vector") > 1:
        raise TypeError(f"{record.where} has leaves of several outputs (multi_output_tree). Accepted are {ACCEPTED}.")
    left, right = record.integers("left_children"), record.integers("right_children")
    n_nodes = left.size
    column, condition = record.integers("split_indices", n_nodes), record.singles("split_conditions", n_nodes)
    default_left = record.integers("default_left", n_nodes) > 0
    is_categorical = record.integers("split_type", n_nodes) > 0
    if right.size != n_nodes or max(left.max(initial=0), right.max(initial=0)) >= n_nodes:
        raise ValueError(f"{record.where} is damaged: a node has a child that is not there.")
    is_split = left >= 0
    if (is_split & ((column < 0) | (column >= header.n_columns))).any():
        raise ValueError(f"{record.where} is damaged: it splits a column beyond the {header.n_columns} that there are.")
    swapped = is_categorical & is_split  # what is in a set is to go left
    if swapped.any() and header.version < FIRST_SETS:
        raise ValueError(
            f"{record.where} has categorical splits of XGBoost 1.6, which later versions decide otherwise for unseen "
            "categories. Load the model into a later version and save it again."
        )
    condition[swapped] = 0.0  # older versions have NaN there
    if not np.isfinite(condition).all():
        raise ValueError(f"{record.where} is damaged: split_conditions are to be finite.")
    tree = Tree(
        column=column,
        threshold=single(below(condition)),
        left=np.where(swapped, right, left),
        right=np.where(swapped, left, right),
        missing_left=default_left ^ swapped,
        value=(condition * weight).astype(np.float64),
        sets=_sets(record, np.flatnonzero(swapped), n_nodes) if swapped.any() else None,
    )
    deleted = column == DELETED
    return _without(tree, deleted) if deleted.any() else tree


def _without(tree: Tree, deleted: NDArray[np.bool_]) -> Tree:
    """Return a tree without the nodes that pruning left behind."""
    keep = np.flatnonzero(~deleted)
    to = np.full(deleted.size + 1, deleted.size)  # a deleted child stays out of range
    to[keep], to[-1] = np.arange(keep.size), -1
    return Tree(
        column=tree.column[keep],
        threshold=tree.threshold[keep],
        left=to[tree.left[keep]],
        right=to[tree.right[keep]],
        missing_left=tree.missing_left[keep],
        value=tree.value[keep],
        sets={int(to[node]): categories for node, categories in (tree.sets or {}).items()},
    )


def _sets(record: Record, nodes: NDArray[np.intp], n_nodes: int) -> dict[int, NDArray[np.integer]]:
    """Return the categories of each categorical node."""
    categories, which = record.integers("categories"), record.integers("categories_nodes")
    starts = record.integers("categories_segments", which.size)
    sizes = record.integers("categories_sizes", which.size)
    fits = np.array_equal(np.sort(which), nodes) and starts.min() >= 0 and sizes.min() >= 0
    if not fits or (starts > categories.size - sizes).any():
        raise ValueError(f"{record.where} is damaged: its sets of categories do not fit together.")
    if categories.size and (categories.min() < 0 or categories.max() >= N_CATEGORIES):
        raise ValueError(f"{record.where} is damaged: categories are to be from 0 to {N_CATEGORIES - 1:,}.")
    return {
        node: categories[start : start + size]
        for node, start, size in zip(which.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    }


def _check_sets(trees: list[Tree], where: str) -> None:
    """Refuse sets that a small file can make take a lot of memory."""
    largest = (int(found.max(initial=0)) for tree in trees for found in (tree.sets or {}).values())
    if sum(category // 32 + 1 for category in largest) > N_WORDS:
        raise ValueError(f"{where} has sets of categories that take more than {N_WORDS * 4 / 2**20:.0f} MB.")


# Labels and categories


def _positive_from(header: Header) -> float:
    """Return the smallest margin that is labelled with the second of two classes."""

    def is_second(margin: np.float32) -> bool:
        small, one = np.float32(np.exp(-float(margin))), np.float32(1)
        if header.objective == "binary:logitraw":
            # XGBClassifier takes the margin for a probability.
            return bool(margin > (0.5 if header.wrapped else 0.0))
        if header.objective == "multi:softmax":
            return bool(margin > 0)
        if header.objective == "multi:softprob":
            return bool(small < one)
        return bool(one / (small + one + np.float32(1e-16)) > np.float32(0.5))

    return smallest(is_second, np.float32)


def _categories(model: Record, header: Header) -> dict[int, Categories]:
    """Return what codes of data frames' columns stand for, which files tell since 3.1."""
    if "cats" not in model:
        return {}
    columns = model.part("cats").parts("enc")
    if columns and len(columns) != header.n_columns:
        raise ValueError(f"{model.where} is damaged: categories of {len(columns)} columns of {header.n_columns}.")
    read = {
        number: _texts(column) if "offsets" in column else column.integers("values")
        for number, column in enumerate(columns)
    }
    return {
        number: Categories(values, numbers_too=False, refuses_others=True)
        for number, values in read.items()
        if values.size
    }


def _texts(record: Record) -> NDArray[Any]:
    """Return texts that lie end to end."""
    ends, values = record.integers("offsets"), record.integers("values")
    if values.size and (values.min() < 0 or values.max() > 127):
        # For pandas it counts letters and not bytes (seen in 3.1.3 and 3.2.0): from the first such letter on, texts
        # are cut in the wrong places.
        raise ValueError(
            f"{record.where} has categories with letters beyond ASCII, whose ends XGBoost may have written wrongly. "
            "Fit the model on categories that are numbers or ASCII texts."
        )
    if ends.size and (ends[0] != 0 or ends[-1] != values.size or (np.diff(ends) < 0).any()):
        raise ValueError(f"{record.where} is damaged: its categories do not fit together.")
    text = values.astype(np.uint8).tobytes().decode()
    return np.array([text[start:end] for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)], str)

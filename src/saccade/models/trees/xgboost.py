"""Import XGBClassifier, XGBRFClassifier and Booster of XGBoost from the JSON of ``save_raw``.

Nodes compare in single precision, and x < threshold goes left; categories in a node's set go right, all others left.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.categories import Categories
from saccade.models.trees.assembling import Tree, assemble
from saccade.models.trees.boosting import (
    FIT_A_CLASSIFIER,
    Rounds,
    class_names,
    classes_of,
    library_name,
    margins_from,
    smallest,
)
from saccade.models.trees.c_library import expf, logf
from saccade.models.trees.ensemble import ABOVE_ZERO, Ensemble, Sum
from saccade.models.trees.imported import Imported
from saccade.models.trees.thresholds import below, single

__all__ = ["ACCEPTED", "take_apart"]

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
        raise TypeError(
            f"{type(model).__name__} is none of the classifiers that can be read. {FIT_A_CLASSIFIER} Accepted are "
            f"{ACCEPTED}."
        )
    is_booster = "Booster" in names
    booster = model if is_booster else model.get_booster()
    saved = json.loads(booster.save_raw("json"))
    header = _header(saved, wrapped=not is_booster)
    imported = _imported(saved["learner"]["gradient_booster"], header)
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


# What holds for all trees


def _header(saved: dict[str, Any], wrapped: bool) -> Header:
    version = tuple(saved["version"])
    if not FIRST_VERSION <= version < VERSION_AFTER:
        raise ValueError(f"XGBoost {'.'.join(map(str, version))} is not supported. Use one of XGBoost 1.6 to 3.")
    learner = saved["learner"]
    parameters, attributes = learner["learner_model_param"], learner["attributes"]
    objective, booster = learner["objective"]["name"], learner["gradient_booster"]["name"]
    _check_kind(objective, booster, parameters)
    n_scores = 1 if objective.startswith("binary:") else int(parameters["num_class"])
    uses_best = wrapped and "best_iteration" in attributes
    return Header(
        booster="dart" if "weight_drop" in _model(learner["gradient_booster"]) else booster,  # since 3.4 gbtree
        version=version,
        objective=objective,
        n_scores=n_scores,
        n_columns=int(parameters["num_feature"]),
        names=tuple(learner.get("feature_names", ())),
        start=_start(parameters["base_score"], n_scores, objective, version),
        wrapped=wrapped,
        best_iteration=int(attributes["best_iteration"]) if uses_best else None,
    )


def _model(booster: dict[str, Any]) -> dict[str, Any]:
    """Return what holds the trees; before 3.4 dart had a booster inside of it."""
    model: dict[str, Any] = booster.get("gbtree", booster)["model"]
    return model


def _check_kind(objective: str, booster: str, parameters: dict[str, str]) -> None:
    if objective not in OBJECTIVES:
        raise TypeError(
            f"A model of XGBoost with the objective {objective} makes no labels. {FIT_A_CLASSIFIER} Accepted are "
            f"{ACCEPTED}."
        )
    if booster not in ("gbtree", "dart"):
        reason = f"the booster {booster}, which has no trees"
    elif int(parameters.get("num_target", 1)) > 1:
        reason = "several targets"
    else:
        return
    raise TypeError(f"A model of XGBoost with {reason}, cannot be read tree by tree. Accepted are {ACCEPTED}.")


def _start(text: str, n_scores: int, objective: str, version: tuple[int, ...]) -> NDArray[np.float32]:
    """Return the margins that sums start from, which base_score has as a probability for binary:logistic."""
    # Since 3.1 in brackets, and one for each class.
    base = np.array([float(number) for number in text.strip("[]").split(",")], dtype=np.float32)
    if objective == "binary:logistic":
        base = _margin(base, version)
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


def _imported(booster: dict[str, Any], header: Header) -> Imported:
    model = _model(booster)
    saved, info = model["trees"], np.array(model["tree_info"], np.int32)
    # A product in single precision, as Booster.predict has it.
    weight = np.ones(len(saved), np.float32)
    if header.booster == "dart":
        weight = np.array((model if "weight_drop" in model else booster)["weight_drop"], np.float32)
    n_trees = _n_trees(model, header)
    if n_trees == 0:
        raise ValueError("The XGBoost model has no trees.")
    trees = [_tree(tree, header, factor) for tree, factor in zip(saved[:n_trees], weight, strict=False)]
    rounds = Rounds(trees, info[:n_trees], header.n_scores).merged()
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
        library=library_name("XGBoost", "xgboost"),
        margins=None,
        labels=None,
        probability=PROBABILITIES.get(header.objective),
        categories=_categories(model),
        absent=float("nan"),
    )


def _n_trees(model: dict[str, Any], header: Header) -> int:
    """Return how many trees count."""
    if header.best_iteration is None:
        return len(model["trees"])
    after = header.best_iteration + 1
    if "iteration_indptr" in model:  # since 2.0
        return int(model["iteration_indptr"][after])
    return after * header.n_scores * int(model["gbtree_model_param"]["num_parallel_tree"])


def _tree(saved: dict[str, Any], header: Header, weight: np.float32) -> Tree:
    if int(saved["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise TypeError(f"Leaves of several outputs (multi_output_tree) are not supported. Accepted are {ACCEPTED}.")
    left, right, column = (
        np.array(saved[name], np.int64) for name in ("left_children", "right_children", "split_indices")
    )
    condition = np.array(saved["split_conditions"], np.float32)
    swapped = (np.array(saved["split_type"]) > 0) & (left >= 0)  # what is in a set is to go left
    if swapped.any() and header.version < FIRST_SETS:
        raise ValueError(
            "The model has categorical splits of XGBoost 1.6, which later versions decide otherwise for unseen "
            "categories. Load it into a later version and save it again."
        )
    condition[swapped] = 0.0  # older versions have NaN there
    tree = Tree(
        column=column,
        threshold=single(below(condition)),
        left=np.where(swapped, right, left),
        right=np.where(swapped, left, right),
        missing_left=(np.array(saved["default_left"]) > 0) ^ swapped,
        value=(condition * weight).astype(np.float64),
        sets=_sets(saved) if swapped.any() else None,
    )
    deleted = column == DELETED
    return _without(tree, deleted) if deleted.any() else tree


def _without(tree: Tree, deleted: NDArray[np.bool_]) -> Tree:
    """Return a tree without the nodes that pruning left behind."""
    keep = np.flatnonzero(~deleted)
    to = np.full(deleted.size + 1, deleted.size)
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


def _sets(saved: dict[str, Any]) -> dict[int, NDArray[np.integer]]:
    """Return the categories of each categorical node."""
    categories = np.array(saved["categories"], np.int64)
    places = zip(*(saved[f"categories_{name}"] for name in ("nodes", "segments", "sizes")), strict=True)
    return {node: categories[start : start + size] for node, start, size in places}


# Labels and categories


def _as_single(margin: NDArray[np.floating]) -> NDArray[np.float32]:
    largest = np.finfo(np.float32).max
    rounded: NDArray[np.float32] = np.clip(margin, -largest, largest).astype(np.float32)
    return rounded


def _logistic(margin: NDArray[np.floating]) -> NDArray[np.float32]:
    one, epsilon = np.float32(1), np.float32(1e-16)
    return np.array([one / (expf(-value) + one + epsilon) for value in _as_single(margin)])


# The probability of the second of two classes. XGBClassifier takes a raw margin for one.
PROBABILITIES = {"binary:logistic": _logistic, "binary:logitraw": _as_single}


def _positive_from(header: Header) -> float:
    """Return the smallest margin that is labelled with the second of two classes."""

    def is_second(margin: np.float32) -> bool:
        if header.objective == "binary:logitraw":
            # XGBClassifier takes the margin for a probability.
            return bool(margin > (0.5 if header.wrapped else 0.0))
        if header.objective == "multi:softmax":
            return bool(margin > 0)
        if header.objective == "multi:softprob":
            return bool(expf(-margin) < 1)
        return bool(_logistic(np.array([margin]))[0] > 0.5)

    return smallest(is_second, np.float32)


def _categories(model: dict[str, Any]) -> dict[int, Categories]:
    """Return what codes of data frames' columns stand for, which models know since 3.1."""
    read = {
        number: _texts(column) if "offsets" in column else np.array(column["values"], np.int64)
        for number, column in enumerate(model.get("cats", {}).get("enc", ()))
    }
    return {
        number: Categories(values, numbers_too=False, refuses_others=True)
        for number, values in read.items()
        if values.size
    }


def _texts(saved: dict[str, Any]) -> NDArray[Any]:
    """Return texts that lie end to end."""
    ends, values = saved["offsets"], np.array(saved["values"], np.int64)
    if values.size and (values.min() < 0 or values.max() > 127):
        # For pandas it counts letters and not bytes (seen in 3.1.3 and 3.2.0): from the first such letter on, texts
        # are cut in the wrong places.
        raise ValueError(
            "The model has categories with letters beyond ASCII, whose ends XGBoost may have recorded wrongly. Fit it "
            "on categories that are numbers or ASCII texts."
        )
    text = values.astype(np.uint8).tobytes().decode()
    return np.array([text[start:end] for start, end in pairwise(ends)], str)

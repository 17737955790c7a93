"""CatBoost, from its own export to JSON: rows in single precision, where x > border goes right.

A symmetric tree asks the same question at all nodes of a level, and split b gives bit b of the leaf's number; here it
becomes a complete binary tree of 2^depth leaves, with split 0 at the root. The leaves of all trees are added in double
precision; the sum is multiplied by a scale, and a bias is added. Seen with version 1.2.10.
"""

import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from saccade.models.trees.assembling import Tree, assemble
from saccade.models.trees.boosting import FIT_A_CLASSIFIER, logistic
from saccade.models.trees.ensemble import ABOVE_ZERO, Ensemble, Sum
from saccade.models.trees.imported import Imported
from saccade.models.trees.thresholds import single

__all__ = ["ACCEPTED", "take_apart"]

ACCEPTED = "CatBoostClassifier and CatBoost (numeric features; Logloss, CrossEntropy, MultiClass, MultiClassOneVsAll)"

LOSSES = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
AT_LEAVES = {"float_feature_index": 0, "border": 0.0}


class Features(NamedTuple):
    """The numeric features, in the order in which splits count them."""

    column: NDArray[np.int64]
    missing_left: NDArray[np.bool_]


def take_apart(model: Any) -> Imported | None:
    """Return the trees with their scale and bias; None for other models."""
    is_of_catboost = any(kind.__module__.partition(".")[0] == "catboost" for kind in type(model).__mro__)
    if not (is_of_catboost and hasattr(model, "save_model")):
        return None
    if not model.is_fitted():
        raise NotFittedError(f"This {type(model).__name__} is not fitted yet. Call 'fit' first.")
    _check_numeric(model)
    exported = _export(model)
    scale, bias = exported["scale_and_bias"]
    classes, n_outputs = np.array(model.classes_), len(bias)
    _check_task(exported["model_info"], type(model).__name__, classes, n_outputs)
    described = exported["features_info"]["float_features"]
    trees = _trees(exported, _features(described), n_outputs)

    def margins(X: Any) -> NDArray[np.floating]:
        raw: NDArray[np.floating] = model.predict(X, prediction_type="RawFormulaVal").reshape(-1, n_outputs)
        return raw[:, 1:] - raw[:, :1] if n_outputs == 2 else raw

    def labels(X: Any) -> NDArray[Any]:
        return np.asarray(model.predict(X, prediction_type="Class")).ravel()  # a column, for several classes

    ensemble = Ensemble(
        nodes=assemble(trees),
        score=np.zeros(len(trees), np.int32),
        n_scores=1 if classes.size == 2 else classes.size,
        n_columns=len(described),
        sum=Sum(
            start=np.zeros(n_outputs),
            scale=float(scale),
            bias=np.array(bias, np.float64),
            positive_from=_positive_from(exported["model_info"]) if n_outputs == 1 else ABOVE_ZERO,
        ),
    )
    names = tuple(feature["feature_id"] for feature in described)
    library = f"CatBoost {sys.modules['catboost'].__version__}"
    return Imported(
        ensemble,
        classes,
        names if any(names) else None,
        library,
        margins,
        labels,
        probability=logistic if n_outputs == 1 else None,
    )


def _check_numeric(model: Any) -> None:
    kinds = {
        "categorical": model.get_cat_feature_indices(),
        "text": model.get_text_feature_indices(),
        "embedding": model.get_embedding_feature_indices(),
    }
    for kind, columns in kinds.items():
        if len(columns):
            raise TypeError(
                f"{type(model).__name__} has {kind} features (column {columns[0]}), which CatBoost turns into numbers "
                "by itself. Only numeric features can be read here: encode the others before fitting."
            )


def _export(model: Any) -> dict[str, Any]:
    """Return the model as CatBoost writes it to JSON, which it does to files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json")
        exported: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return exported


def _check_task(info: dict[str, Any], name: str, classes: NDArray[Any], n_outputs: int) -> None:
    """Raise unless the model chooses between classes."""
    loss = info.get("params", {}).get("loss_function", {}).get("type")
    if loss not in LOSSES:
        raise TypeError(
            f"{name} was fitted with the loss {loss}, which is not known here. {FIT_A_CLASSIFIER} Accepted are "
            f"{ACCEPTED}."
        )
    if classes.size < 2:
        raise TypeError(f"{name} was fitted on rows of a single class, so that there is nothing to decide.")
    if loss == "MultiClassOneVsAll" and n_outputs == 2:
        raise TypeError(
            f"{name} with MultiClassOneVsAll on two classes has two scores that are no probabilities of one question. "
            "Fit it with Logloss."
        )


def _positive_from(info: dict[str, Any]) -> float:
    """Return the smallest margin above the logit of the model's probability threshold."""
    p = float(info.get("binclass_probability_threshold", 0.5))
    logit = -math.log(1 / p - 1) if 0 < p < 1 else (2 * p - 1) * math.inf
    return math.nextafter(logit, math.inf)


def _features(described: list[dict[str, Any]]) -> Features:
    # 'AsIs' compares NaN with the border, which is false, as for 'AsFalse'.
    return Features(
        column=np.array([feature["flat_feature_index"] for feature in described], np.int64),
        missing_left=np.array([feature["nan_value_treatment"] != "AsTrue" for feature in described]),
    )


def _trees(exported: dict[str, Any], features: Features, n_outputs: int) -> list[Tree]:
    if "oblivious_trees" in exported:
        return [_read_symmetric(tree, features, n_outputs) for tree in exported["oblivious_trees"]]
    return [_read_nested(tree, features, n_outputs) for tree in exported["trees"]]


def _read_symmetric(tree: dict[str, Any], features: Features, n_outputs: int) -> Tree:
    """Return a complete tree: node i has the children 2i + 1 and 2i + 2."""
    splits = tree.get("splits") or []
    depth, n_leaves = len(splits), 2 ** len(splits)
    nodes = np.arange(n_leaves - 1)
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    # From left to right, the root's answer is the highest bit of a leaf's place; of CatBoost's number it is the lowest.
    place = np.arange(n_leaves)
    number = np.zeros_like(place)
    for b in range(depth):
        number |= (place >> (depth - 1 - b) & 1) << b
    leaves = np.array(tree["leaf_values"], np.float64).reshape(n_leaves, n_outputs)
    feature, border = _questions(splits)
    return _tree(
        np.concatenate([feature[level], np.zeros(n_leaves, np.int64)]),
        np.concatenate([border[level], np.zeros(n_leaves)]),
        left=np.concatenate([2 * nodes + 1, np.full(n_leaves, -1)]),
        right=np.concatenate([2 * nodes + 2, np.full(n_leaves, -1)]),
        value=np.concatenate([np.zeros((n_leaves - 1, n_outputs)), leaves[number]]),
        features=features,
    )


def _read_nested(tree: dict[str, Any], features: Features, n_outputs: int) -> Tree:
    """Return a tree whose nodes hold their children, as Lossguide and Depthwise grow them."""
    nodes, left = [tree], []
    for node in nodes:  # which grows meanwhile
        is_leaf = "split" not in node
        left.append(-1 if is_leaf else len(nodes))
        nodes.extend(() if is_leaf else (node["left"], node["right"]))
    first = np.array(left)
    zeros = [0.0] * n_outputs
    feature, border = _questions([node.get("split", AT_LEAVES) for node in nodes])
    return _tree(
        feature,
        border,
        left=first,
        right=np.where(first < 0, -1, first + 1),
        value=np.array([np.atleast_1d(node.get("value", zeros)) for node in nodes], np.float64),
        features=features,
    )


def _questions(splits: list[dict[str, Any]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the feature and the border of each split."""
    feature = np.array([split["float_feature_index"] for split in splits], np.int64)
    return feature, np.array([split["border"] for split in splits], np.float64)


def _tree(
    feature: NDArray[np.int64],
    border: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    value: NDArray[np.float64],
    features: Features,
) -> Tree:
    return Tree(features.column[feature], single(border), left, right, features.missing_left[feature], value)

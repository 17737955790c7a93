"""scikit-learn's HistGradientBoostingClassifier: everything in double precision, with categories.

Where there are categorical columns, the model encodes them and puts them before the others; its nodes count columns in
that order. A value that is no category of the rows that it was fitted on is missing, and so is an infinite one here,
which scikit-learn refuses in such columns. The private names are those of versions 1.6 to 1.9.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from saccade.models.categories import Categories
from saccade.models.trees.assembling import Tree, assemble
from saccade.models.trees.decision_trees import LIBRARY, checked_classes, names_of
from saccade.models.trees.ensemble import Ensemble, Sum
from saccade.models.trees.imported import Imported

__all__ = ["ACCEPTED", "take_apart"]

ACCEPTED = "scikit-learn's HistGradientBoostingClassifier"


def take_apart(model: Any) -> Imported | None:
    """Return the trees, round by round, over the columns that a user passes; None for other models."""
    if not isinstance(model, HistGradientBoostingClassifier):
        return None
    classes = checked_classes(model)
    if model.loss != "log_loss":
        raise TypeError(f"{type(model).__name__} with loss={model.loss!r} is not known here. Fit it with 'log_loss'.")
    n_scores = model.n_trees_per_iteration_
    is_categorical = model.is_categorical_
    if is_categorical is None:
        is_categorical = np.zeros(model.n_features_in_, dtype=bool)
    # The user's columns in the order of the nodes' numbers.
    columns = np.concatenate([np.flatnonzero(is_categorical), np.flatnonzero(~is_categorical)])

    def margins(X: Any) -> NDArray[np.floating]:
        margin: NDArray[np.floating] = model.decision_function(X).reshape(-1, n_scores)
        return margin

    ensemble = Ensemble(
        nodes=assemble([_read(tree, columns) for trees in model._predictors for tree in trees]),
        score=np.tile(np.arange(n_scores, dtype=np.int32), len(model._predictors)),
        n_scores=n_scores,
        n_columns=model.n_features_in_,
        sum=Sum(start=model._baseline_prediction.flatten()),
    )
    return Imported(
        ensemble,
        classes,
        names_of(model),
        LIBRARY,
        margins,
        model.predict,
        categories=_categories(model, np.flatnonzero(is_categorical)),
    )


def _read(predictor: Any, columns: NDArray[np.intp]) -> Tree:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    sets = {
        int(node): _members(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~is_leaf)
    }
    return Tree(
        column=columns[np.where(is_leaf, 0, nodes["feature_idx"])],
        threshold=nodes["num_threshold"],
        left=np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=nodes["value"],
        sets=sets,
    )


def _members(words: NDArray[np.uint32]) -> NDArray[np.integer]:
    """Return the numbers of the bits that are one."""
    return np.flatnonzero(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"))


def _categories(model: Any, columns: NDArray[np.intp]) -> dict[int, Categories]:
    """Return the categories of these columns, as the model's encoder has them."""
    if columns.size == 0:
        return {}
    encoder = model._preprocessor.named_transformers_["encoder"]
    return {
        int(column): Categories(_without_missing(values), numbers_too=True)
        for column, values in zip(columns, encoder.categories_, strict=True)
    }


def _without_missing(values: NDArray[Any]) -> NDArray[Any]:
    """Return the categories without NaN, which the encoder lists last."""
    is_missing = values.size > 0 and values[-1] != values[-1]
    return values[:-1] if is_missing else values

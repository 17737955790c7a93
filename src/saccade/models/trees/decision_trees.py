"""scikit-learn's single trees, which forests, GradientBoosting and AdaBoost share, and what is asked of all its models.

They cast rows to single precision and compare x <= threshold with a threshold of double precision; NaN goes where
``missing_go_to_left`` says. Of a classifier's tree ``value`` holds, since version 1.3, the share of each class.
"""

from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from saccade.models.trees.assembling import Tree
from saccade.models.trees.thresholds import single

__all__ = ["LIBRARY", "checked_classes", "names_of", "read_tree"]

LIBRARY = f"scikit-learn {sklearn.__version__}"


def checked_classes(model: Any) -> NDArray[Any]:
    """Return the classes of a fitted classifier; raise unless it has one target, with two classes or more."""
    check_is_fitted(model)
    name = type(model).__name__
    if getattr(model, "n_outputs_", 1) != 1:
        raise TypeError(
            f"{name} was fitted on {model.n_outputs_} targets at once, and a promise is about one label. Fit a model "
            "for each target."
        )
    classes = np.array(model.classes_)
    if classes.size < 2:
        raise TypeError(f"{name} was fitted on rows of a single class, so that there is nothing to decide.")
    return classes


def names_of(model: Any) -> tuple[str, ...] | None:
    """Return the names of the columns that a model was fitted with."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def read_tree(tree: Any, value: NDArray[np.float64]) -> Tree:
    """Return a ``tree_`` with these outputs by node."""
    return Tree(
        column=tree.feature,
        threshold=single(tree.threshold),
        left=tree.children_left,
        right=tree.children_right,
        missing_left=tree.missing_go_to_left.astype(bool),
        value=value,
    )

"""scikit-learn's AdaBoostClassifier of decision trees: each tree votes with its weight (SAMME).

A tree of weight w adds w to the class that it votes for and -w / (K - 1) to each of the others; the sums are divided by
the sum of weights. The margin of two classes is the difference of theirs, twice the second one's.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from saccade.models.trees.assembling import Tree, assemble
from saccade.models.trees.decision_trees import LIBRARY, checked_classes, names_of, read_tree
from saccade.models.trees.ensemble import Ensemble, Sum
from saccade.models.trees.imported import Imported

__all__ = ["ACCEPTED", "take_apart"]

ACCEPTED = "scikit-learn's AdaBoostClassifier of decision trees"


def take_apart(model: Any) -> Imported | None:
    """Return the trees with their weighted votes; None for other models."""
    if not isinstance(model, AdaBoostClassifier):
        return None
    classes = checked_classes(model)
    n_scores = 1 if classes.size == 2 else classes.size
    # There are more weights than trees where boosting ended early; those are zero.
    trees = [
        _read(tree, weight, classes) for tree, weight in zip(model.estimators_, model.estimator_weights_, strict=False)
    ]

    def margins(X: Any) -> NDArray[np.floating]:
        margin: NDArray[np.floating] = model.decision_function(X).reshape(-1, n_scores)
        return margin

    ensemble = Ensemble(
        nodes=assemble(trees),
        score=np.zeros(len(trees), np.int32),
        n_scores=n_scores,
        n_columns=model.n_features_in_,
        sum=Sum(
            start=np.zeros(n_scores),
            divisor=float(model.estimator_weights_.sum()),
            scale=2.0 if classes.size == 2 else 1.0,
        ),
        takes_missing=False,  # the trees would, AdaBoost does not
    )
    return Imported(ensemble, classes, names_of(model), LIBRARY, margins, model.predict)


def _read(tree: Any, weight: float, classes: NDArray[Any]) -> Tree:
    if not isinstance(tree, DecisionTreeClassifier):
        raise TypeError(
            f"AdaBoostClassifier of {type(tree).__name__} is not read tree by tree. Fit it with a "
            "DecisionTreeClassifier as its estimator."
        )
    voted = tree.classes_[tree.tree_.value[:, 0].argmax(axis=1)]
    value = np.where(voted[:, None] == classes, weight, -1 / (classes.size - 1) * weight)
    return read_tree(tree.tree_, value[:, 1:] if classes.size == 2 else value)

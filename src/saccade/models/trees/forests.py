"""scikit-learn's forests: the mean of the trees' probabilities."""

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from saccade.models.trees.assembling import assemble
from saccade.models.trees.decision_trees import LIBRARY, checked_classes, names_of, read_tree
from saccade.models.trees.ensemble import Ensemble, Sum
from saccade.models.trees.imported import Imported

__all__ = ["ACCEPTED", "take_apart"]

ACCEPTED = "scikit-learn's RandomForestClassifier and ExtraTreesClassifier"


def take_apart(model: Any) -> Imported | None:
    """Return a forest's trees, each with a probability for each class; None for other models."""
    if not isinstance(model, RandomForestClassifier | ExtraTreesClassifier):
        return None
    classes = checked_classes(model)
    trees = [tree.tree_ for tree in model.estimators_]

    def margins(X: Any) -> NDArray[np.floating]:
        probability: NDArray[np.floating] = model.predict_proba(X)
        return probability[:, 1:] - probability[:, :1] if classes.size == 2 else probability

    ensemble = Ensemble(
        nodes=assemble([read_tree(tree, tree.value[:, 0]) for tree in trees]),
        score=np.zeros(len(trees), np.int32),
        n_scores=1 if classes.size == 2 else classes.size,
        n_columns=model.n_features_in_,
        sum=Sum(start=np.zeros(classes.size), divisor=float(len(trees))),
        # As the forest itself asks, in versions 1.6 to 1.9, of dense rows. Whether it was fitted on missing values does
        # not matter; with monotonic constraints 1.6 takes none.
        takes_missing=bool(model.estimators_[0]._support_missing_values(np.empty((0, 0)))),
        slope=None,
    )
    return Imported(
        ensemble,
        classes,
        names_of(model),
        LIBRARY,
        margins,
        model.predict,
        same_bits=effective_n_jobs(model.n_jobs) == 1,  # threads add their trees in the order in which they finish
    )

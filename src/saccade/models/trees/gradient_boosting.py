"""scikit-learn's GradientBoostingClassifier: its start, then learning rate times leaf in double precision."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier

from saccade.models.trees.assembling import assemble
from saccade.models.trees.decision_trees import LIBRARY, checked_classes, names_of, read_tree
from saccade.models.trees.ensemble import Ensemble, Sum
from saccade.models.trees.imported import Imported

__all__ = ["ACCEPTED", "take_apart"]

ACCEPTED = "scikit-learn's GradientBoostingClassifier"

# Probability of the second class: 1 / (1 + exp(-slope * margin)).
SLOPES = {"log_loss": 1.0, "exponential": 2.0}


def take_apart(model: Any) -> Imported | None:
    """Return the trees, round by round, with the start that all rows share; None for other models."""
    if not isinstance(model, GradientBoostingClassifier):
        return None
    classes = checked_classes(model)
    _check_start(model)
    n_rounds, n_scores = model.estimators_.shape
    trees = [tree.tree_ for tree in model.estimators_.ravel()]

    def margins(X: Any) -> NDArray[np.floating]:
        margin: NDArray[np.floating] = model.decision_function(X).reshape(-1, n_scores)
        return margin

    ensemble = Ensemble(
        nodes=assemble([read_tree(tree, model.learning_rate * tree.value[:, 0]) for tree in trees]),
        score=np.tile(np.arange(n_scores, dtype=np.int32), n_rounds),
        n_scores=n_scores,
        n_columns=model.n_features_in_,
        # A private name of versions 1.6 to 1.9. The start is the same for all rows.
        sum=Sum(start=model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0], positive_from=0.0),
        takes_missing=False,
        slope=SLOPES[model.loss],
    )
    return Imported(ensemble, classes, names_of(model), LIBRARY, margins, model.predict)


def _check_start(model: Any) -> None:
    """Raise unless all rows start at the same margin."""
    init = model.init_  # "zero", or a fitted estimator
    if isinstance(init, str) or (isinstance(init, DummyClassifier) and init.strategy != "stratified"):
        return
    raise TypeError(
        f"{type(model).__name__} with init={init!r} starts at another margin for each row, which no tree says. Fit it "
        "with init=None or init='zero'."
    )

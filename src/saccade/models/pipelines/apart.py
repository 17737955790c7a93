"""Linear classifiers and naive Bayes, in wrappers or behind steps that work column by column, as sums over columns."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from saccade.models.linear import LinearModel
from saccade.models.pipelines.features import RefusedError, raw_blocks
from saccade.models.pipelines.scores import scored
from saccade.models.tables.assembling import assemble
from saccade.models.tables.model import TermModel
from saccade.models.thresholds import innermost, step_inside

__all__ = ["ACCEPTED", "take_apart"]

ACCEPTED = (
    "fitted linear classifiers with coef_, intercept_ and classes_ (LinearSVC, LogisticRegression, SGDClassifier, "
    "RidgeClassifier, LinearDiscriminantAnalysis, saccade's own) and naive Bayes, alone or behind any nesting of "
    "Pipeline, ColumnTransformer and FeatureUnion of steps that work column by column (scalers, SimpleImputer, "
    "encoders, bins, splines, quantiles, powers, polynomials, selectors, functions), in GridSearchCV, "
    "CalibratedClassifierCV with one calibrator, OneVsRestClassifier, FixedThresholdClassifier or "
    "TunedThresholdClassifierCV"
)


def take_apart(model: Any) -> LinearModel | TermModel | None:
    """Return a model as a sum over the columns that a user passes; None for one of another kind.

    The arrays are copies: what happens to the model afterwards changes nothing.
    """
    n_columns, names = _columns_of(model)
    if n_columns is None and hasattr(model, "best_index_"):
        raise TypeError(f"{type(model).__name__} has no best_estimator_: fit it with refit=True.")
    if n_columns is None:
        decides = innermost(model)
        if hasattr(decides, "fit"):
            check_is_fitted(decides)
        return None
    try:
        found = scored(model, raw_blocks(n_columns))
    except RefusedError as refused:
        raise TypeError(f"{refused} Accepted are {ACCEPTED}.") from refused
    if found is None:
        return None
    return assemble(found.blocks, found.coef, found.intercept, found.classes, n_columns, names)


def _columns_of(model: Any) -> tuple[int | None, Any]:
    """Return how many columns a model takes, and their names, as the outermost step that knows says."""
    n_columns = names = None
    while model is not None:
        n_columns = getattr(model, "n_features_in_", None) if n_columns is None else n_columns
        names = getattr(model, "feature_names_in_", None) if names is None else names
        coef = getattr(model, "coef_", None)
        if n_columns is None and coef is not None and step_inside(model) is None:
            n_columns = np.atleast_2d(coef).shape[1] if not hasattr(coef, "toarray") else coef.shape[1]
        model = step_inside(model)
    return n_columns, names

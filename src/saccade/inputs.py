"""What users pass in: checked, encoded, and never copied without need."""

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

__all__ = ["Rows", "as_read_only", "check_rows", "encode_labels", "raise_not_finite"]

Rows = Any  # a two-dimensional array of float32, float64 or uint8, or a CSR matrix or array of floats

_KINDS = [np.float64, np.float32, np.uint8]


def check_rows(estimator: BaseEstimator, X: Any, *, y: Any = "no_validation", reset: bool) -> Any:
    """Return X, and y where one is given, as arrays that the kernels take.

    Whether values are finite is not checked here, which would read all of them: the kernels check what they read.
    """
    checked = validate_data(
        estimator,
        X,
        y,
        reset=reset,
        accept_sparse="csr",
        dtype=_KINDS,
        ensure_all_finite=False,
    )
    if isinstance(y, str) and y == "no_validation":
        return as_read_only(checked)
    return as_read_only(checked[0]), checked[1]


def as_read_only(X: Rows) -> Rows:
    """Make X read-only in the eyes of the compiler, so that one compiled kernel serves memory maps and arrays alike."""
    if sp.issparse(X):
        return X.astype(np.float64) if X.dtype == np.uint8 else X
    view = X.view()
    view.flags.writeable = False
    return view


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted classes and the index of each label among them.

    >>> encode_labels(np.array([3, 2, 3]))
    (array([2, 3]), array([1, 0, 1]))
    """
    low, high = (int(y.min()), int(y.max())) if y.dtype.kind in "iu" and y.size else (0, 2**63)
    if high - low < 65536 and high < 2**63:
        shifted = y.astype(np.int64) - low if low else y
        found = np.bincount(shifted) > 0
        present = np.flatnonzero(found)
        return (present + low).astype(y.dtype), (np.cumsum(found) - 1)[shifted]
    check_classification_targets(y)
    return np.unique(y, return_inverse=True)


def raise_not_finite(estimator: BaseEstimator, X: Rows, row: int) -> NoReturn:
    """Say which feature of the row is not finite, or that the sum of finite ones is not."""
    values = X[[row]].toarray()[0] if sp.issparse(X) else np.asarray(X[row])
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size == 0:
        raise ValueError(
            f"The margin of row {row} overflows although its features are finite: the largest is "
            f"{np.abs(values).max():.3g}. Scale the features, for example with StandardScaler."
        )
    feature = bad[0]
    names = getattr(estimator, "feature_names_in_", None)
    name = f"feature {feature}" if names is None else f"feature {names[feature]!r} (column {feature})"
    kind = "NaN" if np.isnan(values[feature]) else "infinity (inf)"
    raise ValueError(
        f"Input X contains {kind} at row {row}, {name}. {type(estimator).__name__} reads only finite values: "
        "impute or drop it."
    )

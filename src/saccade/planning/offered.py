"""The rows that are offered to fit, plan and calibrate on: checked, and as samples of what a model makes of them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from saccade.models.additive import Additive
from saccade.models.agreement import own_labels
from saccade.planning.choosing import Sample
from saccade.planning.narrowed import Narrowed
from saccade.planning.sparse_sample import SparseSample
from saccade.promises.labels import Labels
from saccade.reading.arrays import FLOATS_AND_BYTES
from saccade.reading.inputs import check_numbers, codes_among, refuse_missing_labels
from saccade.reading.sparse import CsrSource
from saccade.reading.tables import as_table, refuse_other_containers, take_rows

__all__ = ["holds_objects", "numbers", "rows_offered", "sample_of"]


def rows_offered(X: Any, y: Any) -> tuple[Any, Any]:
    """Return rows that can be cut into parts, and labels that go with them."""
    refuse_other_containers(X)
    if as_table(X) is None and not holds_objects(X):
        X = numbers(X)
    if y is not None:
        y = column_or_1d(y, warn=True)
        refuse_missing_labels(y)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        check_classification_targets(y)
    return X, y


def holds_objects(X: Any) -> bool:
    """Whether X is an array that may hold texts; whether a model takes them is seen when it is taken apart."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "OUS" and X.ndim == 2 and 0 not in X.shape


def numbers(X: Any) -> Any:
    """Return X as an array or a CSR matrix that the kernels take."""
    check_numbers(X)
    return check_array(X, accept_sparse="csr", dtype=FLOATS_AND_BYTES, ensure_all_finite=False, input_name="X")


def sample_of(model: Any, parts: Additive | Narrowed, X: Any, y: Any, rows: NDArray[np.intp]) -> Sample:
    """Return the part values of some rows, and the model's own labels of them."""
    values, full = parts.values(X, rows), parts.full(X, rows)
    true = None if y is None else codes_among(take_rows(y, rows), parts.classes)
    labels = Labels(own_labels(model, X, rows, parts, values, full), parts.classes.size, true)
    if sp.issparse(X) and parts.parts_are_columns:
        narrow = parts if isinstance(parts, Narrowed) else None
        return SparseSample(values, labels, full, stored=CsrSource(X[rows]), narrowed=narrow)
    return Sample(values, labels, full, parts.ranges(X, rows))

"""What users pass in: checked, encoded, and never copied without need."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from saccade.exceptions import NotNumbersError
from saccade.kernels.hashing import has_repeats
from saccade.reading.arrays import FLOATS_AND_BYTES, as_read_only
from saccade.reading.distinct import is_missing
from saccade.reading.plan import Outcome, Reading
from saccade.reading.sources import Source
from saccade.reading.sparse import is_damaged, stored_arrays
from saccade.reading.tables import as_table, refuse_other_containers

__all__ = [
    "Demanded",
    "Rows",
    "check_numbers",
    "check_rows",
    "check_weights",
    "checked_columns",
    "codes_among",
    "encode_labels",
    "feature_names",
    "not_finite",
    "raise_not_finite",
    "read_checked",
    "without_repeats",
]

Demanded = Callable[[], NDArray[np.intp]]
Rows = Any  # a two-dimensional array of float32, float64 or uint8, or a CSR matrix or array of floats


def check_rows(estimator: BaseEstimator, X: Any, *, y: Any = "no_validation", reset: bool) -> Any:
    """Return X, and y where one is given, as arrays that the kernels take; rows to learn from hold no column twice.

    Whether values are finite is not checked here, which would read all of them: the kernels check what they read.
    """
    alone = isinstance(y, str) and y == "no_validation"
    if _is_plain(estimator, X, reset) and (alone or _are_plain_labels(y, X.shape[0])):
        estimator.n_features_in_ = X.shape[1]
        checked = X if alone else (X, y)
    else:
        refuse_other_containers(X)
        check_numbers(X)
        if not alone and y is not None:
            refuse_missing_labels(y)
        checked = validate_data(
            estimator,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            dtype=FLOATS_AND_BYTES,
            ensure_all_finite=False,
        )
    if alone:
        return as_read_only(checked)
    rows = as_read_only(checked[0])
    return without_repeats(rows) if sp.issparse(rows) else rows, checked[1]


def without_repeats(X: Rows) -> Rows:
    """Return a CSR matrix whose rows hold each column at most once, in any order: X itself where it does."""
    if not has_repeats(*stored_arrays(X)[1:], np.zeros(X.shape[1], dtype=np.uint32)):
        return X
    summed = X.copy()
    summed.sum_duplicates()
    return summed


def read_checked(
    estimator: BaseEstimator,
    X: Any,
    source_of: Callable[[Any], Source],
    run: Callable[[Source], Outcome],
    demanded: Demanded | None = None,
    *,
    skip_bad: bool = False,
    costs: Callable[[Any, Source, Outcome], NDArray[np.float64]] | None = None,
) -> Reading:
    """Read what a user passes to a fitted estimator; raise if a value that was read is not finite.

    ``demanded`` gives the columns that can be asked for, all where it is None. Where the estimator knows its columns by
    name, a table may lack the others. With ``skip_bad`` a row with such a value has a margin that is not finite.
    ``costs`` gives what each row cost, where that is asked for.
    """
    X = checked_columns(estimator, X, demanded)
    source = source_of(X)
    outcome = run(source)
    if outcome.bad >= 0 and not skip_bad:
        raise_not_finite(estimator, source, outcome.bad, demanded)
    return Reading.of(estimator.classes_, outcome, cost=None if costs is None else costs(X, source, outcome))


def checked_columns(estimator: BaseEstimator, X: Any, demanded: Demanded | None) -> Any:
    """Return X, checked against the columns that the estimator was fitted on; a table stays one, and is not copied."""
    if _is_plain(estimator, X, reset=False):
        return X
    check_is_fitted(estimator)
    refuse_other_containers(X)
    table = as_table(X)
    if table is None and _may_hold_texts(estimator, X):
        return validate_data(estimator, X, reset=False, skip_check_array=True)
    if table is None:
        return check_rows(estimator, X, reset=False)
    names = getattr(estimator, "feature_names_in_", None)
    taught = getattr(getattr(estimator, "additive_", None), "columns", None)
    if (
        names is None and taught is not None and table.names != list(taught)
    ):  # the model has names, what planned had none
        needed = taught if demanded is None else [taught[column] for column in demanded().tolist()]
        lacking = [name for name in needed if name not in table.names]
        if lacking:
            raise ValueError(
                f"X has no column {lacking[0]!r}, by which the model knows it. Name its columns as for fit."
            )
        return table.columns_named(taught)
    if names is not None and table.names != names.tolist():
        needed = names if demanded is None else names[demanded()]
        if set(table.names).issuperset(needed):
            return table.columns_named(names)
    return validate_data(estimator, X, reset=False, skip_check_array=True)


def _may_hold_texts(estimator: BaseEstimator, X: Any) -> bool:
    """Whether X is an array of objects, and the estimator reads such."""
    taken = getattr(getattr(estimator, "additive_", None), "takes_objects", False)
    return taken and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS"


def check_numbers(X: Any) -> None:
    """Raise where a table, or an array of objects or texts, holds something that is no number, and say where."""
    table = as_table(X)
    if table is not None:
        table.check_numbers()
    elif type(X) is np.ndarray and X.dtype.kind in "OUS" and X.ndim == 2:
        try:
            X.astype(np.float64)
        except ValueError:
            _raise_no_number(X)
        except TypeError:  # scikit-learn says what it is
            return


def _raise_no_number(X: NDArray[Any]) -> NoReturn:
    for (row, feature), value in np.ndenumerate(X):
        try:
            float(value if isinstance(value, str | bytes) else 0)
        except ValueError:
            raise ValueError(
                f"Row {row}, feature {feature} of X is {value!r}, not a number. Encode it, for example with "
                "OneHotEncoder."
            ) from None
    raise ValueError("X holds values that are no numbers.")


def _is_plain(estimator: BaseEstimator, X: Any, reset: bool) -> bool:
    """Whether there is nothing to convert in X or to object to, which takes scikit-learn as long as 1,000 rows do."""
    known = type(X) is np.ndarray or (type(X) in (sp.csr_matrix, sp.csr_array) and X.dtype.kind == "f")
    plain = known and X.ndim == 2 and 0 not in X.shape and X.dtype in FLOATS_AND_BYTES
    if not plain or hasattr(estimator, "feature_names_in_") or (sp.issparse(X) and is_damaged(X)):
        return False
    return reset or X.shape[1] == getattr(estimator, "n_features_in_", None)


def _are_plain_labels(y: Any, rows: int) -> bool:
    return type(y) is np.ndarray and y.shape == (rows,) and y.dtype.kind in "iu"


def check_weights(sample_weight: ArrayLike | None, n_rows: int, *, may_all_be_zero: bool) -> NDArray[np.float64]:
    """Return a weight for each row: 1 where nothing is said, or one number for all.

    scikit-learn's own ``_check_sample_weight`` is private, and lets all-zero weights pass in its older versions.
    """
    one_for_all = 1.0 if sample_weight is None else sample_weight
    given = np.full(n_rows, one_for_all) if isinstance(one_for_all, Real) else sample_weight
    weight: NDArray[np.float64] = check_array(given, dtype=np.float64, ensure_2d=False, input_name="sample_weight")
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: pass a weight for each row, or one for all."
        )
    check_non_negative(weight, "`sample_weight`")
    if not may_all_be_zero and not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number: rows of weight 0 teach nothing.")
    return weight


def feature_names(X: Any) -> NDArray[Any] | None:
    """Return the names that scikit-learn sees in X, or None where there are none."""
    seen = BaseEstimator()
    validate_data(seen, X, skip_check_array=True)
    return getattr(seen, "feature_names_in_", None)


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.integer]]:
    """Return the sorted classes and the index of each label among them.

    >>> encode_labels(np.array([3, 2, 3]))
    (array([2, 3]), array([1, 0, 1], dtype=int8))
    """
    low, high = (int(y.min()), int(y.max())) if y.dtype.kind in "iu" and y.size else (0, 2**63)
    if y.dtype.kind in "iu" and low < high and np.all((y == low) | (y == high)):
        return np.array([low, high], dtype=y.dtype), (y == high).view(np.int8)
    if high - low < 65536 and high < 2**63:
        shifted = y.astype(np.int64) - low if low else y
        occurs = np.bincount(shifted) > 0
        present = np.flatnonzero(occurs)
        return (present + low).astype(y.dtype), (np.cumsum(occurs) - 1)[shifted]
    check_classification_targets(y)
    return np.unique(y, return_inverse=True)


def refuse_missing_labels(y: Any) -> None:
    """Raise where a row has no label: None, NaN or pandas.NA among objects."""
    labels = np.asarray(y)
    missing = [row for row, label in enumerate(labels) if _is_missing(label)] if labels.dtype == object else []
    if missing:
        raise ValueError(
            f"y has no label in {len(missing):,} of {labels.size:,} rows, the first of them is row {missing[0]}: "
            f"{labels[missing[0]]!r}. Leave these rows out of X and y."
        )


def _is_missing(label: Any) -> bool:
    try:
        return is_missing(label)
    except (TypeError, ValueError):  # an array is no label, which is said later
        return False


def codes_among(y: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the index of each label among the classes, or raise with those that are not among them."""
    labels, order = np.asarray(y), np.argsort(classes)  # CatBoost's need not be sorted
    try:
        codes = order[np.minimum(np.searchsorted(classes, labels, sorter=order), classes.size - 1)]
        unknown = classes[codes] != labels
    except TypeError:  # texts and numbers cannot be compared
        codes, unknown = np.zeros(labels.shape, dtype=np.intp), np.ones(labels.shape, dtype=bool)
    if unknown.any():
        named = np.unique(labels[unknown].astype(str))[:5].tolist()
        raise ValueError(f"y has labels that the model does not know, such as {named}. It knows {classes.tolist()}.")
    return codes


def raise_not_finite(estimator: BaseEstimator, source: Source, row: int, demanded: Demanded | None = None) -> NoReturn:
    """Say which feature of the row, among those that are demanded, is not finite; or that their sum is not."""
    explain = getattr(source, "explain", None)  # of models over raw columns
    if explain is not None and (reason := explain(row, None if demanded is None else demanded())) is not None:
        raise reason
    raw = getattr(source, "columns", None)  # where parts are no columns
    columns, asked = (source, demanded) if raw is None else (raw, None)
    values, rows = np.zeros(columns.shape[1]), np.array([row], dtype=np.uint32)
    for part in range(values.size) if asked is None else asked().tolist():
        with suppress(NotNumbersError):  # a column that was not read
            columns.fill(part, rows, 1, values[part : part + 1])
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size == 0:
        raise ValueError(
            f"The margin of row {row} overflows although its features are finite: the largest is "
            f"{np.abs(values).max():.3g}. Scale the features, for example with StandardScaler, and mind extreme "
            "parameters and sample weights."
        )
    names = getattr(estimator, "feature_names_in_", None)
    raise not_finite(values[bad[0]], row, int(bad[0]), names, type(estimator).__name__)


def not_finite(value: float, row: int, feature: int, names: Sequence[str] | None, reader: str) -> ValueError:
    """Return the error that says where in X a value is not finite."""
    name = f"feature {feature}" if names is None else f"feature {names[feature]!r} (column {feature})"
    kind = "NaN" if np.isnan(value) else f"infinity ({'-inf' if value < 0 else 'inf'})"
    return ValueError(
        f"Input X contains {kind} at row {row}, {name}. {reader} reads only finite values: impute or drop it."
    )

"""Learners of encoded tables: rows are raw columns, and weights are those of the features that these are encoded to."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from saccade.models.tables.encoding import Encoding
from saccade.models.tables.model import TermModel
from saccade.models.tables.storage import raw_columns
from saccade.reading.arrays import as_read_only
from saccade.reading.inputs import Demanded, Rows, checked_columns, not_finite, read_checked
from saccade.reading.plan import Outcome, Plan, Reading
from saccade.reading.reader import read_plan
from saccade.reading.sources import Source, column_source

if TYPE_CHECKING:
    from saccade.learners.reading import ReadingMixin

__all__ = ["demanded_by", "encoded_rows", "read_early", "read_in_full", "read_source", "rows_to_learn", "terms_of"]


def terms_of(model: "ReadingMixin") -> TermModel:
    """Return the model over raw columns; made once, because that takes as long as reading some rows."""
    known = model.__dict__.get("_terms_made")
    if known is None or known[0] is not model.coef_:
        known = model.coef_, _encoding(model).model(model.coef_, model.intercept_, model.classes_)
        model._terms_made = known
    made: TermModel = known[1]
    return made


def read_in_full(model: "ReadingMixin", X: Any) -> Reading:
    """Read raw columns, all that count."""
    check_is_fitted(model)
    terms = terms_of(model)
    return read_checked(model, X, terms.source, lambda source: _run_terms(model, source), demanded_by(model, full=True))


def read_early(model: "ReadingMixin", X: Any) -> Reading:
    """Read the features of encoded rows no further than the learner's boundary demands."""
    check_is_fitted(model)
    demanded = demanded_by(model, full=False)
    return read_checked(model, X, lambda rows: _features(model, rows), model._run_plans, demanded)


def demanded_by(model: "ReadingMixin", *, full: bool) -> Demanded:
    """Return what gives the raw columns that rows can ask for."""
    return lambda: terms_of(model).used if full else _encoding(model).used


def read_source(model: "ReadingMixin", source: Source, *, full: bool) -> Reading:
    """Read the raw columns of any storage."""
    run = _run_terms(model, terms_of(model).source(source)) if full else model._run_plans(_features(model, source))
    return Reading.of(model.classes_, run)


def rows_to_learn(model: "ReadingMixin", X: Any, y: Any) -> tuple[Rows, NDArray[Any]]:
    """Return raw columns encoded, and labels."""
    labels = column_or_1d(y, warn=True)
    checked = checked_columns(model, X, lambda: _encoding(model).used)
    check_consistent_length(labels, np.empty(checked.shape[0]))
    return encoded_rows(model, checked), labels


def encoded_rows(model: "ReadingMixin", X: Any) -> Rows:
    """Return rows of raw columns as the learner sees them."""
    encoding = _encoding(model)
    features = encoding.features(raw_columns(X, encoding.kinds))
    stored = features.data.reshape(features.shape[0], -1) if encoding.is_sparse else features
    bad = np.argwhere(~np.isfinite(stored))
    if bad.size:
        row, place = bad[0].tolist()
        column = int(
            encoding.used[place] if encoding.is_sparse else np.searchsorted(encoding.begins, place, "right") - 1
        )
        raise not_finite(float(stored[row, place]), row, column, encoding.names, type(model).__name__)
    return as_read_only(features)


def _features(model: "ReadingMixin", X: Any) -> Source:
    return column_source(encoded_rows(model, X))


def _run_terms(model: "ReadingMixin", source: Source) -> Outcome:
    """Read all columns that count, and no others."""
    terms = terms_of(model)
    outcome = read_plan(Plan.in_full(terms.coef, terms.intercept, terms.unit), source, model.n_jobs)
    return outcome._replace(n_read=np.full_like(outcome.n_read, terms.used.size))


def _encoding(model: "ReadingMixin") -> Encoding:
    assert model._encoding is not None
    return model._encoding

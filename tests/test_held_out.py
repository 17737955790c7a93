"""Certificates rest on rows that neither the estimator's fit nor planning saw.

Rows have an identity, their number, in a column that no score uses. A spy tells which ones the estimator was fitted on;
what planning and calibration saw follows from what changes when some rows do.
"""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from data import correlated
from saccade import AttentiveClassifier, Budget

N_ROWS, N_FEATURES = 1200, 24
WEIGHTS = np.append(np.linspace(2.0, 0.2, N_FEATURES), 0.0)  # the last column is the row's identity
FEW = 4  # features that a budget reads


class Spy(ClassifierMixin, BaseEstimator):
    """A linear classifier whose weights do not depend on the rows, and that writes down which rows it is given."""

    def __init__(self, seen=None):
        self.seen = seen

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y):
        self.seen.append(X[:, -1].astype(int))
        self.coef_, self.intercept_, self.classes_ = WEIGHTS[None], np.zeros(1), np.array([0, 1])
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def decision_function(self, X):
        return X @ self.coef_[0]


def rows(seed):
    X, _ = correlated(N_ROWS, N_FEATURES, seed=seed)
    return np.column_stack([X, np.arange(N_ROWS)])


def fitted(X, *, frozen=False, **options):
    """Return the classifier, and the rows that its estimator was fitted on."""
    spy = Spy([])
    if frozen:
        options["estimator"] = FrozenEstimator(spy.fit(X, None))
    model = AttentiveClassifier(**{"estimator": spy, "delta": 0.1, "random_state": 0, "confidence": 0.9, **options})
    model.fit(X, (X @ WEIGHTS > 0).astype(int))
    return model, spy.seen[-1]


@pytest.fixture(scope="module")
def held_out():
    """The rows that an estimator is not fitted on."""
    _, seen = fitted(rows(0))
    assert len(np.unique(seen)) == len(seen) == round(0.75 * 0.7 * N_ROWS)
    return np.random.RandomState(0).permutation(N_ROWS)[: round(0.3 * N_ROWS)]


def test_the_share_that_calibrates_is_what_was_asked_for():
    model, seen = fitted(rows(0), calibration_size=0.4)
    assert len(seen) == 0.75 * 0.6 * N_ROWS
    assert model.certificate_.n_calibration == 0.4 * N_ROWS


@pytest.mark.parametrize("frozen", [False, True])
def test_calibration_sees_no_row_that_was_fitted_on(held_out, frozen):
    """Every row that was fitted on would disagree, and every tenth of the others does: a single stray one is seen."""
    X = np.abs(rows(0))
    unread = np.zeros((N_ROWS, N_FEATURES - FEW))
    turned = np.setdiff1d(np.arange(N_ROWS), held_out[held_out % 10 > 0])
    unread[turned] = -100.0  # what a budget does not read turns the label
    X[:, FEW:N_FEATURES] = unread
    model, seen = fitted(X, frozen=frozen, boundary=Budget(FEW), order="natural", promise="rows", delta=0.3)
    if not frozen:
        assert np.intersect1d(seen, held_out).size == 0
    assert model.certificate_.n_calibration == len(held_out)
    assert model.certificate_.disagreement * len(held_out) == pytest.approx(np.sum(held_out % 10 == 0))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"boundary": "curved", "order": "sorted"}, {"fewest": "columns"}],
    ids=["conditional", "curved", "columns"],
)
def test_planning_sees_no_row_that_calibrates(held_out, options, frozen):
    """What an average buys is chosen on planning rows alone, so that no bit of it may depend on the others."""
    X, other, moved = rows(0), rows(0), rows(0)
    other[held_out, :N_FEATURES] = 3 * rows(1)[held_out, :N_FEATURES] ** 3
    planning = np.setdiff1d(np.arange(N_ROWS), held_out)
    moved[planning, :N_FEATURES] = rows(2)[planning, :N_FEATURES]
    kept, same, changed = (fitted(one, frozen=frozen, average_features=14, **options)[0] for one in (X, other, moved))
    assert kept.certificate_.disagreement != same.certificate_.disagreement
    for mine, theirs in zip(kept.plan_, same.plan_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert any(not np.array_equal(mine, theirs) for mine, theirs in zip(kept.plan_, changed.plan_, strict=True))

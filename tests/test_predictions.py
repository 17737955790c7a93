"""What candidate checkpoints predict of rows that the regression did not see."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from saccade import attend
from saccade.planning import predictions
from saccade.planning.boundaries import Conditional
from saccade.planning.families import Priced
from saccade.planning.predictions import predict_rows
from saccade.planning.prices import Prices
from saccade.planning.regression import emphasis


def parts(rows, n, seed=0):
    """Return correlated part values, as trees have them, and their sums."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(rows, 3)) @ rng.normal(size=(3, n)) + rng.normal(size=(rows, n))).astype(np.float32)
    return X, X.sum(axis=1, dtype=np.float64)[:, None]


def priced(n, trees=True):
    scores = SimpleNamespace(coef=np.ones((1, n)), intercept=np.zeros(1), unit=[], of_trees=trees)
    prices = Prices(np.arange(n), np.ones(n))
    return Priced(scores, prices, prices, looking=True)


def predict(X, full, trees=True, order="greedy"):
    return predict_rows(priced(X.shape[1], trees), X, full, Conditional(), order, 0)


def test_all_rows_tune_where_there_are_as_many_as_parts_or_few_and_else_those_that_did_not_regress():
    joint = predict(*parts(400, 30))
    assert (joint.rows, joint.predicted.lead.shape[0]) == (slice(None), 400)
    few = predict(*parts(40, 60))
    assert (few.rows, few.predicted.lead.shape[0]) == (slice(None), 40)
    split = predict(*parts(1100, 1200))
    assert (split.rows, split.predicted.lead.shape[0]) == (slice(770, None), 330)


def test_rows_are_predicted_by_regressions_that_did_not_see_them():
    """Residuals on rows that tune are as large as on new rows, and not as small as on rows that a regression saw."""
    X, full = parts(4000, 100)
    made = predict(X[:200], full[:200], order="natural")
    last = [k for k, predictor in enumerate(made.predictors) if predictor.size <= 60][-1]
    predictor = made.predictors[last]
    seen, new = (
        np.sqrt(
            emphasis(np.abs(full[rows, 0]), Conditional().focus)
            @ (X[rows, : predictor.size] @ predictor.weights[0] + predictor.shift[0] - full[rows, 0]) ** 2
        )
        for rows in (slice(200), slice(200, None))
    )
    assert seen < 0.9 * new < made.predicted.sigma[last]


def test_of_trees_all_are_regressed_on_and_of_columns_some(monkeypatch):
    monkeypatch.setattr(predictions, "MOST_REGRESSED", 10)
    X, full = parts(400, 40)
    trees, columns = predict(X, full), predict(X, full, trees=False)
    assert all(predictor.first == 0 for predictor in trees.predictors)
    assert max(predictor.size for predictor in columns.predictors if predictor.first == 0) <= 15
    assert trees.regression.order.size == columns.regression.order.size == 10  # what is kept for missing features


@settings(deadline=None, max_examples=20)
@given(n=st.integers(1, 300))
def test_candidate_checkpoints_are_close_together(n):
    X, full = parts(320, n)
    sizes = np.array([predictor.size for predictor in predict(X, full, order="natural").predictors])
    assert (sizes[0], sizes[-1]) == (1, n)
    assert (np.diff(sizes) >= 1).all()
    assert (sizes[1:] <= np.maximum(1.2 * sizes[:-1] + 1, sizes[:-1] + 2)).all()


def test_a_ridge_is_the_users_own_but_for_few_rows():
    """Weights of a hundred rows are mostly noise, and shrink; a user's own ridge stands with many."""
    X, full = parts(4000, 30)
    few, many = (predict(X[:n], full[:n], trees=False, order="natural") for n in (60, 4000))
    (seen,), shift = few.predictors[-2].weights, few.predictors[-2].shift
    error = np.std(X[60:, : seen.size] @ seen + shift - full[60:, 0])
    exact = np.linalg.lstsq(
        np.column_stack([X[:60, : seen.size], np.ones(60)]).astype(np.float64), full[:60, 0], rcond=None
    )[0]
    assert error < np.std(X[60:, : seen.size] @ exact[:-1] + exact[-1] - full[60:, 0])
    (weights,) = many.predictors[-1].weights
    np.testing.assert_allclose(weights, 1.0, atol=1e-6)  # all parts are read: the margin itself


def test_a_few_hundred_rows_never_read_everything_for_want_of_a_safe_setting():
    """Few rows may tune the lowest thresholds that there are, which five times as high are still too low."""
    for seed in range(6):
        X, y = make_classification(
            570, 30, n_informative=6, n_redundant=15, class_sep=1.8, flip_y=0.02, random_state=seed
        )
        X_fit, X_held_out, y_fit, _ = train_test_split(X, y, test_size=0.45, random_state=seed)
        model = LGBMClassifier(n_estimators=60, verbose=-1, n_jobs=1).fit(X_fit, y_fit)
        terms = {"delta": 0.05, "promise": "rows", "calibration_size": 0.6, "random_state": seed}
        first, again = (attend(model, X_held_out, **terms) for _ in range(2))
        assert first.plan_.checkpoints.size
        assert first.certificate_.features_per_row < 40
        for ours, theirs in zip(first.plan_, again.plan_, strict=True):
            np.testing.assert_array_equal(ours, theirs)

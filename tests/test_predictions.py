"""What candidate checkpoints predict of rows that the regression did not see."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

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
    scores = SimpleNamespace(coef=np.ones((1, n)), intercept=np.zeros(1), unit=[], parts_are_columns=not trees)
    prices = Prices(np.arange(n), np.ones(n))
    return Priced(scores, prices, prices, looking=True)


def predict(X, full, trees=True, order="greedy"):
    return predict_rows(priced(X.shape[1], trees), X, full, Conditional(), order, 0)


def test_all_rows_tune_where_there_are_as_many_as_parts_and_else_those_that_did_not_regress():
    joint = predict(*parts(400, 30))
    assert (joint.rows, joint.predicted.lead.shape[0]) == (slice(None), 400)
    split = predict(*parts(40, 60))
    assert (split.rows, split.predicted.lead.shape[0]) == (slice(28, None), 12)


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

"""Few planning rows: all of them are regressed on, and all of them tune."""

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from saccade import attend
from saccade.models.linear import LinearModel
from saccade.planning.boundaries import Conditional
from saccade.planning.cross_fitting import FOLDS, cross_fitted, regress_in_order, ridge_of
from saccade.planning.families import Priced, lead
from saccade.planning.prices import Prices
from saccade.planning.regression import emphasis, regress
from saccade.planning.trials import Predicted


def some_rows(scores, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 20)) + rng.normal(size=(120, 20))
    model = LinearModel(rng.normal(size=(scores, 20)), rng.normal(size=scores), np.arange(max(scores, 2)), None)
    prices = Prices(np.arange(20), np.ones(20))
    return X, X @ model.coef.T + model.intercept, Priced(model, prices, prices, looking=True)


@pytest.mark.parametrize("scores", [1, 3])
def test_a_given_order_is_regressed_on_as_among_all_features(scores):
    X, full, priced = some_rows(scores)
    order, boundary = np.array([7, 3, 11, 0, 19]), Conditional(ridge=0.3)
    ours = regress_in_order(priced, X, full, order, boundary)
    weight = emphasis(lead(full), boundary.focus)
    among_all = regress(
        X, priced.scores.coef, weight, order.size, ridge=boundary.ridge, prices=priced.prices, order=order
    )
    for size in range(1, order.size + 1):
        for one, other in zip(ours.weights(size), among_all.weights(size), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_rows", [3, 23, 100])
def test_every_row_is_predicted_once_and_from_other_rows(n_rows):
    predicted = []

    def predict(others, rows):
        assert np.intersect1d(others, rows).size == 0
        assert others.size + rows.size == n_rows
        predicted.append(rows)
        return Predicted(rows[:, None] * 1.0, rows[:, None], np.array([float(rows.size)]))

    joined = cross_fitted(n_rows, predict)
    assert len(predicted) == min(FOLDS, n_rows)
    assert joined.label[:, 0].tolist() == list(range(n_rows))
    sizes = np.array([rows.size for rows in predicted])
    assert joined.sigma[0] == pytest.approx(np.sqrt(np.average(sizes**2.0, weights=sizes)))


def test_few_rows_are_regressed_on_with_more_of_a_ridge():
    boundary = Conditional(ridge=0.05)
    assert ridge_of(boundary, 100) == pytest.approx(0.2)
    assert ridge_of(boundary, 10_000) == 0.05
    assert ridge_of(Conditional(ridge=1e-9), 1_001) == 1e-9


def test_a_few_hundred_rows_never_read_everything_for_want_of_a_safe_setting():
    """Thirty rows may tune the lowest thresholds that there are, which five times as high are still too low."""
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
        for one, other in zip(first.plan_, again.plan_, strict=True):
            np.testing.assert_array_equal(one, other)

"""What is promised is kept, for every class, on rows that neither the model nor the plan saw."""

import re

import numpy as np
import pytest
from effort import repetitions
from promised import assert_kept, shares
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import saccade
from data import correlated
from saccade import AttentiveClassifier, Budget, attend


def imbalanced(rows, share, seed, *, noise=0.0, features=30):
    """Return correlated rows, and labels of which a share is positive, by a linear rule or a noisy one."""
    X, _ = correlated(rows, features, seed=seed, separation=0.0)
    rng = np.random.default_rng(seed)
    score = X @ np.linspace(1.0, 0.1, features)
    score = score + noise * score.std() * rng.normal(size=rows)
    return X, (score > np.quantile(score, 1 - share)).astype(int)


@pytest.fixture(scope="module")
def rare():
    """A tenth of the rows is positive: a model, rows to attend with and their labels, and fresh rows."""
    X, y = imbalanced(50_000, 0.1, seed=0)
    model = LogisticRegression(max_iter=500).fit(X[:5000], y[:5000])
    return model, X[5000:20_000], y[5000:20_000], X[20_000:]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": "sorted"},
        {"order": "permuted"},
        {"boundary": "curved", "order": "sorted"},
        {"boundary": "constant"},
        {"boundary": "curved", "order": "sampled"},
        {"fewest": "columns"},
        {"costs": np.linspace(1, 9, 30)},
        {"groups": {"sample": [0, 3, 5], "record": [1, 2]}},
    ],
    ids=lambda options: ", ".join(str(value) if isinstance(value, str) else name for name, value in options.items()),
)
def test_every_way_to_plan_keeps_the_promise_for_the_rare_class(rare, options):
    model, given, y, fresh = rare
    full = model.predict(fresh)
    by_class = attend(model, given, delta=0.05, random_state=0, **options)
    reading = by_class.read(fresh)
    assert_kept(reading.label, full, [0, 1], 0.05)
    assert reading.n_read.mean() < 30
    by_rows = attend(model, given, delta=0.05, promise="rows", random_state=0, **options)
    assert np.mean(by_rows.predict(fresh) != full) <= binom.ppf(0.9999, len(full), 0.05) / len(full)
    assert by_rows.read(fresh).n_read.mean() <= reading.n_read.mean()
    accurate = attend(model, given, y, delta=0.05, promise="accuracy", random_state=0, **options)
    assert accurate.certificate_.promise == "accuracy"


def test_a_plan_that_says_negative_always_is_certified_for_rows_and_never_by_class():
    """0.4 % positives at the default level of 1 %: saccade 0.1 read one feature, and lost every one of them."""
    X, y = imbalanced(60_000, 0.004, seed=1)
    model = LogisticRegression(max_iter=500, C=100).fit(X[:10_000], y[:10_000])
    given, fresh = X[10_000:50_000], X[50_000:]
    full = model.predict(fresh)
    assert full.sum() > 20
    weak = attend(model, given, promise="rows", random_state=0)
    assert shares(weak.predict(fresh), full, [0, 1])[1, 0] > 0.9
    assert weak.certificate_.by_class[1].lost > 0.9 * weak.certificate_.by_class[1].full
    with pytest.raises(
        ValueError, match=r"Too few rows of class 1: .* at least 299 are needed .* Pass about .* in all"
    ):
        attend(model, given, random_state=0)
    cautious = attend(model, given, delta={0: 0.001, 1: 0.2}, random_state=0)
    assert shares(cautious.predict(fresh), full, [0, 1])[1, 0] < 0.3
    assert cautious.read(fresh).n_read.mean() < 20


def test_a_common_class_is_decided_early_and_a_rare_one_reads_on(rare):
    model, given, _, fresh = rare
    reading, full = attend(model, given, delta=0.05, random_state=0).read(fresh), model.predict(fresh)
    assert reading.n_read[full == 0].mean() < 0.7 * reading.n_read[full == 1].mean()


def test_each_class_may_have_a_level_of_its_own(rare):
    model, given, _, fresh = rare
    full = model.predict(fresh)
    lost = {
        level: shares(attend(model, given, delta={0: 0.05, 1: level}, random_state=0).predict(fresh), full, [0, 1])
        for level in (0.02, 0.2)
    }
    assert lost[0.02].max() <= 0.03
    assert lost[0.2][1].max() > 0.05
    assert lost[0.2][0].max() <= 0.06


def test_a_level_of_one_promises_nothing_of_its_class(rare):
    model, given, _, fresh = rare
    attentive = attend(model, given, delta={0: 0.2, 1: 1.0}, random_state=0)
    assert shares(attentive.predict(fresh), model.predict(fresh), [0, 1])[1, 0] > 0.2
    assert "1: no promise" in str(attentive.certificate_)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
def test_the_promise_by_class_holds_over_many_calibrations(classes):
    X, y = correlated(60_000, 20, seed=3, separation=3.0, classes=classes)
    if classes == 2:
        X, y = imbalanced(60_000, 0.05, seed=3, noise=0.2, features=20)
    model = LogisticRegression(max_iter=500).fit(X[:3000], y[:3000])
    full, broken, calibrations = model.predict(X), np.zeros((classes, 2)), repetitions(100, fewest=25)
    for seed in range(calibrations):
        mixed = 3000 + np.random.default_rng(seed).permutation(len(X) - 3000)
        given, untouched = mixed[:6000], mixed[6000:]
        attentive = attend(model, X[given], delta=0.1, confidence=0.9, random_state=seed)
        broken += shares(attentive.predict(X[untouched]), full[untouched], model.classes_) > 0.1
    assert broken.max() <= binom.ppf(0.9999, calibrations, 0.1)
    assert broken.sum() > 0 or calibrations < 100  # else more would be read than the level asks for


@pytest.fixture(scope="module")
def noisy():
    """Labels of which a fifth is noise, so that the full model itself is unsure."""
    X, y = imbalanced(60_000, 0.5, seed=5, noise=0.7, features=60)
    model = LogisticRegression(max_iter=500).fit(X[:8000], y[:8000])
    assert 0.75 < model.score(X[8000:], y[8000:]) < 0.85
    return model, X[8000:], y[8000:]


def test_what_accuracy_allows_is_more_than_what_rows_allow_where_the_model_is_unsure(noisy):
    model, X, y = noisy
    terms = {"delta": 0.02, "random_state": 0}
    accurate = attend(model, X[:20_000], y[:20_000], promise="accuracy", **terms).read(X[20_000:])
    exact = attend(model, X[:20_000], promise="rows", **terms).read(X[20_000:])
    full = model.predict(X[20_000:])
    assert np.mean(full == y[20_000:]) - np.mean(accurate.label == y[20_000:]) < 0.025
    assert np.mean(accurate.label != full) > 0.02
    assert accurate.n_read.mean() < 0.8 * exact.n_read.mean()


@pytest.mark.slow
def test_the_promise_of_accuracy_holds_over_many_calibrations(noisy):
    model, X, y = noisy
    full, broken, calibrations = model.predict(X), 0, repetitions(100, fewest=20)
    for seed in range(calibrations):
        mixed = np.random.default_rng(seed).permutation(len(X))
        given, untouched = mixed[:4000], mixed[4000:]
        terms = {"promise": "accuracy", "delta": 0.03, "confidence": 0.9, "random_state": seed}
        here = attend(model, X[given], y[given], **terms).predict(X[untouched])
        broken += np.mean(full[untouched] == y[untouched]) - np.mean(here == y[untouched]) > 0.03
    assert broken <= binom.ppf(0.9999, calibrations, 0.1)


def test_accuracy_needs_labels_that_the_model_knows(noisy):
    model, X, y = noisy
    with pytest.raises(ValueError, match="needs y"):
        attend(model, X[:5000], promise="accuracy")
    with pytest.raises(ValueError, match=r"does not know, such as \['2'\]"):
        attend(model, X[:5000], np.append(y[:4999], 2), promise="accuracy")
    with pytest.raises(ValueError, match="does not know"):
        attend(model, X[:5000], np.where(y[:5000], "yes", "no"), promise="accuracy")


@pytest.mark.parametrize("promise", ["rows", "classes"])
def test_an_average_is_spent_as_well_as_a_level_is(rare, promise):
    """In 0.1 average_features=8 certified 6.7 %, where delta=0.05 read fewer."""
    model, given, _, _ = rare
    ratios = []
    for seed in range(4):
        at_level = attend(model, given, delta=0.05, promise=promise, random_state=seed)
        spent = at_level.certificate_.features_per_row
        averaged = attend(model, given, average_features=spent, promise=promise, random_state=seed)
        assert averaged.certificate_.features_per_row < 1.1 * spent
        ratios.append(averaged.certificate_.delta / 0.05)
    assert np.exp(np.mean(np.log(ratios))) < 1.15


def test_an_average_states_its_level_for_every_class_whatever_delta_says(rare):
    model, given, _, _ = rare
    plain, by_dict, of_nothing = (
        attend(model, given, delta=delta, average_features=3, random_state=0).certificate_
        for delta in (0.01, {0: 0.05, 1: 1}, {0: 1, 1: 1})
    )
    assert plain.delta == by_dict.delta == of_nothing.delta
    assert plain.delta >= max(record.lost_share for record in plain.by_class)


def test_an_average_that_can_be_had_is_had(rare):
    model, given, _, fresh = rare
    for average in (1.3, 2.0, 12.0, 25.0):
        attentive = attend(model, given, average_features=average, random_state=0)
        assert 0.5 * average < attentive.read(fresh).n_read.mean() < 1.1 * average


def test_where_stopping_early_mends_labels_the_level_is_all_but_zero(tmp_path):
    """A model of 60 rows and 40 features, of which one matters: a few features are right more often than all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 40))
    y = (X[:, 0] + rng.normal(size=8000) > 0).astype(int)
    model = RidgeClassifier(alpha=1e-6).fit(X[:60], y[:60])
    terms = {"promise": "accuracy", "average_features": 4, "random_state": 0}
    attentive = attend(model, X[60:], y[60:], **terms)
    assert 0 < attentive.certificate_.delta < 1e-3
    saccade.save(attentive, tmp_path / "model")
    assert saccade.load(tmp_path / "model").certificate_ == attentive.certificate_


def test_a_level_that_changes_after_attend_changes_no_certificate(rare):
    model, given, _, _ = rare
    delta = {1: 0.05, 0: 0.02}
    attentive = attend(model, given, delta=delta, random_state=0)
    delta[1] = 1e-6
    assert attentive.certificate_.delta == {0: 0.02, 1: 0.05}


def test_ties_that_the_model_decides_by_rounding_are_not_certified():
    """Sums of whole numbers, scaled by a pipeline: the model's own label of a zero margin is an accident."""
    rng = np.random.default_rng(0)
    X, coef = rng.integers(0, 5, (6000, 6)).astype(float), np.array([1, -1, 2, -2, 1, -1.0])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:1000], (X @ coef > 0)[:1000])
    model[-1].coef_, model[-1].intercept_ = (coef * model[0].scale_)[None], np.array([coef @ model[0].mean_])
    for when_too_few in ("raise", "read"):
        with pytest.raises(ValueError, match="even where every feature is read: their margins are zero"):
            attend(model, X[1000:], delta=0.01, when_too_few=when_too_few, random_state=0)


@pytest.mark.parametrize("confidence", [0.95, 1 - 1e-12])
def test_the_level_that_is_advised_for_accuracy_can_be_had(noisy, confidence):
    model, X, y = noisy
    terms = {"promise": "accuracy", "confidence": confidence, "random_state": 0}
    with pytest.raises(ValueError, match="raise delta to") as refused:
        attend(model, X[:300], y[:300], delta=0.001, **terms)
    level = float(re.search(r"raise delta to ([\d.]+)", str(refused.value))[1])
    assert attend(model, X[:300], y[:300], delta=level, **terms).certificate_.delta == level


def test_where_an_average_is_too_small_the_least_that_is_possible_is_named(rare):
    model, given, _, _ = rare
    with pytest.raises(ValueError, match=r"average_features=0\.5 features per row: the boldest reads 1"):
        attend(model, given, average_features=0.5)
    with pytest.raises(ValueError, match="the boldest reads 20"):
        attend(model, given, average_features=5, boundary=Budget(20), order="sorted")


def test_fit_plans_on_rows_that_the_estimator_was_not_fitted_on(rare):
    _, X, y, fresh = rare
    attentive = AttentiveClassifier(LogisticRegression(max_iter=500), delta=0.05, random_state=0).fit(X, y)
    assert attentive.certificate_.n_calibration == round(0.3 * len(X))
    full = attentive.estimator_.predict(fresh)
    assert_kept(attentive.predict(fresh), full, [0, 1], 0.05)

"""Plans for rows that lack features, and the promise that some of them keep."""

import copy
import pickle
import weakref

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import least_squares
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from data import correlated, problem
from saccade import Conditional, attend
from saccade.planning.absence import Population, plan_without
from saccade.planning.choosing import Sample
from saccade.planning.prices import price_list
from saccade.planning.regression import emphasis, regress
from saccade.planning.spare import _Later, spare_features
from saccade.promises.labels import Labels
from saccade.promises.promise import promise_of
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan


@pytest.fixture(scope="module")
def every():
    """Forty features that share three hidden factors, in units of their own: each can be told from the others."""
    X, y = correlated(30_000, 40, seed=2, factors=3, separation=2.0)
    return X @ np.diag(np.linspace(0.1, 100, 40)), y


@pytest.fixture(scope="module")
def rows(every):
    return every[0]


@pytest.fixture(scope="module")
def model(every):
    return LogisticRegression(max_iter=5000).fit(every[0][:3000], every[1][:3000])


def lacking(*features):
    return np.isin(np.arange(40), features)


def test_without_a_feature_the_margin_is_regressed_on_the_others_alone(model, rows):
    attentive = attend(model, rows[:6000], delta=0.05, boundary=Conditional(ridge=1e-9), random_state=0)
    plan, regression = attentive.plan_, attentive.population_.regression
    absent = [int(plan.order[0]), int(plan.order[2])]
    without = plan_without(plan, attentive.population_, lacking(*absent), 0.05)
    # The rows that the regression saw: those that do not calibrate.
    mixed = np.random.RandomState(0).permutation(6000)
    sample = rows[:6000][mixed[1800:]]
    margin = model.decision_function(sample)
    weight = emphasis(margin, Conditional().focus)
    for k, end in enumerate(plan.checkpoints):
        if end < 4 or plan.first[k]:
            continue
        known = [feature for feature in regression.order[:end] if feature not in absent]
        solution, _ = least_squares(sample, margin, weight, known)
        weights = without.weights[0, without.begins[k] : without.begins[k] + end]
        by_feature = dict(zip(plan.order[:end].tolist(), weights, strict=True))
        assert all(by_feature[feature] == 0 for feature in absent)
        np.testing.assert_allclose([by_feature[feature] for feature in known], solution[:-1], rtol=1e-3, atol=1e-6)
        assert without.shift[0, k] == pytest.approx(solution[-1], rel=1e-3, abs=1e-4)


def test_margins_must_be_clearer_where_something_is_missing_and_later_checkpoints_only(model, rows):
    attentive = attend(model, rows[:6000], delta=0.05, random_state=0)
    plan = attentive.plan_
    last = int(plan.order[plan.checkpoints[-1] - 1])
    without = plan_without(plan, attentive.population_, lacking(last), 0.05)
    reached = plan.checkpoints == plan.checkpoints[-1]
    np.testing.assert_array_equal(without.upper[:, ~reached], plan.upper[:, ~reached])
    assert (without.upper[:, reached] > plan.upper[:, reached]).all()
    np.testing.assert_array_equal(without.lower, -without.upper)
    nothing = plan_without(plan, attentive.population_, lacking(), 0.05)
    for mine, theirs in zip(nothing, plan, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def any_plan(rng, n, scores):
    """Return a plan whose checkpoints begin anew or go on, over an order that may repeat features."""
    order = rng.permutation(n) if rng.random() < 0.5 else rng.integers(0, n, n)
    stops = np.flatnonzero(rng.random(n) < 0.4) + 1
    before = np.append(0, stops[:-1])[: stops.size]
    first = np.where(rng.random(stops.size) < 0.5, before, 0)
    upper = rng.uniform(0.1, 1.0, (scores, stops.size))
    return Plan(
        order=order.astype(np.uint32),
        checkpoints=stops,
        first=first,
        begins=np.append(0, np.cumsum(stops - first))[: stops.size],
        weights=rng.normal(size=(scores, (stops - first).sum())),
        shift=rng.normal(size=(scores, stops.size)),
        lower=-upper,
        upper=upper,
        coef=rng.normal(size=(scores, n)),
        intercept=rng.normal(size=scores),
    )


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 100_000), scores=st.sampled_from([1, 3]), regressed=st.integers(0, 10), in_turn=st.booleans()
)
def test_the_factor_gives_what_dense_solves_give(seed, scores, regressed, in_turn):
    n, rng = 10, np.random.default_rng(seed)
    X, _, weight = problem(seed, n)
    order = rng.permutation(n) if in_turn else None
    coef, prices = rng.normal(size=(scores, n)), price_list(None, None, n, None)
    regression = regress(X, coef, weight / weight.sum(), regressed, ridge=1e-3, prices=prices, order=order)
    population = Population(regression, X.mean(axis=0), X.var(axis=0), X.min(axis=0), X.max(axis=0))
    plan = any_plan(rng, n, scores)
    for share in (0.1, 0.5, 0.9, 1.0):
        missing = rng.random(n) < share
        mine = plan_without(plan, population, missing, 0.05)
        theirs = reference.plan_without(plan, population, missing, 0.05)
        for name, values, expected in zip(Plan._fields, mine, theirs, strict=True):
            np.testing.assert_allclose(values, expected, rtol=1e-7, atol=1e-9, err_msg=name)


def test_a_regression_in_a_file_keeps_nothing_that_follows_from_it(model, rows):
    regression = attend(model, rows[:6000], delta=0.05, random_state=0).population_.regression
    before = len(pickle.dumps(regression))
    regression.imputation(np.array([0]), np.array([1, 2, 5]))
    assert len(pickle.dumps(regression)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(regression)).covariance, regression.covariance)


def of_several_kinds():
    """Return models of several kinds, each with rows that certify it."""
    for seed in range(3):
        for classes, dtype, options in (
            (2, np.float64, {}),
            (
                2,
                np.float32,
                {"groups": {"sample": [0, 3, 5], "record": [1, 2]}, "boundary": "curved", "order": "sorted"},
            ),
            (3, np.float32, {"groups": {"sample": [0, 3, 5]}}),
            (2, np.float64, {"boundary": "constant", "order": "sampled"}),
            (2, np.float64, {"boundary": "full"}),
        ):
            X, y = correlated(6000, 20, seed=seed, factors=3, separation=2.0, classes=classes, dtype=dtype)
            model = LogisticRegression(max_iter=500).fit(X[:1000], y[:1000])
            yield attend(model, X[1000:4000], delta=0.05, random_state=seed, **options), X[4000:]
    whole = np.round(2 * X)  # sums of whole numbers meet zero often
    model.coef_, model.intercept_ = np.round(4 * model.coef_), np.zeros(1)
    yield attend(model, whole[1000:4000], delta=0.05, random_state=0), whole[4000:]


def test_what_is_spare_is_what_all_columns_of_the_rows_say(monkeypatch):
    both = set()
    for attentive, rows in of_several_kinds():
        plan, population, prices = attentive.plan_, attentive.population_, attentive.prices_
        expected = reference.spare_features(plan, 0.05, 0.95, population, prices, rows)
        n_classes, full = attentive.classes_.size, decided(read_plan(plan.without_stops(), ArraySource(rows)).margin)
        what = plan, promise_of("classes", 0.05, attentive.classes_), attentive.certificate_, population, prices
        what = *what, Sample(rows, Labels(full, n_classes))
        assert spare_features(*what) == expected
        monkeypatch.setattr("saccade.planning.spare.MOST_BYTES_KEPT", 0)  # at once, and no row is kept
        monkeypatch.setattr("saccade.planning.spare.ROWS_AT_ONCE", 300)
        at_once = spare_features(*what)
        monkeypatch.undo()
        assert at_once == expected
        assert type(at_once) is frozenset
        both |= {(feature,) in expected for feature in attentive.plan_.order[:64].tolist()}
    assert both == {True, False}


def test_nothing_is_tested_before_somebody_asks_and_then_once(model, rows, monkeypatch):
    tested = []
    passes = _Later.passes
    monkeypatch.setattr(_Later, "passes", lambda self, absent: tested.append(absent) or passes(self, absent))
    own = rows[:6000].copy()
    attentive, alive = attend(model, own, delta=0.05, random_state=0), weakref.ref(own)
    del own
    assert alive() is None  # what is kept of the rows is a copy of some columns
    first = int(attentive.plan_.order[0])
    inquiry = attentive.inquire(known={feature: rows[0, feature] for feature in range(40) if feature != first})
    inquiry.tell(None)
    assert inquiry.label is not None
    assert tested == []
    assert inquiry.certified == ((first,) in attentive.population_.spare)
    assert tested == [(first,)]
    assert (3, 4) not in attentive.population_.spare
    alike = copy.deepcopy(attentive)
    assert tested == [(first,)]
    loaded = pickle.loads(pickle.dumps(alike))
    assert len(tested) == len(set(tested)) == min(40, attentive.plan_.order.size)
    assert type(loaded.population_.spare) is frozenset
    assert loaded.population_.spare == attentive.population_.spare == alike.population_.spare
    assert attentive.population_.spare & {(first,)} == loaded.population_.spare & {(first,)}
    assert len(tested) == len(set(tested))


@pytest.mark.slow
def test_the_promise_holds_without_a_spare_feature(model, rows):
    """Over many calibrations, the share of those that break the promise without any feature that they call spare."""
    rng = np.random.default_rng(0)
    delta, confidence, repetitions = 0.05, 0.9, 25
    untouched = rows[20_000:]
    full = model.predict(untouched)
    broken = promised = 0
    for repetition in range(repetitions):
        sample = rows[rng.choice(np.arange(3000, 20_000), 6000, replace=False)]
        attentive = attend(model, sample, delta=delta, confidence=confidence, random_state=repetition)
        spare = [j for j in attentive.plan_.order[:10].tolist() if (j,) in attentive.population_.spare]
        promised += len(spare) > 0
        broken += any(not kept_without(attentive, absent, untouched, full, delta) for absent in spare)
    assert promised > repetitions / 2
    assert broken <= binom.ppf(0.9999, promised, 1 - confidence)


def kept_without(attentive, absent, rows, full, delta):
    without = plan_without(attentive.plan_, attentive.population_, lacking(absent), delta)
    here = attentive.classes_[decided(read_plan(without, ArraySource(rows)).margin)]
    return all(
        np.mean(others[those == label] != label) <= delta
        for label in attentive.classes_
        for those, others in ((full, here), (here, full))
    )


@pytest.mark.parametrize("boundary", ["curved", "constant"])
@pytest.mark.parametrize("order", ["greedy", "sorted", "permuted"])
def test_the_papers_boundaries_do_without_features_too(boundary, order, model, rows):
    attentive = attend(model, rows[:6000], delta=0.1, boundary=boundary, order=order, random_state=0)
    absent = int(attentive.plan_.order[0])
    without = plan_without(attentive.plan_, attentive.population_, lacking(absent), 0.1)
    sample = rows[6000:8000].copy()
    complete = read_plan(without, ArraySource(sample))
    sample[:, absent] = 1e6
    for mine, theirs in zip(read_plan(without, ArraySource(sample)), complete, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    labels = attentive.classes_[decided(complete[0])]
    assert np.mean(labels == model.predict(rows[6000:8000])) > 0.8

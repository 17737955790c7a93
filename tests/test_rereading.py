"""Plans that differ in thresholds alone: rows are read once, and get the labels that each plan would give them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import read_row

from saccade.planning.choosing import Sample, boldest
from saccade.planning.families import Family, Predictor, plan_of
from saccade.planning.rereading import Trail, differ_in_thresholds_alone
from saccade.promises.labels import Labels
from saccade.promises.promise import ByRows, is_kept
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import EACH, decided
from saccade.reading.reader import read_plan


class Scores:
    """A linear model of nine columns."""

    unit, each_needs_one, of_trees = EACH, True, False

    def __init__(self, rng, scores):
        self.coef, self.intercept = rng.normal(size=(scores, 9)), rng.normal(size=scores)


def drawn(seed, scores, kind=np.float64, layout="C", rows=5000):
    """Return a model, rows, and plans by how clear a row must be: predictors that begin anew, and some that go on."""
    rng = np.random.default_rng(seed)
    model, X = Scores(rng, scores), np.asarray(rng.normal(size=(rows, 9)), dtype=kind, order=layout)
    order, demanded = rng.permutation(9), rng.exponential(size=(2 if scores == 1 else scores, 4))
    predictors = [
        Predictor(size, first, model.coef[:, order[first:size]] + 0.1, rng.normal(size=scores))
        for size, first in ((1, 0), (4, 0), (5, 4), (7, 5))
    ]
    return model, X, lambda factor: plan_of(model, order, predictors, factor * demanded)


def read(plan, X):
    return decided(read_plan(plan, ArraySource(X)).margin)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    scores=st.sampled_from([1, 3, 6]),
    kind=st.sampled_from([np.float64, np.float32]),
    layout=st.sampled_from(["C", "F"]),
)
def test_a_trail_gives_the_labels_of_a_reader_for_any_thresholds(seed, scores, kind, layout):
    _, X, plan = drawn(seed, scores, kind, layout)
    trail = Trail(plan(1.0), X, read(plan(1.0).without_stops(), X))
    for factor in (np.inf, 2.0, 1.0, 0.3, 0.0):
        np.testing.assert_array_equal(trail.labels(plan(factor)), read(plan(factor), X))


def test_a_trail_gives_the_labels_of_a_plain_loop():
    for scores in (1, 3):
        _, X, plan = drawn(scores, scores, rows=200)
        trail = Trail(plan(2.0), X, read(plan(2.0).without_stops(), X))
        by_loop = [decided(read_row(plan(0.5), x)[0][None])[0] for x in X]
        assert trail.labels(plan(0.5)).tolist() == by_loop


def test_rows_on_a_threshold_are_decided_as_a_reader_decides_them():
    _, X, plan = drawn(0, 1)
    reached = read_plan(plan(0.0), ArraySource(X)).margin[:, 0]
    exactly = plan(1.0)._replace(upper=np.full((1, 4), reached.max()), lower=np.full((1, 4), reached.min()))
    trail = Trail(plan(1.0), X, read(plan(1.0).without_stops(), X))
    np.testing.assert_array_equal(trail.labels(exactly), read(exactly, X))


def test_plans_with_other_predictors_are_not_taken_for_the_same():
    _, _, plan = drawn(0, 3)
    _, _, another = drawn(1, 3)
    assert differ_in_thresholds_alone(plan(1.0), plan(0.5))
    assert not differ_in_thresholds_alone(plan(1.0), another(1.0))
    assert not differ_in_thresholds_alone(plan(1.0), plan(1.0).without_stops())


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), scores=st.sampled_from([1, 3]))
def test_the_boldest_plan_is_the_one_that_reading_anew_would_find(seed, scores):
    """Families go from plans that read everything to others, and may change more than thresholds on the way."""
    _, X, plan = drawn(seed, scores)
    _, _, another = drawn(seed + 1, scores)
    full = read(plan(1.0).without_stops(), X)
    steps = [
        plan(1.0).without_stops(),
        *map(plan, (8, 6, 5, 4, 3.5)),
        *(another(f)._replace(coef=plan(1.0).coef, intercept=plan(1.0).intercept) for f in (4, 3, 2, 1, 0.5, 0.1)),
    ]
    family = Family(np.arange(len(steps), dtype=float), lambda setting: steps[int(setting)])
    labels, promise = Labels(full, max(2, scores)), ByRows(0.1)
    kept = [is_kept(promise, read(step, X), labels, 0.9) for step in steps]
    expected = steps[kept.index(False) - 1] if False in kept else steps[-1]
    assert boldest(family, Sample(X, labels), promise, 0.9) is expected

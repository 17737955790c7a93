"""The watch over a promise: its statistics, its coins, and what it does when the promise is broken."""

import contextlib
import json
import pickle
import re
import threading
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from attended import attended
from attended_trees import MODELS as TREE_MODELS
from attended_trees import attended as attended_trees
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from termed import estimator_of, rows_of

from data import correlated
from saccade import AttentiveClassifier, Watch, attend, load, predict_files, save
from saccade.exceptions import PromiseBrokenError, PromiseBrokenWarning
from saccade.promises import watch as statistics
from saccade.promises.watch import (
    ABOVE,
    BELOW,
    FOR_ALL_ROWS,
    HORIZON,
    LATE,
    Counts,
    holds,
    is_broken,
    lower_bound,
    upper_bound,
)

ALPHA, LEVEL = 0.05, 0.01


def plain_evidence(mixture, rows, errors, rate):
    """The likelihood ratios as the alternatives' rates have them, one after another."""
    total = 0.0
    for ratio, weight in zip(*mixture, strict=True):
        p = ratio * rate / (1 - rate + ratio * rate)
        total += weight * np.exp(errors * np.log(p / rate) + (rows - errors) * np.log((1 - p) / (1 - rate)))
    return total


def one_test(wrong, level=LEVEL):
    """Count rows of which some are wrong, in a test of all rows alone."""
    counts = Counts(np.array([level]))
    wrong = np.asarray(wrong, dtype=np.int64)
    counts.add(wrong, np.zeros_like(wrong))
    return counts


# The statistics


def test_weights_are_a_distribution():
    for mixture in (ABOVE, BELOW, LATE):
        assert mixture.weight.sum() == pytest.approx(1)
    assert (ABOVE.ratio > 1).all()
    assert (BELOW.ratio < 1).all()


@pytest.mark.parametrize("mixture", [ABOVE, BELOW])
@pytest.mark.parametrize(("rows", "errors"), [(0, 0), (1, 1), (500, 0), (800, 13)])
def test_evidence_is_a_mixture_of_likelihood_ratios(mixture, rows, errors):
    found = statistics.log_mixture(rows, errors, 0.02, *mixture)
    assert np.exp(found) == pytest.approx(plain_evidence(mixture, rows, errors, 0.02))


@pytest.mark.parametrize("mixture", [ABOVE, BELOW])
def test_evidence_is_one_on_average(mixture):
    """Exactly, by the binomial law at the rate that is tested."""
    errors = np.arange(301)
    evidence = [np.exp(statistics.log_mixture(300, int(s), 0.03, *mixture)) for s in errors]
    assert np.sum(evidence * binom.pmf(errors, 300, 0.03)) == pytest.approx(1)


def test_the_detector_is_what_a_plain_loop_says():
    wrong = np.random.default_rng(0).random(500) < 0.03
    expected = np.zeros(LATE.ratio.size)
    for is_wrong in wrong:
        p = LATE.ratio * LEVEL / (1 - LEVEL + LATE.ratio * LEVEL)
        expected = (expected + LATE.weight) * (p / LEVEL if is_wrong else (1 - p) / (1 - LEVEL))
    np.testing.assert_allclose(one_test(wrong).recent[0], expected)


def test_the_detector_is_the_number_of_rows_on_average():
    rng = np.random.default_rng(1)
    found = [one_test(rng.random(200) < LEVEL).recent[0].sum() for _ in range(4000)]
    assert abs(np.mean(found) - 200) < 4 * np.std(found) / np.sqrt(4000)


def alarms(rate, rows, paths, seed):
    """Return after how many rows each path alarms, 0 where it does not; only an error can raise the alarm."""
    rng = np.random.default_rng(seed)
    first = np.zeros(paths, dtype=int)
    for path in range(paths):
        wrong = rng.random(rows) < rate
        counts, start = Counts(np.array([LEVEL])), 0
        for end in (np.flatnonzero(wrong) + 1).tolist():
            part = wrong[start:end].astype(np.int64)
            counts.add(part, np.zeros_like(part))
            start = end
            if is_broken(counts, 0, ALPHA):
                first[path] = end
                break
    return first


def test_false_alarms_are_as_rare_as_promised():
    raised = np.sum(alarms(LEVEL, 6000, 200, seed=2) > 0)
    most = ALPHA * (FOR_ALL_ROWS + (1 - FOR_ALL_ROWS) * 6000 / HORIZON)
    assert raised <= binom.ppf(0.999, 200, most)


@pytest.mark.parametrize(("rate", "most"), [(0.02, 950), (0.03, 270), (0.05, 90)])
def test_alarms_come_soon(rate, most):
    found = alarms(rate, 4 * most, 200, seed=3)
    assert np.mean((found > 0) & (found <= 1.2 * most)) > 0.45  # the benchmark has the medians of 1,000 paths


def test_a_long_good_past_does_not_delay_the_alarm():
    rng, found = np.random.default_rng(4), 0
    for _ in range(50):
        counts = one_test(rng.random(100_000) < 0.005)
        assert holds(counts, 0, ALPHA)
        assert not is_broken(counts, 0, ALPHA)
        wrong = (rng.random(1000) < 0.03).astype(np.int64)
        for error in np.split(wrong, np.flatnonzero(wrong) + 1):
            counts.add(error, np.zeros_like(error))
            if is_broken(counts, 0, ALPHA):
                found += 1
                break
    assert found > 25


def test_bounds_are_where_the_evidence_is_clear():
    for rows, errors in ((50, 3), (2000, 15), (2000, 0), (10, 10), (0, 0)):
        lower, upper = lower_bound(rows, errors, ALPHA), upper_bound(rows, errors, ALPHA)
        assert 0 <= lower <= errors / max(rows, 1) <= upper <= 1
        if lower > 0:
            assert plain_evidence(ABOVE, rows, errors, lower) == pytest.approx(1 / ALPHA, rel=1e-6)
        if upper < 1:
            assert plain_evidence(BELOW, rows, errors, upper) == pytest.approx(1 / ALPHA, rel=1e-6)
    assert lower_bound(2000, 0, ALPHA) == 0
    assert upper_bound(0, 0, ALPHA) == 1


def test_bounds_close_in_with_many_rows():
    assert lower_bound(1_000_000, 10_000, ALPHA) > 0.0094
    assert upper_bound(1_000_000, 10_000, ALPHA) < 0.0106


def test_bounds_hold_at_all_times_at_once():
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(200):
        errors = np.cumsum(rng.random(2000) < 0.05)
        looks = np.arange(20, 2001, 60)
        wrong += any(upper_bound(int(n), int(errors[n - 1]), ALPHA) < 0.05 for n in looks)
    assert wrong <= binom.ppf(0.999, 200, ALPHA)


def test_a_bound_beyond_the_level_breaks_the_promise_and_one_below_it_holds():
    for errors in range(60):
        counts = one_test(np.arange(1500) < errors)
        counts.recent[:] = 0  # of the evidence on all rows alone
        assert is_broken(counts, 0, ALPHA) == (lower_bound(1500, errors, ALPHA * FOR_ALL_ROWS) > LEVEL)
        assert holds(counts, 0, ALPHA) == (upper_bound(1500, errors, ALPHA) < LEVEL)


def test_overwhelming_evidence_stays_finite():
    counts = one_test(np.ones(5000))
    assert np.isfinite(counts.recent).all()
    assert is_broken(counts, 0, ALPHA)


# Models


@cache
def linear(promise="classes", delta=0.05):
    """Return a certified model, rows such as it was certified on, and rows on which it errs."""
    X, y = correlated(12_000, 12, seed=1, separation=3.0)
    model = LogisticRegression(max_iter=500).fit(X[:1000], y[:1000])
    y_held = y[1000:5000] if promise == "accuracy" else None
    attentive = attend(model, X[1000:5000], y_held, delta=delta, promise=promise, random_state=0)
    return attentive, X[5000:], drifted(attentive, X[5000:])


def drifted(attentive, X):
    """Return rows whose first columns say one thing, and the others another."""
    asked = attentive.plan_.order[: int(attentive.plan_.checkpoints[0])]
    changed = X.copy()
    others = np.setdiff1d(np.arange(X.shape[1]), asked)
    changed[:, others] = np.random.default_rng(0).permutation(X[:, others]) * 4
    return changed


def at_level(attentive, delta):
    """Return a model whose certificate promises another level."""
    other = pickle.loads(pickle.dumps(attentive))
    other.certificate_ = replace(attentive.certificate_, delta=delta)
    return other


def full_labels(attentive, X):
    return attentive.classes_[(attentive.full_margin(X) > 0).astype(int)]


def test_a_promise_that_is_kept_holds():
    attentive, X, _ = linear("rows")
    attentive = at_level(attentive, 0.1)  # what is certified at 5 % errs at little less
    watch = Watch(attentive, share=1.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch.predict(X)
    assert watch.state == "holds"
    assert watch.n_audited == watch.n_rows == len(X)
    assert watch.n_disagreements == np.sum(attentive.predict(X) != full_labels(attentive, X))
    assert 0 <= watch.lower_bound <= watch.n_disagreements / len(X) <= watch.upper_bound < 0.1


@pytest.mark.parametrize("promise", ["classes", "rows", "accuracy"])
def test_a_promise_that_is_broken_is_found(promise):
    attentive, _X, bad = linear(promise)
    assert np.mean(attentive.predict(bad) != full_labels(attentive, bad)) > 0.08
    watch = Watch(attentive, share=0.3, random_state=0)
    with pytest.warns(PromiseBrokenWarning, match=r"audited rows of 7,000.*5 % was promised") as record:
        watch.predict(bad)
    assert len(record) == 1
    assert record[0].filename == __file__
    watch.predict(bad)  # warnings are errors: it is said once
    assert watch.state == "broken"
    if promise != "classes":
        assert watch.lower_bound > 0.05


def test_audited_rows_have_the_full_models_labels_and_the_others_the_early_ones():
    attentive, _, bad = linear()
    watch = Watch(attentive, share=0.2, random_state=3)
    with pytest.warns(PromiseBrokenWarning):
        found = watch.read(bad)
    early, full = attentive.read(bad), full_labels(attentive, bad)
    assert 0.15 < found.audited.mean() < 0.25
    np.testing.assert_array_equal(found.label, np.where(found.audited, full, early.label))
    np.testing.assert_array_equal(found.n_read, np.where(found.audited, 12, early.n_read))
    np.testing.assert_allclose(found.margin[found.audited], attentive.full_margin(bad)[found.audited])
    assert not found.stopped[found.audited].any()
    assert watch.n_disagreements == np.sum((early.label != full)[found.audited])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["two classes", "four classes"])
def test_audited_rows_have_the_bits_of_a_full_read(order, kind, name):
    attentive, frame = attended(name)
    other = pickle.loads(pickle.dumps(attentive))
    del other.feature_names_in_
    X = np.asarray(frame.to_numpy(), dtype=kind, order=order)
    found = Watch(other, share=0.5, random_state=0).read(X)
    assert found.audited.any()
    np.testing.assert_array_equal(found.margin[found.audited], other.full_margin(X)[found.audited])


def test_coins_do_not_depend_on_batches():
    attentive, X, _ = linear()
    whole = Watch(attentive, share=0.1, random_state=7).read(X).audited
    watch = Watch(attentive, share=0.1, random_state=7)
    parts = [watch.read(part).audited for part in np.split(X, [1, 2, 500, 501, 3000])]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert not np.array_equal(Watch(attentive, share=0.1, random_state=8).read(X).audited, whole)
    assert abs(whole.mean() - 0.1) < 4 * np.sqrt(0.09 / len(X))


def test_coins_of_all_rows_are_alike_and_independent():
    watch = Watch(linear()[0], share=0.03, random_state=0)
    fell = np.zeros(400_000, dtype=bool)
    fell[watch._chosen(400_000)] = True
    for lag in (1, 2, 33):  # neighbours, and the mean gap
        both = np.sum(fell[lag:] & fell[:-lag])
        assert binom.cdf(both, 400_000 - lag, 0.0009) > 1e-4
        assert binom.sf(both, 400_000 - lag, 0.0009) > 1e-4
    by_tenth = fell.reshape(10, -1).sum(axis=1)
    assert (np.abs(by_tenth - 1200) < 4.5 * np.sqrt(40_000 * 0.03 * 0.97)).all()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_none_or_all_may_be_audited(share):
    attentive, X, _ = linear()
    assert (Watch(attentive, share=share).read(X[:200]).audited == bool(share)).all()


def test_classes_are_counted_apart():
    attentive, X, _ = linear()
    watch = Watch(attentive, share=1.0, random_state=0)
    watch.predict(X)
    early, full = attentive.predict(X), full_labels(attentive, X)
    for record in watch.by_class:
        c = record.label
        assert (record.full, record.here) == (np.sum(full == c), np.sum(early == c))
        assert record.lost == np.sum((full == c) & (early != c))
        assert record.false == np.sum((early == c) & (full != c))
        assert record.lost_lower <= record.lost / record.full <= record.lost_upper
        assert record.false_lower <= record.false / record.here <= record.false_upper
        assert record.delta == 0.05
    assert watch.state == ("holds" if all(r.state == "holds" for r in watch.by_class) else "open")


def test_one_class_suffices_to_break_a_promise_by_class():
    """Rows of class 1 turned 0 early are few among all rows, and many of their class."""
    attentive, _, _ = linear()
    watch = Watch(attentive, share=1.0)
    full = (np.arange(4000) % 20 == 0).astype(np.int64)
    early = np.where(np.arange(4000) % 80 == 0, 0, full)
    watch._tally.counts.add(early, full)
    assert [record.state for record in watch.by_class] == ["holds", "broken"]
    assert watch.state == "broken"
    assert watch.upper_bound < 0.05
    assert "of 200 rows that the full model labels 1, 50 have another label early" in watch._message()


def test_of_a_class_without_a_promise_nothing_is_tested():
    watch = Watch(at_level(linear()[0], {0: 0.05, 1: 1.0}))
    full = np.zeros(2000, dtype=np.int64)
    watch._tally.counts.add(full, full)
    watch._tally.counts.add(np.ones(10, dtype=np.int64), np.ones(10, dtype=np.int64))
    assert [record.delta for record in watch.by_class] == [0.05, 1.0]
    assert watch.state == "holds"
    assert watch.by_class[1].state == "open"


def test_on_broken_read_reads_every_later_row_in_full():
    attentive, _X, bad = linear()
    watch = Watch(attentive, share=0.3, on_broken="read", random_state=0)
    with pytest.warns(PromiseBrokenWarning, match="From here on every row is read in full"):
        watch.predict(bad)
    before = watch.n_audited
    found = watch.read(bad)
    np.testing.assert_array_equal(found.label, full_labels(attentive, bad))
    assert (found.n_read == 12).all()
    assert found.audited.all()
    assert watch.n_audited - before == len(bad)  # the evidence goes on


def test_on_broken_raise_names_counts_and_bounds_and_keeps_the_reading():
    attentive, X, bad = linear("rows")
    watch = Watch(attentive, share=0.5, on_broken="raise", random_state=0)
    watch.predict(X[:100])
    with pytest.raises(
        PromiseBrokenError, match=r"\d,\d+ audited rows of 7,100.* a share between .* % and .* %"
    ) as error:
        watch.read(bad)
    assert len(error.value.reading) == len(bad)
    rows = watch.n_rows
    with pytest.raises(PromiseBrokenError):
        watch.predict(X)
    assert watch.n_rows == rows
    assert isinstance(pickle.loads(pickle.dumps(error.value)), PromiseBrokenError)


def test_a_warning_is_given_again_when_the_state_has_changed():
    attentive, X, bad = linear("rows")
    watch = Watch(attentive, share=1.0, random_state=0)
    with pytest.warns(PromiseBrokenWarning):
        watch.predict(bad[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while watch.state == "broken":
            watch.predict(X)
    with pytest.warns(PromiseBrokenWarning):
        watch.predict(bad[:1500])


def test_a_late_change_is_called_late():
    attentive, X, bad = linear("rows")
    watch = Watch(at_level(attentive, 0.1), share=1.0, random_state=0)
    for _ in range(5):
        watch.predict(X)
    assert watch.state == "holds"
    with pytest.warns(PromiseBrokenWarning, match=r"and more lately, a share between .* where 10 % was promised"):
        watch.predict(bad[:1500])
    assert watch.upper_bound < 0.1


def test_workers_counts_merge_into_those_of_one_process():
    attentive, X, _ = linear()
    one, workers = Watch(attentive, share=1.0), [Watch(attentive, share=1.0) for _ in range(3)]
    one.predict(X)
    for worker, part in zip(workers, np.array_split(X, 3), strict=True):
        worker.predict(part)
    total = workers[0].merge(workers[1]).merge(workers[2])
    assert total is workers[0]
    assert (total.state, total.n_rows, total.n_audited) == (one.state, one.n_rows, one.n_audited)
    assert total.by_class == one.by_class
    assert (total.lower_bound, total.upper_bound) == (one.lower_bound, one.upper_bound)
    assert workers[1].n_rows < one.n_rows


def test_merged_detectors_are_the_number_of_rows_on_average():
    rng, found = np.random.default_rng(6), []
    for _ in range(2000):
        counts = one_test(rng.random(100) < LEVEL)
        counts.merge(one_test(rng.random(150) < LEVEL))
        found.append(counts.recent[0].sum())
    assert abs(np.mean(found) - 250) < 4 * np.std(found) / np.sqrt(2000)


def test_what_does_not_belong_together_is_not_merged():
    attentive, _, _ = linear()
    watch = Watch(attentive)
    with pytest.raises(ValueError, match="different models"):
        watch.merge(Watch(linear("rows")[0]))
    with pytest.raises(ValueError, match="with itself"):
        watch.merge(watch)
    with pytest.raises(TypeError, match=r"Watch\.from_json"):
        watch.merge("counts")


def test_json_goes_on_tomorrow():
    attentive, X, _ = linear()
    watch = Watch(attentive, share=0.2, on_broken="read", random_state=5)
    watch.predict(X[:3000])
    again = Watch.from_json(watch.to_json(), attentive)
    assert again.to_json() == watch.to_json()
    assert (again.share, again.confidence, again.on_broken) == (0.2, 0.95, "read")
    np.testing.assert_array_equal(again.read(X[3000:]).audited, watch.read(X[3000:]).audited)
    assert again.by_class == watch.by_class
    json.loads(watch.to_json(), parse_constant=pytest.fail)  # strict JSON


@pytest.mark.parametrize(
    "change",
    [
        {"model": "another"},
        {"saccade watch": 2},
        {"errors": [500]},
        {"n_rows": -1},
        {"n_rows": 2**63},
        {"n_rows": "100"},
        {"share": 3},
        {"seed": 10**30},
        {"seed": -1},
        {"next_row": 0.5},
        {"coins": [-1, 5]},
        {"coins": [2**63 - 1, 5]},
        {"coins": [5]},
        {"rows": None},
        {"recent": [[0, 0]]},
        {"recent": [[float("inf"), 0, 0]]},
        {"audit_spent": float("nan")},
        {"all_in_full": "no"},
    ],
)
def test_json_that_is_not_of_this_model_is_refused(change):
    attentive, X, _ = linear("rows")
    watch = Watch(attentive, share=0.5, random_state=0)
    watch.predict(X[:100])
    with pytest.raises(ValueError, match="This is no watch of this model"):
        Watch.from_json(json.dumps({**json.loads(watch.to_json()), **change}), attentive)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.integers()
    | st.integers(2**60, 2**65)
    | st.floats()
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=2),
)


@settings(max_examples=examples(2000))
@given(data=st.data())
def test_json_with_random_changes_is_refused_or_gives_a_watch_that_works(data):
    attentive, X, _ = linear()
    watch = Watch(attentive, share=0.5, random_state=0)
    watch.predict(X[:100])
    stated = json.loads(watch.to_json())
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        inside, place = stated, data.draw(st.sampled_from(sorted(stated)), label="field")
        while isinstance(inside[place], list) and inside[place] and data.draw(st.booleans(), label="inside"):
            inside, place = inside[place], data.draw(st.integers(0, len(inside[place]) - 1), label="place")
        if inside is not stated or data.draw(st.integers(0, 9), label="kept"):
            inside[place] = data.draw(JSON, label="value")
    try:
        again = Watch.from_json(json.dumps(stated), attentive)
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = None
    if refusal is not None:
        assert "This is no watch of this model" in refusal
        return
    chosen = np.array([-1, *again._chosen(500).tolist(), 500])
    assert (np.diff(chosen) > 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PromiseBrokenWarning)
        with contextlib.suppress(PromiseBrokenError):
            found = again.read(X[100:300])
            assert again.n_rows == stated["n_rows"] + len(found)
    assert again.state in ("holds", "open", "broken")
    assert 0 <= again.lower_bound <= 1
    assert 0 <= again.upper_bound <= 1
    parsed(again.metrics_text())
    kept = again.to_json()
    json.loads(kept, parse_constant=pytest.fail)
    assert Watch.from_json(kept, attentive).to_json() == kept


def test_counts_that_would_overflow_are_not_merged():
    attentive, X, _ = linear()
    watch = Watch(attentive, share=1.0)
    watch.predict(X)
    many = Watch.from_json(json.dumps({**json.loads(watch.to_json()), "n_rows": 2**62}), attentive)
    before = many.to_json()
    with pytest.raises(ValueError, match=r"more than .* rows\. Make a new one"):
        many.merge(watch)
    assert many.to_json() == before


@pytest.mark.parametrize(
    ("name", "value"), [("share", 1e300), ("confidence", 2.0), ("on_broken", "shout"), ("attentive", None)]
)
def test_what_a_watch_was_made_with_stays(name, value):
    watch = Watch(linear()[0], share=0.5)
    before = getattr(watch, name)
    with pytest.raises(AttributeError, match=rf"'{name}' of a watch cannot be changed\. Make a new one"):
        setattr(watch, name, value)
    assert getattr(watch, name) is before


def test_a_model_that_was_fitted_again_needs_a_new_watch(tmp_path):
    """With more classes than the counts have room for."""
    X, y = correlated(6000, 6, seed=0, separation=4.0)
    attentive = AttentiveClassifier(LogisticRegression(), delta=0.2, random_state=0).fit(X, y)
    watch = Watch(attentive, share=1.0, random_state=0)
    watch.predict(X)
    before, metrics = watch.to_json(), watch.metrics()
    attentive.fit(X, np.where(X[:, 0] > 1, 2 + np.arange(len(y)) % 9, y))
    np.save(tmp_path / "rows.npy", X)
    for use in (
        lambda: watch.predict(X),
        lambda: watch.read(X),
        lambda: watch.predict_lazily(lambda row, feature: X[row, feature], range(10)),
        lambda: predict_files(attentive, tmp_path / "rows.npy", tmp_path / "labels", watch=watch),
    ):
        with pytest.raises(RuntimeError, match=r"fitted again .* Make a new watch: Watch\(attentive\)"):
            use()
    assert not (tmp_path / "labels").exists()
    assert watch.to_json() == before
    assert watch.metrics() == metrics
    with pytest.raises(ValueError, match="different models"):
        watch.merge(Watch(attentive))
    Watch(attentive, share=1.0).predict(X)


def test_a_pickled_watch_still_knows_its_model():
    attentive, X, _ = linear()
    again = pickle.loads(pickle.dumps(Watch(attentive, share=0.2, random_state=5)))
    again.predict(X)
    again.attentive.plan_ = again.attentive.plan_.without_stops()
    with pytest.raises(RuntimeError, match="fitted again"):
        again.predict(X)


def test_a_watch_can_be_pickled():
    attentive, X, _ = linear()
    watch = Watch(attentive, share=0.2, random_state=5)
    watch.predict(X[:3000])
    again = pickle.loads(pickle.dumps(watch))
    assert again.to_json() == watch.to_json()
    np.testing.assert_array_equal(again.predict(X), watch.predict(X))


def test_threads_lose_no_count():
    attentive, X, _ = linear()
    watch, one = Watch(attentive, share=1.0), Watch(attentive, share=1.0)
    parts = np.array_split(X, 40)

    def work(mine):
        for part in mine:
            watch.predict(part)
            watch.metrics_text()

    threads = [threading.Thread(target=work, args=(parts[k::4],)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one.predict(X)
    assert watch.n_rows == len(X)
    assert watch.by_class == one.by_class


def test_a_row_that_only_the_full_model_cannot_read_keeps_its_early_label():
    attentive, X, _ = linear()
    order = attentive.plan_.order
    gap = X[:500].copy()
    early = attentive.read(gap)
    easy = early.n_read <= int(attentive.plan_.checkpoints[0])
    gap[easy, order[-1]] = np.nan
    watch = Watch(attentive, share=1.0)
    found = watch.read(gap)
    assert easy.any()
    assert not found.audited[easy].any()
    assert watch.n_incomparable == easy.sum()
    np.testing.assert_array_equal(found.label[easy], early.label[easy])
    watch._all_in_full = True
    again = watch.read(gap)
    np.testing.assert_array_equal(again.label, found.label)
    assert not again.audited[easy].any()


@pytest.mark.parametrize("all_in_full", [False, True])
@pytest.mark.parametrize("steps", [[], [SimpleImputer()]], ids=["columns", "terms"])
def test_a_row_is_refused_or_not_whether_it_is_audited_or_not(steps, all_in_full):
    _, frame = attended("two classes")
    y = correlated(4000, 12, seed=1, separation=3.0)[1]
    model = make_pipeline(*steps, LogisticRegression(max_iter=500)).fit(frame[:1000], y[:1000])
    attentive = attend(model, frame[1000:], delta=0.05, random_state=0)
    rows = frame[attentive.read(frame).n_read <= attentive.plan_.checkpoints[0]][:200]
    names = attentive.feature_names_in_[attentive._demanded()]  # in the order in which the plan reads them
    first, last = (rows.astype({column: object}) for column in names[[0, -1]])
    first.loc[first.index[[3, 50]], names[0]] = "large"
    last.loc[last.index[[3, 50]], names[-1]] = "large"
    early, full = attentive.predict(rows), model.predict(rows)
    for share in (0.0, 0.1, 1.0):
        watch = Watch(attentive, share=share, random_state=0)
        watch._all_in_full = all_in_full
        with pytest.raises(ValueError, match=f"{names[0]!r} holds"):
            watch.read(first)
        assert watch.n_rows == 0
        found = watch.read(last)
        np.testing.assert_array_equal(found.label, np.where(found.audited, full, early))
        assert not found.audited[[3, 50]].any()
        assert watch.n_audited == found.audited.sum()
        if share == 1 or all_in_full:
            assert (watch.n_audited, watch.n_incomparable) == (198, 2)


def test_a_row_that_only_the_plan_cannot_read_has_no_label_even_if_it_is_audited(tmp_path):
    """The plan reads a column that has no weight."""
    X, y = correlated(6000, 12, seed=1, separation=3.0)
    model = LogisticRegression(max_iter=500).fit(X[:1000], y[:1000])
    model.coef_[0, 0] = 0.0
    attentive = attend(model, X[1000:5000], boundary="curved", order="natural", delta=0.2, random_state=0)
    rows = X[5000:]
    rows[[3, 50], 0] = np.nan
    np.save(tmp_path / "rows.npy", rows)
    for share in (0.0, 1.0):
        watch, target = Watch(attentive, share=share), tmp_path / str(share)
        done = predict_files(attentive, tmp_path / "rows.npy", target, skip_bad=True, watch=watch)
        labels = pd.read_parquet(target / "rows.parquet").label
        assert np.flatnonzero(labels.isna()).tolist() == [3, 50]
        assert done.n_bad == 2


@pytest.mark.parametrize(
    ("name", "value"), [("share", 2), ("confidence", 1.5), ("on_broken", "shout"), ("random_state", "a")]
)
def test_parameters_are_checked(name, value):
    with pytest.raises(ValueError, match=name):
        Watch(linear()[0], **{name: value})


def test_only_certified_models_are_watched():
    with pytest.raises(ValueError, match="attentive"):
        Watch(LogisticRegression())


# Trees and tables


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, three", "xgboost"])
def test_trees_are_watched(name):
    assert name in TREE_MODELS
    attentive, rows = attended_trees(name)[:2]
    watch = Watch(attentive, share=0.5, random_state=0)
    found = watch.read(rows)
    full = attentive.estimator_.predict(rows)
    np.testing.assert_array_equal(found.label[found.audited], full[found.audited])
    np.testing.assert_array_equal(found.label[~found.audited], attentive.predict(rows)[~found.audited])
    assert 0.4 < found.audited.mean() < 0.6


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, groups", "lightgbm, three", "forest, three", "gradient"])
@pytest.mark.parametrize("n_chosen", [5, 200])
def test_audited_rows_are_read_by_trees_as_all_rows_are(name, n_chosen):
    """With screens, which a full read passes by; few rows and many; and one with a gap, which some libraries refuse."""
    attentive, rows = attended_trees(name)[:2]
    chosen = np.arange(7, 7 + n_chosen, dtype=np.uint32)
    gap = rows.copy()
    gap.loc[8, "age"] = np.nan
    for X in (gap, gap if "state" in gap.select_dtypes("category") else gap.to_numpy()):
        source = attentive._source(X)
        early, full = attentive._run_audited(source, chosen)
        expected = attentive._run_plan(source), attentive._run_in_full(source).some(chosen)
        for one, other in zip((*early, *full), (*expected[0], *expected[1]), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore::saccade.exceptions.PromiseBrokenWarning")
def test_audited_rows_are_compared_with_the_models_own_predict(tmp_path):
    """The parts that a model was taken apart into may differ from it, and only its own labels tell."""
    X, y = correlated(3000, 12, seed=1, separation=3.0)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    attentive = attend(LogisticRegression().fit(frame[:1000], y[:1000]), frame[1000:], delta=0.1, random_state=0)
    attentive.estimator_.intercept_ += 8.0
    own, full = attentive.estimator_.predict(frame), (attentive.full_margin(frame) > 0).astype(int)
    assert (own != full).mean() > 0.02
    for rows in (frame, frame.assign(more=1.0)[["more", *frame.columns[::-1]]]):
        watch = Watch(attentive, share=1.0, random_state=0, on_broken="read")
        reading = watch.read(rows)
        np.testing.assert_array_equal(reading.label, own)
        assert (watch.n_audited, watch.n_incomparable) == (3000, 0)
        assert watch.n_disagreements == (own != attentive.predict(frame)).sum()
    frame.to_parquet(tmp_path / "rows.parquet")
    parted = Watch(attentive, share=1.0, random_state=0)
    predict_files(attentive, tmp_path / "rows.parquet", tmp_path / "out", watch=parted)
    assert parted.n_disagreements == watch.n_disagreements
    save(attentive, tmp_path / "model.saccade")
    loaded = Watch(load(tmp_path / "model.saccade"), share=1.0)
    np.testing.assert_array_equal(loaded.predict(frame), full)  # whose model is not there


def test_tables_are_watched():
    attentive = attend(estimator_of(), rows_of(5000), delta=0.1, when_too_few="read", random_state=0)
    rows = rows_of(1000, 1)
    watch = Watch(attentive, share=0.5, random_state=0)
    found = watch.read(rows)
    np.testing.assert_array_equal(found.label[found.audited], attentive.estimator_.predict(rows)[found.audited])
    assert watch.n_audited + watch.n_incomparable == found.audited.sum()


# Metrics

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+(?<!,))\})? (\d+(?:\.\d+)?(?:e-?\d+)?)')


def parsed(text):
    """Parse Prometheus' text format strictly: HELP, TYPE, then all samples of a family, each once."""
    assert text.endswith("\n")
    families, name = {}, None
    lines = iter(text[:-1].split("\n"))
    for line in lines:
        if line.startswith("# HELP "):
            name, said = line[7:].split(" ", 1)
            assert said
            assert name not in families
            kind = re.fullmatch(rf"# TYPE {name} (counter|gauge)", next(lines))
            assert kind
            assert (kind[1] == "counter") == name.endswith("_total")
            families[name] = {}
            continue
        found = SAMPLE.fullmatch(line)
        assert found, line
        assert found[1] == name
        assert found[2] not in families[name]
        families[name][found[2]] = float(found[3])
    assert all(families.values())
    return families


def test_metrics_are_prometheus_text():
    attentive, X, _ = linear()
    watch = Watch(attentive, share=0.5, random_state=0)
    parsed(watch.metrics_text())  # before any row
    reading = watch.read(X)
    found = parsed(watch.metrics_text())
    assert found["saccade_rows_total"] == {None: len(X)}
    assert found["saccade_audited_rows_total"] == {None: watch.n_audited}
    assert found["saccade_disagreements_total"] == {None: watch.n_disagreements}
    assert found["saccade_parts_read_total"] == {None: reading.n_read.sum()}
    assert found["saccade_disagreement_lower_bound_ratio"] == {None: watch.lower_bound}
    assert found["saccade_disagreement_upper_bound_ratio"] == {None: watch.upper_bound}
    assert found["saccade_certificate_delta_ratio"] == {'class="0"': 0.05, 'class="1"': 0.05}
    assert sum(found["saccade_promise_state"].values()) == found["saccade_promise_state"][f'state="{watch.state}"'] == 1
    for record in watch.by_class:
        key = f'class="{record.label}",direction="lost"'
        assert found["saccade_class_disagreements_total"][key] == record.lost
        assert found["saccade_class_audited_rows_total"][key] == record.full
    assert "saccade_class_disagreements_total" not in parsed(Watch(linear("rows")[0]).metrics_text())
    assert parsed(Watch(linear("rows")[0]).metrics_text())["saccade_certificate_delta_ratio"] == {None: 0.05}


def test_metrics_are_also_a_dict():
    attentive, X, _ = linear()
    watch = Watch(attentive, share=0.5, random_state=0)
    watch.read(X)
    metrics = watch.metrics()
    assert (metrics["rows_total"], metrics["audited_rows_total"]) == (len(X), watch.n_audited)
    assert metrics["promise_state"] == watch.state
    assert [record["lost"] for record in metrics["classes"]] == [record.lost for record in watch.by_class]
    assert json.loads(json.dumps(metrics, default=int)) is not None


def test_labels_of_metrics_are_escaped():
    X, y = correlated(3000, 6, seed=0, separation=4.0)
    labels = np.array(['a"b', "c\\d\ne"])[y]
    attentive = attend(LogisticRegression().fit(X[:1000], labels[:1000]), X[1000:], delta=0.1, random_state=0)
    text = Watch(attentive).metrics_text()
    assert r'class="a\"b"' in text
    assert r'class="c\\d\ne"' in text
    parsed(text)

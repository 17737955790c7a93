"""Certificates: exact tests, the promises over many repetitions, and what a certificate says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from saccade.promises.certificate import Certificate, ClassRecord, StageRecord
from saccade.promises.contradictions import contradiction
from saccade.promises.evidence import Count, Difference, allowed_share, attainable, rows_needed
from saccade.promises.labels import Labels
from saccade.promises.learn_then_test import certify
from saccade.promises.promise import Accuracy, ByRows, is_kept, promise_of
from saccade.promises.shortage import Given, advice
from saccade.promises.witness import certificate_of, level_borne_out

levels = st.floats(0.001, 0.5)
confidences = st.floats(0.5, 0.999)


@given(delta=levels, confidence=confidences)
def test_so_many_rows_are_needed_and_not_one_fewer(delta, confidence):
    rows = rows_needed(delta, confidence)
    assert (1 - delta) ** rows <= (1 - confidence) * (1 + 1e-9)
    assert (1 - delta) ** (rows - 1) > (1 - confidence) * (1 - 1e-9)
    assert attainable(rows, confidence) <= delta * (1 + 1e-9)


@given(rows=st.integers(1, 2000), share=st.floats(0, 1), confidence=confidences)
def test_the_upper_bound_is_where_the_binomial_test_turns(rows, share, confidence):
    count = Count(int(share * rows), rows)
    bound = count.upper_bound(confidence)
    assert bound >= count.errors / rows
    if count.errors == rows:
        assert bound == 1
    else:
        assert binom.cdf(*count, bound) == pytest.approx(1 - confidence, rel=1e-6)
        assert count.rejects(min(1.01 * bound, 1), 1 - confidence)
        assert not count.rejects(0.99 * bound, 1 - confidence)


@given(rows=st.integers(1, 3000), delta=levels, confidence=confidences)
def test_the_allowed_share_is_the_largest_that_is_not_rejected(rows, delta, confidence):
    most = round(allowed_share(rows, delta, confidence) * rows)
    assert most == 0 or Count(most, rows).rejects(delta, 1 - confidence)
    assert not Count(most + 1, rows).rejects(delta, (1 - confidence) * (1 - 1e-9))


@pytest.mark.parametrize(("rate", "delta", "rows"), [(0.02, 0.01, 1000), (0.2, 0.05, 300), (0.01, 0.01, 2000)])
def test_a_fall_of_accuracy_by_delta_is_taken_for_less_at_most_as_often_as_alpha(rate, delta, rows):
    rng, repetitions = np.random.default_rng(0), 1000
    drawn = rng.multinomial(rows, [(rate + delta) / 2, (rate - delta) / 2, 1 - rate], size=repetitions)
    rejected = sum(Difference(int(worse), int(better), rows).rejects(delta, 0.05) for worse, better, _ in drawn)
    assert 0.005 * repetitions <= rejected <= binom.ppf(0.9999, repetitions, 0.05)


@settings(deadline=None, max_examples=25)
@given(
    rows=st.integers(2000, 20_000),
    worse=st.integers(0, 100),
    better=st.integers(0, 100),
    confidence=st.sampled_from([0.8, 0.95, 0.99]),
)
def test_the_bound_on_a_fall_of_accuracy_is_where_its_test_turns(rows, worse, better, confidence):
    difference = Difference(worse, better, rows)
    bound = difference.upper_bound(confidence)
    assert bound >= (worse - better) / rows
    assert difference.rejects(bound + 1e-6, 1 - confidence)
    assert not difference.rejects(bound - 1e-6, 1 - confidence)


def test_a_setting_is_accepted_exactly_where_its_upper_bound_is_within_the_level():
    errors = [0, 1, 2, 9, 3, 0]
    setting = certify(range(6), lambda setting: Count(errors[setting], 500).rejects(0.02, 0.05))
    within = [Count(count, 500).upper_bound(0.95) <= 0.02 for count in errors]
    assert within[: setting + 1] == [True] * (setting + 1)
    assert not within[setting + 1]  # what lies beyond the first failure is not looked at
    assert certify([0, 1], lambda setting: False) is None


CLASSES = np.array(["ok", "fraud"])


def codes(ok, fraud):
    return np.repeat([0, 1], [ok, fraud])


@pytest.mark.parametrize(
    ("lost", "false", "kept"),
    [(0, 0, True), (1, 0, True), (0, 1, True), (9, 0, False), (0, 9, False)],
)
def test_a_promise_by_class_is_broken_by_lost_rows_of_a_rare_class_and_by_false_ones(lost, false, kept):
    labels = Labels(codes(9500, 500), 2)
    here = labels.full.copy()
    here[9500 : 9500 + lost] = 0
    here[:false] = 1
    assert is_kept(promise_of("classes", 0.01, CLASSES), here, labels, 0.95) == kept
    assert is_kept(promise_of("rows", 0.01, CLASSES), here, labels, 0.95)


def test_every_class_has_the_level_that_is_said_of_it():
    labels = Labels(codes(9500, 500), 2)
    here = labels.full.copy()
    here[9500:9515] = 0
    assert is_kept(promise_of("classes", {"fraud": 0.05, "ok": 0.01}, CLASSES), here, labels, 0.95)
    assert not is_kept(promise_of("classes", {"fraud": 0.02, "ok": 0.01}, CLASSES), here, labels, 0.95)
    assert not is_kept(promise_of("classes", {"fraud": 0.05, "ok": 0.001}, CLASSES), here, labels, 0.95)
    assert is_kept(promise_of("classes", {"fraud": 1, "ok": 0.01}, CLASSES), here, labels, 0.95)


@pytest.mark.parametrize(
    ("delta", "name", "message"),
    [
        ({"fraud": 0.05}, "classes", "each of the classes"),
        ({"fraud": 0.05, "ok": 0.1, "no": 0.1}, "classes", "each of the classes"),
        ({"fraud": 0.0, "ok": 0.1}, "classes", "above 0"),
        ({"fraud": 0.05, "ok": 0.1}, "rows", "takes one number"),
        ({"fraud": 0.05, "ok": 0.1}, "accuracy", "takes one number"),
    ],
)
def test_levels_that_do_not_fit_the_classes_are_refused(delta, name, message):
    with pytest.raises(ValueError, match=message):
        promise_of(name, delta, CLASSES)


def test_accuracy_counts_what_is_mended_against_what_is_spoilt():
    true = np.zeros(2000, dtype=int)
    full = np.repeat([0, 1], [1800, 200])
    here = full.copy()
    here[:60], here[1800:1860] = 1, 0  # 60 spoilt and 60 mended
    labels = Labels(full, 2, true)
    np.testing.assert_array_equal(np.unique(Accuracy(0.05).loss(here, labels), return_counts=True)[1], [60, 1880, 60])
    assert is_kept(Accuracy(0.03), here, labels, 0.95)
    assert not is_kept(ByRows(0.05), here, labels, 0.95)
    spoilt = full.copy()
    spoilt[:60] = 1
    assert not is_kept(Accuracy(0.03), spoilt, labels, 0.95)


@pytest.mark.parametrize("delta", [0.01, 0.1])
def test_the_promise_holds_although_disagreement_is_not_monotone(delta):
    """Settings whose true disagreement rises, falls and rises through the level; 2,000 calibrations."""
    rng = np.random.default_rng(0)
    true = delta * np.array([0.2, 0.5, 0.9, 1.1, 0.8, 1.3, 2.0])
    repetitions, rows, broken = 2000, 2000, 0
    for _ in range(repetitions):
        drawn = rng.binomial(rows, true)
        accepted = certify(range(true.size), lambda setting: Count(int(drawn[setting]), rows).rejects(delta, 0.05))  # noqa: B023
        broken += accepted is not None and true[accepted] > delta
    assert broken <= binom.ppf(0.9999, repetitions, 0.05)


def seen(lost=1, false=2, n_read=7):
    """Return a certificate by class of 10,000 rows, of which 500 are fraud."""
    labels = Labels(codes(9500, 500), 2)
    here = labels.full.copy()
    here[9500 : 9500 + lost] = 0
    here[:false] = 1
    promise = promise_of("classes", 0.02, CLASSES)
    return certificate_of(promise, 0.95, here, np.full(10_000, n_read), labels, CLASSES, 20, "features")


def test_a_certificate_counts_by_class_and_by_stage():
    certificate = seen()
    assert certificate.by_class == (
        ClassRecord("ok", 9500, 9499, 2, 1, attainable(9500, 0.95)),
        ClassRecord("fraud", 500, 501, 1, 2, attainable(500, 0.95)),
    )
    assert certificate.by_stage == (StageRecord(7, 10_000, 3),)
    assert certificate.disagreement == 3e-4
    assert not hasattr(certificate, "upper_bound")


def test_a_certificate_prints_as_short_lines_with_counts():
    assert (
        str(seen())
        == """\
Certified at 95 % confidence, for rows drawn like the calibration rows:
  of the rows that the full model labels c, at most 2 % change label (for every class c);
  of the rows labelled c early, at most 2 % disagree with the full model.
Valid only if the model was not fitted on the calibration rows, which was not checked.
Observed: 3 of 10,000 calibration rows changed label.
Rarest class (fraud): 1 of 500 lost, 2 of 501 labelled so early false.
Features read per row: 7.0 of 20."""
    )
    assert "at most these shares change label (ok: 0.1 %, fraud: no promise);" in str(
        replace(seen(), delta={"ok": 0.001, "fraud": 1})
    )
    assert "  at most 2 % of all rows change label." in str(replace(seen(), promise="rows"))
    accuracy = str(replace(seen(), promise="accuracy", worse=2, better=1))
    assert "at most 2 percentage points below the full model's" in accuracy
    assert "changed label, 2 from a correct to a wrong one and 1 from a wrong to a correct one.\n" in accuracy
    assert "\nClass that lost most (ok): 2 of 9,500.\n" in str(seen(lost=0))


@pytest.mark.parametrize(
    ("changed", "read", "saves_nothing"),
    [
        ({"features_per_row": 18.9}, "Features read per row: 18.9 of 20.", False),
        ({"features_per_row": 19.0}, "Features read per row: 19.0 of 20.", True),
        ({"stored_per_row": 7.1}, "Stored values read per row: 7.0 of 7.1.", True),
        ({"stored_per_row": 9.0}, "Stored values read per row: 7.0 of 9.0.", False),
        ({"features_per_row": 19.0, "cost_per_row": 12.4, "cost_of_all": 260.0}, "per row: 12.4 of 260.", False),
        ({"features_per_row": 19.0, "cost_per_row": 259.0, "cost_of_all": 260.0}, "per row: 259 of 260.", True),
    ],
)
def test_a_certificate_says_when_nothing_is_saved(changed, read, saves_nothing):
    certificate = replace(seen(), **changed)
    assert certificate.saves_nothing == saves_nothing
    for shown in (str(certificate), certificate._repr_html_()):
        assert read in shown
        assert ("early exit saves nothing here" in shown) == saves_nothing


def test_the_repr_of_a_certificate_is_one_short_line():
    assert len(repr(seen())) < 400
    assert "\n" not in repr(seen())


def test_control_characters_in_labels_are_escaped():
    labels = ["\x1b[31mred\x1b[0m", "\u202eno"]
    records = [replace(record, label=label) for record, label in zip(seen().by_class, labels, strict=True)]
    certificate = replace(seen(lost=0), by_class=tuple(records), delta=dict.fromkeys(labels, 0.02))
    for shown in (str(certificate), repr(certificate), certificate._repr_html_()):
        assert all(line.isprintable() for line in shown.split("\n"))
        assert r"\x1b[31mred" in shown


def test_a_confidence_that_is_not_certainty_does_not_print_as_one():
    assert str(replace(seen(), confidence=1 - 1e-12)).startswith("Certified at 99.9999999999 % confidence")


@given(lost=st.integers(0, 5), false=st.integers(0, 5))
def test_the_level_borne_out_is_that_of_the_worst_class(lost, false):
    labels = Labels(codes(9500, 500), 2)
    here = labels.full.copy()
    here[9500 : 9500 + lost] = 0
    here[:false] = 1
    promise = promise_of("classes", 0.3, CLASSES)
    level = level_borne_out(promise, 0.95, here, labels)
    assert is_kept(promise.at(level * (1 + 1e-9)), here, labels, 0.95)
    assert not is_kept(promise.at(0.99 * level), here, labels, 0.95)


HONEST = seen()


def test_a_certificate_that_follows_from_its_counts_is_not_contradicted():
    assert contradiction(HONEST, reads_all=False) is None
    everything = replace(seen(0, 0, 20), delta=1e-6)
    assert contradiction(everything, reads_all=True) is None
    assert "does not bear out" in contradiction(everything, reads_all=False)


def with_class(**changed):
    return {"by_class": (HONEST.by_class[0], replace(HONEST.by_class[1], **changed))}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"disagreement": 4e-4}, "classes do not add up"),
        (with_class(lost=2), "classes do not add up"),
        (with_class(full=499), "classes do not add up"),
        (with_class(lost=-1), "classes do not add up"),
        ({"by_stage": (StageRecord(7, 9_999, 3),)}, "stages do not add up"),
        ({"by_class": ()}, "does not count"),
        ({"delta": 0.001}, "does not bear out"),
        ({"delta": {"ok": 0.02, "fraud": 0.005}}, "does not bear out"),
        ({"n_calibration": 20_000}, "add up"),
        ({"disagreement": 0.00035}, "fractions of rows"),
        ({"features_per_row": 785.0}, "more than there are"),
        ({"features_per_row": 0.0}, "no features"),
        ({"stored_per_row": 6.9}, "more than there is"),
        ({"cost_per_row": 5.0, "cost_of_all": 4.0}, "more than there is"),
        ({"cost_per_row": -1.0, "cost_of_all": 4.0}, "more than there is"),
        ({"confidence": 1.0}, "impossible"),
        ({"delta": float("nan")}, "impossible"),
        ({"n_calibration": 0}, "impossible"),
        ({"promise": "accuracy", "worse": 400, "better": 0}, "does not bear out"),
    ],
)
def test_a_certificate_that_does_not_follow_from_its_counts_is_contradicted(changed, reason):
    assert reason in contradiction(replace(HONEST, **changed), reads_all=False)


def test_a_certificate_of_rows_needs_no_classes():
    certificate = Certificate("rows", 0.01, 0.95, 600, 1 / 600, 11.6, 784)
    assert contradiction(certificate, reads_all=False) is None
    assert "does not bear out" in contradiction(replace(certificate, disagreement=19 / 600), reads_all=False)


def message(promise, labels, drawn_from=None):
    shortages = promise.shortages(labels, 0.95)
    given = Given(10 * labels.full.size, drawn_from)
    return advice(shortages, promise, 0.95, labels, CLASSES.tolist(), given)


def test_too_few_rows_of_a_class_are_named_with_what_would_help():
    said = message(promise_of("classes", 0.01, CLASSES), Labels(codes(2990, 10), 2))
    for part in (
        "Too few rows of class 'fraud': the model labels 10 of the 3,000 calibration rows so",
        "at least 299 are needed",
        "Pass about 897,000 rows or more in all (X has 30,000)",
        "could have borne out 0.26 at best",
        "promise='rows' needs fewer rows and is weaker: every row of 'fraud' may then get another label",
        "in all (X has 30,000). The rows",  # all of them would not suffice, so calibration_size is not named
    ):
        assert part in said
    assert attainable(10, 0.95) == pytest.approx(0.26, abs=0.005)
    none = message(promise_of("classes", 0.01, CLASSES), Labels(codes(3000, 0), 2))
    assert "nothing can be promised of it, which a level of 1 for it says" in none
    assert "it cannot be told how many" in none
    many = message(promise_of("classes", 0.001, CLASSES), Labels(codes(900, 100), 2))
    assert "1 other class has too few rows" in many
    assert "promise='rows'" not in many  # which needs 2,995 rows, too
    common = message(promise_of("classes", 0.01, CLASSES), Labels(codes(250, 150), 2))
    assert "2.67 % of the rows of 'fraud' may then get another label" in common
    assert "or raise calibration_size" in common


def test_of_a_sample_more_rows_are_not_asked_for():
    """Of which there are as many as fit: more of them may calibrate, or less is promised."""
    promise = promise_of("classes", 0.01, CLASSES)
    some = message(promise, Labels(codes(2900, 100), 2), drawn_from=9_000_000)
    assert "Of the 9,000,000 rows of X 30,000 were drawn, as many as are kept in memory: raise calibration" in some
    few = message(promise, Labels(codes(2990, 10), 2), drawn_from=9_000_000)
    assert "as many as are kept in memory, too few at any calibration_size: promise less. The rows of 'fraud'" in few
    assert "Pass" not in some + few
    all_of_them = message(promise, Labels(codes(2990, 10), 2), drawn_from=30_000)
    assert "Pass about 897,000 rows or more in all (X has 30,000)" in all_of_them


@pytest.mark.parametrize(("promise", "level"), [(ByRows(0.01), 0.03), (Accuracy(0.01), 0.044)])
def test_too_few_rows_in_all_are_named_with_what_would_help(promise, level):
    said = message(promise, Labels(codes(50, 50), 2, codes(50, 50)))
    assert "100 calibration rows do not suffice" in said
    assert f"raise delta to {level} or more" in said

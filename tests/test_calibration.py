"""Certificates: the binomial bounds, and the promise over many repetitions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from saccade.promises.certificate import Certificate
from saccade.promises.learn_then_test import certify, contradiction, rows_needed, upper_bound
from saccade.promises.risks import Count

levels = st.floats(0.001, 0.5)
confidences = st.floats(0.5, 0.999)


@given(delta=levels, confidence=confidences)
def test_so_many_rows_are_needed_and_not_one_fewer(delta, confidence):
    rows = rows_needed(delta, confidence)
    assert (1 - delta) ** rows <= (1 - confidence) * (1 + 1e-9)
    assert (1 - delta) ** (rows - 1) > (1 - confidence) * (1 - 1e-9)


@given(rows=st.integers(1, 2000), share=st.floats(0, 1), confidence=confidences)
def test_the_upper_bound_is_where_the_binomial_test_turns(rows, share, confidence):
    errors = int(share * rows)
    bound = upper_bound(errors, rows, confidence)
    assert bound >= errors / rows
    if errors < rows:
        assert binom.cdf(errors, rows, bound) == pytest.approx(1 - confidence, rel=1e-6)
    else:
        assert bound == 1


def test_a_setting_is_accepted_exactly_where_its_upper_bound_is_within_the_level():
    counts = [0, 1, 2, 9, 3, 0]
    setting = certify(range(6), lambda setting: [Count(counts[setting], 500)], 0.01, 0.95)
    within = [upper_bound(count, 500, 0.95) <= 0.01 for count in counts]
    assert within[: setting + 1] == [True] * (setting + 1)
    assert not within[setting + 1]  # what lies beyond the first failure is not looked at


def test_a_risk_with_several_counts_is_kept_only_where_each_of_them_is():
    counts = [(0, 0), (1, 0), (1, 1), (1, 9), (0, 0)]
    setting = certify(range(5), lambda setting: [Count(errors, 500) for errors in counts[setting]], 0.01, 0.95)
    assert setting == 2


def test_nothing_is_accepted_where_the_safest_setting_fails():
    assert certify([0, 1], lambda setting: [Count(50, 100)], 0.01, 0.95) is None


@pytest.mark.parametrize("delta", [0.01, 0.1])
def test_the_promise_holds_although_disagreement_is_not_monotone(delta):
    """Settings whose true disagreement rises, falls and rises through the level; 2,000 calibrations."""
    rng = np.random.default_rng(0)
    true = delta * np.array([0.2, 0.5, 0.9, 1.1, 0.8, 1.3, 2.0])
    repetitions, rows, broken = 2000, 2000, 0
    for _ in range(repetitions):
        drawn = rng.binomial(rows, true)
        accepted = certify(range(true.size), lambda setting: [Count(int(drawn[setting]), rows)], delta, 0.95)  # noqa: B023
        broken += accepted is not None and true[accepted] > delta
    assert broken <= binom.ppf(0.9999, repetitions, 0.05)


def test_a_certificate_reads_as_a_sentence():
    certificate = Certificate(0.01, 0.95, 3600, 0.007, 0.0099, 11.6, 784)
    assert str(certificate) == (
        "With 95 % confidence, at most 1 % of new rows get another label than the full model gives them: 0.7 % of "
        "3,600 calibration rows did. 11.6 of 784 features were read per row."
    )


HONEST = Certificate(0.01, 0.95, 600, 1 / 600, upper_bound(1, 600, 0.95), 11.6, 784)


def test_a_certificate_that_follows_from_its_counts_is_not_contradicted():
    assert contradiction(HONEST, reads_all=False) is None
    everything = Certificate(0.001, 0.95, 20, 0.0, 0.0, 784.0, 784)
    assert contradiction(everything, reads_all=True) is None
    assert "do not give the upper bound" in contradiction(everything, reads_all=False)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"disagreement": 19 / 600}, "do not give the upper bound"),
        ({"disagreement": 19 / 600, "upper_bound": upper_bound(19, 600, 0.95)}, "exceeds delta"),
        ({"delta": 0.001}, "exceeds delta"),
        ({"n_calibration": 6000}, "do not give the upper bound"),
        ({"disagreement": 0.0021}, "fractions of rows"),
        ({"features_per_row": 785.0}, "more than there are"),
        ({"features_per_row": 0.0}, "no features"),
        ({"upper_bound": 0.0}, "do not give the upper bound"),
        ({"confidence": 1.0}, "impossible"),
        ({"delta": float("nan")}, "impossible"),
        ({"upper_bound": float("nan")}, "do not give the upper bound"),
        ({"n_calibration": 0}, "impossible"),
    ],
)
def test_a_certificate_that_does_not_follow_from_its_counts_is_contradicted(changed, reason):
    assert reason in contradiction(replace(HONEST, **changed), reads_all=False)

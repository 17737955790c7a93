"""A watch over groups of rows of which some were drawn: what it may say whatever the groups are like."""

from itertools import product

import numpy as np
import pytest
from effort import examples, repetitions
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from saccade.promises.drawn_groups import (
    ABOVE,
    BELOW,
    SeenGroups,
    log_detected,
    log_gained_above,
    log_gained_below,
)
from saccade.promises.watch import Counts, any_broken, holds, is_broken, lower_bound, upper_bound

ALPHA, LEVEL = 0.05, 0.01

# Groups: the size beside the largest's, the share of rows that a test is about, and that of errors among them.
groups = st.tuples(st.floats(0.05, 1), st.floats(0, 1), st.floats(0, 1))
blocks = st.lists(st.lists(groups, min_size=1, max_size=3), min_size=1, max_size=5)


def seen(drawn):
    size, share, wrong = np.array(drawn).reshape(-1, 3).T
    return SeenGroups(size * share, size * share * wrong)


def counted(drawn, level=LEVEL):
    """Count drawn groups of equal sizes, by audited rows and errors, in a test of all rows alone."""
    counts = Counts(np.array([level]))
    for rows, errors in drawn:
        codes = (np.arange(rows) < errors).astype(np.int64)
        counts.add(codes, np.zeros_like(codes))
        counts.close_group(1.0)
    return counts


@given(st.lists(groups, min_size=1, max_size=6), st.floats(0.001, 0.9))
def test_gains_are_what_a_plain_loop_bets(drawn, rate):
    more = less = 0.0
    for share, log_weight in zip(*ABOVE, strict=True):
        capital = np.exp(log_weight)
        for rows, errors in zip(*seen(drawn), strict=True):
            capital *= 1 + share * (errors / rate - rows)
        more += capital
    for share, log_weight in zip(*BELOW, strict=True):
        capital = np.exp(log_weight)
        for rows, errors in zip(*seen(drawn), strict=True):
            capital *= 1 - share * (errors - rate * rows) / (1 - rate)
        less += capital
    assert np.exp(log_gained_above(seen(drawn), rate)) == pytest.approx(more)
    assert np.exp(log_gained_below(seen(drawn), rate)) == pytest.approx(less, abs=1e-12)


@settings(max_examples=examples(300))
@given(blocks)
def test_at_the_rate_of_all_groups_nothing_is_gained_on_average_however_they_differ(drawn):
    """Exactly, over all that may be drawn: of each block one group."""
    all_groups = [np.mean(seen(block), axis=1) for block in drawn]
    rows, errors = np.sum(all_groups, axis=0)
    rate = errors / rows if rows > 0 else 0.5
    if not 1e-6 < rate < 1 - 1e-6:
        return
    chosen = [seen(choice) for choice in product(*drawn)]
    for gained in (log_gained_above, log_gained_below):
        assert np.mean([np.exp(gained(some, rate)) for some in chosen]) <= 1 + 1e-9


@given(st.lists(groups, max_size=6), st.floats(0.001, 0.5), st.floats(1.01, 1.9))
def test_evidence_is_monotone_in_the_rate(drawn, rate, factor):
    assert log_gained_above(seen(drawn), rate * factor) <= log_gained_above(seen(drawn), rate) + 1e-9
    assert log_gained_below(seen(drawn), rate * factor) >= log_gained_below(seen(drawn), rate) - 1e-9


@given(st.lists(groups, max_size=8), st.floats(0.001, 0.5))
def test_the_detector_is_what_a_plain_loop_says(drawn, rate):
    expected = np.zeros(ABOVE.share.size)
    for rows, errors in zip(*seen(drawn), strict=True):
        expected = (expected + np.exp(ABOVE.log_weight)) * (1 + ABOVE.share * (errors / rate - rows))
    assert np.exp(log_detected(seen(drawn), rate)) == pytest.approx(expected.sum())


def test_stakes_are_distributions_that_no_group_ruins():
    for stakes in (ABOVE, BELOW):
        assert np.exp(stakes.log_weight).sum() == pytest.approx(1)
        assert ((stakes.share > 0) & (stakes.share < 1)).all()


def drawn_of(rng, rates, rows=400):
    """Draw one group of every ten, and audit so many of its rows."""
    drawn = [rates[rng.integers(first, first + 10)] for first in range(0, len(rates), 10)]
    return [(rows, int(rng.binomial(rows, rate))) for rate in drawn]


def test_errors_in_few_groups_are_not_overlooked_when_nothing_was_drawn_of_them():
    """One row group of twenty is half wrong, so that 2.6 % of all labels are: taken row by row, most such runs held."""
    rng, repeats = np.random.default_rng(0), repetitions(300, fewest=60)
    said = [holds(counted(drawn_of(rng, np.where(np.arange(100) % 20, 0.001, 0.5))), 0, ALPHA) for _ in range(repeats)]
    assert not any(said)
    rates = np.where(rng.permutation(4000) % 20, 0.0, 0.2)  # the level itself
    said = [holds(counted(drawn_of(rng, rates)), 0, ALPHA) for _ in range(repeats // 3)]
    assert sum(said) <= binom.ppf(0.999, repeats // 3, ALPHA)


def test_that_it_holds_takes_hundreds_of_groups():
    assert not holds(counted([(1000, 0)] * 298), 0, ALPHA)
    assert holds(counted([(1000, 0)] * 400), 0, ALPHA)
    assert upper_bound(0, 0, ALPHA, counted([(1000, 0)] * 400).seen_groups(0)) < LEVEL


@pytest.mark.parametrize(
    "rates",
    [np.full(1000, LEVEL), np.random.default_rng(1).permutation(np.repeat([0.0, 0.05], [800, 200]))],
    ids=["alike", "uneven"],
)
def test_false_alarms_are_rare(rates):
    rng, repeats = np.random.default_rng(2), repetitions(200, fewest=50)
    alarms = 0
    for _ in range(repeats):
        counts = counted([])
        for drawn in drawn_of(rng, rates):
            counts.merge(counted([drawn]))
            if is_broken(counts, 0, ALPHA):
                alarms += 1
                break
    assert alarms <= binom.ppf(0.999, repeats, ALPHA)


@pytest.mark.parametrize(("rate", "most"), [(0.02, 15), (0.05, 6)])
def test_groups_that_are_alike_break_a_promise_soon(rate, most):
    rng = np.random.default_rng(3)
    found = [is_broken(counted(drawn_of(rng, np.full(10 * most, rate), rows=1000)), 0, ALPHA) for _ in range(20)]
    assert np.mean(found) >= 0.9


def test_a_long_good_past_does_not_delay_the_alarm():
    counts = counted([(1000, 1)] * 600)
    assert holds(counts, 0, ALPHA)
    assert not is_broken(counts, 0, ALPHA)
    counts.merge(counted([(1000, 100)] * 10))
    assert is_broken(counts, 0, ALPHA)
    assert lower_bound(0, 0, ALPHA, counts.seen_groups(0)) < LEVEL  # over all rows it is not


def test_rows_and_groups_are_evidence_together():
    errors = np.zeros(250, dtype=np.int64)
    counts = counted([(1000, 0)] * 200)
    assert not holds(counts, 0, ALPHA)
    counts.add(errors, errors)
    assert holds(counts, 0, ALPHA)
    assert counts.total(0) == (200_250, 0)
    assert not any_broken(counts, np.array([0]), ALPHA)


def test_classes_are_counted_by_the_rows_of_each_group():
    counts = Counts(np.full(5, LEVEL))
    early, full = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 1])
    counts.add(early, full)
    counts.close_group(0.5)
    rows, errors = zip(*(counts.seen_groups(test) for test in range(5)), strict=True)
    np.testing.assert_allclose(np.ravel(rows), 0.5 * np.array([5, 1, 2, 4, 3]) / 5)
    np.testing.assert_allclose(np.ravel(errors), 0.5 * np.array([1, 0, 1, 1, 0]) / 5)
    assert counts.rows.sum() == counts.recent.sum() == 0

"""Bets on the share of errors in drawn groups of rows."""

from itertools import product

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.promises.drawn_groups import (
    ABOVE,
    BELOW,
    SeenGroups,
    log_gained_above,
    log_gained_below,
)

# Groups: the size beside the largest's, the share of rows that a test is about, and that of errors among them.
groups = st.tuples(st.floats(0.05, 1), st.floats(0, 1), st.floats(0, 1))
blocks = st.lists(st.lists(groups, min_size=1, max_size=3), min_size=1, max_size=5)


def seen(drawn):
    size, share, wrong = np.array(drawn).reshape(-1, 3).T
    return SeenGroups(size * share, size * share * wrong)


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


def test_stakes_are_distributions_that_no_group_ruins():
    for stakes in (ABOVE, BELOW):
        assert np.exp(stakes.log_weight).sum() == pytest.approx(1)
        assert ((stakes.share > 0) & (stakes.share < 1)).all()

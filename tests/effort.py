"""How much the tests do: a tenth of what is random by default, all of it with SACCADE_TEST_LONG=1."""

import os

LONG = os.environ.get("SACCADE_TEST_LONG") == "1"


def examples(count):
    """Return how many of so many random examples are tried."""
    return count if LONG else count // 10


def repetitions(count, *, fewest):
    """Return how often a statistical test repeats itself: a test keeps its tolerance, so fewer make it less sharp."""
    return count if LONG else fewest

"""Certificates: what is promised about new rows, from rows that took no part in planning.

Learn-then-Test (Angelopoulos, Bates, Candes, Jordan and Lei 2021): settings are tested one after another from the
safest on, each by an exact binomial test of 'its disagreement exceeds delta', and the last one before the first failure
is taken. This controls the error although disagreement need not be monotone in the setting, and needs no correction for
the number of tests.
"""

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from scipy.stats import beta, binom

__all__ = ["certify", "rows_needed", "upper_bound"]

Setting = TypeVar("Setting")


def rows_needed(delta: float, confidence: float) -> int:
    """Return how many calibration rows must agree, without exception, before anything can be promised.

    >>> from saccade.promises.learn_then_test import rows_needed
    >>> rows_needed(0.01, 0.95)
    299
    """
    return math.ceil(math.log(1 - confidence) / math.log1p(-delta))


def upper_bound(errors: int, rows: int, confidence: float) -> float:
    """Return what the true rate does not exceed, at this confidence (Clopper and Pearson).

    >>> from saccade.promises.learn_then_test import upper_bound
    >>> round(upper_bound(0, 299, 0.95), 3)
    0.01
    """
    return 1.0 if errors >= rows else float(beta.ppf(confidence, errors + 1, rows - errors))


def certify(
    settings: Iterable[Setting], errors: Callable[[Setting], int], rows: int, delta: float, confidence: float
) -> tuple[Setting, int] | None:
    """Return the last setting, from the safest on, before one whose disagreement may exceed delta, and its errors.

    None where not even the first one passes.
    """
    accepted = None
    for setting in settings:
        observed = errors(setting)
        if binom.cdf(observed, rows, delta) > 1 - confidence:
            break
        accepted = setting, observed
    return accepted

"""Learn-then-Test (Angelopoulos, Bates, Candes, Jordan and Lei 2021) with fixed-sequence testing.

Settings are tested one after another from the safest on, on rows that took no part in planning: an exact binomial test
of 'the risk exceeds delta' for each count of the risk. The last setting before the first failure is taken. This
controls the error although a risk need not be monotone in the setting, and needs no correction for the number of tests.
"""

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from scipy.stats import beta, binom

from saccade.promises.certificate import Certificate
from saccade.promises.risks import Count

__all__ = ["allowed_share", "certify", "contradiction", "rows_needed", "upper_bound"]

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


def allowed_share(rows: int, delta: float, confidence: float) -> float:
    """Return the largest share of errors among so many rows that still rejects 'the rate exceeds delta'."""
    most = int(binom.ppf(1 - confidence, rows, delta)) - 1 if rows else 0
    return max(most, 0) / max(rows, 1)


def certify(
    settings: Iterable[Setting], counts: Callable[[Setting], list[Count]], delta: float, confidence: float
) -> Setting | None:
    """Return the last setting, from the safest on, before one whose risk may exceed delta; None where all may."""
    accepted = None
    for setting in settings:
        if any(binom.cdf(count.errors, count.rows, delta) > 1 - confidence for count in counts(setting)):
            break
        accepted = setting
    return accepted


def contradiction(certificate: Certificate, *, reads_all: bool) -> str | None:
    """Return what in a certificate does not follow from its own counts, or None.

    Where every part of every row is read nothing can disagree, and nothing needs to be counted.
    """
    delta, rows, bound = certificate.delta, certificate.n_calibration, certificate.upper_bound
    errors = certificate.disagreement * rows
    if not (0 < delta <= 1 and 0 < certificate.confidence < 1 and rows >= 1 and 0 <= certificate.disagreement <= 1):
        return "its level, its confidence or its number of rows is impossible"
    if not (0 < certificate.features_per_row <= certificate.n_features and abs(errors - round(errors)) < 1e-6):
        return "it counts fractions of rows, no features, or more than there are"
    if reads_all and certificate.features_per_row == certificate.n_features and bound == errors == 0:
        return None
    if not math.isclose(bound, upper_bound(round(errors), rows, certificate.confidence), rel_tol=1e-6):
        return f"{certificate.disagreement:.2%} of {rows:,} rows do not give the upper bound {bound:.3%}"
    return None if bound <= delta * (1 + 1e-9) else f"its upper bound {bound:.3%} exceeds delta = {delta:.3%}"

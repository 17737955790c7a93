"""Certificates: what is promised about new rows, from rows that took no part in planning.

Learn-then-Test (Angelopoulos, Bates, Candes, Jordan and Lei 2021): settings are tested one after another from the
safest on, each by an exact binomial test of 'its disagreement exceeds delta', and the last one before the first failure
is taken. This controls the error although disagreement need not be monotone in the setting, and needs no correction for
the number of tests.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from scipy.stats import beta, binom

__all__ = ["Certificate", "certify", "rows_needed", "upper_bound"]

Setting = TypeVar("Setting")


@dataclass(frozen=True)
class Certificate:
    """With probability ``confidence`` over the calibration rows, at most ``delta`` of new rows get another label.

    Another than the full model gives them; new rows must come from where the calibration rows came from.
    """

    delta: float
    confidence: float
    n_calibration: int
    disagreement: float  # observed on the calibration rows
    upper_bound: float  # of the true disagreement, at this confidence
    features_per_row: float
    n_features: int

    def __str__(self) -> str:
        return (
            f"With {100 * self.confidence:g} % confidence, at most {100 * self.delta:.3g} % of new rows get another "
            f"label than the full model gives them: {100 * self.disagreement:.2g} % of {self.n_calibration:,} "
            f"calibration rows did. {self.features_per_row:.1f} of {self.n_features:,} features were read per row."
        )


def rows_needed(delta: float, confidence: float) -> int:
    """Return how many calibration rows must agree, without exception, before anything can be promised.

    >>> from saccade.calibration import rows_needed
    >>> rows_needed(0.01, 0.95)
    299
    """
    return math.ceil(math.log(1 - confidence) / math.log1p(-delta))


def upper_bound(errors: int, rows: int, confidence: float) -> float:
    """Return what the true rate does not exceed, at this confidence (Clopper and Pearson).

    >>> from saccade.calibration import upper_bound
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

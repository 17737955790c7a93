"""The record of what a learner did while it learned, and a warning if it did not hold its level."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from saccade.exceptions import LevelNotHeldWarning, warn
from saccade.kernels import state

__all__ = ["TrainingRecord", "warn_if_level_not_held"]

# The probability of a false alarm when the audit's count is tested against the level.
ALARM = 0.01


@dataclass(frozen=True)
class TrainingRecord:
    """Counts over all examples so far; with more than two classes over all one-against-rest learners.

    Examples
    --------
    >>> from saccade.learners.record import TrainingRecord
    >>> TrainingRecord(n_examples=100, n_filtered=80, n_read=4000, n_read_filtered=800).features_per_filtered
    10.0
    """

    n_examples: int = 0  #: rows times passes
    n_filtered: int = 0  #: stopped by the boundary before they were read to the end, or skipped
    n_skipped: int = 0  #: of these: not read at all, for their margin was remembered as clear
    n_updates: int = 0  #: examples that moved the weights
    n_read: int = 0  #: features read in all; of sparse rows, stored values
    n_read_filtered: int = 0  #: features read of the filtered examples
    n_audited: int = 0  #: read to the end to measure the decision error
    n_important: int = 0  #: audited examples whose full margin lies below the importance threshold
    n_missed: int = 0  #: those of them that would have been filtered

    @property
    def features_per_example(self) -> float:
        """``n_read`` over ``n_examples``."""
        return self.n_read / self.n_examples if self.n_examples else float("nan")

    @property
    def features_per_filtered(self) -> float:
        """``n_read_filtered`` over ``n_filtered``."""
        return self.n_read_filtered / self.n_filtered if self.n_filtered else float("nan")

    @property
    def decision_error(self) -> float:
        """The share of important examples that would have been filtered, as audited; nan without any."""
        return self.n_missed / self.n_important if self.n_important else float("nan")

    @classmethod
    def of(cls, counters: Iterable[NDArray[np.int64]]) -> "TrainingRecord":
        """Add up the counters of the kernels."""
        total = sum(counters, start=np.zeros(state.COUNTERS_SIZE, dtype=np.int64)).tolist()
        return cls(**{name: total[getattr(state, name.upper())] for name in cls.__dataclass_fields__})


def warn_if_level_not_held(delta: float | None, record: TrainingRecord) -> None:
    """Warn if significantly more audited examples were missed than the level allows."""
    if delta is None or not record.decision_error > delta:
        return
    p_value = bdtrc(record.n_missed - 1, record.n_important, delta)
    if p_value < ALARM:
        warn(
            f"The level delta={delta} was not held while learning: of {record.n_important} audited important "
            f"examples {record.n_missed} would have been filtered, {record.decision_error:.1%}. More passes "
            "(max_iter) or a larger audit let the boundary settle; a smaller delta makes it more cautious.",
            LevelNotHeldWarning,
        )

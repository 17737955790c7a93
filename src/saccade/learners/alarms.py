"""Warn if the audit shows that a learner does not hold its level."""

from scipy.special import bdtrc

from saccade.exceptions import LevelNotHeldWarning, warn
from saccade.learners.record import TrainingRecord

__all__ = ["warn_if_level_not_held"]

# The probability of a false alarm when the audit's count is tested against the level.
ALARM = 0.01


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

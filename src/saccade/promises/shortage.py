"""What to say where the calibration rows cannot bear a promise out, and what would help."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from saccade.promises.certificate import percent
from saccade.promises.evidence import rows_needed
from saccade.promises.labels import Labels
from saccade.promises.promise import Promise, Shortage

__all__ = ["Given", "advice"]

# From fewer rows of a class its share cannot be told.
FEWEST_TO_ESTIMATE = 10
# Some rows must plan.
MOST_CALIBRATING = 0.9


class Given(NamedTuple):
    """The rows that a user passed."""

    n_rows: int
    drawn_from: int | None = None  # how many there are, where these are a sample of them


def advice(
    shortages: list[Shortage], promise: Promise, confidence: float, labels: Labels, classes: list[Any], given: Given
) -> str:
    """Return the error message: the class, its rows, how many should be passed, the level it could have had."""
    worst = max(shortages, key=lambda shortage: shortage.needed / max(shortage.rows, 1))
    whole = "when_too_few='read' gives a plan that reads every feature."
    more = _more_rows(worst, labels.full.size, given)
    if worst.code is None:
        return (
            f"{worst.rows:,} calibration rows do not suffice to promise delta={promise.delta} with "
            f"confidence={confidence}: at least {worst.needed:,} are needed, and more where labels disagree. {more}, "
            f"or raise delta to {_rounded_up(worst.attainable)} or more. {whole}"
        )
    label = classes[worst.code]
    level = promise.delta[label] if isinstance(promise.delta, Mapping) else promise.delta
    others = len(shortages) - 1
    return " ".join(
        [
            f"Too few rows of class {label!r}: the model labels {worst.rows:,} of the {labels.full.size:,} calibration",
            f"rows so, and at least {worst.needed:,} are needed to promise delta={level} of it with",
            f"confidence={confidence}, more where labels disagree.",
            *([f"{others} other class{'es have' if others > 1 else ' has'} too few rows, too."] if others else []),
            f"{more}.",
            f"The rows of {label!r} could have borne out {_rounded_up(worst.attainable)} at best: delta may be a dict "
            "with a level for each class."
            if worst.rows
            else f"Without a row of {label!r} nothing can be promised of it, which a level of 1 for it says.",
            *_weaker(worst, label, level, labels.full.size, confidence),
            whole,
        ]
    )


def _more_rows(shortage: Shortage, n_calibration: int, given: Given) -> str:
    """Say how many rows would bring as many as are needed, by the share of those that there are."""
    n_given = given.n_rows
    # -(-a // b) rounds up.
    enough = -(-shortage.needed * n_given // max(shortage.rows, 1))
    possible = MOST_CALIBRATING * shortage.rows * n_given / n_calibration
    if given.drawn_from is not None and given.drawn_from > n_given:
        said = f"Of the {given.drawn_from:,} rows of X {n_given:,} were drawn, as many as are kept in memory"
        few = "" if possible >= shortage.needed else ", too few at any calibration_size: promise less"
        return f"{said}{few or ': raise calibration_size'}"
    if shortage.rows < FEWEST_TO_ESTIMATE:
        said = f"Pass many more rows (X has {n_given:,}): by so few of them it cannot be told how many"
    else:
        said = f"Pass about {enough:,} rows or more in all (X has {n_given:,})"
    return f"{said}, or raise calibration_size" if possible >= shortage.needed else said


def _weaker(shortage: Shortage, label: Any, level: float, n_calibration: int, confidence: float) -> list[str]:
    """Say what a promise over all rows would not protect, where there are rows enough for it."""
    if n_calibration < rows_needed(level, confidence):
        return []
    share = shortage.rows / n_calibration
    lost = f"every row of {label!r}" if share <= level else f"{percent(level / share)} of the rows of {label!r}"
    return [f"promise='rows' needs fewer rows and is weaker: {lost} may then get another label."]


def _rounded_up(level: float) -> float:
    """Return a level in two digits that is no smaller."""
    shown = float(f"{level:.2g}")
    return shown if shown >= level else float(f"{1.05 * level:.2g}")

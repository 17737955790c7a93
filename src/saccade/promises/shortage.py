"""What to say where the calibration rows cannot bear a promise out, and what would help."""

from collections.abc import Mapping
from typing import Any

from saccade.promises.certificate import percent
from saccade.promises.labels import Labels
from saccade.promises.promise import Promise, Shortage

__all__ = ["advice"]


def advice(
    shortages: list[Shortage], promise: Promise, confidence: float, labels: Labels, classes: list[Any], n_given: int
) -> str:
    """Return the error message: the class, its rows, how many should be passed, the level it could have had."""
    worst = max(shortages, key=lambda shortage: shortage.needed / max(shortage.rows, 1))
    # By the share of the rows that there are, so many would bring as many as are needed.
    enough = -(-worst.needed * n_given // max(worst.rows, 1))
    most, least = f"Pass {enough:,} rows or more in all (X has {n_given:,})", worst.attainable
    whole = "when_too_few='read' gives a plan that reads every feature."
    if worst.code is None:
        return (
            f"{worst.rows:,} calibration rows do not suffice to promise delta={promise.delta} with "
            f"confidence={confidence}: at least {worst.needed:,} are needed, and more where labels disagree. {most}, "
            f"raise calibration_size, or raise delta to {_rounded_up(least)} or more. {whole}"
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
            f"{most}, or raise calibration_size.",
            f"The rows of {label!r} could have borne out {_rounded_up(least)} at best: delta may be a dict with a "
            "level for each class."
            if worst.rows
            else f"Without a row of {label!r} nothing can be promised of it, which delta={{{label!r}: 1, …}} says.",
            f"promise='rows' needs fewer rows and is weaker: every row of {label!r} may then get another label, as "
            f"long as at most {percent(level)} of all rows do.",
            whole,
        ]
    )


def _rounded_up(level: float) -> float:
    """Return a level in two digits that is no smaller."""
    shown = float(f"{level:.2g}")
    return shown if shown >= level else float(f"{1.05 * level:.2g}")

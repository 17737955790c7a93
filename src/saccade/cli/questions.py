"""What a person is asked about a column: its name, the range of its values or the categories, and what may be typed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saccade.asking.one_row import Value
    from saccade.attentive import AttentiveClassifier
    from saccade.models.additive import Additive
    from saccade.models.categories import Categories
    from saccade.planning.prices import Feature

__all__ = ["CANNOT_BE_HAD", "TAKE_BACK", "Question", "position_in", "question_about", "range_shown", "seen_of"]

CANNOT_BE_HAD, TAKE_BACK = "?", "<"
# So many categories are listed with a question.
MOST_LISTED = 20


@dataclass(frozen=True)
class Question:
    """A question about a column."""

    name: str  # with the unit, if the name has it
    answers: str  # the range of the values, or the categories
    kind: str  # of an answer: number, category, or value where either will do
    categories: Mapping[str, "Value"] = field(default_factory=dict)  # by what is typed for them
    way_for_missing: bool = False  # whether the model has one, for else what is expected takes the value's place
    may_be_missing: bool = True  # whether ? is taken for a value that cannot be had

    @property
    def advice(self) -> str:
        """Say what to type."""
        missing = f", {CANNOT_BE_HAD} where it cannot be had" if self.may_be_missing else ""
        return f"Type a {self.kind}{missing}, or {TAKE_BACK} to take the last answer back."

    @property
    def remedy(self) -> str:
        """Say what to give with the command."""
        return f"Give a {self.kind}{f', or {CANNOT_BE_HAD} where there is none' if self.may_be_missing else ''}."

    def value(self, text: str) -> "Value":
        """Return what was typed, None for a value that cannot be had. A category may be called ? itself."""
        typed = text.strip()
        for written in (text.rstrip("\r\n"), typed):
            if written in self.categories:
                return self.categories[written]
        if typed == CANNOT_BE_HAD:
            return None
        if not typed:
            raise ValueError("There is no value.")
        return _number(typed) if self.kind == "number" else typed


def question_about(attentive: "AttentiveClassifier", feature: "Feature") -> Question:
    model, position = attentive.additive_, position_in(attentive, feature)
    name = str(feature) if model.columns else f"feature {feature}"
    if position is None:
        return Question(name, "", "number")  # there is none, which the inquiry says
    way, required = _missing(model, position)
    own = model.categories.get(position)
    if own is None and not _is_read(model, position):
        return Question(name, "anything", "value", {}, way, not required)
    if own is None:
        low, high = (float(end[position]) for end in (attentive.population_.low, attentive.population_.high))
        return Question(name, range_shown(low, high), "number", {}, way, not required)
    written = _written(own)
    may_be_missing = not required and CANNOT_BE_HAD not in written
    kind = "number" if own.values.dtype.kind in "fiub" else "category"
    return Question(name, _listed(list(map(str, own.values.tolist()))), kind, written, way, may_be_missing)


def position_in(attentive: "AttentiveClassifier", feature: "Feature") -> int | None:
    """Return where a column stands; None where there is none."""
    names = attentive.additive_.columns
    position = names.index(str(feature)) if names and str(feature) in names else feature
    return position if isinstance(position, int) and 0 <= position < attentive.additive_.n_columns else None


def seen_of(attentive: "AttentiveClassifier", feature: "Feature") -> str:
    """Return the categories that were seen, by name where they have one, or the range of numbers."""
    position = position_in(attentive, feature)
    if position is None or position not in attentive.population_.codes:
        return question_about(attentive, feature).answers
    codes, categories = attentive.population_.codes[position], attentive.additive_.categories.get(position)
    if categories is None:
        return _listed([f"{code:.0f}" for code in codes])
    named = dict(enumerate(map(str, categories.values.tolist())))
    if categories.others_apart:
        named[categories.values.size] = "values of no category"
    return _listed([named.get(int(code), f"{code:.0f}") for code in codes])


def range_shown(low: float, high: float) -> str:
    """Return a range in four digits, rounded so that it lies inside: an end of it may be typed as it is shown."""
    if not (math.isfinite(low) and math.isfinite(high)):  # a column that nothing asks for, or that was never there
        return "a number"
    step = 10.0 ** (math.floor(math.log10(max(abs(low), abs(high), 1e-300))) - 3)
    inner = math.ceil(low / step) * step, math.floor(high / step) * step
    first, last = (low, high) if inner[0] > inner[1] else inner
    return f"{first:.4g} to {last:.4g}"


def _missing(model: "Additive", position: int) -> tuple[bool, bool]:
    """Return whether a model has a way for a missing value of a column, and whether it must have a value."""
    from saccade.models.tables.model import TermModel
    from saccade.models.trees.model import TreeModel

    if isinstance(model, TreeModel):
        return model.ensemble.takes_missing, not model.ensemble.takes_missing
    return isinstance(model, TermModel) and bool(model.takes_missing[position]), False


def _is_read(model: "Additive", position: int) -> bool:
    """Whether any term needs a column, of a table that may hold texts."""
    from saccade.models.tables.model import TermModel

    return not isinstance(model, TermModel) or position in model.used


def _written(categories: "Categories") -> dict[str, "Value"]:
    """Return the categories by what is typed for them, which may leave out blanks around a text."""
    listed = categories.values.tolist()
    return {str(value).strip(): value for value in listed} | {str(value): value for value in listed}


def _listed(values: list[str]) -> str:
    more = len(values) - MOST_LISTED
    return ", ".join(values[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is no number.")
    return number

"""``saccade ask``: a questionnaire that stops as soon as the answer is clear."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from saccade.asking.inquiry import Inquiry
    from saccade.asking.one_row import Value
    from saccade.attentive import AttentiveClassifier
    from saccade.planning.prices import Feature

CANNOT_BE_HAD, TAKE_BACK = "?", "<"
ANSWERS = f"Type a %s, {CANNOT_BE_HAD} where it cannot be had, or {TAKE_BACK} to take the last answer back."
# So many categories are listed with a question.
MOST_LISTED = 20


@click.command(short_help="Ask for one value after another until the label is clear.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--known", multiple=True, metavar="NAME=VALUE", help="What is known already, and costs nothing.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file that keeps the answers, so that a questionnaire can go on another day.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def ask(model: Path, known: tuple[str, ...], state: Path | None, as_json: bool) -> None:
    """Ask a person for the features of one row, and stop when the label is clear.

    MODEL is a file that saccade.save wrote of an AttentiveClassifier. An answer is a number or a category, ? for a
    value that cannot be had, or < to take the last answer back.
    """
    from saccade.files.writing import write_whole

    attentive = _loaded(model)
    inquiry = _begun(attentive, known, state)
    if state is not None:
        try:
            write_whole(state, inquiry.to_json().encode())
        except OSError as error:
            raise click.UsageError(f"--state {state} cannot be written: {error.strerror or error}.") from error
    while inquiry.wanted is not None:
        _ask_once(attentive, inquiry)
        if state is not None:
            write_whole(state, inquiry.to_json().encode())
    print(json.dumps(_outcome(inquiry)) if as_json else _sentence(inquiry, attentive))


def _loaded(path: Path) -> "AttentiveClassifier":
    from saccade.attentive import AttentiveClassifier
    from saccade.cli.data import loaded

    model = loaded(path).model
    if not isinstance(model, AttentiveClassifier):
        raise click.ClickException(
            f"{path} holds a {type(model).__name__}, which is not certified for questions. Save what "
            "saccade.attend(model, X) returns instead."
        )
    return model


def _begun(attentive: "AttentiveClassifier", known: tuple[str, ...], state: Path | None) -> "Inquiry":
    try:
        if state is not None and state.exists():
            if known:
                raise click.UsageError("--known is for a new questionnaire; --state goes on with an old questionnaire.")
            return attentive.resume(state.read_text(encoding="utf-8"))
        pairs = [_pair(attentive, text) for text in known]
        if len({name for name, _ in pairs}) < len(pairs):
            raise click.UsageError("--known: a feature is given twice.")
        return attentive.inquire(known=dict(pairs))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _pair(attentive: "AttentiveClassifier", text: str) -> tuple["Feature", "Value"]:
    name, equals, value = text.rpartition("=")
    if not equals:
        raise click.UsageError(f"--known {text}: expected NAME=VALUE.")
    feature = int(name) if name.isdigit() and attentive.additive_.columns is None else name
    question = _question(attentive, feature)
    try:
        return feature, _value(question, value)
    except ValueError as error:
        raise click.UsageError(
            f"--known {text}: {error} Give a {question.kind}, or {CANNOT_BE_HAD} where there is none."
        ) from None


def _value(question: "_Question", text: str) -> "Value":
    """Return what was typed, None for a value that cannot be had."""
    if text.strip() == CANNOT_BE_HAD:
        return None
    if question.kind == "number":
        return _number(text)
    if not text.strip():
        raise ValueError("There is no value.")
    return text.strip()


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{text.strip()!r} is no number." if text.strip() else "There is no value.")
    return number


def _ask_once(attentive: "AttentiveClassifier", inquiry: "Inquiry") -> None:
    """Ask until an answer is valid, and print the confidence that follows."""
    wanted = inquiry.wanted
    assert wanted is not None
    question = _question(attentive, wanted)
    while True:
        click.echo(f"{question.name} [{question.answers}]: ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            raise click.ClickException(
                f"the answers ended before the label was clear; it leans to {inquiry.leaning}, {_sure(inquiry)}."
            )
        try:
            if line.strip() == TAKE_BACK:
                return _take_back(inquiry)
            inquiry.tell(_value(question, line))
            break
        except ValueError as error:
            click.echo(f"  {error} {ANSWERS % question.kind}", err=True)
    if wanted in inquiry.outside:
        click.echo("  That is outside of what was seen: the label will not be certified.", err=True)
        if inquiry.label is not None:  # nothing more is asked for, and a slip of the finger would stay
            click.echo(f"  It decides. Return to accept it, or {TAKE_BACK} to take it back: ", nl=False, err=True)
            if sys.stdin.readline().strip() == TAKE_BACK:
                return _take_back(inquiry)
    if inquiry.label is None:
        click.echo(f"  leaning to {inquiry.leaning}, {_sure(inquiry)}", err=True)
    return None


def _take_back(inquiry: "Inquiry") -> None:
    click.echo(f"  taken back: {', '.join(map(str, inquiry.take_back()))}", err=True)


class _Question(NamedTuple):
    name: str  # with the unit, if the name has it
    answers: str  # the range of the values, or the categories
    kind: str  # of an answer


def _question(attentive: "AttentiveClassifier", feature: "Feature") -> _Question:
    population, position = attentive.population_, _position(attentive, feature)
    name = str(feature) if attentive.additive_.columns else f"feature {feature}"
    if position is None:
        return _Question(name, "", "number")  # there is none, which the inquiry says
    categories = attentive.additive_.categories.get(position)
    if categories is None:
        return _Question(name, _range(float(population.low[position]), float(population.high[position])), "number")
    kind = "number" if categories.values.dtype.kind in "fiub" else "category"
    return _Question(name, _listed(list(map(str, categories.values.tolist()))), kind)


def _position(attentive: "AttentiveClassifier", feature: "Feature") -> int | None:
    """Return where a column stands; None where there is none."""
    names = attentive.additive_.columns
    position = names.index(str(feature)) if names and str(feature) in names else feature
    return position if isinstance(position, int) and 0 <= position < attentive.additive_.n_columns else None


def _listed(values: list[str]) -> str:
    more = len(values) - MOST_LISTED
    return ", ".join(values[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def _range(low: float, high: float) -> str:
    """Return a range in four digits, rounded so that it lies inside: an end of it may be typed as it is shown."""
    if not (math.isfinite(low) and math.isfinite(high)):  # a column that no tree asks for, or that was never there
        return "a number"
    step = 10.0 ** (math.floor(math.log10(max(abs(low), abs(high), 1e-300))) - 3)
    inner = math.ceil(low / step) * step, math.floor(high / step) * step
    first, last = (low, high) if inner[0] > inner[1] else inner
    return f"{first:.4g} to {last:.4g}"


def _sure(inquiry: "Inquiry") -> str:
    return f"{100 * min(inquiry.confidence, 0.999):.1f} % sure"


def _sentence(inquiry: "Inquiry", attentive: "AttentiveClassifier") -> str:
    certificate = attentive.certificate_
    level = (
        f"as certified: of such rows {certificate.promised}"
        if inquiry.certified
        else f"not certified: {_reason(inquiry, attentive)}"
    )
    count = len(inquiry.asked)
    questions = "1 question" if count == 1 else f"{count} questions"
    return f"{inquiry.label}, after {questions} at a cost of {inquiry.spent:g}, {level}."


def _reason(inquiry: "Inquiry", attentive: "AttentiveClassifier") -> str:
    """Say why a label is not certified."""
    reasons = []
    for feature, value in inquiry.outside.items():
        question, shown = _question(attentive, feature), value if isinstance(value, str) else f"{value:g}"
        seen = _categories_seen(attentive, feature) or question.answers
        reasons.append(f"{question.name} = {shown}, where {seen} was seen")
    return ", ".join(reasons) or "too much was missing"


def _categories_seen(attentive: "AttentiveClassifier", feature: "Feature") -> str:
    """Return the categories that were seen, by name where they have one; none of a column of numbers."""
    position = _position(attentive, feature)
    if position is None or position not in attentive.population_.codes:
        return ""
    codes, categories = attentive.population_.codes[position], attentive.additive_.categories.get(position)
    if categories is None:
        return _listed([f"{code:.0f}" for code in codes])
    named = dict(enumerate(map(str, categories.values.tolist())))
    return _listed([named.get(int(code), f"{code:.0f}") for code in codes])


def _outcome(inquiry: "Inquiry") -> dict[str, Any]:
    label = inquiry.label
    margin = inquiry.margin
    return {
        "label": label.item() if hasattr(label, "item") else label,
        "certified": inquiry.certified,
        "outside": inquiry.outside,
        "confidence": inquiry.confidence,
        "margin": margin if isinstance(margin, float) else margin.tolist(),
        "asked": list(inquiry.asked),
        "spent": inquiry.spent,
    }

"""``saccade ask``: a questionnaire that stops as soon as the answer is clear."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from saccade.cli.questions import TAKE_BACK, position_in, question_about, seen_of

if TYPE_CHECKING:
    from saccade.asking.inquiry import Inquiry
    from saccade.asking.one_row import Value
    from saccade.attentive import AttentiveClassifier
    from saccade.planning.prices import Feature


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
    feature, value = _parted(attentive, text)
    question = question_about(attentive, feature)
    try:
        return feature, question.value(value)
    except ValueError as error:
        raise click.UsageError(f"--known {text}: {error} {question.remedy}") from None


def _parted(attentive: "AttentiveClassifier", text: str) -> tuple["Feature", str]:
    """Return the column and the text of NAME=VALUE; names and categories may hold equals signs themselves."""
    parted = text.split("=")
    if len(parted) == 1:
        raise click.UsageError(f"--known {text}: expected NAME=VALUE.")
    ways = [("=".join(parted[:k]), "=".join(parted[k:])) for k in range(len(parted) - 1, 0, -1)]
    if attentive.additive_.columns is None:
        return (int(ways[-1][0]) if ways[-1][0].isdigit() else ways[-1][0]), ways[-1][1]
    return next((way for way in ways if position_in(attentive, way[0]) is not None), ways[0])


def _ask_once(attentive: "AttentiveClassifier", inquiry: "Inquiry") -> None:
    """Ask until an answer is valid, and print the confidence that follows."""
    wanted = inquiry.wanted
    assert wanted is not None
    question = question_about(attentive, wanted)
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
            value = question.value(line)
            inquiry.tell(value)
            break
        except ValueError as error:
            click.echo(f"  {error} {question.advice}", err=True)
    if value is None and not question.way_for_missing:
        click.echo("  The model has no way for a missing value here: what is expected of it takes its place.", err=True)
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
        shown = value if isinstance(value, str) else f"{value:g}"
        name = question_about(attentive, feature).name
        reasons.append(f"{name} = {shown}, where {seen_of(attentive, feature)} was seen")
    return ", ".join(reasons) or "too much was missing"


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

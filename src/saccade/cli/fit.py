"""``saccade fit``: learn from a file, in bounded memory, with checkpoints."""

import csv
import inspect
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from saccade.cli.data import HELD_OUT, check_output, data_options, one_line, print_record

LEARNERS = {
    "pegasos": "Pegasos",
    "perceptron": "Perceptron",
    "passive-aggressive": "PassiveAggressive",
    "exponentiated-gradient": "ExponentiatedGradient",
}
# The parameters of every learner. A test compares them with get_params; the list saves help the imports.
PARAMETERS = {
    "lam": (float, "Regularisation of Pegasos."),
    "C": (float, "Aggressiveness of PassiveAggressive."),
    "variant": (str, "Of PassiveAggressive: pa1 or pa2."),
    "eta": (float, "Step length of ExponentiatedGradient."),
    "norm": (float, "Of ExponentiatedGradient: the sum of the magnitudes of the weights."),
    "boundary": (str, "When to stop reading: curved, constant, budget(k=49) or full."),
    "order": (str, "What is read next: natural, permuted, sampled, sampled-printed or sorted."),
    "max_iter": (int, "Passes over the data, at the most."),
    "tol": (float, "Stop where the mean loss of a pass is not so much below the best one."),
    "n_iter_no_change": (int, "For so many passes."),
    "average": (bool, "Predict with the average of the weights."),
    "fit_intercept": (bool, "Learn an intercept."),
    "project": (bool, "Of Pegasos: project the weights onto the ball that holds the optimum."),
    "rule": (str, "Of Pegasos: pegasos, or algorithm1 as the paper has it."),
    "audit": (float, "The share of examples that is read in full, to measure the decision error."),
    "cost": (str, "What is to be saved: time or features."),
    "shuffle": (bool, "Shuffle the rows of a batch in every pass."),
    "class_weight": (str, "Weights by label, as JSON."),
    "warm_start": (bool, "For Python alone: a file is learned from its beginning."),
    "shards": (int, "For Python alone: a file is learned from in one shard."),
    "n_jobs": (int, "Threads that predict."),
    "random_state": (int, "The seed."),
}
SECONDS_BETWEEN_CHECKPOINTS = 10.0
CLASS_WEIGHT = '\'{"elm": 1.0, "oak": 3.0}\''


# What corrects how the columns of a table are taken.
COLUMNS = {
    "columns": "The columns that are learned from, all others being left out.",
    "ignore": "Columns that are not learned from.",
    "numeric": "Columns that are numbers: missing ones count as the mean, and texts are bad rows.",
    "categorical": "Columns that are categories, such as codes that are written as numbers.",
}


def column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name columns, separated by commas or given several times."""
    for name, says in reversed(COLUMNS.items()):
        option = click.option(f"--{name}", multiple=True, metavar="NAME,…", callback=_listed, help=says)
        command = option(command)
    return command


def _listed(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> list[str]:
    """Return the names in an option, of which those with commas are quoted."""
    return [name.strip() for names in csv.reader(given, skipinitialspace=True) for name in names if name.strip()]


def parameter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for every parameter of every learner."""
    for name, (kind, says) in reversed(PARAMETERS.items()):
        flag = "--" + name.replace("_", "-")
        flags = f"{flag}/--no-{flag[2:]}" if kind is bool else flag
        command = click.option(flags, name, type=kind, default=None, help=says)(command)
    return command


@click.command(short_help="Learn from a file.")
@click.argument("data")
@click.option("--target", help="The column that is to be predicted; a libsvm file has it first.")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The model.")
@click.option("--learner", type=click.Choice(list(LEARNERS)), default="pegasos", show_default=True)
@click.option("--checkpoint", type=click.Path(path_type=Path), help="A file from which learning can go on.")
@click.option("--checkpoint-every", type=float, default=SECONDS_BETWEEN_CHECKPOINTS, help="Seconds.", show_default=True)
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if it exists.")
@click.option("--force", is_flag=True, help="Replace the model if it exists.")
@click.option("--scale/--no-scale", default=True, help="Learn from standardised columns.", show_default=True)
@click.option(
    "--hold-out",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="The share of rows that is not learned from, but kept for saccade attend and evaluate.",
)
@column_options
@parameter_options
@data_options
def fit(
    data: str,
    target: str | None,
    out: Path,
    learner: str,
    checkpoint: Path | None,
    checkpoint_every: float,
    resume: bool,
    force: bool,
    scale: bool,
    hold_out: float | None,
    columns: list[str],
    ignore: list[str],
    numeric: list[str],
    categorical: list[str],
    kind: str | None,
    header: bool | None,
    skip_bad: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Learn from DATA (CSV, libsvm, Parquet, Arrow or NumPy; - for standard input), and save a model.

    DATA is a file, a pattern in quotes such as 'part-*.csv', or a folder.

    Columns are standardised while learning, and the model takes them as they are: the scales are in its weights.
    Columns of texts are encoded: one feature for each category, rare ones together, and missing values as a category;
    missing numbers then count as the mean. What was done is printed, and --ignore, --columns, --numeric and
    --categorical correct it; columns are named, or numbered from 0 where they have no names.

    The accuracy that is printed, beside the share of the commonest class, is that on the rows of --hold-out, else on
    those that were learned from.

    Every parameter of the learner is an option. A boundary may have parameters: --boundary 'curved(delta=0.05)'.
    """
    import saccade
    from saccade.data.batches import Wanted
    from saccade.data.choice import Choice
    from saccade.data.learning import learn_from
    from saccade.files.models import save_with

    place_of_model = check_output(out, force, data)
    if checkpoint is not None and checkpoint.resolve() == out.resolve():
        raise click.UsageError(f"--checkpoint {checkpoint} needs a file of its own: this is the model.")
    model = _built(getattr(saccade, LEARNERS[learner]), given)
    with one_line():
        learned = learn_from(
            model,
            data,
            Wanted(target, header=header),
            kind=kind,
            scale=scale,
            choice=Choice(columns or None, ignore, numeric, categorical),
            skip_bad=skip_bad,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=resume,
            replace=force,
            hold_out=hold_out,
            measured=True,
        )
    model, measured = learned.model, learned.measured
    assert measured is not None  # it was asked for
    if hold_out is not None and measured.rows == 0:
        raise click.ClickException(f"--hold-out {hold_out:g} keeps none of the rows of {data}. Give a larger share.")
    save_with(model, place_of_model, learned.origin.state)
    if measured.rows and measured.predicted.max() == measured.rows:
        label, first = model.classes_[measured.predicted.argmax()], "" if scale else "standardised columns (--scale), "
        print(
            f"saccade: the model gives all {measured.rows:,} rows the same label, {label}. Try {first}more "
            "passes (--max-iter), or weights by class (--class-weight).",
            file=sys.stderr,
        )
    record, encoding = model.training_, model.encoding_
    if encoding is not None and not as_json:
        print(encoding)
    print_record(
        {
            "model": str(out),
            "passes": model.n_iter_,
            "examples": record.n_examples,
            "of them skipped unread": record.n_skipped,
            "features per example": record.features_per_example,
            "decision error": record.decision_error if record.n_important else None,
            "measured on": HELD_OUT if hold_out is not None else "rows that it learned from",
            "rows measured": measured.rows,
            "accuracy": measured.right / measured.rows if measured.rows else None,
            "majority class": measured.majority if measured.rows else None,
            "bad rows": learned.bad_rows,
            "random_state": model.random_state,
            **({} if encoding is None or not as_json else encoding.summary()),
        },
        as_json,
    )


def _built(kind: Any, given: dict[str, Any]) -> Any:
    known = inspect.signature(kind).parameters
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in known:
            raise click.UsageError(f"--{name.replace('_', '-')} is no parameter of {kind.__name__}.")
    try:
        if "boundary" in chosen:
            chosen["boundary"] = _boundary(chosen["boundary"])
        if chosen.get("class_weight", "balanced") != "balanced":
            chosen["class_weight"] = _class_weight(chosen["class_weight"])
        model = kind(**chosen)
        model._check_parameters()
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error
    if model.class_weight == "balanced":
        raise click.UsageError(f"--class-weight balanced needs all labels in memory. Give weights: {CLASS_WEIGHT}.")
    return model


def _class_weight(text: str) -> dict[Any, float]:
    """Return weights by label; labels become numbers by the same rule as those of a file."""
    from saccade.data.labels import labels_from_texts

    try:
        weights = json.loads(text)
        return dict(zip(labels_from_texts(list(weights)).tolist(), map(float, weights.values()), strict=True))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"--class-weight {text}: expected JSON such as {CLASS_WEIGHT}.") from error


def _boundary(text: str) -> Any:
    """Return the boundary that 'curved' or 'curved(delta=0.05, tail=cantelli)' stands for."""
    from saccade import Budget, ConstantSTST, CurvedSTST, Full

    kinds = {"full": Full, "budget": Budget, "constant": ConstantSTST, "curved": CurvedSTST}
    match = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text)
    if match is None or match[1] not in kinds:
        raise ValueError(f"--boundary {text}: expected one of {', '.join(kinds)}, as in 'curved(delta=0.05)'.")
    parameters = {}
    for pair in filter(None, (match[2] or "").split(",")):
        name, _, value = (part.strip(" '\"") for part in pair.partition("="))
        try:
            parameters[name] = value if value.isalpha() else int(value) if value.isdigit() else float(value)
        except ValueError:
            raise ValueError(f"--boundary {text}: expected NAME=VALUE, as in 'curved(delta=0.05)'.") from None
    return kinds[match[1]](**parameters)

"""``saccade fit``: learn from a file, in bounded memory, with checkpoints."""

import inspect
import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from saccade.cli.checkpoints import Run, check_checkpoint, digest, keep_run, resumed
from saccade.cli.data import Loaded, bar, check_output, data_options, opened, print_record

LEARNERS = {"pegasos": "Pegasos", "perceptron": "Perceptron", "passive-aggressive": "PassiveAggressive"}
# The parameters of every learner, as get_params gives them; a test compares, so that help needs no imports.
PARAMETERS = {
    "lam": (float, "Regularisation of Pegasos."),
    "C": (float, "Aggressiveness of PassiveAggressive."),
    "variant": (str, "Of PassiveAggressive: pa1 or pa2."),
    "boundary": (str, "When to stop reading: curved, constant, budget(k=49) or full."),
    "order": (str, "What is read next: natural, permuted, sampled, sampled-printed or sorted."),
    "max_iter": (int, "Passes over the data."),
    "average": (bool, "Predict with the average of the weights."),
    "fit_intercept": (bool, "Learn an intercept."),
    "project": (bool, "Of Pegasos: project the weights onto the ball that holds the optimum."),
    "rule": (str, "Of Pegasos: pegasos, or algorithm1 as the paper has it."),
    "audit": (float, "The share of examples that is read in full, to measure the decision error."),
    "shuffle": (bool, "Shuffle the rows of a batch in every pass."),
    "class_weight": (str, "Weights by label, as JSON."),
    "warm_start": (bool, "For Python alone: a file is learned from its beginning."),
    "n_jobs": (int, "Threads that predict."),
    "random_state": (int, "The seed."),
}
SECONDS_BETWEEN_CHECKPOINTS = 10.0
CLASS_WEIGHT = '\'{"elm": 1.0, "oak": 3.0}\''


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
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, where there is one.")
@click.option("--force", is_flag=True, help="Replace the model if it exists.")
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
    kind: str | None,
    header: bool | None,
    skip_bad: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Learn from DATA (CSV, libsvm, Parquet, Arrow or NumPy; - for standard input), and save a model.

    Every parameter of the learner is an option. A boundary may have parameters: --boundary 'curved(delta=0.05)'.
    """
    import numpy as np

    import saccade
    from saccade.data.batches import BadRows, Wanted
    from saccade.data.learning import Place, known_labels, learn
    from saccade.files.models import save_with

    place_of_model = check_output(out, force, data)
    kept_in = check_checkpoint(checkpoint, resume, force, data, out)
    model = _built(getattr(saccade, LEARNERS[learner]), given)
    with opened(data, Wanted(target, header=header), kind) as source:
        bad = BadRows(source.path, skip=skip_bad)
        options = {name: value for name, value in given.items() if value is not None}
        known = {
            "target": target,
            "learner": learner,
            "given": options,
            "skip_bad": skip_bad,
            "header": header,
            "as": kind,
        }
        if kept_in is not None:
            known["data"] = digest(source.path)
        if kept_in is not None and resume and kept_in.exists():
            model, run = resumed(kept_in, known, source.length)
            bad.count = run.bad
        else:
            with bar(source.length, "Labels") as shown:
                labels = known_labels(source, bad, shown)
            seed = int(np.random.default_rng(model.random_state).integers(2**31))
            model.set_params(random_state=seed if model.random_state is None else model.random_state)
            run = Run(labels.written, labels.classes.tolist(), bad.count, seed)
        last = [time.monotonic()]

        def keep(so_far: Any, place: Place) -> None:
            if kept_in is not None and time.monotonic() - last[0] >= checkpoint_every:
                keep_run(so_far, kept_in, known, replace(run, **asdict(place)))
                last[0] = time.monotonic()

        with bar(source.length * model.max_iter, "Learning") as shown:
            shown(run.turn * source.length + run.start, 0)
            model = learn(model, source, run.labels, run.seed, run.place, shown, keep)
        if source.names is not None:
            model.feature_names_in_ = np.array(source.names, dtype=object)
    save_with(model, place_of_model, Loaded(model, getattr(source, "zero_based", None)).about)
    record = model.training_
    print_record(
        {
            "model": str(out),
            "examples": record.n_examples,
            "features per example": record.features_per_example,
            "decision error": record.decision_error if record.n_important else None,
            "bad rows": bad.count,
            "random_state": model.random_state,
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
    """Return weights by label, and take labels for numbers where those of a file would be."""
    from saccade.data.batches import labels_from_texts

    try:
        weights = json.loads(text)
        return dict(zip(labels_from_texts(list(weights)).tolist(), map(float, weights.values()), strict=True))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"--class-weight {text}: expected JSON such as {CLASS_WEIGHT}.") from error


def _boundary(text: str) -> Any:
    """Return the boundary that 'curved' or 'curved(delta=0.05, tail=cantelli)' stands for."""
    from saccade import Budget, ConstantSTST, CurvedSTST, Full

    kinds = {"full": Full, "budget": Budget, "constant": ConstantSTST, "curved": CurvedSTST}
    found = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text)
    if found is None or found[1] not in kinds:
        raise ValueError(f"--boundary {text}: expected one of {', '.join(kinds)}, as in 'curved(delta=0.05)'.")
    parameters = {}
    for pair in filter(None, (found[2] or "").split(",")):
        name, _, value = (part.strip(" '\"") for part in pair.partition("="))
        try:
            parameters[name] = value if value.isalpha() else int(value) if value.isdigit() else float(value)
        except ValueError:
            raise ValueError(f"--boundary {text}: expected NAME=VALUE, as in 'curved(delta=0.05)'.") from None
    return kinds[found[1]](**parameters)

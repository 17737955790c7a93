"""``saccade fit``: learn from a file, in bounded memory, with checkpoints."""

import inspect
import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from saccade.cli.data import bar, check_output, data_options, print_record

LEARNERS = {"pegasos": "Pegasos", "perceptron": "Perceptron", "passive-aggressive": "PassiveAggressive"}
# The parameters of every learner, as get_params gives them; a test compares, so that help needs no imports.
PARAMETERS = {
    "lam": float,
    "C": float,
    "variant": str,
    "boundary": str,
    "order": str,
    "max_iter": int,
    "average": bool,
    "fit_intercept": bool,
    "project": bool,
    "rule": str,
    "audit": float,
    "shuffle": bool,
    "class_weight": str,
    "warm_start": bool,
    "n_jobs": int,
    "random_state": int,
}
SECONDS_BETWEEN_CHECKPOINTS = 10.0
CLASS_WEIGHT = '\'{"elm": 1.0, "oak": 3.0}\''


def parameter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for every parameter of every learner."""
    for name, kind in reversed(PARAMETERS.items()):
        flag = "--" + name.replace("_", "-") if len(name) > 1 else f"--{name}"
        if kind is bool:
            option = click.option(f"{flag}/--no-{flag[2:]}", name, default=None)
        else:
            option = click.option(flag, name, type=kind, default=None)
        command = option(command)
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
    skip_bad: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Learn from DATA (CSV, libsvm, Parquet, Arrow or NumPy; - for standard input), and save a model.

    Every parameter of the learner is an option. A boundary may have parameters: --boundary 'curved(delta=0.05)'.
    """
    import numpy as np

    import saccade
    from saccade.files.models import load_with, save_with
    from saccade.streams.batches import BadRows
    from saccade.streams.learning import Labels, Place, known_labels, learn
    from saccade.streams.opening import open_data

    place_of_model = check_output(out, force)
    if resume and checkpoint is None:
        raise click.UsageError("--resume needs --checkpoint, the file to go on from.")
    model = _built(getattr(saccade, LEARNERS[learner]), given)
    try:
        with open_data(data, target, kind) as source:
            bad, begun = BadRows(source.path, skip=skip_bad), Place()
            options = {name: value for name, value in given.items() if value is not None}
            known = {"size": source.size, "target": target, "learner": learner, "given": options}
            if resume and checkpoint is not None and checkpoint.exists():
                model, kept = load_with(checkpoint)
                if kept is None or kept.get("data") != known:
                    raise click.UsageError(f"{checkpoint} was made with other data or other options.")
                begun, labels = Place(**kept["place"]), Labels(kept["written"], np.array(kept["classes"]))
                bad.count, seed = kept["bad"], kept["seed"]
            else:
                with bar(source.length, "Labels") as shown:
                    labels = known_labels(source, bad, shown)
                seed = int(np.random.default_rng(model.random_state).integers(2**31))
                model.set_params(random_state=seed if model.random_state is None else model.random_state)
            last = [time.monotonic()]

            def keep(so_far: Any, place: Place) -> None:
                if checkpoint is not None and time.monotonic() - last[0] >= checkpoint_every:
                    state = {
                        "place": asdict(place),
                        "data": known,
                        "written": labels.written,
                        "classes": labels.classes.tolist(),
                        "bad": bad.count,
                        "seed": seed,
                    }
                    save_with(so_far, checkpoint, state)
                    last[0] = time.monotonic()

            with bar(source.length * model.max_iter, "Learning") as shown:
                model = learn(model, source, labels, seed, begun, shown, keep)
            if source.names is not None:
                model.feature_names_in_ = np.array(source.names, dtype=object)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    saccade.save(model, place_of_model)
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
    from saccade.streams.batches import labels_from_texts

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
        name, _, value = (part.strip() for part in pair.partition("="))
        parameters[name] = value if value.isalpha() else float(value) if "." in value or "e" in value else int(value)
    return kinds[found[1]](**parameters)

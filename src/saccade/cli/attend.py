"""``saccade attend``: certify a saved model."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from saccade.cli.data import (
    check_output,
    data_options,
    loaded_to_certify,
    opened,
    print_record,
    wanted_to_certify,
)

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command(short_help="Certify a saved model, so that it reads a few features or trees per row.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The certified model.")
@click.option(
    "--promise",
    type=click.Choice(("classes", "rows", "accuracy")),
    default="classes",
    show_default=True,
    help="What is promised: of each class, of all rows together, or of the accuracy, which needs --target.",
)
@click.option(
    "--delta",
    default="0.01",
    show_default=True,
    help='The share that may get another label, or JSON by class: {"fraud": 0.05, "ok": 0.001}.',
)
@click.option(
    "--confidence", type=SHARE, default=0.95, show_default=True, help="The probability that the promise holds."
)
@click.option(
    "--calibration-size", type=SHARE, default=0.3, show_default=True, help="The share of rows that calibrate."
)
@click.option(
    "--when-too-few",
    type=click.Choice(("raise", "read")),
    default="raise",
    show_default=True,
    help="Where rows do not suffice for the promise: an error, or a model that reads every feature or tree.",
)
@click.option(
    "--threshold",
    type=float,
    help="For two classes, where the label changes: a probability where MODEL has one, else a margin.",
)
@click.option(
    "--fewest",
    type=click.Choice(("features", "columns")),
    default="features",
    show_default=True,
    help="What is to be few: features or trees per row; or, of a linear model, the columns that any row reads, by "
    "their bytes in a Parquet file.",
)
@click.option("--target", help="The column with the labels, which are read for --promise accuracy alone.")
@click.option(
    "--random-state", type=click.IntRange(0, 2**32 - 1), help="Of the split into planning and calibration rows."
)
@click.option("--force", is_flag=True, help="Replace the model if it exists.")
@data_options
def attend(
    model: Path,
    data: str,
    out: Path,
    promise: str,
    delta: str,
    confidence: float,
    calibration_size: float,
    when_too_few: str,
    threshold: float | None,
    fewest: str,
    target: str | None,
    random_state: int | None,
    force: bool,
    kind: str | None,
    header: bool | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Plan and calibrate MODEL on the rows of DATA, which it must not have learned from.

    Labels are needed for --promise accuracy alone.

    Where DATA is what saccade fit learned from with --hold-out, the rows that were held out are taken.

    MODEL is a file that saccade wrote, the text file of a LightGBM model, the JSON or UBJSON file of an XGBoost
    model, or a .skops file of a fitted scikit-learn linear model, alone or behind a pipeline of steps that work column
    by column. A certified model is certified anew, with the costs and groups that it has. The files of LightGBM and
    XGBoost know classes by number: 0, 1, …
    """
    import numpy as np

    from saccade.data.batches import BadRows
    from saccade.data.demand import names_of
    from saccade.data.opening import files_of
    from saccade.data.sampling import certify
    from saccade.files.models import save_with

    target_file = check_output(out, force, data)
    saved = loaded_to_certify(model, target_file)
    terms: dict[str, Any] = {
        "promise": promise,
        "delta": _levels(delta, saved.model.classes_),
        "confidence": confidence,
    }
    terms |= {"calibration_size": calibration_size, "when_too_few": when_too_few}
    if threshold is not None:
        terms["threshold"] = threshold
    wanted = wanted_to_certify(saved, target, header)
    with opened(data, wanted, kind) as source:
        bad = BadRows(source.path, skip=skip_bad)
        files = files_of(source, data, kind)
        held_out = saved.origin.check_calibration(data, files, type(saved.model).__name__)
        if held_out is not None:
            print("planned and calibrated on the rows of the data that were held out of learning", file=sys.stderr)
        terms |= {"fewest": fewest, "random_state": random_state}
        try:
            attentive = certify(saved.model, source, bad, held_out=held_out, wanted=wanted, **terms)
        except ValueError as error:
            raise click.ClickException(_as_options(str(error))) from error
    if hasattr(saved.model, "feature_names_in_"):
        attentive.feature_names_in_ = np.array(names_of(saved.model), dtype=object)
    save_with(attentive, target_file, saved.origin.state)
    certificate, most = attentive.certificate_, attentive.plan_.most_read
    if as_json:
        from dataclasses import asdict

        print_record({"model": str(out), **asdict(certificate), "most_read": most, "bad rows": bad.count}, as_json)
    else:
        print(certificate, *([f"No row needs more than {most:,} of them."] if most < certificate.n_features else []))
        if fewest == "columns" and most == certificate.n_features:
            print("no smaller number of columns keeps the promise: a row may ask for all", file=sys.stderr)
        if bad.count:
            print(bad.passed_over, file=sys.stderr)


def _as_options(message: str) -> str:
    """Return a message about parameters in the words of the command line."""
    refused, found, _ = message.partition(" Pass rows that were held out")
    if found:
        return (
            f"{refused.replace('X has rows', 'The data has rows')} Give other rows, or the whole of the data that it "
            "was fitted on with saccade fit --hold-out."
        )
    for parameter, option in (
        ("when_too_few='read'", "--when-too-few read"),
        ("calibration_size", "--calibration-size"),
        (" rows or more in all (X has", " rows or more that were not learned from (there are"),
        ("Pass many more rows (X has", "Pass many more rows that were not learned from (there are"),
        ("promise='rows'", "--promise rows"),
        ("delta may be a dict with a level for each class", "--delta may be JSON with a level for each class"),
    ):
        message = message.replace(parameter, option)
    return message


def _levels(text: str, classes: Any) -> float | dict[Any, float]:
    """Return the level, or the level of each class, by its label as it is written."""
    with suppress(ValueError):
        if 0 < float(text) < 1:
            return float(text)
    given = None
    with suppress(ValueError):
        given = json.loads(text)
    if not isinstance(given, dict):
        raise click.UsageError(
            f"--delta {text}: expected a number above 0 and below 1, or JSON by class, as in "
            '{"fraud": 0.05, "ok": 0.001}.'
        )
    labels = {str(label): label for label in classes.tolist()}
    return {labels.get(label, label): level for label, level in given.items()}

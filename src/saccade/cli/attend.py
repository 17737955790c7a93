"""``saccade attend`` and ``saccade inspect``: certify a saved model, and describe it."""

import json
import reprlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from saccade.cli.data import (
    check_output,
    data_options,
    loaded,
    loaded_to_certify,
    opened,
    print_record,
    unit_names_of,
    wanted_to_certify,
)

if TYPE_CHECKING:
    from saccade.attentive import AttentiveClassifier

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
        print(certificate, f"No row needs more than {most:,} of them.")
        if fewest == "columns" and most == certificate.n_features:
            print("no smaller number of columns keeps the promise: a row may ask for all", file=sys.stderr)
        if bad.count:
            print(f"{bad.count:,} bad rows were passed over", file=sys.stderr)


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


@click.command(name="inspect", short_help="Say what a model is.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="A page with the plan drawn; needs saccade[report].")
@click.option("--force", is_flag=True, help="Replace the page if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print for machines.")
def inspect_model(model: Path, html: Path | None, force: bool, as_json: bool) -> None:
    """Print the class, the parameters, the order and the certificate of MODEL."""
    from saccade.files.parameters import encode

    page = None if html is None else check_output(html, force)
    classifier = loaded(model).model
    if page is not None:
        _write_page(page, classifier, model.name)
    parameters = {name: value for name, value in classifier.get_params(deep=False).items() if name != "estimator"}
    record: dict[str, Any] = {
        "class": type(classifier).__name__,
        "classes": classifier.classes_.tolist(),
        "features": classifier.n_features_in_,
        "parameters": {name: (encode if as_json else _shortened)(name, value) for name, value in parameters.items()},
    }
    if hasattr(classifier, "certificate_"):
        record |= _certified(classifier)
    else:
        record["examples"] = classifier.training_.n_examples
        record["features per example"] = classifier.training_.features_per_example
        if classifier.encoding_ is not None:
            record |= classifier.encoding_.summary() if as_json else {"encoding": str(classifier.encoding_)}
    if as_json or not hasattr(classifier, "certificate_"):
        print_record(record, as_json)
    else:
        print_record({name: value for name, value in record.items() if name != "order"}, as_json)
        print(classifier.plan_.describe(unit_names_of(classifier)))


def _certified(model: "AttentiveClassifier") -> dict[str, Any]:
    """Return what is said of a certified model: features by name; trees by number, and the columns that they read."""
    plan, names = model.plan_, unit_names_of(model)
    described: dict[str, Any] = {"certificate": str(model.certificate_)}
    order = plan.order if plan.unit.size == 0 else plan.unit[plan.order]
    units = list(dict.fromkeys(order.tolist()))
    if not plan.of_trees:
        return {**described, "order": units if names is None else [names[unit] for unit in units]}
    return {"trees": plan.n_units, "columns": model.columns_, **described, "order": units}


def _plan_in_words(model: "AttentiveClassifier") -> str:
    words = model.plan_.describe(unit_names_of(model))
    if not model.plan_.of_trees:
        return words
    return f"{words}\nThe trees ask for the columns {', '.join(map(str, model.columns_))}."


def _shortened(name: str, value: Any) -> Any:
    """Abbreviate a long parameter, such as the costs of a thousand features, to its first few entries."""
    return reprlib.repr(value) if isinstance(value, list | dict) else value


def _write_page(path: Path, model: Any, name: str) -> None:
    """Write a self-contained page: the certificate, the thresholds drawn, and the plan in words."""
    if not hasattr(model, "certificate_"):
        raise click.UsageError("--html draws a certified plan: certify the model with saccade attend.")
    try:
        from saccade.study.report.plans import plot_thresholds
    except ModuleNotFoundError as missing:
        raise click.UsageError(
            f"{missing.name} is missing. Install it with: pip install 'saccade[report]'"
        ) from missing
    import io
    from html import escape

    from saccade.files.writing import write_whole

    drawn = io.StringIO()
    plot_thresholds(model).savefig(drawn, format="svg")
    svg = drawn.getvalue()
    write_whole(
        path,
        f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(name)}</title>
<style>body{{font:16px/1.5 sans-serif;max-width:46em;margin:2em auto;padding:0 1em}}pre{{white-space:pre-wrap}}</style>
<h1>{escape(name)}</h1><p>{escape(str(model.certificate_))}</p>{svg[svg.index("<svg") :]}
<h2>What is asked for, and what decides</h2><pre>{escape(_plan_in_words(model))}</pre></html>
""".encode(),
    )

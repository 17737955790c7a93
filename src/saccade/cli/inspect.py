"""``saccade inspect``: say what a saved model is, in words, as JSON or as a page."""

import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from saccade.cli.data import check_output, loaded, print_record, unit_names_of

if TYPE_CHECKING:
    from saccade.attentive import AttentiveClassifier


@click.command(name="inspect", short_help="Say what a model is.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="A page about it, with plots; needs saccade[report].")
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


def _shortened(name: str, value: Any) -> Any:
    """Abbreviate a long parameter, such as the costs of a thousand features, to its first few entries."""
    return reprlib.repr(value) if isinstance(value, list | dict) else value


def _write_page(path: Path, model: Any, name: str) -> None:
    try:
        from saccade.study.report.inspection import render
    except ModuleNotFoundError as missing:
        raise click.UsageError(
            f"{missing.name} is missing. Install it with: pip install 'saccade[report]'"
        ) from missing
    from saccade.files.writing import write_whole

    write_whole(path, render(model, name).encode())

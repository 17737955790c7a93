"""``saccade attend`` and ``saccade inspect``: certify a saved model, and say what it is."""

from pathlib import Path
from typing import Any

import click

from saccade.cli.data import bar, check_output, data_options, loaded, print_record

# So many rows are drawn from the file, evenly: more would hardly change a plan or a certificate.
MOST_ROWS = 70_000


@click.command(short_help="Certify a saved model, so that it reads a few features per row.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The certified model.")
@click.option(
    "--delta", type=float, default=0.01, show_default=True, help="The share of rows that may get another label."
)
@click.option("--confidence", type=float, default=0.95, show_default=True)
@click.option(
    "--fewest",
    type=click.Choice(("features", "columns")),
    default="features",
    show_default=True,
    help="What is to be few: features per row, or the columns that any row reads, by their bytes in a Parquet file.",
)
@click.option("--target", help="A column that is not to be read.")
@click.option("--random-state", type=int, help="Of the split into planning and calibration rows.")
@click.option("--force", is_flag=True, help="Replace the model if it exists.")
@data_options
def attend(
    model: Path,
    data: str,
    out: Path,
    delta: float,
    confidence: float,
    fewest: str,
    target: str | None,
    random_state: int | None,
    force: bool,
    kind: str | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Plan and calibrate MODEL on the rows of DATA; labels are not needed.

    MODEL is a file that saccade wrote, or a .skops file of a fitted scikit-learn linear model.
    """
    import numpy as np

    import saccade
    from saccade.streams.columns import ParquetSource
    from saccade.streams.opening import open_data

    target_file = check_output(out, force)
    found = loaded(model)
    found = getattr(found, "estimator_", found)
    try:
        with open_data(data, target, kind, getattr(found, "n_features_in_", None)) as source:
            rows = _sample(source, skip_bad, np.random.default_rng(random_state))
            names = getattr(found, "feature_names_in_", None)
            if names is not None and source.names is not None:
                import pyarrow as pa

                where = {name: place for place, name in enumerate(source.names)}
                rows = pa.table({name: rows[:, where[name]] for name in names})
            costs = None
            if fewest == "columns" and isinstance(source, ParquetSource):
                size = source.column_bytes()
                costs = [size[name] for name in (names if names is not None else source.names or [])]
        attentive = saccade.attend(
            found, rows, delta=delta, confidence=confidence, costs=costs, fewest=fewest, random_state=random_state
        )
    except KeyError as missing:
        raise click.ClickException(f"{data} has no column {missing}, which the model reads.") from missing
    except (ValueError, TypeError) as error:
        raise click.ClickException(str(error)) from error
    saccade.save(attentive, target_file)
    certificate = attentive.certificate_
    if as_json:
        from dataclasses import asdict

        print_record({"model": str(out), **asdict(certificate), "most_read": attentive.plan_.most_read}, as_json)
    else:
        print(certificate, f"No row needs more than {attentive.plan_.most_read:,} of them.")


def _sample(source: Any, skip_bad: bool, random: Any) -> Any:
    """Return at most so many rows, each as likely as any other."""
    import numpy as np
    import scipy.sparse as sp

    from saccade.streams.batches import BadRows

    parts: list[Any] = []
    keys: list[Any] = []
    place = 0
    with bar(source.length, "Rows") as shown:
        for batch in source.batches(0, BadRows(source.path, skip=skip_bad)):
            parts.append(batch.X)
            keys.append(random.random(batch.X.shape[0]))
            drawn = np.concatenate(keys)
            if drawn.size > 2 * MOST_ROWS:
                kept = drawn <= np.partition(drawn, MOST_ROWS)[MOST_ROWS]
                whole = sp.vstack(parts).tocsr() if sp.issparse(parts[0]) else np.concatenate(parts)
                parts, keys = [whole[kept]], [drawn[kept]]
            shown(batch.end - place, batch.X.shape[0])
            place = batch.end
    whole = sp.vstack(parts).tocsr() if sp.issparse(parts[0]) else np.concatenate(parts)
    order = np.sort(np.argsort(np.concatenate(keys))[:MOST_ROWS])
    return whole[order]


@click.command(name="inspect", short_help="Say what a model is.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="A page with the plan drawn; needs saccade[report].")
@click.option("--force", is_flag=True, help="Replace the page if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print for machines.")
def inspect_model(model: Path, html: Path | None, force: bool, as_json: bool) -> None:
    """Print the class, the parameters, the order and the certificate of MODEL."""
    page = None if html is None else check_output(html, force)
    found = loaded(model)
    if page is not None:
        _write_page(page, found, model.name)
    parameters = {name: value for name, value in found.get_params(deep=False).items() if name != "estimator"}
    names = getattr(found, "feature_names_in_", getattr(found, "_names", None))
    record: dict[str, Any] = {
        "class": type(found).__name__,
        "classes": found.classes_.tolist(),
        "features": found.n_features_in_,
        "parameters": {
            name: value if isinstance(value, int | float | str | None) else repr(value)
            for name, value in parameters.items()
        },
    }
    if hasattr(found, "certificate_"):
        record["certificate"] = str(found.certificate_)
        record["order"] = [int(j) if names is None else str(names[j]) for j in found.plan_.order.tolist()]
    else:
        record["examples"] = found.training_.n_examples
        record["features per example"] = found.training_.features_per_example
    if as_json or not hasattr(found, "certificate_"):
        print_record(record, as_json)
    else:
        print_record({name: value for name, value in record.items() if name != "order"}, as_json)
        print(found.plan_.describe(None if names is None else list(names)))


def _write_page(path: Path, model: Any, name: str) -> None:
    """Write a page that needs nothing but itself: the certificate, the thresholds drawn, and the plan in words."""
    if not hasattr(model, "certificate_"):
        raise click.UsageError("--html draws a certified plan: make one with saccade attend.")
    try:
        from saccade.report.plans import plot_thresholds
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
    names = None if model._names is None else list(model._names)
    write_whole(
        path,
        f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(name)}</title>
<style>body{{font:16px/1.5 sans-serif;max-width:46em;margin:2em auto;padding:0 1em}}pre{{white-space:pre-wrap}}</style>
<h1>{escape(name)}</h1><p>{escape(str(model.certificate_))}</p>{svg[svg.index("<svg") :]}
<h2>What is asked for, and what decides</h2><pre>{escape(model.plan_.describe(names))}</pre></html>
""".encode(),
    )

"""``saccade reproduce``: the paper's experiments as a table and a page."""

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from saccade.files.writing import check_writable, write_whole
from saccade.reading.progress import Progress


@click.command(short_help="Run the paper's experiments: a table and a page.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("saccade.html"), help="The page.", show_default=True
)
@click.option("--quick", is_flag=True, help="Two permutations and short walks: rough figures in half a minute.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Of all randomness.", show_default=True)
@click.option("--permutations", type=click.IntRange(min=1), help="Of the data; 10, or 2 with --quick.")
@click.option("--jobs", type=click.IntRange(min=1), help="Threads; the figures do not depend on it. All cores.")
@click.option("--json", "as_json", is_flag=True, help="Print every record as JSON instead of the table.")
def reproduce(out: Path, quick: bool, seed: int, permutations: int | None, jobs: int | None, as_json: bool) -> None:
    """Run every experiment of the paper, print what holds, and write one HTML page."""
    target = out.resolve()  # a link stays, and the file that it names is replaced
    try:
        check_writable(target)
    except OSError as error:
        raise click.UsageError(f"--out {target} cannot be written: {error.strerror or error}.") from error
    try:
        from saccade.study.report import page, records, text
    except ModuleNotFoundError as missing:
        raise click.UsageError(
            f"{missing.name} is missing. Install it with: pip install 'saccade[report]'"
        ) from missing
    from saccade.study.experiments.reproduction import QUICK, Size, run_all, tasks

    size = QUICK if quick else Size()
    if permutations is not None:
        size = replace(size, permutations=permutations)
    length = sum(map(len, tasks(seed, size).values()))
    with Progress("of them done", label="Experiments", length=length) as progress:
        reproduction = run_all(seed, size, jobs or os.cpu_count() or 1, progress=partial(progress.advance, 1))
    write_whole(target, page.render(reproduction).encode())
    print(records.as_json(reproduction) if as_json else text.render(reproduction))
    print(f"The page: {out}", file=sys.stderr)

"""Run the experiments, print what holds and write the page: ``python -m reproduction``."""

import argparse
import json
import os
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path

import saccade
from reproduction.claims import claims
from reproduction.experiments import QUICK, Results, Size, run_all
from reproduction.findings import errata, open_question
from reproduction.page import render

WIDTH = 100


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m reproduction", description="Run every experiment of the paper.")
    parser.add_argument("--out", type=Path, default=Path("saccade.html"), help="the page (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="two permutations and short walks: rough figures")
    parser.add_argument("--seed", type=int, default=0, help="seed of all randomness (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="threads (default: all cores)")
    parser.add_argument("--json", action="store_true", help="print all records as JSON instead of the claims")
    given = parser.parse_args(arguments)
    if given.seed < 0 or given.jobs < 1:
        parser.error("--seed must be at least 0 and --jobs at least 1")
    if given.out.is_dir() or not given.out.parent.is_dir():
        parser.error(f"--out {given.out} cannot be written: give a file in a folder that exists")
    results = run_all(given.seed, QUICK if given.quick else Size(), given.jobs, show_progress)
    given.out.write_text(render(results), encoding="utf-8")
    print(as_json(results) if given.json else as_text(results))
    print(f"The page: {given.out}", file=sys.stderr)


def show_progress(done: int, total: int) -> None:
    """Show how much is done, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\rExperiments: {done} of {total}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def as_text(results: Results) -> str:
    """Return the claims with their verdicts."""
    lines = []
    for claim in claims(results):
        details = claim.measured + (f" [{claim.condition}]" if claim.condition else "")
        lines.append(f"{claim.says}: {claim.verdict.upper()}")
        lines += textwrap.wrap(details, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def as_json(results: Results) -> str:
    """Return claims, findings and all records as a JSON object; values that were not measured are null."""
    content = {
        "version": saccade.__version__,
        "claims": claims(results),
        "errata": errata(results),
        "open_question": open_question(results),
        **vars(results),
        "ten_digits": {name: value for name, value in vars(results.ten_digits).items() if isinstance(value, float)},
    }
    text = json.dumps(content, default=asdict)
    # JSON has no NaN: read it as null.
    return json.dumps(json.loads(text, parse_constant=lambda _: None), ensure_ascii=False)


if __name__ == "__main__":
    main()

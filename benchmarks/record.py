"""Keep the figures of a run beside what was asked of them: benchmarks/results/<benchmark>.json.

A figure replaces the earlier one of its name, and says of which machine, day, version and commit it is, so that parts
of a benchmark may be run by themselves. The documentation's page of benchmarks is made from these files.
"""

import json
import math
import os
import platform
import subprocess
from datetime import date
from functools import cache
from pathlib import Path

from saccade import __version__

RESULTS = Path(__file__).parent / "results"
SOURCES = Path(__file__).parent.parent / "src"


def keep(benchmark, name, measured, *, unit="", at_least=None, at_most=None, spread=None):
    """Keep one figure, with the aim, if there is one, and a spread: quartiles, or the least and the largest."""
    asked = {key: _digits(aim) for key, aim in (("at least", at_least), ("at most", at_most)) if aim is not None}
    figure = {
        "benchmark": benchmark,
        "name": name,
        "measured": _digits(measured),  # None where it is not finite, such as a median that was never reached
        "spread": None if spread is None else [_digits(bound) for bound in spread],
        "unit": unit,
        "aim": asked or None,
        "met": _met(measured, at_least, at_most) if asked else None,
        "run": run(),
    }
    path = RESULTS / f"{benchmark}.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    kept = {one["name"]: one for one in before} | {name: figure}
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(list(kept.values()), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _met(measured, at_least, at_most):
    return bool((at_least is None or measured >= at_least) and (at_most is None or measured <= at_most))


def _digits(value):
    """Return a number with four digits, which is more than any run repeats; None where it is not finite."""
    return float(f"{float(value):.4g}") if math.isfinite(value) else None


@cache
def run():
    """Return of what the figures of this process are; nothing that tells whose machine it is."""
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores, {_system()}",
        "date": date.today().isoformat(),
        "version": __version__,
        "commit": _commit(),
    }


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _system():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _commit():
    """Return the commit of the sources, marked where they differ from it; None outside of a checkout."""
    asked = [["git", "rev-parse", "--short", "HEAD"], ["git", "status", "--porcelain", "--", "."]]
    try:
        commit, changed = (
            subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, check=True).stdout.strip()
            for command in asked
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit} with changes" if changed else commit

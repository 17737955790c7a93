"""Write the figures that the benchmarks kept (benchmarks/results/*.json) as tables into the page of benchmarks.

Nothing is rounded up or left out: a figure stands beside what was asked of it, and what misses this says so.
"""

import ast
import json
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from saccade.version import __version__

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
MARK = "<!-- figures -->"
FIRM = "\N{NO-BREAK SPACE}"  # within figures, which are read by column


def scripts() -> dict[str, str]:
    """Return what each benchmark is about, by name: those that a target of the Makefile runs say so."""
    docs = {path.stem: ast.get_docstring(ast.parse(path.read_bytes())) or "" for path in BENCHMARKS.glob("*.py")}
    return {name: docs[name].partition("\n\n")[0] for name in sorted(docs) if "``make bench" in docs[name]}


def figures(name: str) -> list[dict[str, Any]]:
    path = BENCHMARKS / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def summary() -> Iterator[str]:
    """Yield a table of all benchmarks: how many aims are met."""
    yield from ("| | figures | aims | met | missed |", "|---|---:|---:|---:|---:|")
    for name in scripts():
        kept = figures(name)
        link = f"[{title(name)}](#{name.replace('_', '-')})"
        if not kept:
            yield f"| {link} | not run on this version | | | |"
            continue
        met = Counter(figure["met"] for figure in kept)
        missed = f'<span class="missed">{met[False]}</span>' if met[False] else "0"
        yield f"| {link} | {len(kept)} | {met[True] + met[False]} | {met[True]} | {missed} |"


def section(name: str, about: str) -> Iterator[str]:
    kept = figures(name)
    yield from (f"## {title(name)}", "", f"{about} `python benchmarks/{name}.py`", "")
    if not kept:
        yield from ("Not run on this version.", "")
        return
    for run, count in Counter(json.dumps(figure["run"]) for figure in kept).items():
        yield f"- {count} figure{'s' if count > 1 else ''}: {said_of(json.loads(run))}"
    yield from ("", "| | measured | aim | | spread |", "|---|---:|---:|---|---:|")
    for figure in kept:
        other = figure["run"]["version"] != __version__
        named = f"{figure['name']} (version {figure['run']['version']})" if other else figure["name"]
        met = {True: "met", False: '<span class="missed">missed</span>', None: ""}[figure["met"]]
        yield f"| {named} | {measured(figure)} | {aim(figure)} | {met} | {spread(figure)} |"
    yield ""


def said_of(run: dict[str, str]) -> str:
    day = date.fromisoformat(run["date"])
    of = f"version {run['version']}" + (f", commit {run['commit']}" if run["commit"] else "")
    return f"{run['machine']}; {day.day} {day:%B %Y}; {of}"


def title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def number(value: float | None) -> str:
    return "none" if value is None else f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def measured(figure: dict[str, Any]) -> str:
    return f"{number(figure['measured'])}{FIRM}{figure['unit']}".strip()


def spread(figure: dict[str, Any]) -> str:
    return "" if figure["spread"] is None else f"{FIRM}to{FIRM}".join(map(number, figure["spread"]))


def aim(figure: dict[str, Any]) -> str:
    aims = (figure["aim"] or {}).items()
    return ", ".join(f"{which} {number(value)}".replace(" ", FIRM) for which, value in aims)


def write(app: Any, page: str, source: list[str]) -> None:
    """Put the tables into the page, and have it read anew when a figure has changed."""
    if page != "benchmarks":
        return
    results = BENCHMARKS / "results"
    for path in (BENCHMARKS, results, *results.glob("*.json")):
        app.env.note_dependency(str(path))
    lines = [*summary(), "", *(line for name, about in scripts().items() for line in section(name, about))]
    source[0] = source[0].replace(MARK, "\n".join(lines))


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", write)
    return {"parallel_read_safe": True}

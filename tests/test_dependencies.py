"""Every package that is imported is declared, with a lower bound that `make test-oldest` can install."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import oldest
import pytest

import saccade

SOURCES = Path(saccade.__file__).parent
# What the extras are for: the rooms that may import what they bring, besides what is always installed.
EXTRAS = {
    "cluster": ["dask"],
    "display.py": ["plots"],
    "files": ["files"],
    "io": ["dask", "files"],
}
IMPORTED_AS = {
    "interpret-core": "interpret",
    "scikit-learn": "sklearn",
    "xgboost-cpu": "xgboost",
}  # where a package has another name than what is imported


def imported(text: str) -> set[str]:
    """The packages outside the standard library that a file imports, at its top or inside of functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.split(".")[0] for name in names} - {"saccade"} - sys.stdlib_module_names


def declared(*extras: str) -> set[str]:
    names = {re.split(r"[<>=!~\[ ;]", requirement)[0] for requirement in oldest.declared(*extras)}
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


def test_imports_are_seen_wherever_they_are():
    text = (
        "import os, numpy.linalg as la\nfrom scipy import sparse\ndef f():\n    import click\nfrom saccade import load"
    )
    assert imported(text) == {"numpy", "scipy", "click"}


@pytest.mark.parametrize("room", sorted({path.relative_to(SOURCES).parts[0] for path in SOURCES.rglob("*.py")}))
def test_what_a_room_imports_is_declared(room):
    files = (SOURCES / room).rglob("*.py") if (SOURCES / room).is_dir() else [SOURCES / room]
    unknown = set().union(*(imported(path.read_text()) for path in files)) - declared(*EXTRAS.get(room, []))
    assert not unknown, f"{room} imports {sorted(unknown)}: declare them in pyproject.toml"


def test_nothing_is_declared_in_vain():
    used = set().union(*(imported(path.read_text()) for path in SOURCES.rglob("*.py")))
    assert declared("dask", "files", "plots") <= used


def test_imports_outside_of_the_package_are_declared():
    root = Path(__file__).parent.parent
    paths = [path for folder in ("tests", "examples", "reproduction") for path in (root / folder).rglob("*.py")]
    local = {"reproduction", *(path.stem for path in paths)}
    used = set().union(*(imported(path.read_text()) for path in paths)) - local
    assert used <= declared("test") | {"markupsafe"}  # jinja2 is not to be had without it


def test_every_lower_bound_can_be_installed_alone():
    bounds = [oldest.lowest(requirement) for requirement in oldest.declared("test")]
    assert "scikit-learn==1.7.0" in bounds
    assert len({bound.split("==")[0] for bound in bounds}) == len(bounds), "a package has two lower bounds"


def test_a_requirement_without_a_lower_bound_is_refused():
    with pytest.raises(ValueError, match="no plain lower bound"):
        oldest.lowest("numpy")


def test_classifiers_name_no_python_below_the_required_one():
    project = tomllib.loads(oldest.PROJECT.read_text())["project"]
    named = re.findall(r"Python :: 3\.(\d+)", " ".join(project["classifiers"]))
    assert min(map(int, named)) == int(project["requires-python"].removeprefix(">=3."))

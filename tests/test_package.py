"""The package itself: what it offers, and what importing it costs."""

import ast
import subprocess
import sys
from importlib.metadata import version

import pytest

import saccade
import saccade.dask

HEAVY = ["jinja2", "joblib", "matplotlib", "numba", "numpy", "pandas", "polars", "pyarrow", "scipy", "sklearn"]


def test_the_public_names_are_these():
    assert sorted(saccade.__all__, key=str.lower) == sorted(
        [
            "AttentiveClassifier",
            "Budget",
            "Conditional",
            "ConstantSTST",
            "CurvedSTST",
            "ExponentiatedGradient",
            "Full",
            "PassiveAggressive",
            "Pegasos",
            "Perceptron",
            "Watch",
            "__version__",
            "attend",
            "PlanDisplay",
            "fit_files",
            "load",
            "mapper",
            "predict_files",
            "save",
            "show_progress",
        ],
        key=str.lower,
    )
    for name in saccade.__all__:
        assert getattr(saccade, name) is not None
    assert dir(saccade) == sorted(saccade.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Pegasus"):
        saccade.Pegasus  # noqa: B018


@pytest.mark.parametrize("module", [saccade, saccade.dask])
def test_type_checkers_see_the_public_names_and_no_others(module):
    """Where a module says what any other name is, a misspelt one passes."""
    with open(module.__file__) as file:
        body = ast.parse(file.read()).body
    assert "__getattr__" not in [node.name for node in body if isinstance(node, ast.FunctionDef)]
    [typed] = [node.body for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    names = {name.name for node in typed for name in node.names}
    assert names == set(module.__all__) - {"__version__"}


def test_importing_the_package_imports_nothing_heavy():
    script = f"import sys, saccade; print([name for name in {HEAVY} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.strip() == "[]"


def test_the_version_is_the_installed_one():
    assert saccade.__version__ == version("saccade")

"""The package itself: what it offers, and what importing it costs."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import saccade

HEAVY = ["click", "jinja2", "joblib", "matplotlib", "numba", "numpy", "pandas", "polars", "pyarrow", "scipy", "sklearn"]


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
            "datasets",
            "learn",
            "load",
            "mapper",
            "rows",
            "save",
            "show_progress",
            "simulate",
        ],
        key=str.lower,
    )
    for name in saccade.__all__:
        assert getattr(saccade, name) is not None
    assert dir(saccade) == sorted(saccade.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Pegasus"):
        saccade.Pegasus  # noqa: B018


def test_importing_the_package_imports_nothing_heavy():
    script = f"import sys, saccade; print([name for name in {HEAVY} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.strip() == "[]"


def test_the_version_is_the_installed_one():
    assert saccade.__version__ == version("saccade")

"""Private names of other packages are used in few places."""

import ast
from pathlib import Path

import numba
import numpy as np
import pytest

import saccade
from saccade.kernels import prefetching

SOURCES = sorted(Path(saccade.__file__).parent.rglob("*.py"))


def private_names(tree: ast.Module) -> list[str]:
    """Names that begin with an underscore, imported from other packages or taken from what was imported."""
    imported: dict[str, str] = {}  # names in this file, and what they stand for
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {(name.asname or name.name).split(".")[0]: name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    others = {name: home for name, home in imported.items() if not home.startswith(("saccade.", "__future__."))}
    taken = [
        f"{others[node.value.id]}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in others
    ]
    return [name for name in [*others.values(), *taken] if any(_is_private(part) for part in name.split("."))]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


@pytest.mark.parametrize(
    "line",
    [
        "from sklearn.utils import _safe_indexing",
        "from sklearn.utils._param_validation import Interval",
        "import sklearn.utils._tags",
        "import sklearn\nsklearn._config",
        "from sklearn import utils\nutils._safe_indexing(1)",
    ],
)
def test_private_names_are_noticed(line):
    assert private_names(ast.parse(line))


@pytest.mark.parametrize("path", SOURCES, ids=[path.stem for path in SOURCES])
def test_no_file_takes_private_names_of_other_packages(path):
    assert private_names(ast.parse(path.read_text())) == []


@pytest.mark.parametrize("module", ["numba.core", "llvmlite"])
def test_the_inside_of_numba_is_seen_by_two_files_only(module):
    users = {path.name for path in SOURCES if f"from {module}" in path.read_text()}
    assert users <= {"caching.py", "prefetching.py"}


def value_after_prefetch():
    """A kernel, compiled anew, that fetches ahead what it then returns."""

    @numba.njit
    def value(array, i, j):
        prefetching.prefetch(array, i, j)
        return array[i, j]

    return value


@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_prefetching_ends_as_an_instruction(dtype):
    value, array = value_after_prefetch(), np.arange(6, dtype=dtype).reshape(2, 3)
    assert value(array, 1, 2) == 5
    assert value(array.T, 1, np.uint32(1)) == 4
    (code, *_) = value.inspect_llvm().values()
    assert "call void @llvm.prefetch" in code, (
        f"numba {numba.__version__} does not take saccade's prefetch: learning is slower. "
        "See saccade/kernels/prefetching.py."
    )

"""Private names of other packages: where they are used at all, that they still exist, and what happens without them."""

import ast
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import saccade
from saccade.kernels import compiling, prefetching

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


def test_numba_knows_the_option_to_do_without_reference_counts():
    assert compiling._without_reference_counts() == {"_nrt": False}, (
        f"numba {numba.__version__} does not know _nrt: kernels count references, which is slower. "
        "See saccade/kernels/compiling.py."
    )


def test_without_that_option_kernels_count_references(monkeypatch):
    def older(**options):
        if "_nrt" in options:
            raise KeyError("Unrecognized options: {'_nrt'}")
        return numba.njit(**options)

    monkeypatch.setattr(compiling, "njit", older)
    assert compiling._without_reference_counts() == {}


REFUSING = """
import numba
njit = numba.njit
def refusing(*function, **options):
    if "_nrt" in options:
        raise KeyError("Unrecognized options: {'_nrt'}")
    return njit(*function, **options)
numba.njit = refusing
import numpy as np
from saccade.kernels.reordering import shuffle
rows = np.arange(20, dtype=np.uint32)
shuffle(rows, 5, 1)
print("_nrt" in shuffle.targetoptions, rows.tolist())
"""


def test_a_kernel_that_counts_references_gives_the_same(tmp_path, monkeypatch):
    from saccade.kernels.reordering import shuffle

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    run = subprocess.run([sys.executable, "-c", REFUSING], capture_output=True, text=True, check=True)
    rows = np.arange(20, dtype=np.uint32)
    shuffle(rows, 5, 1)
    assert run.stdout.split(maxsplit=1) == ["False", f"{rows.tolist()}\n"]


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


@pytest.mark.parametrize("error", [AttributeError, TypeError, NotImplementedError])
def test_without_prefetching_the_values_are_the_same(monkeypatch, error):
    def changed(*arguments):
        raise error("numba is not what it was")

    monkeypatch.setattr(prefetching, "_fetch", changed)
    value = value_after_prefetch()
    assert value(np.arange(6.0).reshape(2, 3), 1, 2) == 5
    (code,) = value.inspect_llvm().values()
    assert "llvm.prefetch" not in code

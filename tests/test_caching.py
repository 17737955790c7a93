"""Compiled kernels are kept from one process to the next, and nothing wrong with the cache does harm.

Each test imports a copy of the package with two functions of its own, one compiled into the other.
"""

import importlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numba
import pytest

import saccade
from saccade.exceptions import KernelsNotKeptWarning

PACKAGE = Path(saccade.__file__).parent
CALLEE = """
from saccade.kernels.compiling import inlined

@inlined
def amount(pair):
    return pair.first
"""
CALLER = """
from saccade.kernels.callee import amount
from saccade.kernels.compiling import kernel

@kernel
def add(x, pair):
    return x + amount(pair)
"""
PAIR = "from typing import NamedTuple\n\nclass Pair(NamedTuple):\n    first: float\n    second: float\n"
RUN = """
from saccade.pair import *
from saccade.kernels.caller import add
total = add(1.0, Pair(10.0, 20.0))
compiled = sum(add.stats.cache_misses.values()) or len(add.signatures) - sum(add.stats.cache_hits.values())
"""
# Without a cache there are no counts of hits and misses.
RUN_TWICE = RUN.replace("compiled =", "add(1, Pair(1.0, 2.0))\ncompiled =")
# To compile something first imports all that the other user may not be able to reach.
BECOME_ANOTHER = """
import os, numba
numba.njit(lambda x: x + 1)(1)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
"""


class Installation:
    """A copy of the package that is small enough to be compiled in a moment."""

    def __init__(self, folder, monkeypatch):
        self.package, self.cache = folder / "lib" / "saccade", folder / "cache"
        self.kernels, self._monkeypatch = self.package / "kernels", monkeypatch
        self.kernels.mkdir(parents=True)
        for name in ("__init__.py", "exceptions.py", "terminal.py", "version.py"):
            shutil.copy(PACKAGE / name, self.package)
        for name in ("__init__.py", "caching.py", "compiling.py"):
            shutil.copy(PACKAGE / "kernels" / name, self.kernels)
        self.write("kernels/callee.py", CALLEE)
        self.write("kernels/caller.py", CALLER)
        self.write("pair.py", PAIR)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        self.choose(self.cache)

    def choose(self, folder):
        """Set NUMBA_CACHE_DIR, which numba has read already."""
        self._monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
        self._monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))

    def write(self, name, source):
        (self.package / name).write_text(source)

    def run(self, script=RUN):
        """Import the package and add; return the sum, the number of kernels compiled, and the warnings."""
        others = _without_the_package()
        sys.path.insert(0, str(self.package.parent))
        importlib.invalidate_caches()
        try:
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always")
                exec(script, names := {})
        finally:
            sys.path.remove(str(self.package.parent))
            _without_the_package()
            sys.modules.update(others)
        return [names["total"], names["compiled"], *(warning.message for warning in given)]

    def start(self, script, end="print(total)"):
        environment = os.environ | {"PYTHONPATH": str(self.package.parent)}
        command = [sys.executable, "-c", f"{script}\n{end}"]
        return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def files(self):
        return sorted(self.cache.rglob("*.nb[ci]"))

    def folders(self):
        """Return the folders of the present state, of all states, and NUMBA_CACHE_DIR."""
        (state,) = (self.cache / "saccade").iterdir()
        return {"root": self.cache, "states": state.parent, "state": state}


def _without_the_package():
    """Remove what was imported of the package, and return it."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "saccade"}


@pytest.fixture
def installation(tmp_path, monkeypatch):
    return Installation(tmp_path, monkeypatch)


def test_kernel_is_compiled_once(installation):
    assert installation.run() == [11, 1]
    assert installation.run() == [11, 0]


def test_edit_of_an_inlined_function_recompiles(installation):
    installation.run()
    installation.write("kernels/callee.py", CALLEE.replace("first", "second"))
    assert installation.run() == [21, 1]
    installation.write("kernels/callee.py", CALLEE)
    assert installation.run() == [11, 0]


def test_fields_of_a_record_in_another_order_recompile(installation):
    installation.run()
    installation.write("pair.py", PAIR.replace("first", "third").replace("second", "first"))
    assert installation.run() == [21, 1]


def test_a_record_that_no_longer_exists_does_no_harm(installation):
    installation.run()
    installation.write("pair.py", PAIR.replace("Pair", "Couple"))
    assert installation.run(RUN.replace("Pair", "Couple")) == [11, 1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.write_bytes(pickle.dumps("other")),
        lambda path: (path.unlink(), path.symlink_to(path)),
    ],
    ids=["empty", "cut off", "something else", "unreadable"],
)
@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc", "*.nb[ci]"])
def test_damaged_files_are_compiled_and_written_again(installation, damage, kind):
    installation.run()
    for path in installation.cache.rglob(kind):
        damage(path)
    assert installation.run() == [11, 1]
    assert installation.run() == [11, 0]


def test_processes_that_compile_at_the_same_time_get_their_own_code(installation):
    """Numba writes the index and the code of a kernel one after the other: unlocked, processes swap their code."""
    calls = {"1.0": "11.0", "True": "11.0", "2": "12.0", "1.5": "11.5"}
    for _ in range(3):
        shutil.rmtree(installation.cache, ignore_errors=True)
        processes = [installation.start(RUN.replace("add(1.0", f"add({number}")) for number in calls]
        assert [process.communicate() for process in processes] == [(f"{total}\n", "") for total in calls.values()]
    for number, total in calls.items():
        assert installation.run(RUN.replace("add(1.0", f"add({number}")) == [float(total), 0]


def test_old_states_are_removed(installation):
    for number in range(7):
        state = installation.cache / "saccade" / f"state{number}"
        state.mkdir(parents=True)
        os.utime(state, (number, number))
    (installation.cache / "other").mkdir()
    installation.run()
    states = {path.name for path in (installation.cache / "saccade").iterdir()}
    assert {"state4", "state5", "state6"} < states
    assert len(states) == 4
    assert (installation.cache / "other").exists()


def test_without_a_choice_kernels_are_kept_in_the_users_cache(installation, monkeypatch, tmp_path):
    installation.choose("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    assert installation.run() == [11, 1]
    assert len(list((tmp_path / "own" / "saccade").rglob("*.nbc"))) == 1
    assert installation.run() == [11, 0]


@pytest.mark.parametrize("shared", ["root", "states", "state"])
def test_a_folder_that_others_can_write_to_is_not_used(installation, shared):
    installation.run()
    installation.folders()[shared].chmod(0o777)
    total, compiled, warning = installation.run(RUN_TWICE)
    assert (total, compiled) == (11, 2)
    assert type(warning).__name__ == KernelsNotKeptWarning.__name__  # of the copied package
    assert "can be changed by other users" in str(warning)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("given_away", ["root", "states", "state"])
def test_a_folder_of_another_user_is_not_used(installation, given_away):
    installation.run()
    os.chown(installation.folders()[given_away], 12345, -1)
    before = installation.files()
    total, compiled, warning = installation.run(RUN_TWICE)
    assert (total, compiled) == (11, 2)
    assert "can be changed by other users" in str(warning)
    assert installation.files() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_root_has_compiled_is_read_by_other_users(monkeypatch):
    """As in an image: compiled when it is built, and used by a service that may write nowhere."""
    with tempfile.TemporaryDirectory() as folder:  # into which others can go, unlike pytest's own
        os.chmod(folder, 0o755)
        installation = Installation(Path(folder), monkeypatch)
        installation.run()
        before = installation.files()
        for call, expected in (("add(1.0", "11.0 0\n"), ("add(1", "11.0 1\n")):
            script = BECOME_ANOTHER + RUN.replace("add(1.0", call)
            assert installation.start(script, "print(total, compiled)").communicate() == (expected, "")
        assert installation.files() == before


def test_a_folder_that_can_only_be_read_is_read(installation, monkeypatch):
    installation.run()
    before = installation.files()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert installation.run() == [11, 0]
    assert installation.run(RUN_TWICE)[0] == 11  # another type, which is compiled and not kept
    assert installation.files() == before


def test_one_warning_says_what_to_do_if_there_is_no_folder(installation):
    installation.cache.write_text("a file, not a folder")
    total, compiled, warning = installation.run(RUN_TWICE)
    assert (total, compiled) == (11, 2)
    assert "Set the environment variable NUMBA_CACHE_DIR" in str(warning)
    assert str(installation.cache) in str(warning)


def test_a_full_disk_gives_one_warning(installation, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "_save_data", fail)
    total, compiled, warning = installation.run(RUN_TWICE)
    assert (total, compiled) == (11, 2)
    assert "No space left on device" in str(warning)


def test_compiling_is_logged_once(installation, caplog):
    with caplog.at_level("INFO", "saccade"):
        installation.run(RUN_TWICE)
        installation.run(RUN_TWICE)
    [record] = caplog.records
    assert str(installation.files()[0].parent) in record.getMessage()


def test_kernels_run_if_numba_does_not_compile(installation, monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert installation.run(RUN.partition("compiled =")[0] + "compiled = 0") == [11, 0]

"""Compiled kernels are kept from one process to the next, and nothing that is wrong with what is kept does harm.

Each test has a copy of the package with two functions of its own, one compiled into the other, and imports it anew.
"""

import errno
import importlib
import os
import pickle
import pty
import shutil
import subprocess
import sys
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
compiled = sum(add.stats.cache_misses.values())
"""
RUN_TWICE = RUN.replace("compiled =", "add(1, Pair(1.0, 2.0))\ncompiled =")


class Installation:
    """A copy of the package that is small enough to be compiled in a moment."""

    def __init__(self, folder, monkeypatch):
        self.package, self.cache, self.home = folder / "lib" / "saccade", folder / "cache", folder / "home"
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
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        self.choose(self.cache)
        self.live_in(self.home)

    def choose(self, folder):
        """Set NUMBA_CACHE_DIR, which numba has read already."""
        self._monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
        self._monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))

    def live_in(self, home):
        self._monkeypatch.setenv("HOME", str(home))

    def write(self, name, source):
        (self.package / name).write_text(source)

    def run(self, script=RUN):
        """Import it anew and add; return the sum, how many kernels were compiled, and the warnings."""
        others = _without_the_package()
        sys.path.insert(0, str(self.package.parent))
        importlib.invalidate_caches()
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                exec(script, names := {})
        finally:
            sys.path.remove(str(self.package.parent))
            _without_the_package()
            sys.modules.update(others)
        return [names["total"], names["compiled"], *(warning.message for warning in said)]

    def start(self, script=RUN, **streams):
        """Do the same in a process of its own, which prints the sum and how many kernels were compiled."""
        environment = os.environ | {"PYTHONPATH": str(self.package.parent)}
        command = [sys.executable, "-c", f"{script}\nprint(total, compiled)"]
        return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, **streams)

    def files(self, folder=None):
        return sorted((folder or self.cache).rglob("*.nbc"))


def _without_the_package():
    """Take what was imported of the package away, and return it."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "saccade"}


@pytest.fixture
def installation(tmp_path, monkeypatch):
    return Installation(tmp_path, monkeypatch)


def test_a_kernel_is_compiled_once(installation):
    assert installation.run() == [11, 1]
    assert installation.run() == [11, 0]


def test_an_edit_of_what_is_compiled_into_a_kernel_is_seen(installation):
    installation.run()
    installation.write("kernels/callee.py", CALLEE.replace("first", "second"))
    assert installation.run() == [21, 1]
    installation.write("kernels/callee.py", CALLEE)
    assert installation.run() == [11, 0]


def test_fields_that_change_places_are_seen(installation):
    installation.run()
    installation.write("pair.py", PAIR.replace("first", "third").replace("second", "first"))
    assert installation.run() == [21, 1]


def test_a_named_tuple_that_is_gone_does_no_harm(installation):
    installation.run()
    installation.write("pair.py", PAIR.replace("Pair", "Couple"))
    assert installation.run(RUN.replace("Pair", "Couple")) == [11, 1]


def test_sources_that_change_while_a_process_runs_are_not_taken_for_what_they_were(installation):
    path, edited = installation.kernels / "callee.py", CALLEE.replace("first", "second")
    edit = f"import saccade.kernels.caching, pathlib; pathlib.Path({str(path)!r}).write_text({edited!r})"
    assert installation.run(f"{edit}\n{RUN}") == [21, 1]
    installation.write("kernels/callee.py", CALLEE)
    assert installation.run() == [11, 1]
    assert installation.run(f"{edit}\n{RUN}") == [21, 1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.write_bytes(bytes(32) + path.read_bytes()[32:]),
        lambda path: (path.unlink(), path.symlink_to(path)),
    ],
    ids=["empty", "cut off", "not its checksum", "unreadable"],
)
def test_a_damaged_file_is_compiled_and_written_anew(installation, damage):
    installation.run()
    for path in installation.files():
        damage(path)
    assert installation.run() == [11, 1]
    assert installation.run() == [11, 0]


def test_what_cannot_be_unpickled_is_compiled_anew(installation, monkeypatch):
    installation.run()
    monkeypatch.setattr(pickle, "loads", failing(ModuleNotFoundError("moved")))
    assert installation.run() == [11, 1]


def failing(error):
    def fail(*_):
        raise error

    return fail


def test_processes_share_what_they_compile_at_once(installation):
    scripts = [RUN.replace("add(1.0", f"add({number}") for number in ("1.0", "True", "1.0")]
    for process in [installation.start(script, stderr=subprocess.PIPE) for script in scripts]:
        out, error = process.communicate()
        assert (out.split()[0], error) == ("11.0", "")
    assert installation.run() == [11, 0]
    assert len(installation.files()) == 2
    assert not list(installation.cache.rglob("*.tmp"))


def test_old_states_do_not_pile_up(installation):
    (installation.cache / "other").mkdir(parents=True)
    for number in range(7):
        state = installation.cache / "saccade" / f"state{number}"
        state.mkdir(parents=True)
        os.utime(state, (number, number))
    installation.run()
    states = {path.name for path in (installation.cache / "saccade").iterdir()}
    assert {"state4", "state5", "state6"} < states
    assert len(states) == 4
    assert (installation.cache / "other").exists()


def test_without_a_choice_kernels_are_kept_beside_their_sources_else_for_the_user(installation):
    installation.choose("")
    beside = installation.kernels / "__pycache__"
    assert installation.run() == [11, 1]
    assert len(installation.files(beside)) == 1
    shutil.rmtree(beside)
    beside.write_text("nothing can be written beside the sources")
    assert installation.run() == [11, 1]
    assert len(installation.files(installation.home)) == 1
    assert installation.run() == [11, 0]


def test_kernels_that_were_compiled_when_a_read_only_installation_was_made_are_read(installation):
    installation.choose("")
    installation.run()
    installation.live_in(os.devnull)
    paths = [installation.kernels, *(installation.kernels / "__pycache__").rglob("*")]
    for path in paths:
        path.chmod(0o500)
    assert installation.run() == [11, 0]
    for path in paths:
        path.chmod(0o700)


@pytest.mark.parametrize("chosen", [True, False])
def test_where_nothing_can_be_kept_one_warning_says_what_to_do(installation, chosen):
    (installation.kernels / "__pycache__").write_text("")
    installation.cache.write_text("a file, and no folder")
    installation.live_in(os.devnull)
    installation.choose(installation.cache if chosen else "")
    total, compiled, warning = installation.run(RUN_TWICE)
    assert (total, compiled) == (11, 2)
    assert type(warning).__name__ == KernelsNotKeptWarning.__name__  # of another copy
    assert "Set the environment variable NUMBA_CACHE_DIR" in str(warning)
    assert str(installation.cache if chosen else installation.kernels) in str(warning)


def test_a_full_disk_gives_one_warning(installation, monkeypatch):
    monkeypatch.setattr(Path, "write_bytes", failing(OSError(errno.ENOSPC, "No space left on device")))
    total, compiled, warning = installation.run(RUN_TWICE)
    assert (total, compiled) == (11, 2)
    assert f"{installation.cache}" in str(warning)
    assert "No space left on device" in str(warning)


def on_a_terminal(installation, script):
    """Run, and return what a terminal showed."""
    terminal, its_end = pty.openpty()
    process = installation.start(script, stderr=its_end)
    os.close(its_end)
    process.communicate()
    try:
        return os.read(terminal, 10_000).decode()
    except OSError:  # nothing was written before the other end was closed
        return ""
    finally:
        os.close(terminal)


ASKED = "from saccade.terminal import show_progress; show_progress()"


def test_who_asked_for_progress_is_told_once_and_only_when_something_is_compiled(installation):
    shown = on_a_terminal(installation, ASKED + RUN_TWICE)
    assert shown.count("saccade: compiling kernels") == 1
    assert f"kept in {installation.files()[0].parent}\r\n" in shown
    assert on_a_terminal(installation, ASKED + RUN_TWICE) == ""


def test_a_terminal_is_told_nothing_unasked(installation):
    assert on_a_terminal(installation, RUN_TWICE) == ""
    assert len(installation.files()) == 2  # they were compiled


def test_compiling_is_logged_once(installation, caplog):
    with caplog.at_level("INFO", "saccade"):
        installation.run(RUN_TWICE)
        installation.run(RUN_TWICE)
    [said] = [record.getMessage() for record in caplog.records]
    assert said.endswith(f"which takes some seconds; they are kept in {installation.files()[0].parent}")


def test_numba_keeps_kernels_its_way_where_it_has_changed(installation, monkeypatch):
    monkeypatch.delattr("numba.core.caching.CompileResultCacheImpl")
    assert installation.run() == [11, 1]
    assert not (installation.cache / "saccade").exists()
    assert installation.run() == [11, 0]
    installation.choose(os.devnull)
    installation.live_in(os.devnull)
    (installation.kernels / "__pycache__").write_text("")
    assert installation.run() == [11, 1]


def test_kernels_run_where_numba_is_told_not_to_compile(installation, monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert installation.run(RUN.replace("sum(add.stats.cache_misses.values())", "0")) == [11, 0]

"""Compiled kernels are kept from one process to the next, and nothing that is wrong with what is kept does harm.

Each test has a copy of the package with two kernels of its own, one compiled into the other, and runs it in processes.
"""

import ast
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

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
import warnings
from saccade.pair import *
from saccade.kernels.caller import add

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    sums = add(1.0, Pair(10.0, 20.0)), add(1, Pair(10.0, 20.0))
print([*sums, sum(add.stats.cache_misses.values()), [(type(w.message).__name__, str(w.message)) for w in said]])
"""


class Installation:
    """A copy of the package that is small enough to be compiled in a moment, and what its processes are told."""

    def __init__(self, folder):
        self.package, self.cache, self.home = folder / "lib" / "saccade", folder / "cache", folder / "home"
        self.kernels = self.package / "kernels"
        self.kernels.mkdir(parents=True)
        for name in ("__init__.py", "exceptions.py", "version.py"):
            shutil.copy(PACKAGE / name, self.package)
        for name in ("__init__.py", "caching.py", "compiling.py"):
            shutil.copy(PACKAGE / "kernels" / name, self.kernels)
        self.write("kernels/callee.py", CALLEE)
        self.write("kernels/caller.py", CALLER)
        self.write("pair.py", PAIR)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "XDG_"))}
        self.environment |= {"PYTHONPATH": str(folder / "lib"), "HOME": str(self.home)}
        self.environment |= {"NUMBA_CACHE_DIR": str(self.cache)}

    def write(self, name, source):
        (self.package / name).write_text(source)

    def start(self, script=RUN, **streams):
        command = [sys.executable, "-c", script]
        return subprocess.Popen(command, env=self.environment, text=True, stdout=subprocess.PIPE, **streams)

    def run(self, script=RUN):
        """Return both sums, how many kernels were compiled, and the warnings."""
        process = self.start(script, stderr=subprocess.PIPE)
        out, error = process.communicate()
        assert (process.returncode, error) == (0, "")
        return ast.literal_eval(out)

    def files(self, folder=None):
        return sorted((folder or self.cache).rglob("*.nbc"))


@pytest.fixture
def installation(tmp_path):
    return Installation(tmp_path)


def test_a_kernel_is_compiled_once(installation):
    assert installation.run() == [11, 11, 2, []]
    assert installation.run() == [11, 11, 0, []]


def test_an_edit_of_what_is_compiled_into_a_kernel_is_seen(installation):
    installation.run()
    installation.write("kernels/callee.py", CALLEE.replace("first", "second"))
    assert installation.run() == [21, 21, 2, []]
    installation.write("kernels/callee.py", CALLEE)
    assert installation.run() == [11, 11, 0, []]


def test_fields_that_change_places_are_seen(installation):
    installation.run()
    installation.write("pair.py", PAIR.replace("first", "third").replace("second", "first"))
    assert installation.run() == [21, 21, 2, []]


def test_a_named_tuple_that_is_gone_does_no_harm(installation):
    installation.run()
    installation.write("pair.py", PAIR.replace("Pair", "Couple"))
    assert installation.run(RUN.replace("Pair", "Couple")) == [11, 11, 2, []]


def test_sources_that_change_while_a_process_runs_are_not_kept_as_what_they_were(installation):
    edited = CALLEE.replace("first", "second")
    edit = f"import saccade.kernels.caching, pathlib; pathlib.Path({str(installation.kernels / 'callee.py')!r})"
    assert installation.run(f"{edit}.write_text({edited!r})\n{RUN}") == [21, 21, 2, []]
    assert installation.files() == []
    installation.write("kernels/callee.py", CALLEE)
    assert installation.run() == [11, 11, 2, []]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.write_bytes(path.read_bytes()[:5000] + b"\0" + path.read_bytes()[5001:]),
        lambda path: (path.unlink(), path.symlink_to(path)),
    ],
    ids=["empty", "cut off", "changed", "unreadable"],
)
def test_a_damaged_file_is_compiled_and_written_anew(installation, damage):
    installation.run()
    for path in installation.files():
        damage(path)
    assert installation.run() == [11, 11, 2, []]
    assert installation.run() == [11, 11, 0, []]


def test_what_cannot_be_unpickled_is_compiled_anew(installation):
    installation.run()
    script = """
import pickle
def fail(_): raise ModuleNotFoundError("moved")
pickle.loads = fail
"""
    assert installation.run(script + RUN) == [11, 11, 2, []]


def test_processes_that_compile_at_once_do_not_disturb_each_other(installation):
    processes = [installation.start(RUN.replace("1.0, Pair", f"{kind}, Pair")) for kind in ("1.0", "True", "1.0")]
    for process in processes:
        assert process.communicate()[0].startswith("[11.0, 11.0, 2, []]")
    assert installation.run() == [11, 11, 0, []]
    assert len(installation.files()) == 3
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
    del installation.environment["NUMBA_CACHE_DIR"]
    beside = installation.kernels / "__pycache__"
    assert installation.run() == [11, 11, 2, []]
    assert len(installation.files(beside)) == 2
    shutil.rmtree(beside)
    beside.write_text("nothing can be written beside the sources")
    assert installation.run() == [11, 11, 2, []]
    assert len(installation.files(installation.home)) == 2
    assert installation.run() == [11, 11, 0, []]


def test_kernels_that_were_compiled_when_a_read_only_installation_was_made_are_read(installation):
    del installation.environment["NUMBA_CACHE_DIR"]
    installation.run()
    installation.environment["HOME"] = os.devnull
    for path in (installation.kernels / "__pycache__").rglob("*"):
        path.chmod(path.stat().st_mode & ~0o222)
    assert installation.run() == [11, 11, 0, []]


@pytest.mark.parametrize("chosen", [True, False])
def test_where_nothing_can_be_kept_one_warning_says_what_to_do(installation, chosen):
    (installation.kernels / "__pycache__").write_text("")
    installation.environment["HOME"] = os.devnull
    if chosen:
        installation.cache.write_text("a file, and no folder")
    else:
        del installation.environment["NUMBA_CACHE_DIR"]
    *counted, [(kind, message)] = installation.run()
    assert counted == [11, 11, 2]
    assert kind == KernelsNotKeptWarning.__name__
    assert "Set the environment variable NUMBA_CACHE_DIR" in message
    assert str(installation.cache if chosen else installation.kernels) in message


def test_a_full_disk_gives_one_warning(installation):
    script = """
import errno, pathlib
def full(*_): raise OSError(errno.ENOSPC, "No space left on device")
pathlib.Path.write_bytes = full
"""
    *counted, [(kind, message)] = installation.run(script + RUN)
    assert counted == [11, 11, 2]
    assert kind == KernelsNotKeptWarning.__name__
    assert "No space left on device" in message


def on_a_terminal(installation):
    """Run, and return what a terminal showed."""
    terminal, its_end = pty.openpty()
    process = installation.start(stderr=its_end)
    os.close(its_end)
    process.communicate()
    try:
        return os.read(terminal, 10_000).decode()
    except OSError:  # nothing was written before the other end was closed
        return ""
    finally:
        os.close(terminal)


def test_a_terminal_is_told_once_and_only_when_something_is_compiled(installation):
    shown = on_a_terminal(installation)
    assert shown.count("saccade: compiling kernels") == 1
    assert f"kept in {installation.files()[0].parent}\r\n" in shown
    assert on_a_terminal(installation) == ""


def test_numba_keeps_kernels_its_way_where_it_has_changed(installation):
    script = "import numba.core.caching\ndel numba.core.caching.CompileResultCacheImpl\n" + RUN
    assert installation.run(script)[:3] == [11, 11, 2]
    assert not (installation.cache / "saccade").exists()
    assert len(installation.files()) == 2
    assert installation.run(script)[:3] == [11, 11, 0]


def test_kernels_run_where_numba_is_told_not_to_compile(installation):
    installation.environment["NUMBA_DISABLE_JIT"] = "1"
    assert installation.run(RUN.replace("sum(add.stats.cache_misses.values())", "0")) == [11, 11, 0, []]

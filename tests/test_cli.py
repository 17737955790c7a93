"""The command line, as a person and as a script use it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from urllib.error import URLError

import pytest
from interruptible import INTERRUPTIBLE

from saccade import __version__
from saccade.cli.main import run
from saccade.data import mnist
from saccade.study.experiments import reproduction as experiments
from saccade.study.report import page, records

COMMAND = [sys.executable, "-c", "from saccade.cli import main; main()"]


def test_version_and_help(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"saccade {__version__}\n"
    assert run(["--help"]) == 0
    assert "reproduce" in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    script = (
        "import sys; from saccade.cli.main import run; run(['reproduce', '--help']);"
        "print([name for name in ('numpy', 'numba', 'sklearn', 'matplotlib', 'jinja2') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.endswith("[]\n")


@pytest.fixture
def at_once(monkeypatch, reproduction, html):
    """Let the experiments have been run, and the page have been drawn, before."""
    monkeypatch.setattr(experiments, "run_all", lambda *arguments, **named: reproduction)
    monkeypatch.setattr(page, "render", lambda given: html if given is reproduction else pytest.fail("other records"))


def test_reproduce_writes_the_page_and_prints_what_holds(at_once, html, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert run(["reproduce", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "features on average" in printed.out
    assert printed.err == f"The page: {out}\n"  # no progress bar in a pipe
    assert out.read_text(encoding="utf-8") == html
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_the_options_reach_the_experiments_and_json_is_all_that_is_printed(
    at_once, monkeypatch, tmp_path, capsys, reproduction
):
    asked = []

    def run_all(seed, size, jobs, progress):
        asked.append((seed, size, jobs))
        return reproduction

    monkeypatch.setattr(experiments, "run_all", run_all)
    options = ["--quick", "--seed", "1", "--permutations", "3", "--jobs", "2", "--json"]
    assert run(["reproduce", *options, "--out", str(tmp_path / "page.html")]) == 0
    assert asked == [(1, replace(experiments.QUICK, permutations=3), 2)]
    assert json.loads(capsys.readouterr().out) == json.loads(records.as_json(reproduction))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "--seed", "-1"], "--seed"),
        (["reproduce", "--seed", str(2**32)], "--seed"),
        (["reproduce", "--out", "/dev/null"], "not a regular file"),
        (["reproduce", "--out", 250 * "x"], "cannot be written: File name too long"),
        (["reproduce", "--permutations", "0"], "--permutations"),
        (["reproduce", "--jobs", "many"], "--jobs"),
        (["reproduce", "--sed", "1"], "--seed"),
        (["reproduce", "--out", "/"], "cannot be written"),
        (["reproduce", "--out", "no/such/folder/page.html"], "cannot be written: No such file or directory"),
        (["reproduction"], "No such command 'reproduction'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(arguments, message, capsys):
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("saccade: ")


def test_a_link_is_followed_and_stays_one(at_once, tmp_path):
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text("old")
    link.symlink_to(target)
    assert run(["reproduce", "--out", str(link)]) == 0
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_without_mnist_one_line_says_so_before_anything_is_run(monkeypatch, tmp_path, capsys):
    def offline(scratch):
        raise URLError("no route to host")

    monkeypatch.setattr(mnist, "_places", list)
    monkeypatch.setattr(mnist, "_download", offline)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(experiments, "Parallel", lambda **options: pytest.fail("experiments were run"))
    assert run(["reproduce", "--out", str(tmp_path / "page.html")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"saccade: MNIST could not be fetched.*no route to host.*SACCADE_DATA.*\n", printed.err)
    assert not (tmp_path / "page.html").exists()


def test_a_pipe_gets_utf8_whatever_the_locale_says(at_once, tmp_path, monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    assert run(["reproduce", "--out", str(tmp_path / "page.html")]) == 0
    narrow.flush()
    assert "O(√n)" in narrow.buffer.getvalue().decode()


def test_no_command_shows_the_help(capsys):
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_without_matplotlib_one_line_names_the_extra(monkeypatch, capsys, tmp_path):
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "saccade.study.report"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(["reproduce", "--out", str(tmp_path / "page.html")]) == 2
    assert re.fullmatch(r"saccade: .*matplotlib.*saccade\[report\].*\n", capsys.readouterr().err)


def test_without_click_one_line_names_the_extra(tmp_path):
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError('gone', name='click')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    shown = subprocess.run(
        [*COMMAND, "reproduce"], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert shown.returncode == 2
    assert re.fullmatch(r"saccade: .*click.*saccade\[report\].*\n", shown.stderr)


def test_a_page_that_cannot_be_finished_leaves_the_old_one(at_once, tmp_path, monkeypatch, capsys):
    out = tmp_path / "page.html"
    out.write_text("old")

    def full_disk(source, target):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full_disk)
    assert run(["reproduce", "--out", str(out)]) == 1
    assert capsys.readouterr().err == "saccade: no space left\n"
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


def test_ctrl_c_leaves_nothing_behind_and_exits_with_130(tmp_path):
    arguments = [*INTERRUPTIBLE, "reproduce", "--out", str(tmp_path / "page.html")]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4)  # long enough for the experiments to have begun, far too short for them to end
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output == ""
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


BEGINNING = """
import sys
from saccade.cli import main

class Interrupted:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
main()
"""


def test_ctrl_c_before_anything_is_imported_shows_no_traceback():
    done = subprocess.run([sys.executable, "-c", BEGINNING], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


WRITING = """
import sys, time
from importlib import import_module
from pathlib import Path
from saccade.cli import main
from saccade.files.writing import writing_whole

def run(arguments):
    with writing_whole(Path(arguments[0])) as file:
        file.write(b"half")
        print("begun", flush=True)
        time.sleep(60)

import_module("saccade.cli.main").run = run
main()
"""


def test_a_command_that_is_told_to_end_leaves_nothing_behind(tmp_path):
    """As services and ``timeout`` tell it."""
    command = [sys.executable, "-c", WRITING, str(tmp_path / "labels.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.terminate()
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []

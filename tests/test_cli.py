"""The command line, as a person and as a script use it."""

import io
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from interruptible import INTERRUPTIBLE

import saccade
from saccade import Pegasos, __version__
from saccade.cli.main import run

COMMAND = [sys.executable, "-c", "from saccade.cli import main; main()"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with rows and a model that was learned from them."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where(X[:, 0] > 0, "été", "hiver")
    rows = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,c,season", *rows]), encoding="utf-8")
    saccade.save(Pegasos(random_state=0).fit(X, y), "model")
    return tmp_path


PREDICT = ["predict", "model", "rows.csv", "--target", "season"]


def test_version_and_help(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"saccade {__version__}\n"
    assert run(["--help"]) == 0
    assert "attend" in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    script = (
        "import sys; from saccade.cli.main import run; run(['predict', '--help']);"
        "print([name for name in ('numpy', 'numba', 'sklearn', 'matplotlib', 'jinja2') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.endswith("[]\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "rows.csv", "--target", "season", "-o", "m", "--max-iter", "many"], "--max-iter"),
        ([*PREDICT, "--targe", "1"], "--target"),
        ([*PREDICT, "--force", "-o", "/dev/null"], "not a regular file"),
        ([*PREDICT, "-o", 250 * "x"], "cannot be written: File name too long"),
        ([*PREDICT, "-o", "/"], "is no file"),
        ([*PREDICT, "-o", "no/such/folder/labels.csv"], "cannot be written: No such file or directory"),
        (["prediction"], "No such command 'prediction'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(folder, arguments, message, capsys):
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("saccade: ")


def test_a_link_is_followed_and_stays_one(folder):
    target, link = folder / "target.csv", folder / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    assert run([*PREDICT, "--force", "-o", str(link)]) == 0
    assert link.is_symlink()
    assert "hiver" in target.read_text(encoding="utf-8")


def test_a_pipe_gets_utf8_whatever_the_locale_says(folder, monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    assert run(PREDICT) == 0
    narrow.flush()
    assert "été" in narrow.buffer.getvalue().decode()


def test_no_command_shows_the_help(capsys):
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_without_click_one_line_names_the_extra(tmp_path):
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError('gone', name='click')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    shown = subprocess.run(
        [*COMMAND, "predict"], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert shown.returncode == 2
    assert re.fullmatch(r"saccade: .*click.*saccade\[files\].*\n", shown.stderr)


def test_output_that_cannot_be_finished_leaves_the_old_file(folder, monkeypatch, capsys):
    out = folder / "labels.csv"
    out.write_text("old")
    before = sorted(folder.iterdir())

    def full_disk(source, target):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full_disk)
    assert run([*PREDICT, "--force", "-o", str(out)]) == 1
    assert capsys.readouterr().err.endswith("saccade: no space left\n")
    assert out.read_text() == "old"
    assert sorted(folder.iterdir()) == before


def test_ctrl_c_leaves_nothing_behind_and_exits_with_130(folder):
    before = sorted(folder.iterdir())
    endless = ["--max-iter", "100000000", "--tol", "-1e9"]
    arguments = [*INTERRUPTIBLE, "fit", "rows.csv", "--target", "season", *endless, "-o", "new"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4)  # long enough for the learning to have begun, far too short for it to end
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output == ""
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert sorted(folder.iterdir()) == before


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

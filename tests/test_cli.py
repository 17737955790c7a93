"""The command line: predict and inspect saved models."""

import json
import os
import pty
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import saccade
from data import correlated
from saccade.cli import main

X, y = correlated(4000, 6, seed=1, separation=3.0)
FRAME = pd.DataFrame(X, columns=[f"f{j}" for j in range(6)])


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """Undo what a command changes in its process."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a certified model, a learner, and a data file."""
    folder = tmp_path_factory.mktemp("cli")
    model = LogisticRegression().fit(FRAME[:1000], y[:1000])
    saccade.save(saccade.attend(model, FRAME[1000:3000], delta=0.1, random_state=0), folder / "fast.saccade")
    saccade.save(saccade.Pegasos(random_state=0).fit(FRAME[:1000], y[:1000]), folder / "learner.saccade")
    FRAME[3000:].to_csv(folder / "rows.csv", index=False)
    return folder


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_predict_writes_labels_and_says_what_was_done(folder, tmp_path, capsys):
    assert run("predict", folder / "fast.saccade", folder / "rows.csv", tmp_path / "out") == 0
    model = saccade.load(folder / "fast.saccade")
    assert pd.read_csv(tmp_path / "out" / "rows.csv").label.tolist() == model.predict(FRAME[3000:]).tolist()
    printed = capsys.readouterr()
    assert printed.out.startswith("1 files; 1,000 rows; ")
    assert printed.err == ""
    assert run("predict", folder / "learner.saccade", folder / "rows.csv", tmp_path / "more", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 1000


def test_predict_takes_several_sources_and_options(folder, tmp_path, capsys):
    bad = FRAME[:20].astype(object)
    bad.iloc[3, :] = "x"
    bad.to_csv(tmp_path / "a.txt", index=False)
    FRAME[20:40].to_csv(tmp_path / "b.txt", index=False)
    command = ["predict", folder / "fast.saccade", tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "out"]
    assert run(*command) == 1
    assert "does not tell its format" in capsys.readouterr().err
    assert run(*command, "--format", "csv") == 1
    assert "a.txt cannot be read" in capsys.readouterr().err
    assert run(*command, "--format", "csv", "--skip-bad", "--json") == 0
    assert json.loads(capsys.readouterr().out) | {"n_read": 0} == {
        "n_files": 2,
        "n_skipped": 0,
        "n_rows": 40,
        "n_bad": 1,
        "n_read": 0,
        "noun": "features",
    }


def test_inspect_describes_a_certified_model(folder, capsys):
    assert run("inspect", folder / "fast.saccade") == 0
    text = capsys.readouterr().out
    model = saccade.load(folder / "fast.saccade")
    assert str(model.certificate_) in text
    assert model.plan_.describe(list(FRAME)) in text
    assert run("inspect", folder / "fast.saccade", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["columns"] == model.columns_
    assert record["features"] == list(FRAME)
    assert record["parameters"]["delta"] == 0.1


def test_names_and_labels_of_a_model_cannot_control_a_terminal(tmp_path, capsys):
    odd = "\x1b[2J\x1b]0;owned\x07\u202e"
    frame = FRAME.rename(columns={"f0": odd, "f1": f"{odd}\nsaccade: all is well"})
    labels = np.array(["\x1b[31mno", "\u202eyes"])[y]
    model = LogisticRegression().fit(frame[:1000], labels[:1000])
    saccade.save(saccade.attend(model, frame[1000:3000], delta=0.1, random_state=0), tmp_path / "odd.saccade")
    (tmp_path / f"{odd[:4]}.csv").write_text("a,b\n1,2\n")
    assert run("inspect", tmp_path / "odd.saccade") == 0
    assert run("predict", tmp_path / "odd.saccade", tmp_path / f"{odd[:4]}.csv", tmp_path / "out") == 1
    frame[[odd, odd, odd]].to_csv(tmp_path / "rows.csv", index=False)
    assert run("predict", tmp_path / "odd.saccade", tmp_path / "rows.csv", tmp_path / "out") == 1
    printed = capsys.readouterr()
    for lines in (printed.out.splitlines(), printed.err.splitlines()):
        assert lines
        assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("saccade: all is well") for line in printed.out.splitlines())
    assert len(printed.err.splitlines()) == 2


def test_inspect_describes_a_learner(folder, capsys):
    assert run("inspect", folder / "learner.saccade", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["class"] == "Pegasos"
    assert record["training"]["n_examples"] == saccade.load(folder / "learner.saccade").training_.n_examples


def test_errors_are_one_line_and_status_1(folder, tmp_path, capsys):
    assert run("inspect", tmp_path / "none.saccade") == 1
    assert run("inspect", folder / "rows.csv") == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("saccade: ") for line in lines)
    assert "No such file" in lines[0]
    assert "cannot be loaded" in lines[1]
    with pytest.raises(saccade.exceptions.ModelFileError):
        run("--debug", "inspect", folder / "rows.csv")


@pytest.mark.parametrize("arguments", [[], ["attend"], ["predict", "model"], ["inspect"]])
def test_wrong_usage_is_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit:
        run(*arguments)
    assert exit.value.code == 2
    assert "usage: saccade" in capsys.readouterr().err


def test_version_and_help(capsys):
    for arguments in (["--version"], ["--help"], ["predict", "--help"]):
        with pytest.raises(SystemExit) as exit:
            run(*arguments)
        assert exit.value.code == 0
    assert f"saccade {saccade.__version__}" in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    script = (
        "import sys\nfrom saccade.cli import main\ntry: main(['predict', '--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('numpy', 'sklearn', 'numba', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_installed_command_runs(folder):
    command = Path(sys.executable).with_name("saccade")
    done = subprocess.run([command, "inspect", folder / "fast.saccade"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("class: AttentiveClassifier\n")


SLOW = """
import os, sys, time
from saccade.cli import main
from saccade.io import predict
from saccade.reading import progress
progress.SECONDS_BEFORE = progress.SECONDS_BETWEEN = 0
read = predict._read
def slowly(*arguments):
    print("reading", flush=True)
    time.sleep(float(os.environ["SECONDS"]))
    return read(*arguments)
predict._read = slowly
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_leaves_no_output(folder, tmp_path, number, status):
    command = [sys.executable, "-c", SLOW, "predict", folder / "fast.saccade", folder / "rows.csv", tmp_path / "out"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | {"SECONDS": "60"}, **streams) as process:
        assert process.stdout.readline() == "reading\n"
        process.send_signal(number)
        process.communicate()
    assert process.returncode == status
    assert os.listdir(tmp_path / "out") == ["_saccade.txt"]


@pytest.mark.parametrize("on_terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(folder, tmp_path, on_terminal):
    command = [sys.executable, "-c", SLOW, "predict", folder / "fast.saccade", folder / "rows.csv", tmp_path / "out"]
    terminal, end = pty.openpty()
    streams = {"stdout": subprocess.PIPE, "stderr": end if on_terminal else subprocess.PIPE}
    with subprocess.Popen(command, env=os.environ | {"SECONDS": "0.5"}, **streams) as process:
        os.close(end)
        seen = os.read(terminal, 10_000) if on_terminal else process.stderr.read()
        process.communicate()
    os.close(terminal)
    assert process.returncode == 0
    assert (b"Predicting" in seen) == on_terminal
    assert on_terminal or seen == b""


def test_a_reader_that_goes_away_is_no_error(folder):
    command = f"{sys.executable} -m saccade.cli inspect {folder / 'fast.saccade'} | head -c 1 > /dev/null"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_warnings_are_one_line(folder, tmp_path, capsys, monkeypatch):
    def warning(*_, **__):
        warnings.warn("look out", stacklevel=1)
        return np.array([])

    monkeypatch.setattr("saccade.io.predict.find_files", warning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        run("predict", folder / "fast.saccade", folder / "rows.csv", tmp_path / "out")
    assert "saccade: look out\n" in capsys.readouterr().err

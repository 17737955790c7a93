"""``saccade watch`` over files and over standard input."""

import io
import json
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from termed import estimator_of, rows_of

import saccade
from data import correlated
from saccade import Watch
from saccade.cli.main import run
from saccade.data.batches import Wanted
from saccade.data.streaming import streamed

COMMAND = [sys.executable, "-c", "from saccade.cli import main; main()"]
NAMES = [f"f{j}" for j in range(12)]


@cache
def made():
    """Return a certified model, rows such as it was certified on, and rows on which it errs."""
    X, y = correlated(9000, 12, seed=1, separation=3.0)
    frame = pd.DataFrame(X, columns=NAMES)
    model = LogisticRegression(max_iter=500).fit(frame[:1000], y[:1000])
    attentive = saccade.attend(model, frame[1000:5000], delta=0.05, random_state=0)
    asked = attentive.plan_.order[: int(attentive.plan_.checkpoints[0])]
    others = [name for j, name in enumerate(NAMES) if j not in asked]
    bad = frame[5000:].copy()
    bad[others] = 4 * np.random.default_rng(0).permutation(bad[others])
    return attentive, frame[5000:], bad


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    attentive, good, bad = made()
    saccade.save(attentive, "m.saccade")
    good.to_csv("good.csv", index=False)
    bad.to_csv("bad.csv", index=False)
    good.to_parquet("good.parquet", row_group_size=500)
    return tmp_path


def printed(capsys, *arguments, status=0):
    assert run([str(argument) for argument in arguments]) == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def piped(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_a_file_is_watched(folder, capsys):
    attentive, good, _ = made()
    (line,) = printed(capsys, "watch", "m.saccade", "good.csv", "--share", 0.5, "--random-state", 3)
    watch = Watch(attentive, share=0.5, random_state=3)
    watch.predict(good)
    assert (line["rows"], line["audited"], line["disagreements"]) == (4000, watch.n_audited, watch.n_disagreements)
    assert line["state"] == watch.state != "broken"
    assert (line["lower_bound"], line["upper_bound"]) == (watch.lower_bound, watch.upper_bound)
    assert [record["lost"] for record in line["by_class"]] == [record.lost for record in watch.by_class]


def test_row_groups_are_batches_and_audit_the_same_rows(folder, capsys):
    lines = printed(capsys, "watch", "m.saccade", "good.parquet", "--share", 0.5, "--random-state", 3)
    (whole,) = printed(capsys, "watch", "m.saccade", "good.csv", "--share", 0.5, "--random-state", 3)
    assert [line["rows"] for line in lines] == list(range(500, 4001, 500))
    assert {**lines[-1], "batch": 1} == whole


@pytest.mark.filterwarnings("always")
def test_a_broken_promise_is_the_exit_status(folder, capsys):
    assert run(["watch", "m.saccade", "bad.csv", "--share", "0.5", "--random-state", "3"]) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["state"] == "broken"
    assert captured.err.startswith("saccade: The promise is broken")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("header", [True, False])
def test_standard_input_is_read_in_batches(folder, capsys, monkeypatch, header):
    attentive, good, _ = made()
    if not header:
        plain = pd.DataFrame(good.to_numpy())
        X, y = correlated(9000, 12, seed=1, separation=3.0)
        model = LogisticRegression(max_iter=500).fit(X[:1000], y[:1000])
        saccade.save(saccade.attend(model, X[1000:5000], delta=0.05, random_state=0), "m.saccade")
        good = plain
    piped(monkeypatch, good[:2300].to_csv(index=False, header=header))
    lines = printed(capsys, "watch", "m.saccade", "-", "--share", 0.5, "--random-state", 3, "--rows", 1000)
    watch = Watch(attentive, share=0.5, random_state=3)
    watch.predict(made()[1][:2300])
    counted = [line["rows"] for line in lines]
    assert counted == ([1000, 2000, 2300] if header else [1001, 2001, 2300])
    assert (lines[-1]["audited"], lines[-1]["disagreements"]) == (watch.n_audited, watch.n_disagreements)


def test_a_stream_is_answered_before_it_ends(folder):
    _, good, _ = made()
    text = good[:250].to_csv(index=False).splitlines(keepends=True)
    with subprocess.Popen(
        [*COMMAND, "watch", "m.saccade", "-", "--share", "1", "--rows", "100"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdin.writelines(text[:202])
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["rows"] == 100  # with the stream still open
        process.stdin.writelines(text[202:])
        process.stdin.close()
        assert [json.loads(line)["rows"] for line in process.stdout] == [200, 250]
    assert process.returncode == 0


def test_the_state_goes_on_another_day(folder, capsys):
    arguments = ("watch", "m.saccade", "good.csv", "--share", 0.5, "--random-state", 3, "--state", "w.json")
    (first,) = printed(capsys, *arguments)
    (second,) = printed(capsys, *arguments)
    assert (first["rows"], second["rows"]) == (4000, 8000)
    assert second["audited"] > first["audited"]
    (folder / "w.json").write_text("{}")
    assert run([str(argument) for argument in arguments]) == 2
    assert "no watch of this model" in capsys.readouterr().err


def test_models_over_raw_tables_are_watched(folder, capsys, monkeypatch):
    attentive = saccade.attend(estimator_of(), rows_of(5000), delta=0.1, when_too_few="read", random_state=0)
    saccade.save(attentive, "t.saccade")
    piped(monkeypatch, rows_of(600, 1).to_csv(index=False))
    lines = printed(capsys, "watch", "t.saccade", "-", "--share", 1, "--rows", 400)
    assert [line["rows"] for line in lines] == [400, 600]
    assert lines[-1]["audited"] + lines[-1]["incomparable"] == 600


def test_bad_rows_name_their_batch_or_are_passed_over(folder, capsys, monkeypatch):
    text = made()[1][:300].to_csv(index=False).splitlines(keepends=True)
    text[150] = "no,numbers\n"
    piped(monkeypatch, "".join(text))
    assert run(["watch", "m.saccade", "-", "--rows", "100"]) == 1
    captured = capsys.readouterr()
    assert "standard input, batch 2, line" in captured.err
    assert len(captured.out.splitlines()) == 1
    piped(monkeypatch, "".join(text))
    lines = printed(capsys, "watch", "m.saccade", "-", "--rows", 100, "--skip-bad")
    assert [(line["rows"], line["bad_rows"]) for line in lines] == [(100, 0), (199, 1), (299, 1)]


@pytest.mark.parametrize("line", [1, 150, 290])
def test_an_open_quote_in_a_stream_names_its_batch_and_no_path(folder, capsys, monkeypatch, line):
    text = made()[1][:300].to_csv(index=False).splitlines(keepends=True)
    text[line] = '"' + text[line]
    piped(monkeypatch, "".join(text))
    assert run(["watch", "m.saccade", "-", "--rows", "100"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"saccade: standard input, batch {line // 100 + 1}, line ")
    assert "a quote opens a field that does not end" in error


def test_only_certified_models_and_csv_streams_are_watched(folder, capsys):
    X, y = correlated(500, 12, seed=0)
    saccade.save(saccade.Pegasos(random_state=0).fit(X, y), "p.saccade")
    assert run(["watch", "p.saccade", "good.csv"]) == 1
    assert "promises nothing" in capsys.readouterr().err
    assert run(["watch", "m.saccade", "-", "--format", "parquet"]) == 2
    assert "read as CSV" in capsys.readouterr().err


def test_records_of_a_stream_may_hold_line_breaks():
    stream = io.BytesIO(b'a,b\n1,"x\ny"\n\n2,z\n3,w')
    files = streamed(stream, Wanted(names=["a"], needed=[0], others=False), 1)
    read = []
    for file in files:
        with open(file.path, "rb") as opened:
            read.append(opened.read())
    assert read == [b'a,b\n1,"x\ny"\n', b"a,b\n2,z\n", b"a,b\n3,w\n"]

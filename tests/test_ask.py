"""``saccade ask``, as a person at a terminal and as a script use it."""

import io
import json
import os
import pty
import signal
import subprocess
import time
from typing import NamedTuple

import pandas as pd
import pytest
from interruptible import INTERRUPTIBLE
from sklearn.linear_model import LogisticRegression

import saccade
from data import correlated
from saccade import Pegasos
from saccade.cli.main import run
from saccade.cli.questions import range_shown

N_FEATURES = 12
NAMES = [f"f{j}" for j in range(N_FEATURES)]


class Done(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def rows():
    X, y = correlated(4000, N_FEATURES, seed=0, separation=3.0)
    return pd.DataFrame(X, columns=NAMES), y


@pytest.fixture(scope="module")
def attentive(rows):
    X, y = rows
    return saccade.attend(LogisticRegression().fit(X[:1000], y[:1000]), X[1000:], delta=0.05, random_state=0)


@pytest.fixture(scope="module")
def model(attentive, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "two.saccade"
    saccade.save(attentive, path)
    return path


@pytest.fixture
def ask(monkeypatch, capsys):
    """Run ``saccade ask`` here, with the answers as its standard input."""

    def call(*arguments, answers=()):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers)))
        status = run(["ask", *map(str, arguments)])
        return Done(status, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def longest(attentive, rows):
    """The row that takes most questions, its inquiry, and the values in the order in which they are asked for."""
    X, _ = rows
    row = int(attentive.read(X[:200]).n_read.argmax())
    inquiry, given = attentive.inquire(), []
    while inquiry.wanted is not None:
        given.append(float(X.loc[row, inquiry.wanted]))
        inquiry.tell(given[-1])
    assert len(given) > 3
    return X.loc[row], inquiry, given


def test_a_person_is_asked_until_the_label_is_clear(ask, model, longest):
    _, inquiry, given = longest
    done = ask(model, answers=given)
    assert done.returncode == 0
    assert done.stdout.startswith(
        f"{inquiry.label}, after {len(given)} questions at a cost of {len(given)}, as certified"
    )
    for name in inquiry.asked:
        assert f"{name} [" in done.stderr
    assert done.stderr.count("% sure") == len(given) - 1


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"promise": "accuracy", "delta": 0.05}, "at most 5 % fewer get the right label"),
        ({"promise": "rows", "delta": 0.05}, "at most 5 % get another label"),
        ({"delta": {0: 0.05, 1: 0.2}}, "class 0 5 %, class 1 20 %"),
    ],
)
def test_what_is_certified_is_said_in_the_words_of_the_promise(ask, rows, tmp_path, terms, said):
    X, y = rows
    model = LogisticRegression().fit(X[:1000], y[:1000])
    attentive = saccade.attend(model, X[1000:], y[1000:], random_state=0, **terms)
    saccade.save(attentive, tmp_path / "model")
    assert said in ask(tmp_path / "model", *(f"--known={name}={X.loc[7, name]}" for name in NAMES)).stdout


def test_a_label_of_which_nothing_is_promised_is_not_certified(rows):
    X, y = rows
    model = LogisticRegression().fit(X[:1000], y[:1000])
    attentive = saccade.attend(model, X[1000:], delta={0: 0.05, 1: 1}, random_state=0)
    inquiries = [attentive.inquire(known=X.loc[row]) for row in range(1000, 1040)]
    inside = [inquiry for inquiry in inquiries if not inquiry.outside]
    assert {(int(inquiry.label), inquiry.certified) for inquiry in inside} == {(0, True), (1, False)}


def test_json_is_all_that_goes_to_standard_output(ask, model, longest):
    _, inquiry, given = longest
    found = json.loads(ask(model, "--json", answers=given).stdout)
    assert found == {
        "label": int(inquiry.label),
        "certified": True,
        "outside": {},
        "confidence": inquiry.confidence,
        "margin": inquiry.margin,
        "asked": list(inquiry.asked),
        "spent": inquiry.spent,
    }


def test_what_is_known_is_not_asked_for(ask, model, longest):
    row, inquiry, _ = longest
    done = ask(model, *(f"--known={name}={row[name]}" for name in NAMES), "--json")
    assert json.loads(done.stdout)["asked"] == []
    assert json.loads(done.stdout)["label"] == inquiry.label
    assert done.stderr == ""


def test_a_wrong_answer_is_asked_for_again_in_the_words_of_the_command_line(ask, model, longest):
    _, inquiry, given = longest
    done = ask(model, "--json", answers=["tall", "nan", "", *given])
    assert json.loads(done.stdout)["label"] == inquiry.label
    first, second, third = [line for line in done.stderr.splitlines() if "Type a number" in line]
    assert "'tall' is no number. Type a number, ? where it cannot be had, or < to take" in first
    assert "'nan' is no number. Type" in second
    assert "There is no value. Type" in third
    assert "None" not in done.stderr
    assert done.stderr.count(f"{inquiry.asked[0]} [") == 4


def test_a_value_outside_of_what_was_seen_is_not_certified_and_named(ask, model, longest):
    _, inquiry, given = longest
    name = inquiry.asked[0]
    done = ask(model, answers=["1000", *["0"] * N_FEATURES])
    assert "outside of what was seen" in done.stderr
    assert f"not certified: {name} = 1000, where -" in done.stdout
    rest = ask(model, f"--known={name}=-1000", "--json", answers=[*given[1:], *["0"] * N_FEATURES])
    assert json.loads(rest.stdout)["outside"] == {name: -1000.0}
    assert json.loads(rest.stdout)["certified"] is False


@pytest.mark.parametrize("shown", [(-2.34567, 1234.5678), (0.0, 0.00012345), (5.0, 5.0), (0.0, 0.0), (1e-9, 3.00004)])
def test_what_is_shown_of_a_range_may_be_typed(shown):
    low, high = map(float, range_shown(*shown).split(" to "))
    assert shown[0] <= low <= high <= shown[1]


def test_the_last_answer_can_be_taken_back(ask, model, longest, tmp_path):
    _, inquiry, given = longest
    state = tmp_path / "answers.json"
    done = ask(model, "--state", state, answers=["<", "1000", "<", given[0], given[1]])
    assert "No answer is left that could be taken back." in done.stderr
    assert f"taken back: {inquiry.asked[0]}" in done.stderr
    again = ask(model, "--state", state, "--json", answers=["<", *given[1:]])
    found = json.loads(again.stdout)
    assert found["label"] == inquiry.label
    assert found["certified"]
    assert found["spent"] == inquiry.spent
    assert found["asked"] == list(inquiry.asked)


def test_what_cannot_be_had_may_be_skipped_and_costs_nothing(ask, model):
    found = json.loads(ask(model, "--json", answers=["?"] * N_FEATURES).stdout)
    assert not found["certified"]
    assert len(found["asked"]) == N_FEATURES
    assert found["spent"] == 0
    assert "too much was missing" in ask(model, answers=["?"] * N_FEATURES).stdout
    assert f"{inquiry_first(ask, model)} [" not in ask(model, f"--known={inquiry_first(ask, model)}=?").stderr


def inquiry_first(ask, model):
    """The first feature that is asked for."""
    return ask(model).stderr.split(" [")[0]


def test_a_questionnaire_goes_on_another_day(ask, model, longest, tmp_path):
    _, inquiry, given = longest
    state = tmp_path / "answers.json"
    first = ask(model, "--state", state, answers=given[:1])
    assert first.returncode == 1
    assert "ended before the label was clear" in first.stderr
    second = ask(model, "--state", state, "--json", answers=given[1:])
    assert json.loads(second.stdout)["asked"] == list(inquiry.asked)
    assert f"{inquiry.asked[0]} [" not in second.stderr
    state.write_text("{}")
    assert ask(model, "--state", state).returncode == 2
    begun = tmp_path / "begun.json"
    ask(model, "--known=f1=0.5", "--state", begun)
    assert json.loads(begun.read_text())["known"] == [[1, 0.5]]
    assert "cannot be written" in ask(model, "--state", tmp_path / "no" / "where").stderr


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        (["--known", "height=3"], "no feature 'height'", 2),
        (["--known", "f1"], "NAME=VALUE", 2),
        (["--known", "f1=tall"], "'tall' is no number. Give a number, or ?", 2),
        (["--known", "f1="], "There is no value.", 2),
        (["--known", "f1=inf"], "'inf' is no number", 2),
        (["--known", "f1=1", "--known", "f1=2"], "given twice", 2),
        (["--colour"], "No such option", 2),
    ],
)
def test_wrong_usage_is_one_line(ask, model, arguments, message, status):
    done = ask(model, *arguments)
    assert done.returncode == status
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_files_that_cannot_be_asked_are_refused(ask, rows, tmp_path):
    assert "No such file" in ask(tmp_path / "nothing").stderr
    (tmp_path / "bad").write_bytes(b"nonsense")
    assert "cannot be loaded" in ask(tmp_path / "bad").stderr
    X, y = rows
    saccade.save(Pegasos(random_state=0).fit(X, y), tmp_path / "learner")
    done = ask(tmp_path / "learner")
    assert done.returncode == 1
    assert "saccade.attend" in done.stderr


def test_ctrl_c_at_a_question_exits_with_130(model):
    terminal, at_other_end = pty.openpty()
    command = [*INTERRUPTIBLE, "ask"]
    with subprocess.Popen(
        [*command, model], stdin=at_other_end, stdout=subprocess.PIPE, stderr=at_other_end
    ) as process:
        seen, deadline = b"", time.monotonic() + 60
        while b"]: " not in seen and time.monotonic() < deadline:
            seen += os.read(terminal, 1000)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    os.close(at_other_end)
    os.close(terminal)

"""``saccade ask``, as a person at a terminal and as a script use it."""

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest
from attended import NAMES, attended

import saccade
from saccade import Pegasos

COMMAND = [sys.executable, "-c", "from saccade.cli import main; main()", "ask"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "two.saccade"
    saccade.save(attended("two classes")[0], path)
    return path


def ask(*arguments, answers=()):
    text = "".join(f"{answer}\n" for answer in answers)
    return subprocess.run([*COMMAND, *map(str, arguments)], input=text, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def long():
    """Return the row that is asked for most."""
    attentive, frame = attended("two classes")
    return frame.iloc[int(attentive.read(frame[:200]).n_read.argmax())]


def answers_for(row):
    """The values in the order in which they are asked for."""
    inquiry, given = attended("two classes")[0].inquire(), []
    while inquiry.wanted is not None:
        given.append(float(row[inquiry.wanted]))
        inquiry.tell(given[-1])
    return inquiry, given


def test_a_person_is_asked_until_the_label_is_clear(model, long):
    inquiry, given = answers_for(long)
    done = ask(model, answers=given)
    assert done.returncode == 0
    assert done.stdout.startswith(
        f"{inquiry.label}, after {len(given)} questions at a cost of {len(given)}, as certified"
    )
    for name in inquiry.asked:
        assert f"{name} [" in done.stderr
    assert done.stderr.count("% sure") == len(given) - 1


def test_json_is_all_that_goes_to_standard_output(model, long):
    inquiry, given = answers_for(long)
    found = json.loads(ask(model, "--json", answers=given).stdout)
    assert found == {
        "label": int(inquiry.label),
        "certified": True,
        "confidence": inquiry.confidence,
        "margin": inquiry.margin,
        "asked": list(inquiry.asked),
        "spent": inquiry.spent,
    }


def test_what_is_known_is_not_asked_for(model, long):
    values = [f"--known={name}={long[name]}" for name in NAMES]
    done = ask(model, *values, "--json")
    assert json.loads(done.stdout)["asked"] == []
    assert done.stderr == ""


def test_a_wrong_answer_is_asked_for_again_and_a_strange_one_is_remarked_on(model, long):
    _, given = answers_for(long)
    done = ask(model, answers=["tall", "nan", *given])
    assert done.returncode == 0
    assert "'tall' is not a number" in done.stderr
    assert "Tell a finite number" in done.stderr
    assert "outside what the model was planned on" in ask(model, answers=["1e6"] * 12).stderr


def test_what_cannot_be_had_may_be_skipped(model):
    found = json.loads(ask(model, "--json", answers=["?"] * 6 + [""] * 6).stdout)
    assert not found["certified"]
    assert len(found["asked"]) == 12


def test_a_questionnaire_goes_on_another_day(model, tmp_path, long):
    inquiry, given = answers_for(long)
    state = tmp_path / "answers.json"
    first = ask(model, "--state", state, answers=given[:1])
    assert first.returncode == 1
    assert "ended before the label was clear" in first.stderr
    second = ask(model, "--state", state, "--json", answers=given[1:])
    assert json.loads(second.stdout)["asked"] == list(inquiry.asked)
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
        (["--known", "f1=tall"], "not a number", 2),
        (["--known", "f1=1", "--known", "f1=2"], "given twice", 2),
        (["--colour"], "No such option", 2),
    ],
)
def test_wrong_usage_is_one_line(model, arguments, message, status):
    done = ask(model, *arguments)
    assert done.returncode == status
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_files_that_cannot_be_asked_are_refused(tmp_path):
    assert "No such file" in ask(tmp_path / "nothing").stderr
    (tmp_path / "bad").write_bytes(b"nonsense")
    assert "cannot be loaded" in ask(tmp_path / "bad").stderr
    attentive, frame = attended("two classes")
    saccade.save(Pegasos(random_state=0).fit(frame, attentive.predict(frame)), tmp_path / "learner")
    done = ask(tmp_path / "learner")
    assert done.returncode == 1
    assert "saccade.attend" in done.stderr


def test_ctrl_c_at_a_question_exits_with_130(model):
    terminal, at_other_end = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, model], stdin=at_other_end, stdout=subprocess.PIPE, stderr=at_other_end
    ) as process:
        seen, deadline = b"", time.monotonic() + 60
        while b"]: " not in seen and time.monotonic() < deadline:
            seen += os.read(terminal, 1000)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    os.close(at_other_end)
    os.close(terminal)

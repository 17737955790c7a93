"""Progress is shown to people who asked for it, on a terminal, and to nobody else; what was done is logged."""

import io
import logging
import os
import pty
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from attended import attended
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import saccade
from saccade.reading import progress
from saccade.reading.progress import Progress

X, Y = make_classification(3000, 8, n_informative=4, n_redundant=0, random_state=0)
MODEL = LogisticRegression().fit(X[:1000], Y[:1000])


class Terminal(io.StringIO):
    """A terminal that says when something was written to it."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        count = super().write(text)
        self.written.set()
        return count


@pytest.fixture
def asked():
    saccade.show_progress()
    yield
    saccade.show_progress(False)


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE", 0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0)


@pytest.fixture
def on_terminal(monkeypatch):
    """Return a function that makes standard error a terminal: pytest sets it anew between a fixture and its test."""

    def begin():
        monkeypatch.setattr("sys.stderr", seen := Terminal())
        return seen

    return begin


@pytest.mark.usefixtures("at_once", "asked")
@pytest.mark.parametrize(("stream", "visible"), [(Terminal, True), (io.StringIO, False)])
def test_rows_are_counted_on_a_terminal_and_nowhere_else(stream, visible, monkeypatch):
    monkeypatch.setattr("sys.stderr", seen := stream())
    attentive, frame = attended("two classes")
    attentive.predict_lazily(lambda row, feature: frame.loc[row, feature], range(20))
    assert ("20 rows" in seen.getvalue()) == visible
    assert visible or seen.getvalue() == ""


@pytest.mark.usefixtures("at_once", "asked")
def test_a_terminal_that_cannot_erase_a_line_shows_none(on_terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    terminal = on_terminal()
    with Progress("rows") as reading:
        reading.advance(1)
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("at_once", "asked")
def test_a_known_length_gives_a_share(on_terminal):
    terminal = on_terminal()
    with Progress("rows", label="Learning", length=200) as learning:
        learning.advance(1000, 50)
        learning.advance(500, 200)
    lines = [line.removeprefix("\033[K") for line in terminal.getvalue().split("\r")]
    assert [line for line in dict.fromkeys(lines) if line] == [
        "Learning:  25%, 1,000 rows",
        "Learning: 100%, 1,500 rows",
    ]


@pytest.mark.usefixtures("at_once", "asked")
def test_the_line_is_wiped_away_at_the_end_even_after_an_error(on_terminal):
    terminal = on_terminal()

    def interrupted():
        with Progress(label="Planning") as planning:
            planning.now("Certifying")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "Certifying, 0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\033[K")


@pytest.mark.usefixtures("asked")
def test_work_that_takes_less_than_a_second_writes_nothing_at_all(on_terminal):
    """Not even what would wipe a line away; the clock stands still, however long this test takes."""
    terminal = on_terminal()
    with Progress("rows", label="Rows", length=10) as reading:
        reading._due = float("inf")
        reading.advance(10, 10)
    assert terminal.getvalue() == ""
    assert progress.SECONDS_BEFORE == 1


@pytest.mark.usefixtures("at_once", "asked")
def test_a_single_long_call_is_shown_while_it_lasts(on_terminal, monkeypatch):
    terminal = on_terminal()
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOOKS", 0.001)
    with Progress(label="Planning on 10 rows"):
        assert terminal.written.wait(60)  # nobody calls advance
    assert "Planning on 10 rows" in terminal.getvalue()


@pytest.mark.usefixtures("at_once", "asked")
def test_work_within_work_shows_one_line(on_terminal):
    terminal = on_terminal()
    with Progress(label="Fitting") as outer, Progress("rows") as inner:
        inner.advance(5)
        outer.now("Fitting on 5 rows")
    assert "5 rows" in terminal.getvalue()
    assert "\r\033[K5 rows" not in terminal.getvalue()
    with Progress("rows") as later:
        later.advance(7)
    assert "\r\033[K7 rows" in terminal.getvalue()


@pytest.mark.usefixtures("at_once", "asked")
def test_a_terminal_that_goes_away_does_not_stop_the_work(monkeypatch):
    class Gone(Terminal):
        def write(self, text):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stderr", Gone())
    with Progress("rows") as reading:
        reading.advance(1)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("wanted", [True, False])
def test_attend_and_fit_say_what_they_do_where_that_was_asked_for(wanted, on_terminal):
    terminal = on_terminal()
    saccade.show_progress(wanted)
    try:
        saccade.attend(MODEL, X[1000:], delta=0.2, random_state=0)
        saccade.AttentiveClassifier(delta=0.2, when_too_few="read", random_state=0).fit(X, Y)
        saccade.Pegasos(max_iter=2, tol=None, random_state=0).fit(X, Y)
    finally:
        saccade.show_progress(False)
    seen = terminal.getvalue()
    assert wanted or seen == ""
    for stage in (
        "Reading 2,000 rows",
        "Planning on 1,400 rows, calibrating on 600",
        "Fitting on 1,575 rows",
        "Learning: 100%, 6,000 rows",
    ):
        assert (stage in seen) == wanted, stage


WORK = """
import sys, saccade
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from saccade.reading import progress
progress.SECONDS_BEFORE = progress.SECONDS_BETWEEN = 0
X, y = make_classification(1500, 6, n_informative=4, n_redundant=0, random_state=0)
model = LogisticRegression().fit(X[:500], y[:500])
saccade.attend(model, X[500:], delta=0.3, random_state=0).predict(X)
print("asked", file=sys.stderr, flush=True)
saccade.show_progress()
saccade.attend(model, X[500:], delta=0.3, random_state=0).predict(X)
"""


@pytest.mark.parametrize("on_terminal", [True, False])
def test_the_library_writes_nothing_unasked_and_nothing_in_a_pipe(on_terminal):
    output, errors = in_a_process([sys.executable, "-c", WORK], on_terminal)
    unasked, asked = errors.replace("\r\n", "\n").split("asked\n")
    assert output == unasked == ""
    assert ("Planning on 700 rows" in asked) == on_terminal
    assert on_terminal or asked == ""


def in_a_process(command, on_terminal):
    """Run a command; return what it wrote to standard output, and to standard error, which may be a terminal."""
    if not on_terminal:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout, done.stderr
    terminal, its_end = pty.openpty()
    seen = bytearray()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=its_end, text=True) as process:
        os.close(its_end)
        with suppress(OSError):  # once the other end is closed
            while chunk := os.read(terminal, 10_000):
                seen += chunk
        os.close(terminal)
        output = process.stdout.read()
    assert process.returncode == 0
    return output, seen.decode()


@pytest.mark.usefixtures("at_once", "asked")
def test_closed_standard_error_does_not_stop_the_work(on_terminal):
    """As services close it that leave their terminal."""
    on_terminal().close()
    with Progress("rows") as reading:
        reading.advance(1)


def test_what_was_planned_and_certified_is_logged(caplog):
    with caplog.at_level(logging.INFO, "saccade"):
        attentive = saccade.attend(MODEL, X[1000:], delta=0.2, random_state=0)
        attentive.predict(X)  # of which a service does thousands
    [record] = caplog.records
    assert record.name == "saccade.attentive"
    assert record.levelno == logging.INFO
    assert record.getMessage().startswith("planned on 1400 rows")
    assert "calibrated on 600 in 0" in record.getMessage()
    assert repr(attentive.certificate_) in record.getMessage()


def test_learning_is_logged(caplog):
    with caplog.at_level(logging.INFO, "saccade"):
        saccade.Pegasos(max_iter=3, tol=None, random_state=0).fit(X, Y)
    assert [record.getMessage().split(",")[0] for record in caplog.records] == ["learned from 3000 rows in 3 passes"]


def test_an_application_without_handlers_is_told_nothing():
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("saccade").handlers)

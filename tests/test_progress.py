"""Progress is shown to people, and to nobody else."""

import io

import pytest
from attended import attended

from saccade.reading import progress
from saccade.reading.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "visible"), [(Terminal, True), (io.StringIO, False)])
def test_rows_are_counted_on_a_terminal_and_nowhere_else(stream, visible, monkeypatch):
    seen = stream()
    monkeypatch.setattr("sys.stderr", seen)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0)
    attentive, frame = attended("two classes")
    attentive.predict_lazily(lambda row, feature: frame.loc[row, feature], range(20))
    assert ("20 rows" in seen.getvalue()) == visible
    assert visible or seen.getvalue() == ""


def test_a_known_length_gives_a_share(monkeypatch):
    monkeypatch.setattr("sys.stderr", seen := Terminal())
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0)
    with Progress("rows", label="Learning", length=200) as learning:
        learning.advance(1000, 50)
        learning.advance(500, 200)
    assert seen.getvalue().split("\r")[1:3] == ["Learning:  25%, 1,000 rows", "Learning: 100%, 1,500 rows"]


def test_the_line_is_wiped_away_at_the_end_even_after_an_error(monkeypatch):
    seen = Terminal()
    monkeypatch.setattr("sys.stderr", seen)
    with pytest.raises(KeyboardInterrupt), Progress("rows"):
        raise KeyboardInterrupt
    assert seen.getvalue().endswith("\r\033[K")

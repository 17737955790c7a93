"""Progress is shown to people, and to nobody else."""

import io

import pytest
from sklearn.linear_model import LogisticRegression

from data import correlated
from saccade import attend
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
    X, y = correlated(600, 8, seed=0, separation=3.0)
    attentive = attend(LogisticRegression().fit(X, y), X, delta=0.1, random_state=0)
    attentive.predict_lazily(lambda row, feature: X[row, feature], range(20))
    assert ("20 rows" in seen.getvalue()) == visible
    assert visible or seen.getvalue() == ""


def test_the_line_is_wiped_away_at_the_end_even_after_an_error(monkeypatch):
    seen = Terminal()
    monkeypatch.setattr("sys.stderr", seen)
    with pytest.raises(KeyboardInterrupt), Progress("rows"):
        raise KeyboardInterrupt
    assert seen.getvalue().endswith("\r\033[K")

"""A certified model as a plot, and as a table in notebooks."""

import sys

import matplotlib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from data import correlated
from saccade import AttentiveClassifier, PlanDisplay, attend

matplotlib.use("agg")
X, y = correlated(3000, 12, seed=2, separation=3.0)


@pytest.fixture(scope="module")
def attentive():
    labels = np.array(["<b>no</b>", "yes"])[y]
    return attend(LogisticRegression().fit(X[:1000], labels[:1000]), X[1000:], delta=0.05, random_state=0)


def test_the_plot_shows_the_calibration_rows_by_exit(attentive, tmp_path):
    display = PlanDisplay.from_estimator(attentive)
    stages, n = attentive.certificate_.by_stage, attentive.certificate_.n_calibration
    assert display.n_read.tolist() == [stage.read for stage in stages]
    left = n - np.cumsum([stage.rows for stage in stages])
    np.testing.assert_allclose(display.undecided, left / n, atol=1e-12)
    assert display.disagreement[-1] == pytest.approx(attentive.certificate_.disagreement)
    undecided, wrong = display.ax_.lines
    np.testing.assert_allclose(undecided.get_ydata(), 100 * display.undecided)
    np.testing.assert_allclose(wrong.get_ydata(), 100 * display.disagreement)
    assert display.ax_.get_xlabel() == "features read"
    display.figure_.savefig(tmp_path / "plan.png")
    again = display.plot(ax=display.ax_)
    assert again is display
    assert len(display.ax_.lines) == 4


def test_the_plot_needs_a_fitted_model_and_matplotlib(attentive, monkeypatch):
    with pytest.raises(NotFittedError):
        PlanDisplay.from_estimator(AttentiveClassifier())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'saccade\[plots\]'"):
        PlanDisplay.from_estimator(attentive)


def test_notebooks_show_the_certificate_as_a_table(attentive):
    shown = attentive._repr_mimebundle_()
    assert shown["text/plain"] == repr(attentive)
    html = shown["text/html"]
    assert html == attentive._repr_html_()
    assert attentive.certificate_._repr_html_() in html
    assert "Certified at 95 % confidence" in html
    assert html.count("<tr>") == 1 + len(attentive.certificate_.by_class)
    assert "<b>no</b>" not in html
    assert "&lt;b&gt;no&lt;/b&gt;" in html
    assert "<table>" not in AttentiveClassifier()._repr_html_()

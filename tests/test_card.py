"""A certified model in a notebook: a small card, whatever its names are; and scikit-learn's diagram before that."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from attended import attended
from attended_trees import attended as attended_trees
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import saccade
from data import correlated
from saccade import AttentiveClassifier
from saccade.showing.card import card

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</table></div><h1>",
    "&amp; 'quoted' \"twice\"",
    "$\\frac{$",
    "_hidden" + 200 * "x",
]


class Tags(HTMLParser):
    """Collects tags, attributes and text, and raises where what is opened is not closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text, self._open = [], [], [], []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@cache
def hostile():
    """Return a certified model whose columns, classes and groups have names of the worst kind."""
    X, y = correlated(2400, 6, seed=1, separation=3.0, classes=3)
    frame = pd.DataFrame(X, columns=HOSTILE)
    model = LogisticRegression(max_iter=500).fit(frame[:900], np.array(HOSTILE, dtype=object)[y[:900]])
    groups = {HOSTILE[0]: HOSTILE[:2]}
    return saccade.attend(model, frame[900:], delta=0.1, when_too_few="read", groups=groups, random_state=0)


@cache
def sparse():
    X, y = correlated(2400, 30, seed=1, separation=3.0)
    X = sp.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))
    return saccade.attend(LogisticRegression().fit(X[:800], y[:800]), X[800:], delta=0.1, random_state=0)


@cache
def with_endless_names():
    """Return a certified model whose columns and classes have names of thousands of characters, without a space."""
    X, y = correlated(2400, 6, seed=1, separation=3.0)
    frame = pd.DataFrame(X, columns=[3000 * letter for letter in "abcdef"])
    model = LogisticRegression().fit(frame[:900], np.array([3000 * "n", 3000 * "y"])[y[:900]])
    return saccade.attend(model, frame[900:], delta=0.1, random_state=0)


@cache
def with_a_level_for_each():
    X, y = correlated(2400, 6, seed=1, separation=3.0, classes=40)
    labels = np.array([f"<{'long name ' * 3}{k:02}>" for k in range(40)])
    model = LogisticRegression(max_iter=500).fit(X[:900], labels[y[:900]])
    return saccade.attend(model, X[900:], delta=dict.fromkeys(labels.tolist(), 0.9), when_too_few="read")


MODELS = {
    "two classes": lambda: attended("two classes")[0],
    "groups": lambda: attended("groups")[0],
    "trees": lambda: attended_trees("lightgbm, groups")[0],
    "three, of trees": lambda: attended_trees("forest, three")[0],
    "hostile": hostile,
    "endless names": with_endless_names,
    "sparse": sparse,
    "a level for each of 40 classes": with_a_level_for_each,
    "a file of format 1": lambda: saccade.load(Path(__file__).parent / "models" / "format-1-attentive.saccade"),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_card_is_small_well_formed_and_needs_nothing_else(name):
    shown = card(MODELS[name]())
    assert len(shown.encode()) < 10_000
    tags = Tags(shown)
    assert set(tags.tags) <= {"div", "p", "strong", "table", "tr", "th", "td", "svg", "g", "path"}
    names = {name for name, _ in tags.attributes}
    assert not any(name.startswith("on") or name in ("href", "src", "id") for name in names)
    assert "http" not in shown
    assert "url(" not in shown


def test_the_card_says_what_is_promised_what_was_seen_and_what_is_asked():
    attentive = MODELS["groups"]()
    text = " ".join(Tags(card(attentive)).text)
    assert str(attentive.certificate_) in text
    assert "It reads 2.1 of 12 features per row on average" in text
    for record in attentive.certificate_.by_class:
        assert f"{record.full:,}" in text
    first = attentive.plan_.order[0]
    assert f"1. f{first}" in text
    assert "(group sample)" in text
    assert "and 6 more" in text


def test_the_curve_is_described_to_those_who_cannot_see_it():
    shown = card(MODELS["two classes"]())
    assert re.search(r'<svg role="img" aria-label="Half of the rows were decided after \d+ feature', shown)


def test_no_heading_of_a_card_is_broken_within_a_word(browser):
    seen = browser.new_page(viewport={"width": 380, "height": 900})
    for name in ("groups", "endless names", "a level for each of 40 classes"):
        seen.set_content(card(MODELS[name]()))
        broken = seen.evaluate(
            """[...document.querySelectorAll("th")].filter(head => {
                const lines = [...head.childNodes].map(text => { const range = document.createRange();
                    range.selectNodeContents(text); return range.getClientRects().length; });
                return lines[0] > head.textContent.split(" ").length; }).map(head => head.textContent)"""
        )
        assert broken == []
    seen.close()


def test_names_are_text_however_they_look():
    shown = card(hostile())
    text = " ".join(Tags(shown).text)
    assert "<script" not in shown
    assert "<img" not in shown
    assert HOSTILE[0] in text
    assert HOSTILE[1] in text


def test_a_model_that_decides_nothing_says_so_and_why():
    X, y = correlated(1500, 12, seed=1, separation=3.0)
    model = LogisticRegression().fit(X[:1000], y[:1000])
    few = saccade.attend(model, X[1000:], when_too_few="read", random_state=0)
    text = " ".join(Tags(card(few)).text)
    assert "It decides no row early: all 12 features of every row are read." in text
    assert "too few calibration rows" in text
    assert "takes 299 or more" in text
    full = saccade.attend(model, X[1000:], delta=0.2, boundary="full", when_too_few="read", random_state=0)
    assert "Its boundary never stops" in card(full)
    single = LogisticRegression().fit(X[:500, :1], y[:500])  # of one feature nothing can be left unread
    text = " ".join(Tags(card(saccade.attend(single, X[500:, :1], delta=0.05, random_state=0))).text)
    assert "It decides no row early: its only feature is read of every row." in text
    assert "of one nothing can be left unread" in text


def test_a_notebook_gets_the_card_once_there_is_a_certificate():
    fitted, unfitted = MODELS["two classes"](), AttentiveClassifier()
    assert fitted._repr_html_() == card(fitted)
    bundle = fitted._repr_mimebundle_(include=None, exclude=None)
    assert bundle == {"text/plain": repr(fitted), "text/html": card(fitted)}
    diagram = unfitted._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in diagram
    assert "saccade-card" not in diagram
    assert "sk-top-container" in unfitted._repr_html_()


def test_where_scikit_learn_displays_texts_there_is_no_card():
    fitted = MODELS["two classes"]()
    with config_context(display="text"):
        assert fitted._repr_mimebundle_() == {"text/plain": repr(fitted)}
        assert not hasattr(fitted, "_repr_html_")
    assert hasattr(fitted, "_repr_html_")


def test_a_pipeline_draws_its_diagram_as_before():
    drawn = estimator_html_repr(make_pipeline(StandardScaler(), MODELS["two classes"]()))
    assert "StandardScaler" in drawn
    assert "AttentiveClassifier" in drawn
    assert "sk-top-container" in estimator_html_repr(MODELS["two classes"]())

"""The page about a model: what it says is what rows do, whatever kind the model is and whatever its names are."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attended import attended
from attended_terms import Stub, model_of, table_of, take_stubs_apart
from attended_trees import attended as attended_trees
from sklearn.linear_model import LogisticRegression
from test_card import HOSTILE, Tags, hostile, sparse, with_a_level_for_each, with_endless_names

import saccade
from data import correlated
from saccade.planning.prices import group_names, price_list
from saccade.showing.card import card
from saccade.showing.outline import Outline
from saccade.showing.words import money
from saccade.study.report.inspection import render

SAVED = Path(__file__).parent / "models"
VOID = re.compile(r"<(meta|link)[^>]*>")


def text_of(html):
    """Return the words of a page as a reader has them."""
    body = html[html.index("<body>") : html.index("</body>")]
    return re.sub(r"\s+", " ", " ".join(Tags(body + "</body>").text))


@cache
def few_rows():
    X, y = correlated(1500, 12, seed=1, separation=3.0)
    model = LogisticRegression().fit(X[:1000], y[:1000])
    return saccade.attend(model, X[1000:], when_too_few="read", random_state=0)


@cache
def many_features():
    X, y = correlated(3000, 500, seed=1, separation=3.0)
    return saccade.attend(LogisticRegression().fit(X[:1000], y[:1000]), X[1000:], delta=0.1, random_state=0)


def of_pairs(monkeypatch):
    take_stubs_apart(monkeypatch)
    rng = np.random.default_rng(3)
    model = model_of(rng, pairs=True)
    return saccade.attend(Stub(model), table_of(rng, 1500), delta=0.1, promise="rows", random_state=0)


@cache
def learner(classes):
    X, y = correlated(2000, 40, seed=1, separation=3.0, classes=classes)
    return saccade.Pegasos(random_state=0).fit(pd.DataFrame(X, columns=[f"f{j}" for j in range(40)]), y)


MODELS = {
    "groups": lambda: attended("groups")[0],
    "four classes": lambda: attended("four classes")[0],
    "trees": lambda: attended_trees("lightgbm, groups")[0],
    "three, of trees": lambda: attended_trees("forest, three")[0],
    "500 features": many_features,
    "few rows": few_rows,
    "hostile": hostile,
    "endless names": with_endless_names,
    "sparse": sparse,
    "a level for each of 40 classes": with_a_level_for_each,
    "format 1": lambda: saccade.load(SAVED / "format-1-attentive.saccade"),
    "format 2": lambda: saccade.load(SAVED / "format-2-trees.saccade"),
    "a learner": lambda: learner(2),
    "a learner of four": lambda: learner(4),
    "a learner of format 1": lambda: saccade.load(SAVED / "format-1-Pegasos.saccade"),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_page_is_well_formed_and_refers_to_nothing_outside_itself(name):
    html = render(MODELS[name](), f"{name}.saccade")
    tags = Tags(VOID.sub("", html).replace("<!doctype html>", ""))
    assert tags.tags.count("h1") == 1
    assert "script" not in tags.tags
    assert "img" not in tags.tags
    assert set(re.findall(r"https?://[^\s\"'<>]+", html)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    ids = [value for name, value in tags.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for name, value in tags.attributes if name == "href" and value.startswith("#")} <= set(ids)
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html
    assert "prefers-color-scheme: dark" in html
    assert html.count("<table") == html.count("<thead") == html.count('role="region" aria-label="Table: ')
    assert html.count("<svg") == len(re.findall(r'<svg role="img" aria-label="[^"]+"', html))
    assert len(html) < 200_000


def test_the_same_model_gives_the_same_bytes():
    assert render(MODELS["groups"](), "m") == render(MODELS["groups"](), "m")


def test_names_are_text_however_they_look():
    html = render(hostile(), HOSTILE[0])
    assert "<script" not in html
    assert "<img" not in html
    said = text_of(html)
    for name in HOSTILE:
        assert re.sub(r"\s+", " ", name) in said
    assert f"<title>{HOSTILE[0]}" not in html


def calibration_rows(attentive, n_rows):
    """Return the rows that calibrated, by how fit divides them."""
    mixed = np.random.RandomState(attentive.random_state).permutation(n_rows)
    return mixed[: round(attentive.calibration_size * n_rows)]


@pytest.mark.parametrize("name", ["two classes", "four classes", "groups"])
def test_shares_and_spending_are_those_of_the_calibration_rows_read_one_by_one(name):
    attentive, frame = attended(name)
    rows = frame[1000:].iloc[calibration_rows(attentive, len(frame) - 1000)]
    reading, outline = attentive.read(rows), Outline(attentive)
    for step in outline.steps():
        assert step.decided == pytest.approx(np.mean(reading.n_read <= step.number))
        assert step.asked == pytest.approx(np.mean(reading.n_read >= step.number))
    assert outline.early == pytest.approx(np.mean(reading.n_read < attentive.n_features_in_))
    lazily = attentive.predict_lazily(lambda row, feature: rows.loc[row, feature], rows.index)
    assert outline.spent_per_row() == pytest.approx(lazily.spent.mean())
    assert outline.price_of_all == attentive.prices_.price.sum()


@pytest.mark.parametrize("name", ["lightgbm, groups", "forest, three", "catboost, three"])
def test_steps_of_trees_name_what_they_can_ask_for(name):
    attentive, rows = attended_trees(name)
    outline = Outline(attentive)
    steps = outline.steps()
    assert outline.by_step
    assert list(dict.fromkeys(column for step in steps for column in step.columns)) == [
        column.name for column in outline.columns()
    ]
    assert {column.name for column in outline.columns()} == set(attentive.columns_)
    assert sum(step.price or 0.0 for step in steps) == outline.price_of_all
    asked = attentive.predict_lazily(lambda row, feature: rows.loc[row, feature], range(60))
    assert asked.spent.max() <= outline.price_of_all


def test_the_page_lists_names_prices_groups_and_shares():
    attentive = MODELS["groups"]()
    html = render(attentive, "m.saccade")
    said, outline = text_of(html), Outline(attentive)
    assert str(attentive.certificate_) in said
    for step in outline.steps():
        assert f"{step.number}. {step.name}" in said
    for record in attentive.certificate_.by_class:
        assert f"{record.lost:,} (" in said
    assert "sample" in said
    assert "paid" in said
    assert f"cost {money(outline.spent_per_row(), 4)} on average" in said


def test_long_tails_are_counted():
    attentive = many_features()
    outline = Outline(attentive)
    html = render(attentive, "m.saccade")
    assert f"and {outline.n_steps - 30} more" in text_of(html)
    assert "30. " in html
    assert "31. " not in html


def test_pairs_of_columns_are_named(monkeypatch):
    attentive = of_pairs(monkeypatch)
    said = text_of(render(attentive, "m.saccade"))
    assert "age &amp; size" in render(attentive, "m.saccade")
    assert f"The terms can ask for {len(attentive.columns_)} columns" in said


def test_what_is_not_known_is_not_said():
    """After which feature a row was decided is neither known of sparse rows nor from files of format 1."""
    for name, why in (("sparse", "Rows were sparse"), ("format 1", "the file is of format 1")):
        attentive = MODELS[name]()
        assert not Outline(attentive).by_step
        assert Outline(attentive).steps(1)[0].decided is None
        said = text_of(render(attentive, "m.saccade"))
        assert why in said
        assert "rows asked" not in said
    assert "stored values read" in text_of(render(MODELS["sparse"](), "m.saccade"))


def test_a_model_that_decides_nothing_says_so_and_why():
    said = text_of(render(few_rows(), "m.saccade"))
    assert "It decides no row early: all 12 features of every row are read." in said
    assert "There were too few calibration rows" in said
    assert "rows decided" not in said


def test_a_learner_is_shown_as_it_reads():
    model = learner(2)
    said = text_of(render(model, "m.saccade"))
    assert "It is not certified" in said
    assert "saccade attend m.saccade DATA -o FAST" in said
    first = model.plans_[0].order[0]
    assert f"1. f{first} {model.coef_[0, first]:+.4g}" in said
    assert "and 10 more" in said


def test_groups_have_their_names_and_numbers_once_they_were_changed():
    given = {"sample": ["a", "c"], "alone": ["d"], "record": ["b", "e"]}
    prices = price_list(None, given, 5, list("abcde"))
    assert group_names(given, prices, list("abcde")) == {0: "sample", 2: "record"}
    assert group_names(["x", "y", "x", "z", "y"], prices, None) == {0: "group 0", 2: "group 2"}
    assert group_names(None, prices, None) == {0: "group 0", 2: "group 2"}
    assert group_names({"sample": ["no such"]}, prices, list("abcde")) == {0: "group 0", 2: "group 2"}
    by_label = price_list(None, ["x", "y", "x", "z", "y"], 5, None)
    assert group_names(["x", "y", "x", "z", "y"], by_label, None) == {0: "x", 1: "y"}


def test_a_file_remembers_that_stored_values_were_counted(tmp_path):
    attentive = sparse()
    assert attentive.certificate_.stored
    saccade.save(attentive, tmp_path / "m")
    assert saccade.load(tmp_path / "m").certificate_ == attentive.certificate_
    dense = attended("two classes")[0]
    assert not dense.certificate_.stored
    saccade.save(dense, tmp_path / "n")
    assert saccade.load(tmp_path / "n").certificate_ == dense.certificate_


CONTRASTS = """() => {
    const light = color => {
        const parts = color.match(/[\\d.]+/g).slice(0, 3).map(value => value / 255)
            .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    return [...document.querySelectorAll("h1, h2, p, a, th, td")].map(element => {
        const ink = light(getComputedStyle(element).color);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    });
}"""


@pytest.mark.parametrize(("width", "scheme"), [(380, "dark"), (1280, "light")])
@pytest.mark.parametrize(
    "name", ["groups", "trees", "500 features", "hostile", "endless names", "few rows", "a learner of four"]
)
def test_a_browser_shows_it_on_a_phone_and_on_a_desk_by_day_and_by_night(browser, tmp_path, name, width, scheme):
    html = render(MODELS[name](), "model.saccade")
    path = tmp_path / "page.html"
    path.write_text(html, encoding="utf-8")
    seen = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    messages, requests = [], []
    seen.on("console", lambda message: messages.append(message.text))
    seen.on("pageerror", lambda error: messages.append(str(error)))
    seen.on("request", lambda request: requests.append(request.url))
    seen.goto(path.as_uri())
    assert messages == []
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    assert seen.evaluate("document.documentElement.scrollWidth") <= width
    assert min(seen.evaluate(CONTRASTS)) >= 4.5  # of WCAG 2, level AA
    paper = seen.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 384) == (scheme == "light")
    plots = seen.evaluate(
        """[...document.querySelectorAll("svg")].map(svg => [svg.getBoundingClientRect().width,
            svg.querySelector("text").getBoundingClientRect().height])"""
    )
    assert len(plots) == html.count("<svg")
    assert all(across >= 300 and text >= 7 for across, text in plots)
    shares = seen.evaluate("[...document.querySelectorAll('td.share')].map(cell => cell.getBoundingClientRect().right)")
    assert all(right <= width for right in shares)  # the figures that matter need no scrolling
    seen.close()


@pytest.mark.parametrize("name", ["groups", "hostile", "endless names", "a level for each of 40 classes"])
def test_a_card_fits_into_a_narrow_cell_and_takes_its_colours(browser, name):
    seen = browser.new_page(viewport={"width": 380, "height": 900})
    seen.set_content(f'<body style="margin: 8px; background: #111; color: rgb(221, 221, 221)">{card(MODELS[name]())}')
    assert seen.evaluate("document.documentElement.scrollWidth") <= 380
    inks = seen.evaluate("[...document.querySelectorAll('.saccade-card *')].map(tag => getComputedStyle(tag).color)")
    assert set(inks) == {"rgb(221, 221, 221)"}
    seen.close()

"""The page, as text and as a real browser shows it."""

import re
import shutil

import pytest

from saccade.study.experiments import claims, findings
from saccade.study.report import page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def test_every_claim_and_erratum_is_on_the_page(reproduction, html):
    from markupsafe import escape

    for claim in claims.claims(reproduction):
        assert str(escape(claim.measured)) in html
    for erratum in findings.errata(reproduction):
        assert str(escape(erratum.figure)) in html


def test_every_plot_has_a_table_beside_it(html):
    figures = re.findall(r"<figure>.*?</figure>", html, flags=re.DOTALL)
    assert len(figures) >= 20
    for figure in figures:
        assert figure.count("<svg") == 1
        assert figure.count("<table") == 1
        assert figure.index("<svg") < figure.index("<table")


def test_the_page_refers_to_nothing_outside_itself(html):
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\s\"'<>]+", html)) <= namespaces
    assert "<script" not in html


def test_the_same_records_give_the_same_bytes(reproduction, html):
    assert page.render(reproduction) == html


def test_names_inside_the_plots_are_used_once(html):
    names = re.findall(r'\bid="([^"]+)"', html)
    assert len(names) == len(set(names))


@pytest.fixture(scope="module")
def browser():
    if BROWSER is None:
        pytest.skip("no Chromium on this machine: install Debian's package chromium to run the page in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280])
def test_a_browser_shows_every_figure_and_asks_for_nothing_else(browser, html, tmp_path, width, scheme):
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
    boxes = seen.evaluate(
        """[...document.querySelectorAll("figure svg")].map(svg => {
            const box = svg.getBoundingClientRect(), style = getComputedStyle(svg);
            const text = svg.querySelector("text").getBoundingClientRect();
            return {width: box.width, height: box.height, left: box.left, right: box.right, text: text.height,
                    shown: style.display !== "none" && style.visibility === "visible" && style.opacity === "1"};
        })"""
    )
    assert len(boxes) == html.count("<figure>")
    for box in boxes:
        assert box["shown"]
        assert box["width"] >= 300
        assert box["height"] >= 150
        assert box["left"] >= 0
        assert box["right"] <= width
        assert box["text"] >= 7  # pixels: labels can be read
    ink, paper = (seen.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
    brightness = [sum(map(int, re.findall(r"\d+", color)[:3])) for color in (ink, paper)]
    assert (brightness[0] < brightness[1]) == (scheme == "light")
    assert abs(brightness[0] - brightness[1]) > 400
    seen.close()

"""The page, as text and as a real browser shows it."""

import re

import pytest
from markupsafe import escape
from matplotlib.figure import Figure
from playwright.sync_api import expect

from reproduction.claims import claims
from reproduction.findings import errata
from reproduction.page import render


def test_every_claim_and_erratum_is_on_the_page(results, html):
    for claim in claims(results):
        assert str(escape(claim.measured)) in html
    for erratum in errata(results):
        assert str(escape(erratum.effect)) in html


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
    assert "default-src 'none'" in html  # the browser itself would refuse to fetch anything
    assert "<script src" not in html


def test_a_sentence_explains_every_table(html):
    assert len(re.findall(r"<p>[^<]+\.</p>\s*<div class=\"scroll\"", html)) == html.count("<table")


@pytest.fixture(scope="module")
def again(results):
    """The page, rendered once more, and the figures on it."""
    drawn, save = [], Figure.savefig

    def keep(figure, *arguments, **named):
        save(figure, *arguments, **named)
        drawn.append(figure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", keep)
        return render(results), drawn


def test_no_legend_covers_a_plot(again):
    _, drawn = again
    assert sum(len(figure.legends) for figure in drawn) >= 15
    for figure in drawn:
        assert all(axes.get_legend() is None for axes in figure.axes)
        for legend in figure.legends:
            box = legend.get_window_extent()
            assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)
            assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_no_label_is_cut_off_at_the_edge_of_a_plot(again):
    _, drawn = again
    for figure in drawn:
        edge = figure.bbox.padded(0.75)
        for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) if axes.axison):
            if axis.label.get_text():
                box = axis.label.get_window_extent()
                assert edge.x0 <= box.x0 < box.x1 <= edge.x1, axis.label.get_text()
                assert edge.y0 <= box.y0 < box.y1 <= edge.y1, axis.label.get_text()


def test_the_same_records_give_the_same_bytes(again, html):
    assert again[0] == html


def test_ids_are_unique(html):
    names = re.findall(r'\bid="([^"]+)"', html)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280])
def test_a_browser_shows_every_figure_and_asks_for_nothing_else(browser, html, address, width, scheme):
    seen = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    messages, requests = [], []
    seen.on("console", lambda message: messages.append(message.text))
    seen.on("pageerror", lambda error: messages.append(str(error)))
    seen.on("request", lambda request: requests.append(request.url))
    seen.goto(address)
    assert messages == []
    assert [url for url in requests if not url.startswith("data:")] == [address]
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


MARKS = """[...document.querySelectorAll(".scroll")].map(region => ({
    wide: region.scrollWidth > region.clientWidth + 1,
    focusable: region.tabIndex === 0,
    named: region.getAttribute("role") === "group" && region.getAttribute("aria-label").length > 10,
    hint: getComputedStyle(region, "::before").content.includes("scroll")}))"""


def test_tables_that_are_too_wide_say_that_they_scroll(browser, address):
    seen = browser.new_page(viewport={"width": 380, "height": 900})
    seen.goto(address)
    seen.wait_for_selector(".scrolls")
    narrow = seen.evaluate(MARKS)
    assert all(mark["focusable"] == mark["hint"] == mark["wide"] and mark["named"] for mark in narrow)
    assert 5 < sum(mark["wide"] for mark in narrow) < len(narrow) - 5
    seen.focus(".scrolls")
    seen.keyboard.press("ArrowRight")
    expect(seen.locator(".scrolls").first).not_to_have_js_property("scrollLeft", 0, timeout=60_000)
    seen.set_viewport_size({"width": 1280, "height": 900})
    seen.wait_for_selector(".scrolls", state="detached")
    assert not any(mark["focusable"] or mark["hint"] or mark["wide"] for mark in seen.evaluate(MARKS))
    seen.close()

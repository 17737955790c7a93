"""The page's own reader gives the labels and counts of the reader in Python, and reads what a visitor draws."""

import numpy as np
import pytest
from playwright.sync_api import expect

from saccade.data.mnist import load_mnist
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan
from saccade.study.experiments.digits import scaled
from saccade.study.experiments.ten_digits import in_single_precision
from saccade.study.experiments.upright import upright
from saccade.study.report.drawing import packed, packed_plan

WAIT = 60_000  # milliseconds at most: other tests may keep all cores busy
READ_ALL = """({plan, values}) => {
    const unpackedPlan = planFrom(plan), pixels = unpackedPlan.pixels;
    const all = unpacked(values, Float32Array), readings = [];
    for (let row = 0; row < all.length / pixels; row++) {
        const reading = readByPlan(unpackedPlan, all.subarray(row * pixels, (row + 1) * pixels));
        readings.push([reading.label, reading.read, reading.stopped, [...reading.path.at(-1).scores]]);
    }
    return readings;
}"""


@pytest.fixture(scope="module")
def path(html, tmp_path_factory):
    path = tmp_path_factory.mktemp("drawing") / "page.html"
    path.write_text(html, encoding="utf-8")
    return path


@pytest.fixture
def seen(browser, path):
    """The page for a visitor who does not want motion: what comes out is shown at once."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    opened.goto(path.as_uri())
    yield opened
    opened.close()


def assert_read_alike(seen, plan, X):
    """Every row has the same label, count and, where it was stopped, the same bits of its scores."""
    outcome = read_plan(plan, ArraySource(X))
    readings = seen.evaluate(READ_ALL, {"plan": packed_plan(plan), "values": packed(X, np.float32)})
    label, n_read, stopped, scores = map(np.array, zip(*readings, strict=True))
    np.testing.assert_array_equal(label, decided(outcome.margin))
    np.testing.assert_array_equal(n_read, outcome.n_read)
    np.testing.assert_array_equal(stopped, outcome.stopped)
    np.testing.assert_array_equal(scores[stopped], outcome.margin[outcome.stopped])
    np.testing.assert_allclose(scores, outcome.margin, rtol=0, atol=1e-9)
    return outcome


def test_a_thousand_test_digits_are_read_as_python_reads_them(seen, reproduction):
    _, _, X_test, _ = load_mnist(None)
    outcome = assert_read_alike(seen, reproduction.ten_digits.reader.plan, scaled(upright(X_test[:1000])))
    assert np.unique(outcome.n_read).size > 10


def test_shades_become_the_numbers_that_python_makes_of_them(seen):
    shades = np.arange(256, dtype=np.uint8)
    text = seen.evaluate("shades => [...scaledShades(Uint8Array.from(shades))]", shades.tolist())
    np.testing.assert_array_equal(np.array(text, dtype=np.float32), scaled(shades))


@pytest.mark.parametrize("seed", range(3))
def test_any_plan_of_several_scores_is_read_as_python_reads_it(seen, seed):
    """Sums that begin anew and sums that go on, classes that never stop, and rows that are read to the end."""
    rng = np.random.default_rng(seed)
    scores, pixels, checkpoints = 4, 30, np.array([3, 7, 8, 20])
    first = np.where(rng.random(4) < 0.5, 0, np.concatenate([[0], checkpoints[:-1]]))
    upper = rng.uniform(0.5, 6, (scores, 4))
    upper[0] = np.inf
    plan = Plan(
        order=rng.permutation(pixels)[:20].astype(np.uint32),
        checkpoints=checkpoints,
        first=first,
        begins=np.concatenate([[0], np.cumsum(checkpoints - first)[:-1]]),
        weights=rng.normal(size=(scores, int(np.sum(checkpoints - first)))),
        shift=rng.normal(size=(scores, 4)),
        lower=np.full((scores, 4), -np.inf),
        upper=upper,
        coef=rng.normal(size=(scores, pixels)),
        intercept=rng.normal(size=scores),
    )
    X = rng.random((300, pixels)).astype(np.float32)
    outcome = assert_read_alike(seen, in_single_precision(plan), X)
    assert 0 < outcome.stopped.sum() < 300


def test_test_digits_that_are_chosen_are_read(seen, reproduction):
    reader = reproduction.ten_digits.reader
    outcome = read_plan(reader.plan, ArraySource(scaled(reader.images)))
    buttons = seen.query_selector_all("#samples button")
    assert len(buttons) == 30
    for k, button in enumerate(buttons):
        button.click()
        assert seen.inner_text("#said") == str(decided(outcome.margin)[k])
        assert seen.inner_text("#read") == str(outcome.n_read[k])
        assert f"The digit is a {reader.labels[k]}." in seen.inner_text("#words")
        assert button.get_attribute("aria-pressed") == "true"
    assert len(seen.query_selector_all("#samples [aria-pressed=true]")) == 1


def bounds(seen):
    box = seen.query_selector("#pad").bounding_box()
    return lambda x, y: (box["x"] + x * box["width"], box["y"] + y * box["height"])


def assert_one_is_said(seen):
    """After a stroke from top to bottom."""
    assert seen.inner_text("#said") == "1"
    assert seen.inner_text("#words").startswith("Said 1 after ")
    assert seen.get_attribute("#words", "aria-live") == "polite"
    assert "The digit is" not in seen.inner_text("#words")
    assert seen.query_selector_all("#samples [aria-pressed=true]") == []


def test_a_digit_is_drawn_by_mouse(seen):
    place = bounds(seen)
    seen.mouse.move(*place(0.52, 0.2))
    seen.mouse.down()
    seen.mouse.move(*place(0.48, 0.8), steps=10)
    seen.mouse.up()
    assert_one_is_said(seen)
    seen.mouse.move(*place(0.1, 0.1))
    assert len(seen.query_selector_all("#pad polyline")) == 1  # nothing is drawn with the pen up
    seen.click("#clear")
    assert seen.query_selector_all("#pad polyline") == []


def test_a_digit_is_drawn_by_finger_and_the_page_stays(browser, path):
    context = browser.new_context(viewport={"width": 380, "height": 800}, has_touch=True, reduced_motion="reduce")
    seen = context.new_page()
    seen.goto(path.as_uri())
    place, session = bounds(seen), context.new_cdp_session(seen)
    for kind, y in [("touchStart", 0.2), *(("touchMove", y) for y in np.linspace(0.2, 0.8, 9)), ("touchEnd", None)]:
        points = [] if y is None else [dict(zip("xy", place(0.5, float(y)), strict=True))]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    expect(seen.locator("#words")).to_contain_text("Said 1 after", timeout=WAIT)
    assert_one_is_said(seen)
    assert seen.evaluate("scrollY") == 0
    context.close()


def test_on_a_phone_the_label_stands_beside_the_pad_and_fingers_meet_every_button(browser, path):
    context = browser.new_context(viewport={"width": 380, "height": 800}, has_touch=True, reduced_motion="reduce")
    seen = context.new_page()
    seen.goto(path.as_uri())
    pad, said, read = (seen.query_selector(name).bounding_box() for name in ("#pad", "#said", "#read"))
    for result in (said, read):
        assert result["x"] > pad["x"] + pad["width"]
        assert pad["y"] < result["y"] < pad["y"] + pad["height"]
    assert seen.query_selector("#eye").bounding_box()["width"] > 120
    for control in seen.query_selector_all("#draw button, nav a"):
        box = control.bounding_box()
        assert box["height"] >= 40
        assert box["width"] >= 40
    context.close()


def test_a_digit_is_drawn_by_keyboard(seen):
    seen.focus("#pad")
    for key, times in [("ArrowUp", 9), (" ", 1), ("ArrowDown", 18), (" ", 1)]:
        for _ in range(times):
            seen.keyboard.press(key)
    assert_one_is_said(seen)
    assert seen.evaluate("scrollY") == 0


def test_every_control_is_reached_by_the_keyboard_and_shows_its_focus(seen):
    seen.keyboard.press("Tab")
    reached = []
    for _ in range(33):
        reached.append(
            seen.evaluate(
                """() => { const at = document.activeElement, outline = getComputedStyle(at).outlineStyle;
                    return [at.id || at.getAttribute("aria-label"), outline]; }"""
            )
        )
        seen.keyboard.press("Tab")
    names = [name for name, _ in reached]
    assert names[:4] == ["pad", "clear", "again", "Test digit 0, easy"]
    assert names[-1] == "Test digit 9, hard"
    assert {outline for _, outline in reached} == {"solid"}


def test_with_motion_pixels_are_read_one_after_another(browser, path, reproduction):
    reader = reproduction.ten_digits.reader
    [n_read] = read_plan(reader.plan, ArraySource(scaled(reader.images[-1:]))).n_read
    seen = browser.new_page()
    seen.goto(path.as_uri())
    expect(seen.locator("#words")).to_contain_text("Said", timeout=WAIT)
    seen.evaluate(
        """() => { window.counts = []; const read = document.querySelector("#read");
            new MutationObserver(() => counts.push(Number(read.textContent))).observe(read, {childList: true}); }"""
    )
    for button in ("#samples button:last-child", "#again"):
        seen.evaluate("counts.length = 0")
        seen.click(button)
        expect(seen.locator("#words")).to_contain_text("The digit is a 9", timeout=WAIT)
        counts = seen.evaluate("counts")
        assert counts[0] < counts[-1] == n_read
        assert counts == sorted(counts)
    seen.close()


def image_of(seen, strokes):
    return np.array(seen.evaluate("strokes => [...asImage(strokes)]", strokes)).reshape(28, 28)


def test_a_drawing_becomes_an_image_such_as_mnist_has(seen):
    """In a box of 20 pixels, with the centre of mass where MNIST has it, wherever and however large it was drawn."""
    stroke = np.array([[5, 4], [20, 5], [12, 24], [6, 20]])
    shades = image_of(seen, [stroke.tolist()])
    rows, columns = np.nonzero(shades)
    assert 19 <= max(np.ptp(rows), np.ptp(columns)) + 1 <= 22
    for axis in range(2):
        assert np.average(np.arange(28), weights=shades.sum(axis=1 - axis)) == pytest.approx(14, abs=0.1)
    moved = image_of(seen, [(3 + 0.4 * stroke).tolist()])
    assert np.abs(moved - shades).max() <= 1
    assert shades.max() == 255
    dot = image_of(seen, [[[3, 3], [3, 3]]])
    assert 3 <= np.count_nonzero(dot) <= 16  # a dot stays one


def leaning(lean, *strokes):
    return [(stroke @ [[1, 0], [-lean, 1]] + [14 * lean, 0]).tolist() for stroke in strokes]


def eight(waist, width):
    """Return an eight in one stroke: where its strokes cross, from the top, and its width, as shares of its height."""
    turn = np.linspace(0, 2 * np.pi, 60)
    half = np.where(np.cos(turn) > 0, waist, 1 - waist)
    return np.column_stack([14 + 18 * width * half * np.sin(2 * turn), 5 + 18 * (waist - half * np.cos(turn))])


def test_a_drawing_is_set_upright_as_test_digits_are(seen):
    stroke = eight(0.45, 0.6)
    straight = image_of(seen, leaning(0, stroke))
    for lean in (-0.4, 0.5):
        shades = image_of(seen, leaning(lean, stroke))
        assert np.abs(shades - straight).mean() < 3
        again = upright(shades.astype(np.uint8).reshape(1, -1)).reshape(28, 28)
        assert np.abs(again - shades).mean() < 3


@pytest.mark.parametrize("lean", [-0.3, 0, 0.3, 0.6])
def test_eights_are_read_as_eights_however_they_lean(seen, reproduction, lean):
    drawn = [eight(waist, width) for waist in (0.4, 0.45, 0.5) for width in (0.5, 0.65)]
    images = np.array([image_of(seen, leaning(lean, stroke)).ravel() for stroke in drawn], dtype=np.uint8)
    outcome = read_plan(reproduction.ten_digits.reader.plan, ArraySource(scaled(images)))
    assert np.mean(decided(outcome.margin) == 8) >= 0.8


def drawn(seen):
    """Return the points of the strokes on the pad."""
    lines = seen.evaluate("[...document.querySelectorAll('#pad polyline')].map(line => line.getAttribute('points'))")
    return [np.array([point.split(",") for point in line.split()], dtype=float) for line in lines]


def test_a_stroke_that_leaves_the_pad_stays_on_its_edge(seen):
    """What lies outside is not seen, and so is not to be read."""
    place = bounds(seen)
    seen.mouse.move(*place(0.5, 0.2))
    seen.mouse.down()
    for across, down in [(0.5, 0.8), (4.0, 0.8), (-3.0, -2.0)]:
        seen.mouse.move(*place(across, down), steps=5)
    seen.mouse.up()
    [stroke] = drawn(seen)
    assert stroke.min() == 0
    assert stroke.max() == 28
    assert seen.inner_text("#words").startswith("Said ")


def test_a_second_finger_neither_draws_nor_ends_the_stroke(browser, path):
    context = browser.new_context(viewport={"width": 380, "height": 800}, has_touch=True, reduced_motion="reduce")
    seen = context.new_page()
    seen.goto(path.as_uri())
    place, session = bounds(seen), context.new_cdp_session(seen)

    def send(kind, finger, *at):
        point = {**dict(zip("xy", place(*at), strict=True)), "id": finger}
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})

    send("touchStart", 0, 0.5, 0.2)
    send("touchStart", 1, 0.9, 0.9)
    send("touchMove", 1, 0.9, 0.8)
    send("touchEnd", 1, 0.9, 0.8)
    for y in np.linspace(0.2, 0.8, 9).tolist():
        send("touchMove", 0, 0.5, y)
    send("touchEnd", 0, 0.5, 0.8)
    expect(seen.locator("#words")).to_contain_text("Said 1 after", timeout=WAIT)
    [stroke] = drawn(seen)
    np.testing.assert_allclose(stroke[:, 0], 14, atol=0.5)
    assert stroke[-1, 1] == pytest.approx(0.8 * 28, abs=0.5)
    context.close()


def test_the_mouse_takes_over_from_the_keyboard_and_shortcuts_are_the_browsers(seen):
    seen.focus("#pad")
    seen.keyboard.press(" ")
    seen.keyboard.press("Control+ArrowDown")
    seen.keyboard.press("ArrowDown")
    place = bounds(seen)
    seen.mouse.move(*place(0.2, 0.2))
    seen.mouse.down()
    seen.mouse.move(*place(0.2, 0.8), steps=5)
    seen.mouse.up()
    first, second = drawn(seen)
    np.testing.assert_array_equal(first[-1], [14, 15])
    np.testing.assert_allclose(second[:, 0], 0.2 * 28, atol=0.5)


def test_a_very_long_scribble_is_an_image_like_any_other(seen):
    angle = np.linspace(0, 2 * np.pi, 50).tolist()
    ring = [[14 + 9 * np.cos(a), 14 + 9 * np.sin(a)] for a in angle]
    long = "(ring) => [...asImage([Array.from({length: 6000}, () => ring).flat()])]"
    np.testing.assert_array_equal(np.array(seen.evaluate(long, ring)).reshape(28, 28), image_of(seen, [ring]))

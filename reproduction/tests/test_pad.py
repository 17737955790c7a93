"""The page's reader gives the labels and counts of saccade's, and reads the digits that visitors draw."""

import numpy as np
import pytest
from playwright.sync_api import expect
from sklearn.linear_model import LogisticRegression

from reproduction.mnist import load_mnist, scaled
from reproduction.page import packed, packed_plan
from reproduction.ten_digits import round_weights, upright
from saccade import attend

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


@pytest.fixture
def seen(browser, address):
    """The page for a visitor who prefers reduced motion: results appear at once."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    opened.goto(address)
    yield opened
    opened.close()


def assert_read_alike(seen, model, X):
    """Check that every row has the same label, count and, if it was stopped, the same bits of its scores."""
    reading = model.read(X)
    readings = seen.evaluate(READ_ALL, {"plan": packed_plan(model.plan_), "values": packed(X, np.float32)})
    label, n_read, stopped, scores = map(np.array, zip(*readings, strict=True))
    np.testing.assert_array_equal(label, reading.label)
    np.testing.assert_array_equal(n_read, reading.n_read)
    np.testing.assert_array_equal(stopped, reading.stopped)
    np.testing.assert_array_equal(scores[stopped], reading.margin[stopped])
    np.testing.assert_allclose(scores, reading.margin, rtol=0, atol=1e-9)
    return reading


def test_a_thousand_test_digits_are_read_as_in_python(seen, results):
    _, _, X_test, _ = load_mnist(None)
    reading = assert_read_alike(seen, results.ten_digits.model, scaled(upright(X_test[:1000])))
    assert np.unique(reading.n_read).size > 10


def test_shades_are_scaled_as_in_python(seen):
    shades = np.arange(256, dtype=np.uint8)
    numbers = seen.evaluate("shades => [...scaledShades(Uint8Array.from(shades))]", shades.tolist())
    np.testing.assert_array_equal(np.array(numbers, dtype=np.float32), scaled(shades))


@pytest.mark.parametrize("seed", range(3))
def test_any_plan_of_several_scores_is_read_as_in_python(seen, seed):
    """Sums that begin anew and sums that continue, a class that never stops, and rows that are read in full."""
    rng = np.random.default_rng(seed)
    classes, pixels, checkpoints = 4, 30, np.array([3, 7, 8, 20])
    X = rng.random((300, pixels)).astype(np.float32)
    fitted = LogisticRegression().fit(X, np.arange(300) % classes)
    model = attend(fitted, X, delta=0.5, promise="rows", random_state=0)
    first = np.where(rng.random(4) < 0.5, 0, np.concatenate([[0], checkpoints[:-1]]))
    upper = rng.uniform(0.5, 6, (classes, 4))
    upper[0] = np.inf
    model.plan_ = model.plan_._replace(
        order=rng.permutation(pixels)[:20].astype(np.uint32),
        checkpoints=checkpoints,
        first=first,
        begins=np.concatenate([[0], np.cumsum(checkpoints - first)[:-1]]),
        weights=rng.normal(size=(classes, int(np.sum(checkpoints - first)))),
        shift=rng.normal(size=(classes, 4)),
        lower=np.full((classes, 4), -np.inf),
        upper=upper,
        coef=rng.normal(size=(classes, pixels)),
        intercept=rng.normal(size=classes),
    )
    round_weights(model)
    assert 0 < assert_read_alike(seen, model, X).stopped.sum() < 300


def test_chosen_test_digits_are_read(seen, results):
    ten = results.ten_digits
    reading = ten.model.read(scaled(ten.images))
    buttons = seen.query_selector_all("#samples button")
    assert len(buttons) == 30
    for k, button in enumerate(buttons):
        button.click()
        assert seen.inner_text("#said") == str(reading.label[k])
        assert seen.inner_text("#read") == str(reading.n_read[k])
        assert f"The digit is a {ten.labels[k]}." in seen.inner_text("#words")
        assert button.get_attribute("aria-pressed") == "true"
    assert len(seen.query_selector_all("#samples [aria-pressed=true]")) == 1


def bounds(seen):
    box = seen.query_selector("#pad").bounding_box()
    return lambda x, y: (box["x"] + x * box["width"], box["y"] + y * box["height"])


def draw(seen, *points):
    """Draw a stroke with the mouse, in shares of the pad."""
    place = bounds(seen)
    seen.mouse.move(*place(*points[0]))
    seen.mouse.down()
    for point in points[1:]:
        seen.mouse.move(*place(*point), steps=10)
    seen.mouse.up()


def drawn(seen):
    """Return the points of the strokes on the pad."""
    lines = seen.evaluate("[...document.querySelectorAll('#pad polyline')].map(line => line.getAttribute('points'))")
    return [np.array([point.split(",") for point in line.split()], dtype=float) for line in lines]


def assert_read_as_one(seen):
    """Check the result of a stroke from top to bottom."""
    expect(seen.locator("#words")).to_contain_text("Read as 1 after ", timeout=WAIT)
    assert seen.inner_text("#said") == "1"
    assert seen.get_attribute("#words", "aria-live") == "polite"
    assert "The digit is" not in seen.inner_text("#words")
    assert seen.query_selector_all("#samples [aria-pressed=true]") == []
    assert seen.evaluate("scrollY") == 0


def test_a_digit_is_drawn_by_mouse(seen):
    draw(seen, (0.52, 0.2), (0.48, 0.8))
    assert_read_as_one(seen)
    seen.mouse.move(*bounds(seen)(0.1, 0.1))
    assert len(drawn(seen)) == 1  # nothing is drawn with the pen up
    seen.click("#clear")
    assert drawn(seen) == []


def test_a_digit_is_drawn_by_keyboard(seen):
    seen.focus("#pad")
    for key, times in [("ArrowUp", 9), (" ", 1), ("ArrowDown", 18), (" ", 1)]:
        for _ in range(times):
            seen.keyboard.press(key)
    assert_read_as_one(seen)


def test_the_mouse_takes_over_from_the_keyboard_and_shortcuts_are_the_browsers(seen):
    seen.focus("#pad")
    for key in (" ", "Control+ArrowDown", "ArrowDown"):
        seen.keyboard.press(key)
    draw(seen, (0.2, 0.2), (0.2, 0.8))
    first, second = drawn(seen)
    np.testing.assert_array_equal(first[-1], [14, 15])
    np.testing.assert_allclose(second[:, 0], 0.2 * 28, atol=0.5)


def test_a_stroke_that_leaves_the_pad_stays_on_its_edge(seen):
    draw(seen, (0.5, 0.2), (0.5, 0.8), (4.0, 0.8), (-3.0, -2.0))
    [stroke] = drawn(seen)
    assert stroke.min() == 0
    assert stroke.max() == 28
    assert seen.inner_text("#words").startswith("Read as ")


@pytest.fixture
def phone(browser, address):
    """The page on a phone, and a function that sends touches at shares of the pad."""
    context = browser.new_context(viewport={"width": 380, "height": 800}, has_touch=True, reduced_motion="reduce")
    seen = context.new_page()
    seen.goto(address)
    place, session = bounds(seen), context.new_cdp_session(seen)

    def touch(kind, finger, *at):
        point = {**dict(zip("xy", place(*at), strict=True)), "id": finger}
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})

    yield seen, touch
    context.close()


def test_a_finger_draws_and_a_second_one_neither_draws_nor_ends_the_stroke(phone):
    seen, touch = phone
    touch("touchStart", 0, 0.5, 0.2)
    touch("touchStart", 1, 0.9, 0.9)
    touch("touchMove", 1, 0.9, 0.8)
    touch("touchEnd", 1, 0.9, 0.8)
    for y in np.linspace(0.2, 0.8, 9).tolist():
        touch("touchMove", 0, 0.5, y)
    touch("touchEnd", 0, 0.5, 0.8)
    assert_read_as_one(seen)
    [stroke] = drawn(seen)
    np.testing.assert_allclose(stroke[:, 0], 14, atol=0.5)
    assert stroke[-1, 1] == pytest.approx(0.8 * 28, abs=0.5)


def test_on_a_phone_the_label_is_beside_the_pad_and_buttons_are_large(phone):
    seen, _ = phone
    pad, said, read = (seen.query_selector(name).bounding_box() for name in ("#pad", "#said", "#read"))
    for result in (said, read):
        assert result["x"] > pad["x"] + pad["width"]
        assert pad["y"] < result["y"] < pad["y"] + pad["height"]
    assert seen.query_selector("#eye").bounding_box()["width"] > 120
    boxes = [control.bounding_box() for control in seen.query_selector_all("#draw button, nav a")]
    assert min(min(box["height"], box["width"]) for box in boxes) >= 40


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


def test_with_motion_pixels_are_read_one_after_another(browser, address, results):
    ten = results.ten_digits
    [n_read] = ten.model.read(scaled(ten.images[-1:])).n_read
    seen = browser.new_page()
    seen.goto(address)
    expect(seen.locator("#words")).to_contain_text("Read as", timeout=WAIT)
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


def test_a_drawing_becomes_an_image_like_mnists(seen):
    """In a box of 20 pixels, with MNIST's centre of mass, whatever its place and size on the pad."""
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


def leaning(lean, stroke):
    return [(stroke @ [[1, 0], [-lean, 1]] + [14 * lean, 0]).tolist()]


def eight(waist, width):
    """Return an eight in one stroke: where its strokes cross, from the top, and its width, as shares of its height."""
    turn = np.linspace(0, 2 * np.pi, 60)
    half = np.where(np.cos(turn) > 0, waist, 1 - waist)
    return np.column_stack([14 + 18 * width * half * np.sin(2 * turn), 5 + 18 * (waist - half * np.cos(turn))])


def test_a_drawing_is_set_upright_like_test_digits(seen):
    stroke = eight(0.45, 0.6)
    straight = image_of(seen, leaning(0, stroke))
    for lean in (-0.4, 0.5):
        shades = image_of(seen, leaning(lean, stroke))
        assert np.abs(shades - straight).mean() < 3
        again = upright(shades.astype(np.uint8).reshape(1, -1)).reshape(28, 28)
        assert np.abs(again - shades).mean() < 3


@pytest.mark.parametrize("lean", [-0.3, 0, 0.3, 0.6])
def test_leaning_eights_are_read_as_eights(seen, results, lean):
    strokes = [eight(waist, width) for waist in (0.4, 0.45, 0.5) for width in (0.5, 0.65)]
    images = np.array([image_of(seen, leaning(lean, stroke)).ravel() for stroke in strokes], dtype=np.uint8)
    assert np.mean(results.ten_digits.model.predict(scaled(images)) == 8) >= 0.8


def test_a_very_long_scribble_is_an_image_like_any_other(seen):
    angle = np.linspace(0, 2 * np.pi, 50).tolist()
    ring = [[14 + 9 * np.cos(a), 14 + 9 * np.sin(a)] for a in angle]
    long = "(ring) => [...asImage([Array.from({length: 6000}, () => ring).flat()])]"
    np.testing.assert_array_equal(np.array(seen.evaluate(long, ring)).reshape(28, 28), image_of(seen, [ring]))

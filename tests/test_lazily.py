"""Rows whose features are fetched when they are wanted."""

import asyncio
import threading

import numpy as np
import pytest
from test_inquiry import FOUR, GROUPED, NAMES, ROWS_OF_FOUR, ROWS_OF_TWO, TWO


class Store:
    """Answers from a frame, and remembers what it was asked for."""

    def __init__(self, frame):
        self.frame, self.calls, self.lock, self.at_once, self.most = frame, [], threading.Lock(), 0, 0

    def fetch(self, row, feature):
        with self.lock:
            self.calls.append((row, feature))
        return self.frame.loc[row, feature]

    def fetch_many(self, rows, feature):
        self.calls.append((tuple(rows), feature))
        return self.frame.loc[rows, feature].tolist()

    async def fetch_slowly(self, row, feature):
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.001)
        self.at_once -= 1
        return self.fetch(row, feature)


def check(found, attentive, frame, count=100):
    reading = attentive.read(frame[:count])
    np.testing.assert_array_equal(found.label, reading.label)
    np.testing.assert_array_equal(found.n_asked, reading.n_read)
    np.testing.assert_array_equal(found.margin, reading.margin)
    assert found.certified.all()
    assert found.failed == {}
    assert len(found) == count


@pytest.mark.parametrize(("attentive", "frame"), [(TWO, ROWS_OF_TWO), (FOUR, ROWS_OF_FOUR)], ids=["two", "four"])
@pytest.mark.parametrize(
    ("way", "options"),
    [
        ("fetch", {}),
        ("fetch", {"concurrency": 4}),
        ("fetch_many", {"batch": 7}),
        ("fetch_many", {"batch": 16, "concurrency": 3}),
        ("fetch_slowly", {"concurrency": 8}),
    ],
)
def test_every_way_to_fetch_gives_the_readers_labels_and_fetches_nothing_twice(attentive, frame, way, options):
    store = Store(frame)
    found = attentive.predict_lazily(getattr(store, way), range(100), **options)
    check(found, attentive, frame)
    cells = [(row, feature) for rows, feature in store.calls for row in (rows if way == "fetch_many" else [rows])]
    assert len(cells) == len(set(cells)) == found.n_asked.sum()
    if way == "fetch_slowly":
        assert store.most <= 8
    if way == "fetch_many":
        assert len(store.calls) < len(cells)


def test_in_an_event_loop_there_is_an_asynchronous_twin():
    store = Store(ROWS_OF_TWO)

    async def main():
        with pytest.raises(RuntimeError, match="predict_lazily_async"):
            TWO.predict_lazily(store.fetch_slowly, range(3))
        with pytest.raises(TypeError, match="coroutine function"):
            await TWO.predict_lazily_async(store.fetch, range(3))
        check(TWO.predict_lazily(store.fetch, range(10)), TWO, ROWS_OF_TWO, 10)
        return await TWO.predict_lazily_async(store.fetch_slowly, range(100), concurrency=20)

    check(asyncio.run(main()), TWO, ROWS_OF_TWO)


def test_a_record_brings_a_whole_group_in_one_call():
    calls = []

    def fetch(row, feature):
        calls.append((row, feature))
        group = next((set(one) for one in (["f0", "f3", "f5"], ["f1", "f2"]) if feature in one), {feature})
        return {**ROWS_OF_TWO.loc[row, sorted(group)].to_dict(), "id": row}

    found = GROUPED.predict_lazily(fetch, range(60))
    np.testing.assert_array_equal(found.label, GROUPED.predict(ROWS_OF_TWO[:60]))
    for row in range(60):
        purchases = [GROUPED.prices_.purchase[NAMES.index(feature)] for number, feature in calls if number == row]
        assert len(purchases) == len(set(purchases))
        assert found.spent[row] == GROUPED.prices_.price[purchases].sum()


@pytest.mark.parametrize("options", [{}, {"concurrency": 4}, {"concurrency": 4, "slow": True}])
def test_an_exception_is_reported_with_its_row_and_loses_no_other(options):
    store = Store(ROWS_OF_TWO)
    slow = options.pop("slow", False)

    def fetch(row, feature):
        if row == 5:
            raise OSError("no answer")
        return None if row == 6 else float("nan") if row == 7 else store.fetch(row, feature)

    async def fetch_slowly(row, feature):
        await asyncio.sleep(0)
        return fetch(row, feature)

    found = TWO.predict_lazily(fetch_slowly if slow else fetch, range(20), **options)
    assert set(found.failed) == {5, 7}
    assert isinstance(found.failed[5], OSError)
    assert "finite" in str(found.failed[7])
    assert found.label.mask.nonzero()[0].tolist() == [5, 7]
    assert not found.certified[[5, 6, 7]].any()
    others = [row for row in range(20) if row not in (5, 6, 7)]
    np.testing.assert_array_equal(found.label[others], TWO.predict(ROWS_OF_TWO[:20])[others])


def test_a_record_with_gaps_where_nothing_is_needed_is_as_good_as_a_whole_one():
    def fetch(row, feature):
        gaps = {name: None if name < "f5" else float("nan") for name in NAMES}
        return {**gaps, feature: ROWS_OF_TWO.loc[row, feature]}

    found = TWO.predict_lazily(fetch, range(50))
    check(found, TWO, ROWS_OF_TWO, 50)


def test_a_margin_that_overflows_belongs_to_its_row():
    coef = TWO.plan_.coef[0]

    def fetch(row, feature):
        j = NAMES.index(feature)
        return 1.7e308 * np.sign(coef[j]) * (-1) ** j if row == 3 else ROWS_OF_TWO.loc[row, feature]

    found = TWO.predict_lazily(fetch, range(10))
    assert set(found.failed) <= {3}
    others = [row for row in range(10) if row != 3]
    np.testing.assert_array_equal(found.label[others], TWO.predict(ROWS_OF_TWO[:10])[others])


def test_when_one_call_is_cancelled_no_other_goes_on():
    calls = []

    async def fetch(row, feature):
        calls.append(row)
        await asyncio.sleep(0.001)
        if row == 5:
            raise asyncio.CancelledError
        return ROWS_OF_TWO.loc[row, feature]

    async def main():
        with pytest.raises(asyncio.CancelledError):
            await TWO.predict_lazily_async(fetch, range(100), concurrency=4)
        before = len(calls)
        await asyncio.sleep(0.05)
        return before

    assert asyncio.run(main()) == len(calls)


def test_answers_of_the_wrong_shape_fail_their_rows_with_the_reason():
    found = TWO.predict_lazily(lambda rows, feature: [0.0], range(4), batch=4)
    assert "must return as many values" in str(found.failed[0])
    found = TWO.predict_lazily(lambda row, feature: {"other": 1.0}, range(2))
    assert "without it" in str(found.failed[1])


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"concurrency": 1.5}, {"batch": 0}, {"batch": True}])
def test_impossible_numbers_of_calls_are_refused(options):
    with pytest.raises(ValueError, match="at least 1"):
        TWO.predict_lazily(lambda row, feature: 0.0, range(3), **options)


def test_no_rows_give_an_empty_reading():
    found = TWO.predict_lazily(lambda row, feature: 0.0, [])
    assert len(found) == 0
    assert found.label.dtype == TWO.classes_.dtype

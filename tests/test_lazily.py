"""Rows whose features are fetched when they are wanted."""

import asyncio
import itertools
import threading
import time

import numpy as np
import pytest
from attended import NAMES, attended, seen


@pytest.fixture(scope="module")
def two():
    return attended("two classes")[0]


@pytest.fixture(scope="module")
def rows_of_two():
    return attended("two classes")[1]


@pytest.fixture(scope="module")
def grouped():
    return attended("groups")[0]


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
    assert found.certified[seen(attentive, frame[:count])].all()
    assert found.failed == {}
    assert len(found) == count


@pytest.mark.parametrize("name", ["two classes", "four classes"])
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
def test_every_way_to_fetch_gives_the_readers_labels_and_fetches_nothing_twice(name, way, options):
    attentive, frame = attended(name)
    store = Store(frame)
    found = attentive.predict_lazily(getattr(store, way), range(100), **options)
    check(found, attentive, frame)
    cells = [(row, feature) for rows, feature in store.calls for row in (rows if way == "fetch_many" else [rows])]
    assert len(cells) == len(set(cells)) == found.n_asked.sum()
    if way == "fetch_slowly":
        assert store.most <= 8
    if way == "fetch_many":
        assert len(store.calls) < len(cells)


def test_in_an_event_loop_there_is_an_asynchronous_twin(two, rows_of_two):
    store = Store(rows_of_two)

    async def main():
        with pytest.raises(RuntimeError, match="predict_lazily_async"):
            two.predict_lazily(store.fetch_slowly, range(3))
        with pytest.raises(TypeError, match="coroutine function"):
            await two.predict_lazily_async(store.fetch, range(3))
        check(two.predict_lazily(store.fetch, range(10)), two, rows_of_two, 10)
        return await two.predict_lazily_async(store.fetch_slowly, range(100), concurrency=20)

    check(asyncio.run(main()), two, rows_of_two)


def test_a_record_brings_a_whole_group_in_one_call(rows_of_two, grouped):
    calls = []

    def fetch(row, feature):
        calls.append((row, feature))
        group = next((set(one) for one in (["f0", "f3", "f5"], ["f1", "f2"]) if feature in one), {feature})
        return {**rows_of_two.loc[row, sorted(group)].to_dict(), "id": row}

    found = grouped.predict_lazily(fetch, range(60))
    np.testing.assert_array_equal(found.label, grouped.predict(rows_of_two[:60]))
    for row in range(60):
        purchases = [grouped.prices_.purchase[NAMES.index(feature)] for number, feature in calls if number == row]
        assert len(purchases) == len(set(purchases))
        assert found.spent[row] == grouped.prices_.price[purchases].sum()


@pytest.mark.parametrize("options", [{}, {"concurrency": 4}, {"concurrency": 4, "slow": True}])
def test_an_exception_is_reported_with_its_row_and_loses_no_other(options, two, rows_of_two):
    store = Store(rows_of_two)
    slow = options.pop("slow", False)

    def fetch(row, feature):
        if row == 5:
            raise OSError("no answer")
        return None if row == 6 else float("nan") if row == 7 else store.fetch(row, feature)

    async def fetch_slowly(row, feature):
        await asyncio.sleep(0)
        return fetch(row, feature)

    found = two.predict_lazily(fetch_slowly if slow else fetch, range(20), **options)
    assert set(found.failed) == {5, 7}
    assert isinstance(found.failed[5], OSError)
    assert "finite" in str(found.failed[7])
    assert found.label.mask.nonzero()[0].tolist() == [5, 7]
    assert not found.certified[[5, 6, 7]].any()
    others = [row for row in range(20) if row not in (5, 6, 7)]
    np.testing.assert_array_equal(found.label[others], two.predict(rows_of_two[:20])[others])


def test_a_record_with_gaps_where_nothing_is_needed_is_as_good_as_a_whole_one(two, rows_of_two):
    stages = np.split(two.plan_.order, two.plan_.checkpoints)

    def fetch(row, feature):
        gaps = {name: None if name < "f5" else float("nan") for name in NAMES}
        looked_at = next((stage for stage in stages if NAMES.index(feature) in stage), [])
        together = [feature, *(NAMES[j] for j in looked_at)]
        return {**gaps, **rows_of_two.loc[row, together].to_dict()}

    found = two.predict_lazily(fetch, range(50))
    check(found, two, rows_of_two, 50)


def test_a_margin_that_overflows_belongs_to_its_row(two, rows_of_two):
    coef = two.plan_.coef[0]

    def fetch(row, feature):
        j = NAMES.index(feature)
        return 1.7e308 * np.sign(coef[j]) * (-1) ** j if row == 3 else rows_of_two.loc[row, feature]

    found = two.predict_lazily(fetch, range(10))
    assert set(found.failed) <= {3}
    others = [row for row in range(10) if row != 3]
    np.testing.assert_array_equal(found.label[others], two.predict(rows_of_two[:10])[others])


def test_when_one_call_is_cancelled_no_other_goes_on(two, rows_of_two):
    calls = []

    async def fetch(row, feature):
        calls.append(row)
        await asyncio.sleep(0.001)
        if row == 5:
            raise asyncio.CancelledError
        return rows_of_two.loc[row, feature]

    async def main():
        with pytest.raises(asyncio.CancelledError):
            await two.predict_lazily_async(fetch, range(100), concurrency=4)
        before = len(calls)
        await asyncio.sleep(0.05)
        return before

    assert asyncio.run(main()) == len(calls)


def ways(fetch, pause=0.0):
    """Return the same fetcher for both drivers, and the options that go with each."""

    def in_threads(row, feature):
        time.sleep(pause)
        return fetch(row, feature)

    async def in_tasks(row, feature):
        await asyncio.sleep(pause)
        return fetch(row, feature)

    return {"alone": (in_threads, 1), "threads": (in_threads, 4), "tasks": (in_tasks, 4)}


WAYS = list(ways(None))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("batch", [None, 5])
def test_rows_are_taken_when_they_can_be_served_and_in_the_callers_thread(two, rows_of_two, way, batch):
    begun, ahead, threads = set(), [], set()

    def rows():
        for row in range(100):
            ahead.append(row - len(begun))
            threads.add(threading.get_ident())
            yield row

    def fetch(asked, feature):
        begun.update([asked] if batch is None else asked)
        values = rows_of_two.loc[asked, feature]
        return values if batch is None else values.tolist()

    fetcher, concurrency = ways(fetch, 0.001)[way]
    found = two.predict_lazily(fetcher, rows(), concurrency=concurrency, batch=batch)
    check(found, two, rows_of_two)
    assert max(ahead) < concurrency * (batch or 1)
    assert threads == {threading.get_ident()}


def test_results_are_in_the_order_of_the_rows_whichever_ends_first(two, rows_of_two):
    def fetch(row, feature):
        time.sleep(0.03 if row in (0, 50) else 0)
        return rows_of_two.loc[row, feature]

    async def fetch_slowly(row, feature):
        await asyncio.sleep(0.03 if row in (0, 50) else 0)
        return rows_of_two.loc[row, feature]

    for fetcher in (fetch, fetch_slowly):
        check(two.predict_lazily(fetcher, range(100), concurrency=4), two, rows_of_two)


@pytest.mark.parametrize("way", WAYS)
def test_what_goes_wrong_in_the_rows_themselves_is_raised_and_nothing_goes_on(two, rows_of_two, way):
    calls = []

    def rows():
        yield from range(10)
        raise OSError("the table is gone")

    def fetch(row, feature):
        calls.append(row)
        return rows_of_two.loc[row, feature]

    fetcher, concurrency = ways(fetch, 0.001)[way]
    with pytest.raises(OSError, match="the table is gone"):
        two.predict_lazily(fetcher, rows(), concurrency=concurrency)
    before = len(calls)
    time.sleep(0.05)
    assert len(calls) == before


@pytest.mark.parametrize(
    ("way", "interruption"), [(way, KeyboardInterrupt) for way in WAYS[:2]] + [("tasks", asyncio.CancelledError)]
)
def test_an_interruption_ends_even_an_endless_stream(two, rows_of_two, way, interruption):
    calls = []

    def fetch(row, feature):
        calls.append(row)
        if row == 20:
            raise interruption
        return rows_of_two.loc[row, feature]

    fetcher, concurrency = ways(fetch, 0.001)[way]
    with pytest.raises(interruption):
        two.predict_lazily(fetcher, itertools.cycle(range(1000)), concurrency=concurrency)
    before = len(calls)
    time.sleep(0.05)
    assert len(calls) == before
    assert max(calls) < 20 + 5 * concurrency


def test_an_interruption_of_the_caller_ends_what_the_threads_do(two, rows_of_two):
    calls = []

    def rows():
        yield from range(20)
        raise KeyboardInterrupt  # as when somebody presses Ctrl+C while the caller waits

    def fetch(row, feature):
        calls.append(row)
        time.sleep(0.01)
        return rows_of_two.loc[row, feature]

    with pytest.raises(KeyboardInterrupt):
        two.predict_lazily(fetch, rows(), concurrency=4)
    asked = two.predict_lazily(fetch, range(20)).n_asked.sum()
    assert len(calls) < 2 * asked


def test_answers_of_the_wrong_shape_fail_their_rows_with_the_reason(two):
    found = two.predict_lazily(lambda rows, feature: [0.0], range(4), batch=4)
    assert "must return as many values" in str(found.failed[0])
    found = two.predict_lazily(lambda row, feature: {"other": 1.0}, range(2))
    assert "without it" in str(found.failed[1])


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"concurrency": 1.5}, {"batch": 0}, {"batch": True}])
def test_impossible_numbers_of_calls_are_refused(options, two):
    with pytest.raises(ValueError, match="at least 1"):
        two.predict_lazily(lambda row, feature: 0.0, range(3), **options)


def test_no_rows_give_an_empty_reading(two):
    found = two.predict_lazily(lambda row, feature: 0.0, [])
    assert len(found) == 0
    assert found.label.dtype == two.classes_.dtype


def test_a_fetched_value_outside_of_what_was_seen_is_not_certified(two, rows_of_two):
    rows = np.flatnonzero(seen(two, rows_of_two))[:20]
    first = NAMES[int(two.plan_.order[0])]
    strange = {int(rows[3]): 1e6, int(rows[7]): -1e6}
    found = two.predict_lazily(
        lambda row, feature: (
            strange.get(row, rows_of_two.loc[row, first]) if feature == first else rows_of_two.loc[row, feature]
        ),
        rows.tolist(),
    )
    assert np.flatnonzero(~found.certified).tolist() == [3, 7]

"""Lazy prediction: features are fetched when the inquiry of their row wants them."""

import asyncio
import threading
import time
from itertools import accumulate

import attended
import attended_trees
import numpy as np
import pytest

from saccade import Watch
from saccade.exceptions import PromiseBrokenError, PromiseBrokenWarning

KINDS = ["two classes", "four classes", "groups", "lightgbm, gaps", "lightgbm, groups"]
ways = pytest.mark.parametrize(("way", "concurrency"), [("fetch", 1), ("fetch", 4), ("fetch_async", 8)])


def made(name):
    attentive, rows = (attended if name in attended.MODELS else attended_trees).attended(name)
    return attentive, rows[:60]


class Store:
    """A table whose values are fetched, some of them slowly; other answers may be given by row or by cell."""

    def __init__(self, rows, answers=None):
        self.rows, self.answers, self.calls, self.running = rows, answers or {}, [], [0]

    def begin(self, *call):
        self.calls.append(call)
        self.running.append(1)
        return 0.002 if call[0] % 7 == 0 else 0

    def end(self, *call):
        self.running.append(-1)
        given = self.answers.get(call, self.answers.get(call[0], self.rows.loc[call]))
        if isinstance(given, BaseException):
            raise given
        return given

    def fetch(self, row, feature):
        time.sleep(self.begin(row, feature))
        return self.end(row, feature)

    async def fetch_async(self, row, feature):
        await asyncio.sleep(self.begin(row, feature))
        return self.end(row, feature)


@ways
@pytest.mark.parametrize("name", KINDS)
def test_results_are_those_of_inquiries_and_nothing_is_fetched_twice(name, way, concurrency):
    attentive, rows = made(name)
    store, inquiries = Store(rows), [attended.answer(attentive.inquire(), rows.loc[row]) for row in range(60)]

    def coming():
        for row in range(60):
            assert row - len(dict(store.calls)) <= concurrency, "rows are not read ahead of their calls"
            assert threading.current_thread() is threading.main_thread()
            yield row

    found = attentive.predict_lazily(getattr(store, way), coming(), concurrency=concurrency)
    for result in ("label", "margin", "spent", "certified"):
        np.testing.assert_array_equal(getattr(found, result), [getattr(inquiry, result) for inquiry in inquiries])
    assert found.n_asked.tolist() == [len(inquiry.asked) for inquiry in inquiries]
    assert found.failed == {}
    assert len(store.calls) == len(set(store.calls)) == found.n_asked.sum()
    assert min(concurrency, 2) <= max(accumulate(store.running)) <= concurrency


def test_coroutines_are_awaited_in_a_running_event_loop():
    attentive, rows = made("two classes")
    store = Store(rows)

    async def main():
        with pytest.raises(RuntimeError, match="predict_lazily_async"):
            attentive.predict_lazily(store.fetch_async, range(3))
        with pytest.raises(TypeError, match="coroutine function"):
            await attentive.predict_lazily_async(store.fetch, range(3))
        for predictor in (attentive, Watch(attentive, share=0.0)):
            found = await predictor.predict_lazily_async(store.fetch_async, range(60), concurrency=20)
            np.testing.assert_array_equal(found.label, attentive.predict(rows))

    asyncio.run(main())


@pytest.mark.parametrize("name", ["groups", "lightgbm, groups"])
def test_a_record_may_have_more_features_and_gaps_where_nothing_is_needed(name):
    attentive, rows = made(name)
    groups = (attended if name == "groups" else attended_trees).GROUPS.values()
    inquiries = [attended.answer(attentive.inquire(), rows.loc[row]) for row in range(60)]

    def record(row, feature):
        together = next((members for members in groups if feature in members), [feature])
        gaps = dict.fromkeys(set(rows) - set(inquiries[row].asked))
        return {"id": row} | gaps | rows.loc[row, together].to_dict()

    store = Store(rows, {(row, feature): record(row, feature) for row in range(60) for feature in rows})
    found = attentive.predict_lazily(store.fetch, range(60))
    assert found.failed == {}
    assert found.label.tolist() == [inquiry.label for inquiry in inquiries]
    assert found.spent.tolist() == [inquiry.spent for inquiry in inquiries]
    assert len(store.calls) < sum(len(inquiry.asked) for inquiry in inquiries), "groups are fetched at once"


@ways
def test_a_failure_masks_the_label_of_its_row_and_others_go_on(way, concurrency):
    attentive, rows = made("two classes")
    store = Store(rows, {5: OSError("no answer"), 6: None, 7: np.nan, 8: {"other": 1.0}})
    found = attentive.predict_lazily(getattr(store, way), range(20), concurrency=concurrency)
    assert {row: type(error) for row, error in found.failed.items()} == {5: OSError, 7: ValueError, 8: KeyError}
    assert np.flatnonzero(found.label.mask).tolist() == np.flatnonzero(np.isnan(found.margin)).tolist() == [5, 7, 8]
    assert not found.certified[[5, 6, 7, 8]].any()
    others = np.setdiff1d(range(20), [5, 6, 7, 8])
    np.testing.assert_array_equal(found.label[others], attentive.predict(rows)[others])


@ways
@pytest.mark.parametrize("interrupted", ["rows", "fetch"])
def test_an_interruption_gets_out_and_ends_all_calls(way, concurrency, interrupted):
    attentive, rows = made("two classes")

    def coming():
        yield from range(20)
        if interrupted == "rows":
            raise KeyboardInterrupt

    store = Store(rows, {10: KeyboardInterrupt()} if interrupted == "fetch" else None)
    with pytest.raises(KeyboardInterrupt):
        attentive.predict_lazily(getattr(store, way), coming(), concurrency=concurrency)
    count = len(store.calls)
    time.sleep(0.02)
    assert len(store.calls) == count


def test_concurrency_is_a_positive_integer_and_rows_may_be_none():
    attentive, rows = made("four classes")
    for concurrency in (0, 1.5, True):
        with pytest.raises(ValueError, match="at least 1"):
            attentive.predict_lazily(Store(rows).fetch, [], concurrency=concurrency)
    found = attentive.predict_lazily(Store(rows).fetch, [])
    assert (found.label.dtype, found.margin.shape) == (attentive.classes_.dtype, (0, 4))


@ways
@pytest.mark.parametrize("name", KINDS[:-1])
def test_audited_rows_of_a_watch_have_the_label_of_the_full_model(name, way, concurrency):
    attentive, rows = made(name)
    early, full = attentive.predict_lazily(Store(rows).fetch, range(60)), attentive.estimator_.predict(rows)
    watch, store = Watch(attentive, share=0.3, random_state=1), Store(rows)
    found = watch.predict_lazily(getattr(store, way), range(60), concurrency=concurrency)
    audited = found.audited
    assert 5 < audited.sum() < 40
    np.testing.assert_array_equal(audited, Watch(attentive, share=0.3, random_state=1).read(rows).audited)
    np.testing.assert_array_equal(found.label, np.where(audited, full, early.label))
    np.testing.assert_array_equal(found.n_asked[~audited], early.n_asked[~audited])
    assert name not in attended.MODELS or (found.n_asked[audited] == attended.N).all()
    assert len(store.calls) == len(set(store.calls)) == found.n_asked.sum()
    assert watch.audit_spent == found.audit_spent == pytest.approx((found.spent - early.spent).sum())
    assert (watch.n_rows, watch.n_audited, watch.n_incomparable) == (60, audited.sum(), 0)
    assert watch.n_disagreements == (early.label != full)[audited].sum()


def test_audited_rows_that_fail_or_lack_a_value_are_not_compared():
    attentive, rows = made("two classes")
    first, last = (rows.columns[attentive.plan_.order[place]] for place in (0, -1))
    gone = ConnectionError("gone")
    store, watch = Store(rows, {(0, first): gone, (1, last): gone, (2, last): None}), Watch(attentive, share=1.0)
    found = watch.predict_lazily(store.fetch, range(20))
    assert list(found.failed) == [0]
    assert found.audited.tolist() == [False] * 3 + [True] * 17
    assert (watch.n_incomparable, watch.n_audited) == (3, 17)
    np.testing.assert_array_equal(found.label[1:3], attentive.predict(rows)[1:3])


def test_after_a_broken_promise_every_row_is_read_in_full_or_refused():
    attentive, rows = attended.attended("two classes")
    full, fetch = attentive.estimator_.predict(rows), Store(rows).fetch
    wrong = np.flatnonzero(attentive.predict(rows) != full).tolist()
    read, refuse = (Watch(attentive, share=0.7, on_broken=way, random_state=1) for way in ("read", "raise"))
    with pytest.warns(PromiseBrokenWarning):
        read.predict_lazily(fetch, wrong)
    assert (read.predict_lazily(fetch, range(40)).n_asked == attended.N).all()
    with pytest.raises(PromiseBrokenError) as raised:
        refuse.predict_lazily(fetch, wrong)
    np.testing.assert_array_equal(raised.value.reading.label == full[wrong], raised.value.reading.audited)
    with pytest.raises(PromiseBrokenError):
        refuse.predict_lazily(fetch, range(40))

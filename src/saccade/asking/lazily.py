"""Predict rows whose features are fetched one by one, by a plain or an asynchronous function.

Each row is an inquiry. A generator decides what to fetch next, and a small driver for each kind of function fetches it.
"""

import asyncio
import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from threading import Semaphore
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.asking.inquiry import Inquiry, Questions
from saccade.planning.prices import Feature
from saccade.reading.progress import Progress

__all__ = ["Asked", "Fetch", "LazyReading", "Start", "ask_all", "ask_all_async", "lazy_reading"]

Fetch = Callable[[Any, Feature], Any]


@dataclass(frozen=True, eq=False)
class LazyReading:
    """The result of rows that were fetched lazily: one entry per row; the labels of failed rows are masked.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from saccade import AttentiveClassifier
    >>> X, y = make_classification(4000, 20, n_informative=6, random_state=0)
    >>> attentive = AttentiveClassifier(delta=0.1, random_state=0).fit(X, y)
    >>> found = attentive.predict_lazily(lambda row, feature: X[row, feature], range(50))
    >>> bool((found.label == attentive.predict(X[:50])).all()), bool(found.n_asked.mean() < 10), found.failed
    (True, True, {})
    """

    label: NDArray[Any]  #: of each row
    margin: NDArray[np.float64]  #: at the stop
    n_asked: NDArray[np.int64]  #: number of features asked for
    spent: NDArray[np.float64]  #: their cost
    certified: NDArray[np.bool_]  #: whether the certificate covers the label
    failed: dict[int, Exception]  #: errors by row number

    def __len__(self) -> int:
        return len(self.label)


class Result(NamedTuple):
    """The result of one inquiry: far less than the inquiry holds."""

    label: Any
    margin: float | NDArray[np.float64]
    n_asked: int
    spent: float
    certified: bool
    lacked: bool  # whether a value that was needed could not be had

    @classmethod
    def of(cls, inquiry: Inquiry) -> "Result":
        lacked = inquiry.lacked
        return cls(inquiry.label, inquiry.margin, len(inquiry.asked), inquiry.spent, inquiry.certified, lacked)


class Asked(NamedTuple):
    """The results of one row: by the plan and, if it was audited and all features could be fetched, by all of them."""

    early: Result
    full: Result | None
    error: Exception | None

    @property
    def decided(self) -> Result:
        """The result that counts: by all features if none of them lacks."""
        return self.early if self.full is None or self.full.lacked else self.full


class Start(NamedTuple):
    """How the inquiries of one row begin."""

    early: Questions
    full: Questions | None = None  # if the row is audited


def _converse(start: Start) -> Generator[Feature, Any, Asked]:
    """Yield features to fetch for one row, and receive their values."""
    inquiry, answers = Inquiry(start.early), dict[Feature, Any]()
    try:
        yield from _ask(inquiry, answers)
    except Exception as error:
        return Asked(Result.of(inquiry), None, error)
    early = Result.of(inquiry)
    if start.full is None:
        return Asked(early, None, None)
    try:
        inquiry = Inquiry(start.full, known=answers)
        yield from _ask(inquiry, answers)
    except Exception:  # the early label stands
        return Asked(early, None, None)
    return Asked(early, Result.of(inquiry), None)


def _ask(inquiry: Inquiry, answers: dict[Feature, Any]) -> Generator[Feature, Any, None]:
    while (feature := inquiry.wanted) is not None:
        answer = yield feature
        if isinstance(answer, Mapping):  # a record may have more features than the one that was asked for
            if feature not in answer:
                raise KeyError(f"fetch was asked for {feature!r} and returned a record without it")
            told = inquiry.new_in(answer)
        else:
            told = {feature: answer}
        inquiry.tell_many(told)
        answers |= told


def _fetch_row(fetch: Fetch, row: Any, start: Start) -> Asked:
    conversation = _converse(start)
    try:
        feature = next(conversation)
        while True:
            try:
                answer = fetch(row, feature)
            except Exception as error:
                feature = conversation.throw(error)
            else:
                feature = conversation.send(answer)
    except StopIteration as finished:
        asked: Asked = finished.value
        return asked


async def _fetch_row_async(fetch: Fetch, row: Any, start: Start) -> Asked:
    conversation = _converse(start)
    try:
        feature = next(conversation)
        while True:
            try:
                answer = await fetch(row, feature)
            except Exception as error:
                feature = conversation.throw(error)
            else:
                feature = conversation.send(answer)
    except StopIteration as finished:
        asked: Asked = finished.value
        return asked


def ask_all(fetch: Fetch, rows: Iterable[Any], concurrency: int, start: Callable[[], Start]) -> list[Asked]:
    """Fetch rows by a plain function, in as many threads as there may be calls at once, or by a coroutine function.

    ``start`` is called once a row, in the order of the rows. Rows are taken in this thread, as a database cursor may
    demand, and only when a thread is free.
    """
    _check(concurrency)
    if _is_asynchronous(fetch):
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(ask_all_async(fetch, rows, concurrency, start))
        raise RuntimeError("An event loop is running: use 'await ... .predict_lazily_async(fetch, rows)' in it.")
    with Progress("rows") as progress:

        def work(row: Any, begins: Start) -> Asked:
            try:
                return _fetch_row(fetch, row, begins)
            finally:
                progress.advance(1)
                free.release()

        free, tasks = Semaphore(concurrency), []
        if concurrency == 1:
            return [work(row, start()) for row in rows]
        with ThreadPoolExecutor(concurrency) as pool:
            try:
                for row in rows:
                    free.acquire()
                    tasks.append(pool.submit(work, row, start()))
                return [task.result() for task in tasks]
            except BaseException:  # the caller was interrupted, or there are no more rows because of an error
                pool.shutdown(wait=False, cancel_futures=True)
                raise


async def ask_all_async(fetch: Fetch, rows: Iterable[Any], concurrency: int, start: Callable[[], Start]) -> list[Asked]:
    """Fetch rows by a coroutine function."""
    _check(concurrency)
    if not _is_asynchronous(fetch):
        raise TypeError("predict_lazily_async needs a coroutine function (async def); predict_lazily takes others.")
    free, tasks = asyncio.Semaphore(concurrency), list[asyncio.Task[Asked]]()
    with Progress("rows") as progress:

        async def work(row: Any, begins: Start) -> Asked:
            try:
                return await _fetch_row_async(fetch, row, begins)
            finally:
                progress.advance(1)
                free.release()

        try:
            for row in rows:
                await free.acquire()
                tasks.append(asyncio.ensure_future(work(row, start())))
            return await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise


def _is_asynchronous(fetch: Any) -> bool:
    """Return whether a function must be awaited."""
    return inspect.iscoroutinefunction(fetch) or inspect.iscoroutinefunction(getattr(fetch, "__call__", None))  # noqa: B004


def _check(concurrency: Any) -> None:
    if isinstance(concurrency, bool) or not isinstance(concurrency, Integral) or concurrency < 1:
        raise ValueError(f"concurrency={concurrency!r}: expected an integer of at least 1.")


def lazy_reading(classes: NDArray[Any], asked: list[Asked]) -> LazyReading:
    """Return the results of all rows."""
    decided = [row.decided for row in asked]
    failed = {number: row.error for number, row in enumerate(asked) if row.error is not None}
    label = np.array([classes[0] if one.label is None else one.label for one in decided], dtype=classes.dtype)
    if failed:
        label = np.ma.array(label, mask=np.isin(np.arange(len(asked)), list(failed)))
    counted = [[row.early] if row.full is None else [row.early, row.full] for row in asked]
    shape = () if classes.size == 2 else classes.shape
    margins = [np.full(shape, np.nan) if number in failed else one.margin for number, one in enumerate(decided)]
    return LazyReading(
        label=label,
        margin=np.array(margins, dtype=np.float64).reshape(len(asked), *shape),
        n_asked=np.array([sum(one.n_asked for one in each) for each in counted], dtype=np.int64),
        spent=np.array([sum(one.spent for one in each) for each in counted], dtype=np.float64),
        certified=np.array([one.certified and n not in failed for n, one in enumerate(decided)], dtype=np.bool_),
        failed=failed,
    )

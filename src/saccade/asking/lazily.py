"""Many rows whose features are fetched only when they are wanted, by a plain or an asynchronous function.

What to fetch next is decided apart from how it is fetched: ``_converse`` yields requests and is sent the answers, and
two small drivers serve such conversations: with plain functions, in threads, and with coroutines.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.asking.inquiry import Inquiry, Questions
from saccade.planning.prices import Feature
from saccade.reading.progress import Progress

__all__ = ["Fetch", "LazyReading", "is_asynchronous", "read_lazily", "read_lazily_async"]

Fetch = Callable[[Any, Feature], Any]


@dataclass(frozen=True, eq=False)
class LazyReading:
    """What came of rows that were fetched lazily: one entry per row; labels of rows that failed are masked.

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
    n_asked: NDArray[np.int64]  #: how many features were asked for
    spent: NDArray[np.float64]  #: what they cost
    certified: NDArray[np.bool_]  #: whether the certificate covers the label
    failed: dict[int, Exception]  #: what went wrong, by the number of the row

    def __len__(self) -> int:
        return len(self.label)


@dataclass(frozen=True)
class _Row:
    """A row in the middle of its inquiry, or what went wrong."""

    number: int
    row: Any
    inquiry: Inquiry
    error: list[Exception]


@dataclass(frozen=True)
class _Request:
    """A feature that some rows of a block want."""

    rows: tuple[_Row, ...]
    feature: Feature


@dataclass(frozen=True)
class _Result:
    """What came of one row: far less than its inquiry holds."""

    number: int
    label: Any
    margin: Any
    n_asked: int
    spent: float
    certified: bool
    error: Exception | None


# Yields what the rows of a block want, and is sent the answers: for each request, one for each of its rows.
_Conversation = Generator[list[_Request], list[list[Any]] | None, None]


def read_lazily(
    questions: Questions, fetch: Fetch, rows: Iterable[Any], *, concurrency: int, batch: int | None
) -> LazyReading:
    """Read rows with a plain function, in as many threads as there may be calls at once, or with a coroutine one."""
    if is_asynchronous(fetch):
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(read_lazily_async(questions, fetch, rows, concurrency=concurrency, batch=batch))
        raise RuntimeError("An event loop is running: use 'await attentive.predict_lazily_async(fetch, rows)' in it.")
    _check(concurrency, batch)
    results: list[_Result] = []
    with Progress("rows") as progress:
        _in_threads(_conversations(questions, rows, batch, results, progress), fetch, concurrency, batch)
    return _reading(questions, results)


async def read_lazily_async(
    questions: Questions, fetch: Fetch, rows: Iterable[Any], *, concurrency: int, batch: int | None
) -> LazyReading:
    """Read rows with a coroutine function, with so many calls at once."""
    _check(concurrency, batch)
    if not is_asynchronous(fetch):
        raise TypeError(
            "predict_lazily_async needs a coroutine function (async def); predict_lazily takes a plain one."
        )
    results: list[_Result] = []
    with Progress("rows") as progress:
        await _in_tasks(_conversations(questions, rows, batch, results, progress), fetch, concurrency, batch)
    return _reading(questions, results)


def _conversations(
    questions: Questions, rows: Iterable[Any], batch: int | None, results: list[_Result], progress: Progress
) -> Iterator[_Conversation]:
    """Yield one conversation for each block of rows; a block is taken from ``rows`` when its conversation is."""
    numbered = iter(enumerate(rows))
    while block := [_Row(number, row, Inquiry(questions), []) for number, row in islice(numbered, batch or 1)]:
        yield _converse(block, results, progress)


def _converse(block: list[_Row], results: list[_Result], progress: Progress) -> _Conversation:
    """Yield what the rows of a block want until every one is decided or has failed, then add what came of them."""
    while wanted := _wanted(block):
        answers = yield wanted
        told: dict[int, dict[Feature, Any]] = {}
        for request, answered in zip(wanted, answers or [], strict=True):
            for row, answer in zip(request.rows, answered, strict=True):
                told.setdefault(row.number, {})[request.feature] = answer
        for row in block:
            if row.number in told:
                _tell(row, told[row.number])
    results.extend([_result(row) for row in block])
    progress.advance(len(block))


def _wanted(block: list[_Row]) -> list[_Request]:
    wanted: dict[Feature, list[_Row]] = {}
    for row in block:
        if not row.error:
            for feature in row.inquiry.purchases:
                wanted.setdefault(feature, []).append(row)
    return [_Request(tuple(rows), feature) for feature, rows in wanted.items()]


def _in_threads(conversations: Iterator[_Conversation], fetch: Fetch, concurrency: int, batch: int | None) -> None:
    """Serve conversations with a plain function, several at once, or one after another without a thread.

    Rows are taken in the caller's thread, which a database cursor may demand, and only when one is free to serve them.
    """
    broken = threading.Event()

    def serve(conversation: _Conversation) -> None:
        answers: list[list[Any]] | None = None
        with suppress(StopIteration):
            while not broken.is_set():
                answers = [_attempt(fetch, request, batch) for request in conversation.send(answers)]

    if concurrency == 1:
        for conversation in conversations:
            serve(conversation)
        return
    free, interruptions = threading.Semaphore(concurrency), []

    def work(conversation: _Conversation) -> None:
        try:
            serve(conversation)
        except BaseException as error:  # an interruption: exceptions belong to their rows
            broken.set()
            interruptions.append(error)
        finally:
            free.release()

    with ThreadPoolExecutor(concurrency) as pool:
        try:
            free.acquire()
            for conversation in conversations:
                pool.submit(work, conversation)
                free.acquire()
                if broken.is_set():
                    break
            for _ in range(concurrency - 1):  # until nothing is served any more
                free.acquire()
        except BaseException:  # the caller was interrupted, or rows could not be had
            broken.set()
            raise
    if interruptions:
        raise interruptions[0]


async def _in_tasks(conversations: Iterator[_Conversation], fetch: Fetch, concurrency: int, batch: int | None) -> None:
    """Serve conversations with a coroutine function, several at once."""
    calls = asyncio.Semaphore(concurrency)

    async def attempt(request: _Request) -> list[Any]:
        async with calls:
            try:
                return _by_row(await _call(fetch, request, batch), request, batch)
            except Exception as error:
                return [error] * len(request.rows)

    async def work() -> None:
        for conversation in conversations:
            answers: list[list[Any]] | None = None
            with suppress(StopIteration):
                while True:
                    answers = await _together([attempt(request) for request in conversation.send(answers)])

    await _together([work() for _ in range(concurrency)])


async def _together(coroutines: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run coroutines at once; where one is cancelled or interrupted, the others do not go on."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def is_asynchronous(fetch: Any) -> bool:
    """Whether a function must be awaited."""
    return inspect.iscoroutinefunction(fetch) or inspect.iscoroutinefunction(getattr(fetch, "__call__", None))  # noqa: B004


def _check(concurrency: Any, batch: Any) -> None:
    for name, value in (("concurrency", concurrency), ("batch", batch)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
            raise ValueError(f"{name}={value!r}: expected an integer of at least 1.")


def _tell(row: _Row, answers: dict[Feature, Any]) -> None:
    """Tell a row what was fetched for it; a record may bring more features than the one that was wanted."""
    values: dict[Feature, Any] = {}
    try:
        for feature, answer in answers.items():
            if isinstance(answer, Exception):
                raise answer
            if isinstance(answer, Mapping):
                if feature not in answer:
                    raise KeyError(f"fetch was asked for {feature!r} and returned a record without it")
                values |= row.inquiry.new_in(answer)
            else:
                values[feature] = answer
        row.inquiry.tell_many(values)
    except Exception as error:
        row.error.append(error)


def _call(fetch: Fetch, request: _Request, batch: int | None) -> Any:
    rows = [row.row for row in request.rows]
    return fetch(rows[0] if batch is None else rows, request.feature)


def _attempt(fetch: Fetch, request: _Request, batch: int | None) -> list[Any]:
    try:
        return _by_row(_call(fetch, request, batch), request, batch)
    except Exception as error:
        return [error] * len(request.rows)


def _by_row(answer: Any, request: _Request, batch: int | None) -> list[Any]:
    if batch is None:
        return [answer]
    listed = hasattr(answer, "__len__") and not isinstance(answer, str | Mapping)
    if not listed or len(answer) != len(request.rows):
        raise ValueError(
            f"fetch was asked for {request.feature!r} of {len(request.rows)} rows and must return as many values, in "
            f"their order; got {answer!r:.80}."
        )
    return list(answer)


def _result(row: _Row) -> _Result:
    inquiry = row.inquiry
    if row.error:
        return _Result(row.number, None, np.nan, len(inquiry.asked), inquiry.spent, False, row.error[0])
    return _Result(
        row.number, inquiry.label, inquiry.margin, len(inquiry.asked), inquiry.spent, inquiry.certified, None
    )


def _reading(questions: Questions, results: list[_Result]) -> LazyReading:
    """Gather what came of all rows, in their order; a row that failed has a label that is masked."""
    rows = sorted(results, key=lambda row: row.number)
    failed = {row.number: row.error for row in rows if row.error is not None}
    labels = [questions.classes[0] if row.label is None else row.label for row in rows]
    label = np.array(labels, dtype=questions.classes.dtype)
    shape = () if questions.classes.size == 2 else questions.classes.shape
    if failed:
        label = np.ma.array(label, mask=np.isin(np.arange(len(rows)), list(failed)))
    return LazyReading(
        label=label,
        margin=np.array([np.broadcast_to(row.margin, shape) for row in rows], dtype=np.float64),
        n_asked=np.array([row.n_asked for row in rows], dtype=np.int64),
        spent=np.array([row.spent for row in rows], dtype=np.float64),
        certified=np.array([row.certified for row in rows], dtype=np.bool_),
        failed=failed,
    )

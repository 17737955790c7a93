"""Many rows whose features are fetched only when they are wanted, by a plain or an asynchronous function.

What to fetch next is decided apart from how it is fetched: ``_converse`` yields requests and is sent the answers, and
one small driver each serves plain functions, threads and coroutines.
"""

import asyncio
import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.asking.inquiry import Inquiry, Questions
from saccade.planning.prices import Feature
from saccade.reading.progress import Progress

__all__ = ["Fetch", "LazyReading", "read_lazily", "read_lazily_async"]

Fetch = Callable[[Any, Feature], Any]


@dataclass(frozen=True, eq=False)
class LazyReading:
    """What came of rows that were fetched lazily: one entry per row; labels of rows that failed are masked."""

    label: NDArray[Any]
    margin: NDArray[np.float64]
    n_asked: NDArray[np.int64]
    spent: NDArray[np.float64]
    certified: NDArray[np.bool_]
    failed: dict[int, Exception]  # by the number of the row

    def __len__(self) -> int:
        return len(self.label)


@dataclass(frozen=True)
class _Request:
    """A feature that some rows of a block want."""

    rows: tuple[int, ...]  # positions in the block
    feature: Feature


@dataclass(frozen=True)
class _Row:
    """A row in the middle of its inquiry, or what went wrong."""

    number: int
    row: Any
    inquiry: Inquiry
    error: list[Exception]


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


_Conversation = Generator[list[_Request], list[list[Any]], None]


def read_lazily(
    questions: Questions, fetch: Fetch, rows: Iterable[Any], *, concurrency: int, batch: int | None
) -> LazyReading:
    """Read rows with a plain function, in as many threads as there may be calls at once, or with a coroutine one."""
    if _is_asynchronous(fetch):
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(read_lazily_async(questions, fetch, rows, concurrency=concurrency, batch=batch))
        raise RuntimeError("An event loop is running: use 'await attentive.predict_lazily_async(fetch, rows)' in it.")
    _check(concurrency, batch)
    blocks = _blocks(rows, batch)
    with Progress("rows") as progress:

        def read(numbered: list[tuple[int, Any]]) -> list[_Result]:
            block = _begin(questions, numbered)
            conversation = _converse(block)
            requests = next(conversation, None)
            while requests is not None:
                answers = [_attempt(fetch, block, request, batch) for request in requests]
                requests = _send(conversation, answers)
            progress.advance(len(block))
            return [_result(row) for row in block]

        if concurrency == 1:
            return _reading(questions, [row for block in blocks for row in read(block)])
        with ThreadPoolExecutor(concurrency) as pool:
            return _reading(questions, [row for block in pool.map(read, blocks) for row in block])


async def read_lazily_async(
    questions: Questions, fetch: Fetch, rows: Iterable[Any], *, concurrency: int, batch: int | None
) -> LazyReading:
    """Read rows with a coroutine function, with so many calls at once."""
    _check(concurrency, batch)
    if not _is_asynchronous(fetch):
        raise TypeError(
            "predict_lazily_async needs a coroutine function (async def); predict_lazily takes a plain one."
        )
    blocks, calls = _blocks(rows, batch), asyncio.Semaphore(concurrency)
    done: list[_Result] = []
    with Progress("rows") as progress:

        async def answer(block: list[_Row], request: _Request) -> list[Any]:
            async with calls:
                try:
                    found = await _call(fetch, block, request, batch)
                    return _by_row(found, request, batch)
                except Exception as error:
                    return [error] * len(request.rows)

        async def work() -> None:
            for numbered in blocks:
                block = _begin(questions, numbered)
                conversation = _converse(block)
                requests = next(conversation, None)
                while requests is not None:
                    answers = await asyncio.gather(*(answer(block, request) for request in requests))
                    requests = _send(conversation, list(answers))
                done.extend(_result(row) for row in block)
                progress.advance(len(block))

        workers = [asyncio.ensure_future(work()) for _ in range(concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:  # where one was cancelled or interrupted, the others would go on
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
    return _reading(questions, sorted(done, key=lambda row: row.number))


def _is_asynchronous(fetch: Any) -> bool:
    return inspect.iscoroutinefunction(fetch) or inspect.iscoroutinefunction(getattr(fetch, "__call__", None))  # noqa: B004


def _check(concurrency: Any, batch: Any) -> None:
    for name, value in (("concurrency", concurrency), ("batch", batch)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
            raise ValueError(f"{name}={value!r}: expected an integer of at least 1.")


def _blocks(rows: Iterable[Any], batch: int | None) -> Iterator[list[tuple[int, Any]]]:
    """Return rows and their numbers: each alone, or as many together as a call may be about."""
    numbered = iter(enumerate(rows))
    while block := list(islice(numbered, batch or 1)):
        yield block


def _begin(questions: Questions, numbered: list[tuple[int, Any]]) -> list[_Row]:
    return [_Row(number, row, Inquiry(questions), []) for number, row in numbered]


def _converse(block: list[_Row]) -> _Conversation:
    """Yield what the rows of a block want, take the answers, and end when every row is decided or has failed."""
    while True:
        wanted: dict[Feature, list[int]] = {}
        for position, row in enumerate(block):
            if not row.error:
                for feature in row.inquiry.purchases:
                    wanted.setdefault(feature, []).append(position)
        if not wanted:
            return
        requests = [_Request(tuple(positions), feature) for feature, positions in wanted.items()]
        answers = yield requests
        told: dict[int, dict[Feature, Any]] = {}
        for request, found in zip(requests, answers, strict=True):
            for position, answer in zip(request.rows, found, strict=True):
                told.setdefault(position, {})[request.feature] = answer
        for position, values in told.items():
            _tell(block[position], values)


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


def _call(fetch: Fetch, block: list[_Row], request: _Request, batch: int | None) -> Any:
    rows = [block[position].row for position in request.rows]
    return fetch(rows[0] if batch is None else rows, request.feature)


def _attempt(fetch: Fetch, block: list[_Row], request: _Request, batch: int | None) -> list[Any]:
    try:
        return _by_row(_call(fetch, block, request, batch), request, batch)
    except Exception as error:
        return [error] * len(request.rows)


def _by_row(found: Any, request: _Request, batch: int | None) -> list[Any]:
    if batch is None:
        return [found]
    listed = hasattr(found, "__len__") and not isinstance(found, str | Mapping)
    if not listed or len(found) != len(request.rows):
        raise ValueError(
            f"fetch was asked for {request.feature!r} of {len(request.rows)} rows and must return as many values, in "
            f"their order; got {found!r:.80}."
        )
    return list(found)


def _send(conversation: _Conversation, answers: list[list[Any]]) -> list[_Request] | None:
    try:
        return conversation.send(answers)
    except StopIteration:
        return None


def _result(row: _Row) -> _Result:
    one = row.inquiry
    if row.error:
        return _Result(row.number, None, np.nan, len(one.asked), one.spent, False, row.error[0])
    return _Result(row.number, one.label, one.margin, len(one.asked), one.spent, one.certified, None)


def _reading(questions: Questions, rows: list[_Result]) -> LazyReading:
    """Gather what came of all rows; a row that failed has a label that is masked."""
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

"""Serve a certified model over HTTP: requests are read together, and a watch says whether the promise still holds.

``python examples/serving.py --port 8080 --model model.saccade --state watch.json`` serves a model until SIGTERM, and
then finishes what it has accepted. Without a model it makes one; without a port it only asks itself for some labels.
It needs ``pip install aiohttp pandas 'saccade[files]'``.

    curl localhost:8080/predict -d '[{"mean radius": 14.1, "mean texture": 19.3, ...}]'    {"labels": [1]}
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pandas as pd
from aiohttp import web
from feature_stores import patients

import saccade

LARGEST_BODY = 2**20
# What bodies that cannot be decompressed, bad JSON, bad rows and the model's own checks raise.
BAD_REQUEST = (web.RequestPayloadError, ValueError, TypeError, OverflowError, RecursionError)


class Batches:
    """Rows of requests that come within a moment of each other are predicted together, in a thread."""

    def __init__(self, predict: Callable, names: Sequence[str], rows=1000, wait=0.001, waiting=10_000) -> None:
        """Take how many rows are enough, how many seconds the first may wait for others, and how many may wait."""
        self.predict, self.names = predict, list(names)
        self.enough, self.wait, self.most_waiting, self.n_waiting = rows, wait, waiting, 0
        self.queue: asyncio.Queue = asyncio.Queue()

    async def labels(self, rows: list[list[Any]]) -> list[Any]:
        if self.n_waiting + len(rows) > self.most_waiting:
            raise web.HTTPServiceUnavailable(text="Too many rows are waiting.", headers={"Retry-After": "1"})
        self.n_waiting += len(rows)
        answer = asyncio.get_running_loop().create_future()
        self.queue.put_nowait((rows, answer))
        found = await answer
        if isinstance(found, Exception):
            raise found
        return found.tolist()

    async def run(self) -> None:
        while True:
            batch = [await self.queue.get()]
            with suppress(TimeoutError):
                async with asyncio.timeout(self.wait):
                    while sum(len(rows) for rows, _ in batch) < self.enough:
                        batch.append(await self.queue.get())
            found = await asyncio.to_thread(self._answers, [rows for rows, _ in batch])
            for (rows, answer), labels in zip(batch, found, strict=True):
                self.n_waiting -= len(rows)
                if not answer.done():  # or nobody waits for it any more
                    answer.set_result(labels)

    async def hurry(self, _: web.Application) -> None:
        """Let no request wait for others any more; one without rows wakes those that do."""
        self.enough = 0
        self.queue.put_nowait(([], asyncio.get_running_loop().create_future()))

    def _answers(self, requests: list[list[Any]]) -> list[Any]:
        """Return the labels of each request, or what is wrong with it; a bad one is parted from the others."""
        try:
            rows = [row for request in requests for row in request]
            labels = self.predict(pd.DataFrame(rows, columns=self.names)) if rows else np.array([])
            return np.split(labels, np.cumsum([len(request) for request in requests])[:-1])
        except Exception as error:
            if len(requests) == 1:
                return [error]
            half = len(requests) // 2
            return [*self._answers(requests[:half]), *self._answers(requests[half:])]


def rows_in(body: Any, names: Sequence[str]) -> list[list[Any]]:
    """Return the rows of a request, objects by column name or lists, as lists in the order of the names."""
    if not isinstance(body, list) or not body:
        raise ValueError("Send a list of rows: objects by column name, or lists.")
    for number, row in enumerate(body):
        if not isinstance(row, dict) and not (isinstance(row, list) and len(row) == len(names)):
            raise ValueError(f"Row {number} is neither an object by column name nor a list of {len(names)} values.")
        values = row if isinstance(row, dict) else dict(zip(names, row, strict=True))
        for name in names:
            if name not in values or isinstance(values[name], dict | list):
                raise ValueError(f"Row {number} has no plain value in column {name!r}.")
    return [[row[name] for name in names] if isinstance(row, dict) else row for row in body]


def app_of(watch: saccade.Watch, batches: Batches, state: Path | None = None) -> web.Application:
    """Return the service, which writes what the watch has counted to a file when it stops."""

    async def predict(request: web.Request) -> web.Response:
        try:
            rows = rows_in(await request.json(), batches.names)
            answer = web.json_response({"labels": await batches.labels(rows)})
            if not batches.enough:  # it is to stop: the client is told not to ask again over this connection
                answer.force_close()
            return answer
        except BAD_REQUEST as error:
            return web.json_response({"error": str(error)}, status=400)

    async def metrics(_: web.Request) -> web.Response:
        prometheus = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return web.Response(text=watch.metrics_text(), headers=prometheus)

    async def health(_: web.Request) -> web.Response:
        return web.json_response({"promise": watch.state, "rows": watch.n_rows, "waiting": batches.n_waiting})

    async def running(_: web.Application):
        task = asyncio.create_task(batches.run())
        yield
        task.cancel()
        if state is not None:  # whole or not at all
            scratch = state.with_name(f"{state.name}.new")
            scratch.write_text(watch.to_json())
            scratch.replace(state)

    app = web.Application(client_max_size=LARGEST_BODY)
    app.add_routes([web.post("/predict", predict), web.get("/metrics", metrics), web.get("/health", health)])
    app.cleanup_ctx.append(running)
    app.on_shutdown.append(batches.hurry)  # after which the requests that are being answered are waited for
    return app


@asynccontextmanager
async def listening(app: web.Application, port: int = 0):
    """Serve, give the address, and stop when the block is left."""
    runner = web.AppRunner(app, shutdown_timeout=20)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def serve(app: web.Application, port: int) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with listening(app, port) as address:
        print(f"Serving on {address}", flush=True)
        await stop.wait()


async def show(app: web.Application, rows: list[dict[str, Any]]) -> None:
    """Ask for the labels of all rows at once, each in a request of its own."""
    async with listening(app) as address, aiohttp.ClientSession(address, raise_for_status=True) as session:
        await asyncio.gather(*(session.post("/predict", json=[row]) for row in rows))
        async with session.get("/health") as response:
            print(f"{len(rows)} requests were answered; {await response.text()}")


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description="Serve a certified model over HTTP, on loopback.")
    parser.add_argument("--model", type=Path, help="a file that saccade.save wrote")
    parser.add_argument("--state", type=Path, help="where the watch's counts are kept from one start to the next")
    parser.add_argument("--share", type=float, default=0.01, help="of rows that are audited")
    parser.add_argument("--port", type=int, help="0 for any that is free")
    parser.add_argument("--rows", type=int, default=1000, help="that are enough for a batch")
    parser.add_argument("--wait", type=float, default=0.001, help="seconds that rows wait for others")
    parser.add_argument("--waiting", type=int, default=10_000, help="rows that may wait; beyond them it answers 503")
    given = parser.parse_args(arguments)
    if given.model is not None and given.port is None:
        parser.error("--model needs --port, for the rows that are shown without one are another model's")
    model, frame = patients() if given.model is None else (saccade.load(given.model), None)
    if given.state is not None and given.state.exists():
        watch = saccade.Watch.from_json(given.state.read_text(), model)
    else:
        watch = saccade.Watch(model, share=given.share, on_broken="read")
    batches = Batches(watch.predict, model.feature_names_in_, given.rows, given.wait, given.waiting)
    app = app_of(watch, batches, given.state)
    asyncio.run(show(app, frame.to_dict("records")) if given.port is None else serve(app, given.port))


if __name__ == "__main__":
    main(sys.argv[1:])

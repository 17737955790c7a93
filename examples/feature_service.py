"""Ask a feature service over HTTP, 50 ms a call, only for what the decisions need.

Run it with ``python examples/feature_service.py``, after ``pip install aiohttp``. The client that fetches everything
has as many calls in flight as the attentive one.
"""

import asyncio
import time
from dataclasses import dataclass

import aiohttp
import numpy as np
import pandas as pd
from aiohttp import web
from feature_stores import patients

SECONDS_PER_CALL = 0.05
CALLS_AT_ONCE = 16


@dataclass
class Service:
    """A feature service on loopback that takes its time, and counts its calls."""

    frame: pd.DataFrame
    seconds: float = SECONDS_PER_CALL
    calls: int = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.calls += 1
        await asyncio.sleep(self.seconds)
        value = self.frame.loc[int(request.match_info["row"]), request.match_info["feature"]]
        return web.json_response({"value": value})

    async def __aenter__(self) -> "Service":
        app = web.Application()
        app.router.add_get("/rows/{row}/{feature}", self.answer)
        self.runner = web.AppRunner(app)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.address = f"http://127.0.0.1:{self.runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.runner.cleanup()


async def compare(attentive, frame: pd.DataFrame, seconds: float = SECONDS_PER_CALL):
    """Return the attentive reading and both clients' calls and seconds: attentive, and everything."""
    async with Service(frame, seconds) as service, aiohttp.ClientSession() as session:

        async def fetch(row: int, feature: str) -> float:
            async with session.get(f"{service.address}/rows/{row}/{feature}") as response:
                return (await response.json())["value"]

        begun = time.perf_counter()
        found = await attentive.predict_lazily_async(fetch, range(len(frame)), concurrency=CALLS_AT_ONCE)
        ours = service.calls, time.perf_counter() - begun
        begun, at_once = time.perf_counter(), asyncio.Semaphore(CALLS_AT_ONCE)

        async def fetch_in_turn(row: int, feature: str) -> float:
            async with at_once:
                return await fetch(row, feature)

        await asyncio.gather(*(fetch_in_turn(row, feature) for row in frame.index for feature in frame.columns))
        return found, ours, (service.calls - ours[0], time.perf_counter() - begun)


def main() -> None:
    attentive, frame = patients()
    found, ours, everything = asyncio.run(compare(attentive, frame[:40]))
    agree = np.mean(found.label == attentive.estimator_.predict(frame[:40]))
    print(f"attentive:  {ours[0]:6,} calls, {ours[1]:6.2f} s; {100 * agree:.1f} % of the labels are the full model's")
    print(f"everything: {everything[0]:6,} calls, {everything[1]:6.2f} s")


if __name__ == "__main__":
    main()

"""Requests a second, and how long each takes, of the service in examples/serving.py on loopback.

Run with ``make bench-production``. A process of its own serves a pipeline over a table of texts and numbers: the
pipeline itself, request by request; the certified model with a watch, request by request; and the same in batches of
what comes within a millisecond. Clients send a row at a time, over connections that stay open. Every variant is loaded
in turn, several times, and medians are shown.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import asyncio
import json
import re
import sys
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np
from production import attended_table
from record import keep

from saccade import Watch

sys.path.append(str(Path(__file__).parent.parent / "examples"))

REQUESTS, TURNS = 1000, 3
VARIANTS = ("the pipeline itself, one by one", "attentive, one by one", "attentive, in batches")


def serve(variant, pipe):
    """Serve one variant until the pipe says so, in a process of its own."""
    from serving import Batches, app_of, listening

    attentive, rows = attended_table()
    watch = Watch(attentive, share=0.01, on_broken="read", random_state=0)
    predict = attentive.estimator_.predict if variant == VARIANTS[0] else watch.predict
    batches = Batches(predict, rows.columns, **({} if variant == VARIANTS[2] else {"rows": 1}))
    predict(rows[:1])  # compiles

    async def until_told():
        async with listening(app_of(watch, batches)) as address:
            pipe.send(address)
            await asyncio.to_thread(pipe.recv)

    asyncio.run(until_told())


@contextmanager
def served(variant):
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(variant, theirs))
    process.start()
    theirs.close()  # so that an end of the process is noticed
    try:
        yield int(ours.recv().rsplit(":", 1)[1])
    finally:
        ours.send("stop")
        process.join()


async def load(port, bodies, clients):
    """Send a request for each body, from so many clients at a time; return the requests a second, and seconds each."""
    seconds, left = [], iter(bodies)

    async def client():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in left:
            begun = perf_counter()
            writer.write(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            await reader.readexactly(int(re.search(rb"Content-Length: (\d+)", head)[1]))
            seconds.append(perf_counter() - begun)
        writer.close()

    begun = perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return len(seconds) / (perf_counter() - begun), np.array(seconds)


def main():
    rows = attended_table()[1][:REQUESTS]
    bodies = [json.dumps([row]).encode() for row in rows.to_dict("records")]
    with ExitStack() as running:
        ports = {variant: running.enter_context(served(variant)) for variant in VARIANTS}
        for clients in (1, 32, 256):
            found = {variant: [] for variant in VARIANTS}
            for variant in VARIANTS * TURNS:
                rate, each = asyncio.run(load(ports[variant], bodies, clients))
                found[variant].append([rate, *(1000 * np.quantile(each, [0.5, 0.99]))])
            print(f"\n{clients} clients, {REQUESTS:,} requests of a row, medians of {TURNS} turns")
            for variant in VARIANTS:
                rate, half, most = np.median(found[variant], axis=0)
                print(f"  {variant}: {rate:,.0f} requests/s; half within {half:.1f} ms, 99 % within {most:.1f} ms")
                keep("service", f"requests a second, {clients} clients: {variant}", rate)
                keep("service", f"99 % of requests take at most, {clients} clients: {variant}", most, unit="ms")


if __name__ == "__main__":
    main()

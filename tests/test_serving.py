"""The example of a service, as a process of its own on loopback: its answers, what it refuses, and how it stops."""

import asyncio
import importlib
import io
import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

import saccade

EXAMPLES = Path(__file__).parent.parent / "examples"
ENOUGH, WAITING = 40, 60
ATTEMPTS = 2000  # of what is polled, a few milliseconds each


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a model in a file, rows on which it agrees with the full model, and their labels."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        attentive, frame = importlib.import_module("feature_stores").patients()
    finally:
        sys.path.remove(str(EXAMPLES))
    path = tmp_path_factory.mktemp("served") / "model.saccade"
    saccade.save(attentive, path)
    labels = attentive.predict(frame)
    agreed = labels == attentive.estimator_.predict(frame)
    return path, attentive, frame[agreed].to_dict("records"), labels[agreed].tolist()


@contextmanager
def serving(*arguments):
    """Run the example; yield the process and its address."""
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "serving.py"), "--port", "0", *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, re.fullmatch(r"Serving on (http://127\.0\.0\.1:\d+)\n", process.stdout.readline())[1]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def post(session, **sent):
    async with session.post("/predict", **sent) as response:
        return response.status, response.headers, await response.text()


async def waiting(session, expected):
    """Wait until so many rows wait."""
    for _ in range(ATTEMPTS):
        async with session.get("/health") as response:
            told = await response.json()
        if told["waiting"] == expected:
            return told
        await asyncio.sleep(0.002)
    raise AssertionError(f"{told['waiting']} rows wait, and not {expected}.")


async def exercise(process, address, rows, labels, first):
    """Ask in every way; nothing is answered before a batch is full, or before the service is to stop."""
    async with aiohttp.ClientSession(address) as session:
        # A batch of requests by name and by place, of which one is bad: the others are answered.
        bodies = [[row] if k % 2 else [list(row.values())] for k, row in enumerate(rows[: ENOUGH - 3])]
        bad = [rows[0], rows[1], {**rows[2], first: "large"}]
        *good, wrong = await asyncio.gather(*(post(session, json=body) for body in [*bodies, bad]))
        assert [status for status, _, _ in good] == [200] * len(bodies)
        assert [json.loads(text)["labels"] for _, _, text in good] == [[label] for label in labels[: ENOUGH - 3]]
        assert wrong[0] == 400
        assert repr(first) in json.loads(wrong[2])["error"]

        # What is refused before it is read.
        for body, said in [
            ({}, "Send a list of rows"),
            ([], "Send a list of rows"),
            ([3], "Row 0 is neither"),
            ([[1.0, 2.0]], "a list of 30 values"),
            ([rows[0], {name: value for name, value in rows[1].items() if name != "mean area"}], "Row 1 .*'mean area'"),
            ([{**rows[0], "mean area": [1]}], "Row 0 .*'mean area'"),
        ]:
            status, _, text = await post(session, json=body)
            assert status == 400
            assert re.search(said, json.loads(text)["error"])
        assert (await post(session, data=b"[{"))[0] == 400
        assert (await post(session, data=b"[" * 100_000))[0] == 400
        for packing in ("gzip", "deflate"):  # which this body is not
            assert (await post(session, json=[rows[0]], headers={"Content-Encoding": packing}))[0] == 400
        assert (await post(session, data=io.BytesIO(b" " * (2**20 + 1))))[0] == 413

        async with session.get("/metrics") as response:
            assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            metrics = dict(line.rsplit(" ", 1) for line in (await response.text()).splitlines() if line[0] != "#")
        assert float(metrics["saccade_rows_total"]) == float(metrics["saccade_audited_rows_total"]) == len(bodies)
        assert await waiting(session, 0) == {"promise": "open", "rows": len(bodies), "waiting": 0}

        # Requests that wait when it is told to stop are answered; before that, what is too much is turned away.
        late = [asyncio.create_task(post(session, json=[row, row])) for row in rows[: ENOUGH // 2 - 1]]
        await waiting(session, ENOUGH - 2)
        status, headers, _ = await post(session, json=rows[: WAITING - ENOUGH + 3])
        assert (status, headers["Retry-After"]) == (503, "1")
        process.send_signal(signal.SIGTERM)
        answered = await asyncio.gather(*late)
        assert [status for status, _, _ in answered] == [200] * len(late)
        assert [json.loads(text)["labels"] for _, _, text in answered] == [[label] * 2 for label in labels[: len(late)]]
        assert {headers["Connection"] for _, headers, _ in answered} == {"close"}
    return len(bodies) + 2 * len(late)


def in_reading_order(attentive):
    return attentive.feature_names_in_[attentive._demanded()].tolist()


async def statuses(address, row, n):
    async with aiohttp.ClientSession(address) as session:
        return {(await post(session, json=[row]))[0] for _ in range(n)}


def test_the_same_row_gets_the_same_answer_whether_it_is_audited_or_not(made):
    path, attentive, rows, _ = made
    names = in_reading_order(attentive)
    with serving("--model", path, "--share", 0.3, "--rows", 1, "--wait", 0) as (_, address):
        assert asyncio.run(statuses(address, {**rows[0], names[0]: "large"}, 30)) == {400}
        assert asyncio.run(statuses(address, {**rows[0], names[-1]: "large"}, 30)) == {200}


def test_a_service_answers_refuses_and_stops_without_losing_a_request(made, tmp_path):
    path, attentive, rows, labels = made
    state = tmp_path / "watch.json"
    arguments = ["--model", path, "--state", state, "--share", 1, "--rows", ENOUGH, "--wait", 600, "--waiting", WAITING]
    with serving(*arguments) as (process, address):
        n_rows = asyncio.run(exercise(process, address, rows, labels, in_reading_order(attentive)[0]))
        assert process.wait(timeout=60) == 0
    kept = saccade.Watch.from_json(state.read_text(), attentive)
    assert (kept.n_rows, kept.n_audited) == (n_rows, n_rows)
    assert [path.name for path in tmp_path.iterdir()] == ["watch.json"]  # and nothing half-written
    importlib.import_module("serving").main(["--state", str(state)])  # the same model, and all rows of its own
    again = saccade.Watch.from_json(state.read_text(), attentive)
    assert again.n_rows == again.n_audited > n_rows + len(rows)

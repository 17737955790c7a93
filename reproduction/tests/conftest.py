"""One small run of all experiments, shared by all tests."""

import fcntl
import pickle

import pytest

from reproduction.experiments import Size, run_all
from reproduction.page import render

TINY = Size(permutations=1, walks=100, lengths=(64, 256, 1024), longest=13, images=10_000)


@pytest.fixture(scope="session")
def results(tmp_path_factory, worker_id):
    """All experiments at their smallest, on MNIST itself, run by the first worker that asks."""
    if worker_id == "master":
        return run_tiny()
    shared = tmp_path_factory.getbasetemp().parent / "experiments.pickle"
    with open(shared.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            shared.write_bytes(pickle.dumps(run_tiny()))
    return pickle.loads(shared.read_bytes())


@pytest.fixture(scope="session")
def html(results):
    return render(results)


@pytest.fixture(scope="session")
def address(html, tmp_path_factory):
    """The address of the page."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(html, encoding="utf-8")
    return path.as_uri()


def run_tiny(jobs=2):
    return run_all(1, TINY, jobs, lambda done, total: None)

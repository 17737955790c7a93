"""What several test files share: one small run of all experiments, and how hypothesis is run."""

import fcntl
import pickle
import shutil

import pytest
from hypothesis import settings

from saccade.study.experiments.reproduction import Size, run_all
from saccade.study.report import page

# Nothing is timed against a clock: an example that compiles a kernel, or waits for another process, takes seconds.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

TINY = Size(permutations=1, walks=100, lengths=(64, 256, 1024), longest=13)


@pytest.fixture(scope="session")
def reproduction(tmp_path_factory, worker_id):
    """All experiments at their smallest, on MNIST itself: run by whichever worker comes first, on both cores."""
    if worker_id == "master":
        return run_tiny()
    shared = tmp_path_factory.getbasetemp().parent / "experiments.pickle"
    with open(shared.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            shared.write_bytes(pickle.dumps(run_tiny()))
    return pickle.loads(shared.read_bytes())


@pytest.fixture(scope="session")
def html(reproduction):
    """The page of these experiments."""
    return page.render(reproduction)


@pytest.fixture(scope="module")
def browser():
    """A real browser; of one module, because an event loop runs as long as it does."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on this machine: install Debian's package chromium to run the page in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


def run_tiny():
    return run_all(seed=1, size=TINY, jobs=2, progress=lambda: None)

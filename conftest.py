"""Shared by all tests: how Hypothesis runs, and a browser."""

import shutil

import pytest
from hypothesis import settings

# No deadline: an example that compiles a kernel, or waits for another process, takes seconds.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="module")
def browser():
    """Return a real browser; of one module, because an event loop runs as long as it does."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on this machine: install Debian's package chromium to run the page in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()

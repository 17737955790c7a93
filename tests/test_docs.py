"""The documentation site: it is built without a warning, is complete, and a real browser shows every page of it."""

import fcntl
import importlib
import inspect
import re
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).parent.parent
# The modules whose names are public.
MODULES = ("saccade", "saccade.dask", "saccade.exceptions", "reproduction.simulate")

# Code and tables scroll in boxes of their own, and neither the page nor the article does.
OVERFLOWS = """[document.documentElement, ...document.querySelectorAll(".bd-article-container")].some(
    box => box.scrollWidth > box.clientWidth + 1)"""


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id):
    """The folder of the site, built as ``make docs`` does by whichever worker comes first."""
    for package in ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme"):
        pytest.importorskip(package, reason="the extra 'docs' is not installed")
    shared = tmp_path_factory.getbasetemp()
    shared = shared if worker_id == "master" else shared.parent
    built = shared / "site"
    with open(shared / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
            done = subprocess.run(
                [*command, "-d", shared / "doctrees", ROOT / "docs", built], capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
    return built


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = {""}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        self.links += [given[name] for name in ("href", "src") if given.get(name)]


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}


def test_no_link_of_the_site_is_broken(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(link)
            if re.match(r"[a-z]+:", target):
                continue
            there = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
            if not there.is_file() or (there in pages and unquote(anchor) not in pages[there].anchors):
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_every_public_name_is_in_the_reference_and_has_an_example(pages):
    documented = set().union(*(page.anchors for path, page in pages.items() if path.parent.name == "api"))
    public = {
        f"{module}.{name}": getattr(importlib.import_module(module), name)
        for module in MODULES
        for name in importlib.import_module(module).__all__
        if name != "__version__"
    }
    objects = {path: public[path] for path in public if not inspect.ismodule(public[path])}
    assert sorted(set(objects) - documented) == []
    assert sorted({f"module-{path}" for path in set(public) - set(objects)} - documented) == []
    records = {path: _imported(path) for path in documented if re.fullmatch(r"saccade\.[a-z_.]+\.[A-Z]\w+", path)}
    lacking = [path for path, named in (objects | records).items() if ">>> " not in (inspect.getdoc(named) or "")]
    assert sorted(lacking) == []


def _imported(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_a_benchmark_that_was_not_run_says_so_and_a_missed_aim_stays(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    shown, record = importlib.import_module("benchmark_figures"), importlib.import_module("record")
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(shown, "BENCHMARKS", tmp_path)
    (tmp_path / "costly.py").write_text('"""Money.\n\nRun with ``make bench``."""\n')
    (tmp_path / "tables.py").write_text('"""Tables.\n\nRun with ``make bench``."""\n')
    record.keep("costly", "price", 3.0, unit="a row", at_most=1)
    record.keep("costly", "price", 2.0, unit="a row", at_most=1, spread=(1.5, 2.5))
    record.keep("costly", "speed", 20_000, at_least=10)
    record.keep("costly", "rows to an alarm", float("inf"), at_most=10)
    lines = [*shown.summary(), *(line for name in ("costly", "tables") for line in shown.section(name, ""))]
    lines = "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")
    assert "| [Tables](#tables) | not run on this version |" in lines
    assert '| price | 2 a row | at most 1 | <span class="missed">missed</span> | 1.5 to 2.5 |' in lines
    assert "| speed | 20,000 | at least 10 | met |  |" in lines
    assert '| rows to an alarm | none | at most 10 | <span class="missed">missed</span> |  |' in lines
    assert "price | 3 a row" not in lines


def test_every_figure_that_was_kept_is_on_the_page(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    shown = importlib.import_module("benchmark_figures")
    kept = {path.stem for path in (ROOT / "benchmarks" / "results").glob("*.json")}
    assert kept
    assert sorted(kept - set(shown.scripts())) == []


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served."""
    handler = partial(type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None}), directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def watched(browser, width=1280):
    """Return a page of the browser, and a list of what went wrong in it."""
    page, wrong = browser.new_page(viewport={"width": width, "height": 900}), []
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    aborted = "net::ERR_ABORTED"  # the next page was opened before the icon of this one was there
    page.on("requestfailed", lambda r: None if r.failure == aborted else wrong.append(f"failed: {r.url}"))
    page.on("response", lambda answer: wrong.append(f"{answer.status}: {answer.url}") if answer.status >= 400 else None)
    return page, wrong


def test_a_browser_shows_every_page_within_its_width_and_asks_nobody_else(browser, address, site, pages):
    page, wrong = watched(browser)
    page.on("request", lambda asked: None if asked.url.startswith((address, "data:")) else wrong.append(asked.url))
    for path in pages:
        page.goto(f"{address}/{path.relative_to(site).as_posix()}")
        for width in (1280, 380):
            page.set_viewport_size({"width": width, "height": 900})
            if page.evaluate(OVERFLOWS):
                wrong.append(f"{path.name} is wider than {width} pixels")
    page.close()
    assert wrong == []


@pytest.mark.parametrize("served", [True, False], ids=["served", "as a file"])
def test_the_search_finds_pages(browser, address, site, served):
    page, wrong = watched(browser)
    page.goto((address if served else site.as_uri()) + "/search.html?q=certificate")
    page.wait_for_selector('#search-results a[href^="promise.html"]')  # they come one after the other
    page.close()
    assert wrong == []

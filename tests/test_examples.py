"""The examples run, and show what they say."""

import asyncio
import importlib
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.mark.parametrize("store", ["sqlite_table", "duckdb_table"])
def test_a_real_table_is_classified_from_a_few_of_its_cells(store):
    stores = importlib.import_module("feature_stores")
    attentive, frame = stores.patients()
    with closing(getattr(stores, store)(frame)) as connection:
        found, cells = stores.classify(attentive, connection.execute, range(len(frame)))
    reading = attentive.read(frame)
    np.testing.assert_array_equal(found.label, reading.label)
    assert cells == reading.n_read.sum()
    assert cells < 0.25 * frame.size


def test_a_feature_service_is_called_only_for_what_is_wanted():
    service = importlib.import_module("feature_service")
    attentive, frame = importlib.import_module("feature_stores").patients()
    found, ours, everything = asyncio.run(service.compare(attentive, frame[:20], seconds=0.001))
    reading = attentive.read(frame[:20])
    np.testing.assert_array_equal(found.label, reading.label)
    assert ours[0] == reading.n_read.sum()
    assert everything[0] == 20 * 30


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_runs_to_its_end(path, capsys):
    module = importlib.import_module(path.stem)
    assert Path(sys.modules[path.stem].__file__) == path
    module.main()
    assert capsys.readouterr().out

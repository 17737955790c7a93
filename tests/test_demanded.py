"""A plan demands only its own columns: tables, files and arrays may lack the others, or hold anything there."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

import saccade
from data import correlated
from saccade import AttentiveClassifier, Budget
from saccade.cli.main import run
from saccade.data import lines
from saccade.data.batches import BadRows, Wanted
from saccade.data.opening import open_data

N_FEATURES = 12
EVERY, CODES = correlated(6000, N_FEATURES, seed=3, separation=3.0)
NAMES = [f"f{j}" for j in range(N_FEATURES)]
FRAME = pd.DataFrame(EVERY, columns=NAMES)
KINDS = np.array(["elm", "oak"])[CODES]
NEW = FRAME[5000:].reset_index(drop=True)


@pytest.fixture(scope="module")
def attentive():
    """Return a model whose plan never asks for some of the columns."""
    model = LogisticRegression().fit(FRAME[:3000], KINDS[:3000])
    return saccade.attend(model, FRAME[3000:5000], delta=0.08, fewest="columns", random_state=0)


@pytest.fixture(scope="module")
def weightless():
    """Return a model that may read rows to their end, and two of whose columns have no weight."""
    model = LogisticRegression().fit(FRAME[:3000], KINDS[:3000])
    model.coef_[:, [2, 7]] = 0.0
    told = {"boundary": "constant", "order": "sorted", "delta": 0.05, "random_state": 0}
    return saccade.attend(model, FRAME[3000:5000], **told)


def unneeded(model):
    return [name for name in NAMES if name not in model.columns_]


def test_columns_are_named_only_where_rows_are_matched_by_name():
    """A model that knows names, planned on rows without: tables are read by their places, so names would mislead."""
    by_place = saccade.attend(LogisticRegression().fit(FRAME[:3000], KINDS[:3000]), EVERY[3000:], delta=0.05)
    assert all(isinstance(column, int) for column in by_place.columns_)


def test_a_table_of_all_columns_that_a_plan_can_ask_for_is_read():
    model = LogisticRegression().fit(FRAME[:3000], KINDS[:3000])
    attentive = saccade.attend(model, FRAME[3000:], delta=0.05, boundary="curved", order="sorted", random_state=0)
    assert attentive.columns_ == NAMES
    np.testing.assert_array_equal(attentive.predict(NEW[attentive.columns_]), attentive.predict(NEW))


def test_columns_are_those_that_the_plan_can_ask_for_in_reading_order(attentive, weightless):
    plan = attentive.plan_
    assert 0 < plan.most_read < N_FEATURES
    assert attentive.columns_ == [NAMES[j] for j in plan.order[: plan.most_read]]
    assert set(weightless.columns_) == set(NAMES) - {"f2", "f7"}
    first = weightless.plan_.order[: weightless.plan_.positions]
    assert weightless.columns_[: len(set(first))] == [NAMES[j] for j in dict.fromkeys(first.tolist())]
    bare = saccade.attend(LogisticRegression().fit(EVERY, CODES), EVERY[:4000], delta=0.05, random_state=0)
    assert sorted(bare.columns_) == sorted(bare.plan_.demanded.tolist())
    drawn = AttentiveClassifier(LogisticRegression(), order="sampled", boundary=Budget(6), delta=0.4, random_state=0)
    drawn.fit(FRAME, KINDS)
    assert len(drawn.columns_) == len(set(drawn.columns_)) <= 6
    np.testing.assert_array_equal(drawn.predict(NEW[drawn.columns_]), drawn.predict(NEW))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas])
def test_tables_may_lack_what_nobody_asks_for(library, attentive):
    expected = attentive.read(NEW)
    here = attentive.columns_
    for frame in (
        NEW[here],
        NEW[here[::-1]],
        NEW[here].assign(id="who"),
        NEW.assign(**dict.fromkeys(unneeded(attentive), "text")),
        NEW.assign(**dict.fromkeys(unneeded(attentive), np.nan)),
    ):
        reading = attentive.read(library(frame))
        np.testing.assert_array_equal(reading.label, expected.label)
        np.testing.assert_array_equal(reading.n_read, expected.n_read)
        np.testing.assert_allclose(reading.margin, expected.margin)


def test_what_is_asked_for_must_be_there_and_a_whole_table_in_its_order(attentive):
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        attentive.predict(NEW[attentive.columns_[1:]])
    with pytest.raises(ValueError, match="same order"):
        attentive.predict(NEW[NAMES[::-1]])
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        attentive.full_margin(NEW[attentive.columns_])
    broken = NEW[attentive.columns_].copy()
    broken.iloc[3, 0] = np.nan
    with pytest.raises(ValueError, match=f"NaN at row 3, feature '{attentive.columns_[0]}'"):
        attentive.predict(broken)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_arrays_may_hold_anything_where_nobody_looks(value, order, attentive, weightless):
    for model in (attentive, weightless):
        rows = np.array(NEW, order=order)
        expected = model.read(rows)
        rows[:, [NAMES.index(name) for name in unneeded(model)]] = value
        reading = model.read(rows)
        np.testing.assert_array_equal(reading.label, expected.label)
        np.testing.assert_array_equal(reading.n_read, expected.n_read)
        np.testing.assert_allclose(reading.margin, expected.margin)
    expected = weightless.full_margin(NEW)
    rows = NEW.to_numpy(copy=True)
    rows[:, [2, 7]] = value
    np.testing.assert_allclose(weightless.full_margin(rows), expected)
    rows[5, 0] = np.nan
    with pytest.raises(ValueError, match="NaN at row 5, feature 'f0'"):
        weightless.full_margin(rows)


def written(frame, suffix):
    path = f"new.{suffix}"
    match suffix:
        case "csv":
            frame.to_csv(path, index=False)
        case "parquet":
            frame.to_parquet(path, row_group_size=300)
        case "feather":
            frame.to_feather(path)
    return path


@pytest.fixture
def saved(tmp_path, monkeypatch, attentive):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lines, "BLOCK", 40_000)
    saccade.save(attentive, "a")
    return attentive


def spoiled(model, how):
    frame = NEW.assign(kind=KINDS[5000:])
    others = unneeded(model)
    match how:
        case "missing columns":
            return frame.drop(columns=others)
        case "text":
            return frame.assign(**dict.fromkeys(others, "tall"))
        case "missing values":
            frame.loc[frame.index % 10 == 0, others] = np.nan
            return frame


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("how", ["missing columns", "text", "missing values"])
def test_files_may_lack_what_nobody_asks_for(how, suffix, saved, capsys):
    expected = saved.read(NEW)
    path = written(spoiled(saved, how), suffix)
    assert run(["predict", "a", path, "--target", "kind"]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[0] for row in rows] == expected.label.tolist()
    assert [int(row[2]) for row in rows] == expected.n_read.tolist()
    assert run(["evaluate", "a", path, "--target", "kind", "--json"]) == 0
    done = capsys.readouterr()
    said = json.loads(done.out)
    assert said["rows"] == 1000
    assert said["bad rows"] == 0
    assert said["accuracy"] == np.mean(expected.label == KINDS[5000:])
    if how == "missing values" and suffix != "csv":
        assert "100 of 1,000 rows are not compared with the full read" in done.err
        compared = np.arange(1000) % 10 != 0
        changed = (expected.label != saved.classes_[(saved.full_margin(NEW) > 0).astype(int)])[compared]
        assert said["disagreement with the full read"] == np.mean(changed)
    elif how != "missing values":
        assert "1,000 of 1,000 rows are not compared with the full read" in done.err
        assert said["disagreement with the full read"] is None


def test_a_value_that_is_needed_still_makes_a_bad_row(saved, capsys):
    frame = spoiled(saved, "missing columns")
    frame.loc[4, saved.columns_[0]] = np.nan
    path = written(frame, "csv")
    for command in ("predict", "evaluate"):
        assert run([command, "a", path, "--target", "kind"]) == 1
        assert f"new.csv, line 6: '{saved.columns_[0]}' is missing" in capsys.readouterr().err
    frame.drop(columns=saved.columns_[0]).to_csv("new.csv", index=False)
    assert run(["predict", "a", path, "--target", "kind"]) == 1
    assert f"new.csv has no column '{saved.columns_[0]}'" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_files_without_names_may_hold_anything_where_nobody_looks(suffix, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = LogisticRegression().fit(EVERY[:3000], CODES[:3000])
    attentive = saccade.attend(model, EVERY[3000:5000], delta=0.08, fewest="columns", random_state=0)
    saccade.save(attentive, "a")
    rows = EVERY[5000:].copy()
    rows[:, [j for j in range(N_FEATURES) if j not in attentive.columns_]] = np.nan
    rows = np.column_stack([rows, CODES[5000:]])
    if suffix == "npy":
        np.save("new.npy", rows)
    else:
        pd.DataFrame(rows).to_csv("new.csv", header=False, index=False, na_rep="NA")
    assert run(["evaluate", "a", f"new.{suffix}", "--target", "12", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == 1000
    assert said["accuracy"] == np.mean(attentive.predict(EVERY[5000:]) == CODES[5000:])


def test_features_that_are_not_read_are_nan_and_those_that_can_be_are(saved):
    spoiled(saved, "missing columns").to_csv("new.csv", index=False)
    needed = sorted(saved.plan_.demanded.tolist())
    for others in (True, False):
        with open_data("new.csv", Wanted("kind", NAMES, needed=needed, others=others)) as data:
            X = np.concatenate([batch.X for batch in data.batches(0, BadRows("", skip=False))])
        np.testing.assert_array_equal(np.isfinite(X).all(axis=0), np.isin(np.arange(N_FEATURES), needed))
        np.testing.assert_allclose(X[:, needed], EVERY[5000:, needed], rtol=1e-15)
    NEW.to_csv("new.csv", index=False)
    for others in (True, False):
        with open_data("new.csv", Wanted(None, NAMES, needed=needed, others=others)) as data:
            X = np.concatenate([batch.X for batch in data.batches(0, BadRows("", skip=False))])
        assert np.isfinite(X).all() == others

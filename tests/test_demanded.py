"""A plan demands only its own columns: tables and arrays may lack the others, or hold anything there."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

import saccade
from data import correlated
from saccade import AttentiveClassifier, Budget

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
        NEW[NAMES[::-1]],
        NEW[here].assign(id="who"),
        NEW.assign(**dict.fromkeys(unneeded(attentive), "text")),
        NEW.assign(**dict.fromkeys(unneeded(attentive), np.nan)),
    ):
        reading = attentive.read(library(frame))
        np.testing.assert_array_equal(reading.label, expected.label)
        np.testing.assert_array_equal(reading.n_read, expected.n_read)
        np.testing.assert_allclose(reading.margin, expected.margin)


def test_columns_that_can_be_asked_for_must_be_there(attentive):
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        attentive.predict(NEW[attentive.columns_[1:]])
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

"""Rows that are asked for one feature after another."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from data import correlated
from saccade import attend
from saccade.planning.absence import plan_without
from saccade.reading.plan import decided
from saccade.reading.reader import read_plan

N = 12
NAMES = [f"f{j}" for j in range(N)]


def attended(classes, **options):
    X, y = correlated(4000, N, seed=1, separation=3.0, classes=classes)
    frame = pd.DataFrame(X, columns=NAMES)
    model = LogisticRegression(max_iter=500).fit(frame[:1000], y[:1000])
    return attend(model, frame[1000:], delta=0.05, random_state=0, **options), frame


TWO, ROWS_OF_TWO = attended(2)
FOUR, ROWS_OF_FOUR = attended(4)
GROUPED, _ = attended(2, groups={"sample": ["f0", "f3", "f5"], "record": ["f1", "f2"]}, costs={"sample": 3.0})
MODELS = {"two classes": (TWO, ROWS_OF_TWO), "four classes": (FOUR, ROWS_OF_FOUR), "groups": (GROUPED, ROWS_OF_TWO)}


def answer_all(inquiry, row):
    while inquiry.wanted is not None:
        inquiry.tell(row[inquiry.wanted])
    return inquiry


@pytest.mark.parametrize("name", MODELS)
def test_an_inquiry_ends_as_the_reader_does(name):
    attentive, frame = MODELS[name]
    reading = attentive.read(frame[:200])
    for i in range(200):
        inquiry = answer_all(attentive.inquire(), frame.iloc[i])
        assert inquiry.label == reading.label[i]
        assert len(inquiry.asked) == reading.n_read[i]
        assert inquiry.certified
        np.testing.assert_array_equal(inquiry.margin, reading.margin[i])


def test_what_is_known_beforehand_costs_nothing_and_changes_no_label():
    for i in range(50):
        row = ROWS_OF_TWO.iloc[i]
        first, last = TWO.plan_.order[0], TWO.plan_.order[-1]
        plain = answer_all(TWO.inquire(), row)
        helped = answer_all(TWO.inquire(known={NAMES[first]: row.iloc[first], NAMES[last]: row.iloc[last]}), row)
        assert helped.label == plain.label
        assert helped.certified
        assert helped.spent < plain.spent
        assert NAMES[first] not in helped.asked
    everything = TWO.inquire(known=dict(ROWS_OF_TWO.iloc[0]))
    assert everything.label is not None
    assert everything.spent == 0


def test_a_group_is_asked_for_once_and_paid_for_once():
    row, inquiry, spent = ROWS_OF_TWO.iloc[int(np.argmax(GROUPED.read(ROWS_OF_TWO).n_read))], GROUPED.inquire(), []
    while inquiry.wanted is not None:
        sample = {"f0", "f3", "f5"} & set(inquiry.needed)
        inquiry.tell_many({name: row[name] for name in sample or {inquiry.wanted}})
        spent.append(inquiry.spent)
        assert inquiry.spent == GROUPED.prices_.total([NAMES.index(name) for name in inquiry.asked])
    assert sorted(spent) == spent
    assert {"f0", "f3", "f5"} <= set(inquiry.asked)
    dear = GROUPED.inquire(costs={"sample": 100.0}, groups={"sample": ["f0", "f3", "f5"]})
    assert answer_all(dear, row).spent >= 100


@pytest.mark.parametrize(
    ("told", "error", "message"),
    [
        ({"height": 1.0}, ValueError, "no feature 'height'"),
        ({99: 1.0}, ValueError, "no feature 99"),
        ({"f1": "tall"}, TypeError, "expected a number"),
        ({"f1": [1.0]}, TypeError, "expected a number"),
        ({"f1": math.nan}, ValueError, "Tell a finite number"),
        ({"f1": math.inf}, ValueError, "Tell a finite number"),
        ({"f1": 10**400}, ValueError, "Tell a finite number"),
        ({"f2": 1.0, "f0": 2.0}, ValueError, "told already"),
        ({"f1": 1.0, 1: 2.0}, ValueError, "told already"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(told, error, message):
    inquiry = TWO.inquire(known={"f0": 0.1})
    before = inquiry.to_json()
    with pytest.raises(error, match=message):
        inquiry.tell_many(told)
    assert inquiry.to_json() == before


def test_nothing_is_taken_once_the_label_is_clear():
    inquiry = answer_all(TWO.inquire(), ROWS_OF_TWO.iloc[0])
    for more in (lambda: inquiry.tell(1.0), lambda: inquiry.tell_many({"f0": 1.0})):
        with pytest.raises(ValueError, match="nothing more is asked for"):
            more()


@pytest.mark.parametrize("name", MODELS)
def test_what_cannot_be_had_is_replaced_by_what_the_other_features_tell(name):
    attentive, frame = MODELS[name]
    for i in range(100):
        row, inquiry, rng = frame.iloc[i], attentive.inquire(), np.random.default_rng(i)
        lacking = np.zeros(N, dtype=bool)
        while inquiry.wanted is not None:
            absent = rng.random() < 0.3
            lacking[NAMES.index(inquiry.wanted)] = absent
            inquiry.tell(None if absent else row[inquiry.wanted])
        without = plan_without(attentive.plan_, attentive.population_, lacking, 0.05)
        margin, n_read, _ = reference.read_row(without, np.where(lacking, 0.0, row))
        np.testing.assert_allclose(inquiry.margin, margin if len(margin) > 1 else margin[0])
        assert len(inquiry.asked) == n_read
        assert inquiry.certified == (not lacking.any() or tuple(np.flatnonzero(lacking)) in attentive.population_.spare)


def test_with_everything_missing_the_label_is_what_is_expected_and_not_certified():
    inquiry = TWO.inquire()
    while inquiry.wanted is not None:
        inquiry.tell(None)
    mean = TWO.population_.regression.expected + TWO.plan_.intercept
    assert inquiry.label == TWO.classes_[int(mean[0] > 0)]
    assert not inquiry.certified
    assert 0.5 <= inquiry.confidence < 1


def test_what_is_missing_and_was_never_read_spoils_nothing():
    row = ROWS_OF_TWO.iloc[int(np.argmin(TWO.read(ROWS_OF_TWO).n_read))]
    last = NAMES[int(TWO.plan_.order[-1])]
    inquiry = answer_all(TWO.inquire(known={last: None}), row)
    assert inquiry.certified
    assert inquiry.label == answer_all(TWO.inquire(), row).label


def test_a_margin_that_overflows_is_refused_and_nothing_is_taken():
    coef = TWO.plan_.coef[0]
    huge = {name: 1.7e308 * np.sign(coef[j]) * (-1) ** j for j, name in enumerate(NAMES)}
    with pytest.raises(ValueError, match="overflows"):
        TWO.inquire(known=huge)
    inquiry = TWO.inquire()
    before = inquiry.to_json()
    with pytest.raises(ValueError, match="overflows"):
        inquiry.tell_many(huge)
    assert inquiry.to_json() == before
    assert inquiry.wanted is not None


def test_features_without_any_weight_are_not_asked_for():
    X, y = correlated(3000, N, seed=1, separation=3.0)
    model = LogisticRegression(max_iter=500).fit(X, y)
    model.coef_[0, 4:] = 0
    inquiry = attend(model, X, boundary="full").inquire(known={j: X[0, j] for j in range(4)})
    assert inquiry.label == model.predict(X[:1])[0]
    assert inquiry.confidence == 1


def test_prices_of_one_row_replace_those_of_the_model_and_its_groups_stay():
    row = ROWS_OF_TWO.iloc[int(np.argmax(GROUPED.read(ROWS_OF_TWO).n_read))]
    dear = answer_all(GROUPED.inquire({"sample": 100.0}), row)
    assert dear.spent >= 100
    assert dear.asked == answer_all(GROUPED.inquire(), row).asked


@pytest.mark.parametrize("values", [[1.0], "f1", 3])
def test_values_that_are_no_dict_are_refused(values):
    with pytest.raises(TypeError, match="Expected a dict"):
        TWO.inquire().tell_many(values)
    with pytest.raises(TypeError, match="Expected a dict"):
        TWO.inquire(known=values)


def test_confidence_grows_with_what_is_known_on_average_and_is_one_at_the_end():
    early, late = [], []
    for i in range(200):
        row, inquiry = ROWS_OF_TWO.iloc[i], TWO.inquire()
        seen = []
        while inquiry.wanted is not None:
            inquiry.tell(row[inquiry.wanted])
            seen.append(inquiry.confidence)
        early.append(seen[0])
        late.append(seen[-1])
    assert np.mean(late) > np.mean(early)
    assert TWO.inquire(known=dict(row)).confidence == 1


@pytest.mark.parametrize("name", MODELS)
def test_confidence_is_about_right(name):
    """After a few answers the full model agrees with the label leaned to about as often as is said."""
    attentive, frame = MODELS[name]
    full = attentive.classes_[
        (attentive.full_margin(frame) > 0).astype(int)
        if attentive.classes_.size == 2
        else attentive.full_margin(frame).argmax(axis=1)
    ]
    said, right = [], []
    for i in range(600):
        inquiry = attentive.inquire(known={name: frame.loc[i, name] for name in NAMES[:3]})
        said.append(inquiry.confidence)
        right.append(inquiry.leaning == full[i])
    assert abs(np.mean(said) - np.mean(right)) < 0.1


def test_an_inquiry_goes_on_in_another_process():
    row = ROWS_OF_TWO.iloc[int(np.argmax(TWO.read(ROWS_OF_TWO).n_read))]
    inquiry = TWO.inquire(known={"f7": row["f7"]}, costs={"f1": 5.0})
    inquiry.tell(row[inquiry.wanted])
    inquiry.tell(None)
    again = TWO.resume(json.dumps(json.loads(inquiry.to_json())))
    for name in ("wanted", "needed", "asked", "spent", "label", "margin", "confidence", "certified"):
        assert getattr(again, name) == getattr(inquiry, name)
    assert answer_all(again, row).label == answer_all(inquiry, row).label
    assert again.spent == inquiry.spent


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not an inquiry"),
        ("[]", "not an inquiry"),
        ('{"saccade inquiry": 1}', "not an inquiry"),
        (FOUR.inquire().to_json(), "another model"),
        (TWO.inquire().to_json().replace('inquiry": 1', 'inquiry": 2'), "format 2"),
        (TWO.inquire().to_json().replace('"told": []', '"told": [[[1, "x"]]]'), "not an inquiry"),
        (TWO.inquire().to_json().replace('"told": []', '"told": [[[1, 1], [1, 1]]]'), "told twice"),
        (TWO.inquire().to_json().replace('"told": []', '"told": [[[1, 1]], [[1, 1]]]'), "told already"),
        (TWO.inquire().to_json().replace('"price": [1.0', '"price": [-1.0'), "prices"),
        (TWO.inquire().to_json().replace('"purchase": [0', '"purchase": [1' + "0" * 30), "not an inquiry"),
        ("[" * 100_000, "not an inquiry"),
        (TWO.inquire().to_json().replace('"purchase": [', '"purchase": [77, '), "prices"),
    ],
)
def test_a_text_that_is_no_inquiry_of_this_model_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        TWO.resume(text)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["tell", "tell None", "out of turn", "several", "bad value", "bad name", "second", "resume"]),
        st.integers(0, N - 1),
    ),
    max_size=25,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@settings(deadline=None, max_examples=3400)
@given(row=st.integers(0, 3999), steps=STEPS, with_gaps=st.booleans())
def test_any_sequence_of_answers_ends_in_the_readers_label(name, row, steps, with_gaps):
    attentive, frame = MODELS[name]
    values, inquiry, gaps = frame.iloc[row], attentive.inquire(), set()
    for step, position in steps:
        before = inquiry.to_json()
        feature = NAMES[position]
        known = {pair[0] for told in json.loads(before)["told"] for pair in told}
        try:
            match step:
                case "tell":
                    inquiry.tell(values[inquiry.wanted] if inquiry.wanted else 0.0)
                case "tell None" if with_gaps:
                    wanted = inquiry.wanted
                    inquiry.tell(None)
                    gaps.add(wanted)
                case "out of turn":
                    inquiry.tell_many({feature: values[feature]})
                case "several":
                    inquiry.tell_many({one: values[one] for one in NAMES[position:] if NAMES.index(one) not in known})
                case "bad value":
                    inquiry.tell_many({feature: math.nan})
                case "bad name":
                    inquiry.tell_many({"nothing": 1.0})
                case "second":
                    inquiry.tell_many({feature: 1.0, position: 2.0})
                case "resume":
                    inquiry = attentive.resume(before)
        except ValueError:
            assert inquiry.to_json() == before
    while inquiry.wanted is not None:
        inquiry.tell(values[inquiry.wanted])
    label = attentive.predict(frame.iloc[[row]])[0]
    if not gaps:
        assert inquiry.label == label
        assert inquiry.certified
    else:
        lacking = np.isin(NAMES, list(gaps))
        without = plan_without(attentive.plan_, attentive.population_, lacking, 0.05)
        filled = np.where(lacking, 0.0, values)[None]
        assert inquiry.label == attentive.classes_[decided(read_plan(without, filled)[0])[0]]

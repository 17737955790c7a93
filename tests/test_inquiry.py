"""Rows that are asked for one feature after another."""

import json
import math
import os
import pickle

import numpy as np
import pandas as pd
import pytest
import reference
from attended import GROUPS, MODELS, NAMES, N, attended, seen
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import saccade
from data import correlated
from saccade import attend
from saccade.planning.absence import plan_without
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import decided
from saccade.reading.reader import read_plan

# How many sequences of answers are tried with each model: a tenth, unless all of them are asked for.
EXAMPLES = 3400 if os.environ.get("SACCADE_TEST_LONG") == "1" else 340


@pytest.fixture(scope="module")
def two():
    return attended("two classes")[0]


@pytest.fixture(scope="module")
def rows_of_two():
    return attended("two classes")[1]


@pytest.fixture(scope="module")
def four():
    return attended("four classes")[0]


@pytest.fixture(scope="module")
def grouped():
    return attended("groups")[0]


def answer_all(inquiry, row):
    while inquiry.wanted is not None:
        inquiry.tell(row[inquiry.wanted])
    return inquiry


@pytest.mark.parametrize("name", MODELS)
def test_an_inquiry_ends_as_the_reader_does(name):
    attentive, frame = attended(name)
    reading = attentive.read(frame[:200])
    for i in range(200):
        inquiry = answer_all(attentive.inquire(), frame.iloc[i])
        assert inquiry.label == reading.label[i]
        assert len(inquiry.asked) == reading.n_read[i]
        assert inquiry.certified == (not inquiry.outside)
        np.testing.assert_array_equal(inquiry.margin, reading.margin[i])


def test_inquiries_of_one_fit_share_their_tables(two, rows_of_two):
    assert two._questions() is two._questions()
    again = pickle.loads(pickle.dumps(two))
    assert "_shared_questions" not in vars(again)
    assert again._questions().fingerprint == two._questions().fingerprint
    assert two._questions({"f1": 7.0}).prices.price[1] == 7
    assert two._questions().prices is two.prices_
    before = again._questions()
    again.set_params(delta=0.1).fit(rows_of_two)
    assert again._questions() is not before
    assert again._questions().plan is again.plan_


def test_what_is_known_beforehand_costs_nothing_and_changes_no_label(two, rows_of_two):
    for i in range(50):
        row = rows_of_two.iloc[i]
        first, last = two.plan_.order[0], two.plan_.order[-1]
        plain = answer_all(two.inquire(), row)
        helped = answer_all(two.inquire(known={NAMES[first]: row.iloc[first], NAMES[last]: row.iloc[last]}), row)
        assert helped.label == plain.label
        assert helped.certified == (not helped.outside)
        assert helped.spent < plain.spent
        assert NAMES[first] not in helped.asked
    everything = two.inquire(known=dict(rows_of_two.iloc[0]))
    assert everything.label is not None
    assert everything.spent == 0


def test_a_group_is_asked_for_once_and_paid_for_once(rows_of_two, grouped):
    row, inquiry, spent = rows_of_two.iloc[int(np.argmax(grouped.read(rows_of_two).n_read))], grouped.inquire(), []
    while inquiry.wanted is not None:
        sample = {"f0", "f3", "f5"} & set(inquiry.needed)
        inquiry.tell_many({name: row[name] for name in sample or {inquiry.wanted}})
        spent.append(inquiry.spent)
        assert inquiry.spent == grouped.prices_.total([NAMES.index(name) for name in inquiry.asked])
    assert sorted(spent) == spent
    assert {"f0", "f3", "f5"} <= set(inquiry.asked)
    dear = grouped.inquire(costs={"sample": 100.0}, groups={"sample": ["f0", "f3", "f5"]})
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
def test_what_cannot_be_is_refused_and_nothing_changes(told, error, message, two):
    inquiry = two.inquire(known={"f0": 0.1})
    before = inquiry.to_json()
    with pytest.raises(error, match=message):
        inquiry.tell_many(told)
    assert inquiry.to_json() == before


def test_nothing_is_taken_once_the_label_is_clear(two, rows_of_two):
    inquiry = answer_all(two.inquire(), rows_of_two.iloc[0])
    for more in (lambda: inquiry.tell(1.0), lambda: inquiry.tell_many({"f0": 1.0})):
        with pytest.raises(ValueError, match="nothing more is asked for"):
            more()


@pytest.mark.parametrize("name", MODELS)
def test_what_cannot_be_had_is_replaced_by_what_the_other_features_tell(name):
    attentive, frame = attended(name)
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
        spared = not lacking.any() or tuple(np.flatnonzero(lacking)) in attentive.population_.spare
        assert inquiry.certified == (spared and not inquiry.outside)


def test_with_everything_missing_the_label_is_what_is_expected_and_not_certified(two):
    inquiry = two.inquire()
    while inquiry.wanted is not None:
        inquiry.tell(None)
    mean = two.population_.regression.expected + two.plan_.intercept
    assert inquiry.label == two.classes_[int(mean[0] > 0)]
    assert not inquiry.certified
    assert 0.5 <= inquiry.confidence < 1


def test_what_is_missing_and_was_never_read_spoils_nothing(two, rows_of_two):
    row = rows_of_two.iloc[int(np.argmin(two.read(rows_of_two).n_read))]
    last = NAMES[int(two.plan_.order[-1])]
    inquiry = answer_all(two.inquire(known={last: None}), row)
    assert inquiry.certified
    assert inquiry.label == answer_all(two.inquire(), row).label


def test_a_margin_that_overflows_is_refused_and_nothing_is_taken(two):
    coef = two.plan_.coef[0]
    huge = {name: 1.7e308 * np.sign(coef[j]) * (-1) ** j for j, name in enumerate(NAMES)}
    with pytest.raises(ValueError, match="overflows"):
        two.inquire(known=huge)
    inquiry = two.inquire()
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


def test_prices_of_one_row_replace_those_of_the_model_and_its_groups_stay(rows_of_two, grouped):
    row = rows_of_two.iloc[int(np.argmax(grouped.read(rows_of_two).n_read))]
    dear = answer_all(grouped.inquire({"sample": 100.0}), row)
    assert dear.spent >= 100
    assert dear.asked == answer_all(grouped.inquire(), row).asked


@pytest.mark.parametrize("values", [[1.0], "f1", 3])
def test_values_that_are_no_dict_are_refused(values, two):
    with pytest.raises(TypeError, match="Expected a dict"):
        two.inquire().tell_many(values)
    with pytest.raises(TypeError, match="Expected a dict"):
        two.inquire(known=values)


def test_confidence_grows_with_what_is_known_on_average_and_is_one_at_the_end(two, rows_of_two):
    early, late = [], []
    for i in range(200):
        row, inquiry = rows_of_two.iloc[i], two.inquire()
        seen = []
        while inquiry.wanted is not None:
            inquiry.tell(row[inquiry.wanted])
            seen.append(inquiry.confidence)
        early.append(seen[0])
        late.append(seen[-1])
    assert np.mean(late) > np.mean(early)
    assert two.inquire(known=dict(row)).confidence == 1


@pytest.mark.parametrize("name", MODELS)
def test_confidence_tells_sure_rows_from_unsure_ones_and_is_about_right_for_both(name):
    """After a few answers the full model agrees with the label leaned to about as often as is said."""
    attentive, frame = attended(name)
    full = attentive.full_margin(frame)
    codes = (full > 0).astype(int) if full.ndim == 1 else full.argmax(axis=1)
    inquiries = [attentive.inquire(known=known) for known in frame[NAMES[:5]][:1000].to_dict("records")]
    said = np.array([inquiry.confidence for inquiry in inquiries])
    right = np.array([inquiry.leaning for inquiry in inquiries]) == attentive.classes_[codes[:1000]]
    for alike in np.array_split(np.argsort(said), 5):
        assert abs(said[alike].mean() - right[alike].mean()) < 0.15
    base_rate = right.mean()
    assert np.mean((said - right) ** 2) < 0.92 * base_rate * (1 - base_rate)  # the Brier score of the base rate


def test_an_inquiry_goes_on_in_another_process(two, rows_of_two):
    row = rows_of_two.iloc[int(np.argmax(two.read(rows_of_two).n_read))]
    inquiry = two.inquire(known={"f7": row["f7"]}, costs={"f1": 5.0})
    inquiry.tell(row[inquiry.wanted])
    inquiry.tell(None)
    again = two.resume(json.dumps(json.loads(inquiry.to_json())))
    for name in ("wanted", "needed", "asked", "spent", "label", "margin", "confidence", "certified"):
        assert getattr(again, name) == getattr(inquiry, name)
    assert answer_all(again, row).label == answer_all(inquiry, row).label
    assert again.spent == inquiry.spent


@pytest.mark.parametrize("text", ["", "[]", '{"saccade inquiry": 1}', "[" * 100_000])
def test_a_text_that_is_no_inquiry_is_refused(two, text):
    with pytest.raises(ValueError, match="not an inquiry"):
        two.resume(text)


def test_an_inquiry_about_another_model_is_refused(two, four):
    with pytest.raises(ValueError, match="another model"):
        two.resume(four.inquire().to_json())


@pytest.mark.parametrize(
    ("written", "changed", "message"),
    [
        ('inquiry": 1', 'inquiry": 2', "format 2"),
        ('"told": []', '"told": [[[1, "x"]]]', "not an inquiry"),
        ('"told": []', '"told": [[[1, 1], [1, 1]]]', "told twice"),
        ('"told": []', '"told": [[[1, 1]], [[1, 1]]]', "told already"),
        ('"price": [1.0', '"price": [-1.0', "prices"),
        ('"purchase": [0', '"purchase": [1' + "0" * 30, "not an inquiry"),
        ('"purchase": [', '"purchase": [77, ', "prices"),
    ],
)
def test_an_inquiry_that_was_tampered_with_is_refused(two, written, changed, message):
    text = two.inquire().to_json()
    assert written in text
    with pytest.raises(ValueError, match=message):
        two.resume(text.replace(written, changed))


@pytest.mark.parametrize("how", ["tell", "tell_many", "known", "resume"])
@pytest.mark.parametrize("beyond", [-1e-9, 1e-9, 1e6])
def test_a_value_outside_of_what_was_seen_is_not_certified(two, how, beyond):
    """However it is told; the ends of the range themselves have been seen."""
    low, high = two.population_.low, two.population_.high
    first = int(two.plan_.order[0])
    for value in (low[first], high[first], (low if beyond < 0 else high)[first] + beyond):
        inquiry = two.inquire(known={NAMES[first]: value}) if how == "known" else two.inquire()
        if how == "tell_many":
            inquiry.tell_many({NAMES[first]: value})
        elif how != "known":
            inquiry.tell(value)
        if how == "resume":
            inquiry = two.resume(inquiry.to_json())
        while inquiry.wanted is not None:
            inquiry.tell(two.population_.mean[NAMES.index(inquiry.wanted)])
        inside = low[first] <= value <= high[first]
        assert inquiry.outside == ({} if inside else {NAMES[first]: value})
        assert inquiry.certified == inside


def test_the_last_answer_can_be_taken_back_also_once_the_label_is_clear(two, rows_of_two):
    row = rows_of_two.iloc[int(np.argmax(two.read(rows_of_two).n_read))]
    inquiry, before = two.inquire(known={"f7": row["f7"]}), []
    with pytest.raises(ValueError, match="No answer is left"):
        inquiry.take_back()
    while inquiry.wanted is not None:
        before.append((inquiry.to_json(), inquiry.wanted, inquiry.spent, inquiry.margin))
        inquiry.tell(row[inquiry.wanted])
    ended = inquiry.label, inquiry.margin, inquiry.spent
    for state in reversed(before):
        assert inquiry.take_back() == (state[1],)
        assert (inquiry.to_json(), inquiry.wanted, inquiry.spent, inquiry.margin) == state
    assert inquiry.asked == ()
    answer_all(inquiry, row)
    assert (inquiry.label, inquiry.margin, inquiry.spent) == ended


def test_what_was_told_together_is_taken_back_together(grouped, rows_of_two):
    row, inquiry = rows_of_two.iloc[0], grouped.inquire()
    untouched = inquiry.to_json()
    inquiry.tell_many({name: row[name] for name in GROUPS["sample"][:2]} | {"f5": None})
    inquiry.tell_many({})
    assert set(inquiry.take_back()) == set(GROUPS["sample"])
    assert inquiry.to_json() == untouched
    assert inquiry.spent == 0


def test_what_could_not_be_had_costs_nothing(two, grouped, rows_of_two):
    inquiry = two.inquire()
    inquiry.tell(None)
    assert len(inquiry.asked) == 1
    assert inquiry.spent == 0
    row = rows_of_two.iloc[int(np.argmax(grouped.read(rows_of_two).n_read))]
    inquiry = grouped.inquire()
    while inquiry.wanted not in (None, *GROUPS["sample"]):
        inquiry.tell(row[inquiry.wanted])
    paid, group = inquiry.spent, [name for name in inquiry.needed if name in GROUPS["sample"]]
    assert len(group) == 3
    inquiry.tell_many({group[0]: None, group[1]: None})
    assert inquiry.spent == paid
    inquiry.tell(row[group[2]])  # a group is paid for where one of its values could be had
    assert inquiry.spent == paid + 3


@pytest.mark.parametrize("dtype", [float, object, "Float64"])
def test_a_series_is_known_but_for_its_gaps(two, rows_of_two, dtype):
    row = rows_of_two.iloc[0].astype(dtype)
    assert two.inquire(known=row).label == two.predict(rows_of_two[:1])[0]
    row[["f1", "f4"]] = None
    inquiry = two.inquire(known=row)
    assert inquiry.to_json() == two.inquire(known=row.drop(["f1", "f4"]).to_dict()).to_json()
    assert set(inquiry.needed) <= {"f1", "f4"}
    with pytest.raises(ValueError, match="no feature 'height'"):
        two.inquire(known=pd.Series({"height": 3.0}))


def test_what_is_free_is_asked_for_first_and_costs_nothing(rows_of_two):
    X, model = rows_of_two, attended("two classes")[0].estimator_
    last = [NAMES[j] for j in attended("two classes")[0].plan_.order[-3:]]
    free = attend(model, X[1000:], delta=0.05, costs=dict.fromkeys(last, 0), random_state=0)
    assert {NAMES[j] for j in free.plan_.order[:3]} == set(last)
    inquiry = answer_all(free.inquire(), X.iloc[0])
    assert inquiry.spent == len(inquiry.asked) - 3
    assert answer_all(free.resume(free.inquire(np.zeros(N)).to_json()), X.iloc[0]).spent == 0
    nothing = attend(model, X[1000:], delta=0.05, costs=np.zeros(N), random_state=0)
    assert nothing.read(X).n_read.mean() < N / 2
    assert nothing.prices_.price.sum() == 0
    columns = attend(model, X[1000:], delta=0.05, costs=dict.fromkeys(last, 0), fewest="columns", random_state=0)
    assert {NAMES[j] for j in columns.plan_.order[:3]} == set(last)


def test_a_file_keeps_prices_of_nothing(two, rows_of_two, tmp_path):
    free = attend(two.estimator_, rows_of_two[1000:], delta=0.05, costs={"f0": 0.0}, random_state=0)
    saccade.save(free, tmp_path / "model")
    assert saccade.load(tmp_path / "model").prices_.price[0] == 0


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "tell",
                "tell None",
                "outside",
                "out of turn",
                "several",
                "bad value",
                "bad name",
                "second",
                "take back",
                "resume",
            ]
        ),
        st.integers(0, N - 1),
    ),
    max_size=25,
)


def replayed(attentive, text):
    """What follows from an inquiry's state: values (NaN where unknown), gaps, and the features told."""
    state, values, gaps = json.loads(text), np.full(N, np.nan), np.zeros(N, dtype=bool)
    for position, value in [*state["known"], *(pair for told in state["told"] for pair in told)]:
        gaps[position] = value is None
        values[position] = np.nan if value is None else value
    return values, gaps


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@settings(deadline=None, max_examples=EXAMPLES)
@given(
    row=st.integers(0, 3999),
    steps=STEPS,
    with_gaps=st.booleans(),
    free=st.sets(st.integers(0, N - 1)),
)
def test_any_sequence_of_answers_ends_in_the_readers_label(name, row, steps, with_gaps, free):
    attentive, frame = attended(name)
    costs = [0.0 if j in free else 1.0 + j for j in range(N)]
    values, inquiry = frame.iloc[row].copy(), attentive.inquire(costs)
    for step, position in steps:
        before = inquiry.to_json()
        feature = NAMES[position]
        known = {pair[0] for told in json.loads(before)["told"] for pair in told}
        try:
            match step:
                case "tell":
                    inquiry.tell(values[inquiry.wanted] if inquiry.wanted else 0.0)
                case "tell None" if with_gaps:
                    inquiry.tell(None)
                case "outside":
                    inquiry.tell(50.0 + position)
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
                case "take back":
                    told = json.loads(before)["told"]
                    back = inquiry.take_back()
                    assert [NAMES.index(one) for one in back] == [position for position, _ in told[-1]]
                    assert json.loads(inquiry.to_json())["told"] == told[:-1]
                case "resume":
                    inquiry = attentive.resume(before)
        except ValueError:
            assert inquiry.to_json() == before
        again = attentive.resume(inquiry.to_json())
        for state in ("wanted", "needed", "label", "outside", "certified", "asked", "spent"):
            assert getattr(again, state) == getattr(inquiry, state)
    while inquiry.wanted is not None:
        inquiry.tell(values[inquiry.wanted])
    told, gaps = replayed(attentive, inquiry.to_json())
    whole = np.where(np.isnan(told), values, told)
    had = [NAMES.index(one) for one in inquiry.asked if not gaps[NAMES.index(one)]]
    assert inquiry.spent == attentive.inquire(costs)._questions.prices.total(had)
    assert bool(inquiry.outside) == (~seen(attentive, pd.DataFrame([told], columns=NAMES).fillna(0))[0])
    if not gaps.any():
        assert inquiry.label == attentive.predict(pd.DataFrame([whole], columns=NAMES))[0]
        assert inquiry.certified == (not inquiry.outside)
    else:
        without = plan_without(attentive.plan_, attentive.population_, gaps, 0.05)
        filled = np.where(gaps, 0.0, whole)[None]
        assert inquiry.label == attentive.classes_[decided(read_plan(without, ArraySource(filled)).margin)[0]]
        assert not (inquiry.outside and inquiry.certified)

"""Rows that are asked for their raw columns: categories, gaps, columns that several terms need."""

import asyncio
import json
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import pytest
from attended_terms import NAMES, Stub, attended, lookup, model_of, one_hot, table_of, take_stubs_apart
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from saccade import attend
from saccade.asking.inquiry import Inquiry
from saccade.models.categories import Categories
from saccade.models.pipelines.foreign import Apply
from saccade.models.tables.assembling import assemble
from saccade.models.tables.blocks import Block, Formula
from saccade.models.tables.maps import Monomials
from saccade.models.tables.model import TermModel
from saccade.models.tables.probing import takes
from saccade.models.tables.terms import FormulaTerm, Grid, NoTerm, Table
from saccade.planning.absence import plan_without
from saccade.promises.certificate import strictest
from saccade.reading.plan import decided
from saccade.reading.reader import read_plan

KINDS = [(1, False), (1, True), (3, False), (3, True)]
GROUPS = {"files": ["job", "state", "hours"], "forms": ["age", "size"]}
NO_WAY = [NAMES.index(name) for name in ("hours", "plan", "late")]


@pytest.fixture(autouse=True)
def _stubs(monkeypatch):
    take_stubs_apart(monkeypatch)


@cache
def made(n_scores, pairs, seed=1, **options):
    """Return a certified model over raw columns and rows that it never saw."""
    rng = np.random.default_rng(seed)
    model, frame = model_of(rng, n_scores, pairs=pairs), table_of(rng, 1500)
    return attended(model, frame[:1200], **options), frame[1200:].reset_index(drop=True)


def answer_all(inquiry, row):
    while inquiry.wanted is not None:
        inquiry.tell(row[inquiry.wanted])
    return inquiry


def columns_read(attentive, n_read, stopped):
    """Return the columns that a reading of so many terms needs, as slowly and as obviously as possible."""
    plan, model = attentive.plan_, attentive.additive_
    read = list(range(len(model.terms))) if not stopped else []
    for part in plan.order.tolist():
        if len(read) < n_read and part // model.n_scores not in read:
            read.append(part // model.n_scores)
    return {column for k in read if not isinstance(model.terms[k], NoTerm) for column in model.terms[k].columns}


@pytest.mark.parametrize(("n_scores", "pairs"), KINDS)
def test_an_inquiry_ends_as_the_reader_does_and_asks_for_raw_columns(n_scores, pairs):
    attentive, frame = made(n_scores, pairs)
    reading = attentive.read(frame)
    assert len(set(reading.n_read)) > 1
    for i in range(len(frame)):
        inquiry = answer_all(attentive.inquire(), frame.loc[i])
        assert inquiry.label == reading.label[i]
        np.testing.assert_array_equal(inquiry.margin, reading.margin[i])
        expected = columns_read(attentive, reading.n_read[i], reading.stopped[i])
        assert {NAMES.index(column) for column in inquiry.asked} == expected
        assert len(set(inquiry.asked)) == len(inquiry.asked)
        assert inquiry.spent == sum(not pd.isna(frame.loc[i, column]) for column in inquiry.asked)
        assert inquiry.certified == (not inquiry.outside)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_labels_told_value_by_value_are_those_of_predict_whatever_the_table(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n_scores = data.draw(st.sampled_from([1, 3]))
    model = model_of(rng, n_scores, pairs=data.draw(st.booleans()))
    gaps, unknown = data.draw(st.sampled_from([0.0, 0.1, 0.5])), data.draw(st.sampled_from([0.0, 0.1]))
    options = data.draw(
        st.fixed_dictionaries(
            {
                "when_too_few": st.just("read"),
                "delta": st.sampled_from([0.01, 0.1, 0.3]),
                "groups": st.sampled_from([None, GROUPS]),
                "costs": st.sampled_from([None, {"job": 5, "hours": 0, "age": 0.5}]),
            }
        )
    )
    if options["groups"]:
        options["costs"] = None
    orders = [("greedy", "conditional"), ("natural", "conditional"), ("sorted", "constant")]
    orders += [("sampled", "constant")] if n_scores == 1 else []
    options["order"], options["boundary"] = data.draw(st.sampled_from(orders))
    attentive = attended(model, table_of(rng, 400, gaps=gaps, unknown=unknown), **options)
    frame = table_of(rng, 40, gaps=0.2, unknown=0.1)
    for i, (label, of_model) in enumerate(zip(attentive.predict(frame), Stub(model).predict(frame), strict=True)):
        asked = answer_all(attentive.inquire(), frame.loc[i])
        assert asked.label == label
        known = attentive.inquire(known=dict(frame.loc[i]))
        assert known.label == label
        assert (known.asked, known.spent) == ((), 0)
        if not attentive.plan_.checkpoints.size:
            assert label == of_model
        lacked = [NAMES.index(name) for name in asked.asked if pd.isna(frame.loc[i, name])]
        unseen = tuple(sorted(column for column in lacked if not attentive.population_.missing[column]))
        if len(unseen) < 2 or options["groups"] is None:
            assert asked.certified == (not asked.outside and (not unseen or unseen in attentive.population_.spare))


@pytest.mark.parametrize(("n_scores", "pairs"), KINDS)
def test_all_columns_of_a_stage_are_needed_in_the_order_of_its_terms(n_scores, pairs):
    attentive, frame = made(n_scores, pairs)
    plan, model = attentive.plan_, attentive.additive_
    parts = plan.order[: plan.checkpoints[0]].astype(np.intp)
    first = list(dict.fromkeys(column for part in parts for column in model.terms[part // n_scores].columns))
    inquiry = attentive.inquire()
    assert inquiry.needed == tuple(NAMES[column] for column in first)
    inquiry.tell(frame.loc[0, inquiry.wanted])
    if len(first) > 1:
        assert inquiry.needed == tuple(NAMES[column] for column in first[1:])


def test_a_plan_is_described_by_columns_and_terms_of_several():
    attentive, _ = made(1, True)
    plan = attentive.plan_._replace(order=np.array([1, 9], np.uint32), checkpoints=np.array([2]))
    assert "age, term 9: after 2 terms" in plan.describe(NAMES)


def test_a_column_that_no_term_needs_is_never_asked_for_and_may_be_known():
    attentive, frame = made(1, True)
    assert "unread" not in attentive.columns_
    for value in ("u", 3, np.float32(2), True, pd.Timestamp("2024-01-01"), None):
        inquiry = attentive.inquire(known={"unread": value})
        again = attentive.resume(inquiry.to_json())
        answer_all(inquiry, frame.loc[0])
        answer_all(again, frame.loc[0])
        assert inquiry.label == again.label == attentive.predict(frame[:1])[0]
        assert inquiry.certified


def test_what_is_known_costs_nothing_and_none_cannot_be_had():
    attentive, frame = made(1, False)
    state = attentive.inquire(known={"age": 41, "state": None})
    assert state.outside == {"age": 41}
    for i in range(40):
        row = frame.loc[i].copy()
        row["state"] = None
        asked = answer_all(attentive.inquire(), row)
        known = answer_all(attentive.inquire(known={"state": None, "age": row["age"]}), row)
        assert known.label == asked.label
        assert set(known.asked) == set(asked.asked) - {"state", "age"}
        by_series = attentive.inquire(known=row)  # whose gaps are not known yet
        assert not set(by_series.needed) & set(row.dropna().index)


@pytest.mark.parametrize(("n_scores", "pairs"), KINDS)
def test_a_missing_value_that_was_seen_is_a_value_like_another(n_scores, pairs):
    attentive, frame = made(n_scores, pairs)
    seen = attentive.population_.missing
    assert seen[[0, 1, 2, 5, 7]].all()
    assert not seen[NO_WAY].any()
    lacking = [i for i in range(len(frame)) if frame.loc[i].isna().sum() > 1]
    inquiries = [answer_all(attentive.inquire(), frame.loc[i]) for i in lacking]
    assert all(inquiry.certified or inquiry.outside for inquiry in inquiries)
    assert any(pd.isna(frame.loc[i, name]) for i, asked in zip(lacking, inquiries, strict=True) for name in asked.asked)


@pytest.mark.parametrize(("n_scores", "pairs"), KINDS)
def test_what_the_model_has_no_way_for_is_replaced_by_what_is_expected(n_scores, pairs):
    attentive, frame = made(n_scores, pairs)
    model, population = attentive.additive_, attentive.population_
    np.testing.assert_array_equal(np.flatnonzero(~model.takes_missing), NO_WAY)
    for absent in ((3,), (6, 8)):
        lost = model.parts_lost(absent)
        terms = [k for k, term in enumerate(model.terms) if set(absent) & set(term.columns)]
        np.testing.assert_array_equal(np.flatnonzero(lost), [k * n_scores + c for k in terms for c in range(n_scores)])
        plan = plan_without(attentive.plan_, population, lost, strictest(attentive.certificate_.delta))
        columns = model.columns_in(frame, np.arange(60))
        margin = read_plan(plan, columns.without(absent)).margin
        kept = read_plan(plan, columns.kept().without(absent)).margin
        np.testing.assert_array_equal(margin, kept)
        for i in range(60):
            inquiry = answer_all(attentive.inquire(known=dict.fromkeys(absent)), frame.loc[i])
            assert inquiry.label == attentive.classes_[decided(margin[[i]])[0]]
            np.testing.assert_array_equal(np.ravel(inquiry.margin), margin[i])


@pytest.mark.parametrize(("n_scores", "pairs"), KINDS)
def test_columns_without_which_the_calibration_rows_kept_the_level_may_be_lacking(n_scores, pairs):
    attentive, frame = made(n_scores, pairs, delta=0.3)
    spare = {column for (column,) in attentive.population_.spare}
    assert spare <= set(NO_WAY)  # of the others, rows lacked a value
    for column in NO_WAY:
        own, lacked = Stub(attentive.additive_).predict(frame), []
        for i in range(len(frame)):
            inquiry = answer_all(attentive.inquire(known={column: None}), frame.loc[i])
            lacked.append(inquiry.label)
            used = column in columns_of_rows(attentive, inquiry)
            assert inquiry.certified == (not inquiry.outside and (not used or column in spare))
        if column in spare:
            assert np.mean(own != np.array(lacked)) < 0.35


def columns_of_rows(attentive, inquiry):
    return set(inquiry._decision.lacked)


def test_some_columns_may_be_lacking():
    assert any(len(made(*kind, delta=0.3)[0].population_.spare) for kind in KINDS)


def test_a_group_that_cannot_be_had_is_tested_as_a_whole():
    groups = {"late forms": ["plan", "late"], "others": ["job", "age"]}
    attentive, frame = made(1, False, delta=0.4, groups=Hashed(groups))
    candidates = attentive.population_.spare._candidates
    assert (6, 8) in candidates
    assert (0, 1) in candidates
    inquiry = answer_all(attentive.inquire(known={"plan": None, "late": None}), frame.loc[0])
    assert inquiry.label in attentive.classes_


class Hashed(dict):
    """A dict that a cache takes as a key."""

    def __hash__(self):
        return hash(json.dumps(self))


def test_prices_and_groups_are_those_of_raw_columns():
    attentive, frame = made(3, True)
    costs = {"files": 7.0, "age": 2.0}
    for i in range(30):
        row = frame.loc[i]
        inquiry = answer_all(attentive.inquire(costs=costs, groups=GROUPS | {"forms": ["size", "late"]}), row)
        assert inquiry.label == attentive.predict(frame[i : i + 1])[0]
        had = {name for name in inquiry.asked if not pd.isna(row[name])}
        bought = {"files" if name in GROUPS["files"] else "forms" if name in ("size", "late") else name for name in had}
        assert inquiry.spent == sum({"files": 7.0, "age": 2.0, "forms": 2.0}.get(name, 1.0) for name in bought)


@pytest.mark.parametrize("pairs", [False, True])
def test_a_plan_saves_money_by_raw_column(pairs):
    cheap = Hashed({name: 1.0 if name in ("age", "size", "debt", "state") else 100.0 for name in NAMES})
    plain, frame = made(1, pairs, delta=0.2)
    saving, _ = made(1, pairs, delta=0.2, costs=cheap)
    spent = []
    for attentive in (plain, saving):
        inquiries = [answer_all(attentive.inquire(costs=cheap), frame.loc[i]) for i in range(100)]
        spent.append(sum(inquiry.spent for inquiry in inquiries))
    assert spent[1] <= spent[0]


@pytest.mark.parametrize(("n_scores", "pairs"), KINDS)
def test_an_answer_that_is_taken_back_was_never_told(n_scores, pairs):
    attentive, frame = made(n_scores, pairs)
    for i in range(20):
        inquiry, row = attentive.inquire(known={"job": frame.loc[i, "job"]}), frame.loc[i]
        while inquiry.wanted is not None:
            before = inquiry.to_json(), inquiry.needed, inquiry.leaning, inquiry.confidence
            wanted = inquiry.wanted
            inquiry.tell(None)
            assert inquiry.take_back() == (wanted,)
            assert (inquiry.to_json(), inquiry.needed, inquiry.leaning, inquiry.confidence) == before
            inquiry.tell(row[wanted])
        assert inquiry.label == attentive.predict(frame[i : i + 1])[0]


@pytest.mark.parametrize(("n_scores", "pairs"), KINDS)
def test_an_inquiry_goes_on_from_its_text(n_scores, pairs):
    attentive, frame = made(n_scores, pairs)
    for i in range(20):
        row = frame.loc[i]
        inquiry = attentive.inquire(known={"state": row["state"], "unread": row["unread"]})
        while inquiry.wanted is not None:
            inquiry.tell(row[inquiry.wanted])
            again = attentive.resume(inquiry.to_json())
            assert again.to_json() == inquiry.to_json()
            assert (again.needed, again.asked, again.spent) == (inquiry.needed, inquiry.asked, inquiry.spent)
            assert (again.label, again.confidence) == (inquiry.label, inquiry.confidence)
    told = dict(pair for answers in json.loads(inquiry.to_json())["told"] for pair in answers)
    assert all(value is None or isinstance(value, float | str) for value in told.values())


def test_a_text_about_another_model_is_refused_though_the_plan_is_the_same():
    attentive, _ = made(1, True)
    text = attentive.inquire().to_json()
    model = attentive.additive_
    last = model.terms[-1]
    others = [
        (model.terms[0], Table(1, np.zeros((2, 1))), *model.terms[2:]),
        (*model.terms[:-1], type(last)(last.columns, last.blocks, (np.ones((1, 2)),))),
    ]
    renamed = dict(model.categories) | {0: Categories(np.array([*"abcd"], object), True, others_apart=True)}
    for terms, categories in [(others[0], model.categories), (others[1], model.categories), (model.terms, renamed)]:
        other = attended_like(attentive, terms, categories)
        with pytest.raises(ValueError, match="about another model"):
            other.resume(text)
    assert attended_like(attentive, model.terms, model.categories).resume(text).wanted is not None


def attended_like(attentive, terms, categories):
    """Return the same plan over other terms."""
    model = attentive.additive_
    other = attended_copy(attentive)
    other.additive_ = TermModel(
        terms, model.intercept, model.classes, model.columns, categories, model.as_held, model.n_columns
    )
    return other


def attended_copy(attentive):
    other = object.__new__(type(attentive))
    other.__dict__.update(attentive.__getstate__())
    return other


def raw(value):
    """Return a value as a database or a table gives it."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return pd.NA
    return Decimal(float(value)) if isinstance(value, float) else np.str_(value) if isinstance(value, str) else value


@pytest.mark.parametrize("batch", [None, 7])
@pytest.mark.parametrize(("n_scores", "pairs"), KINDS)
def test_fetchers_return_raw_values(n_scores, pairs, batch):
    attentive, frame = made(n_scores, pairs)
    reading = attentive.read(frame[:50])

    def fetch(row, name):
        return raw(frame.loc[row, name]) if batch is None else [raw(frame.loc[each, name]) for each in row]

    async def fetch_later(row, name):
        await asyncio.sleep(0)
        return fetch(row, name)

    fetched = attentive.predict_lazily(fetch, range(50), batch=batch, concurrency=2)
    later = asyncio.run(attentive.predict_lazily_async(fetch_later, range(50), batch=batch, concurrency=4))
    for found in (fetched, later):
        assert not found.failed
        np.testing.assert_array_equal(found.label, reading.label)
        np.testing.assert_array_equal(found.margin, reading.margin)


def test_a_fetched_record_may_bring_more_columns_with_gaps():
    attentive, frame = made(3, True)
    found = attentive.predict_lazily(lambda row, _: frame.loc[row].to_dict(), range(50))
    assert not found.failed
    np.testing.assert_array_equal(found.label, attentive.predict(frame[:50]))


def test_a_fetched_value_that_the_model_refuses_fails_its_row_alone():
    attentive, frame = made(1, False)
    values = frame.copy()
    values["state"] = ["Utah" if i == 3 else value for i, value in enumerate(values["state"])]
    found = attentive.predict_lazily(lambda row, name: values.loc[row, name], range(40))
    asks = "state" in answer_all(attentive.inquire(), frame.loc[3]).asked
    assert set(found.failed) == ({3} if asks else set())


def test_a_category_that_the_model_refuses_is_named_and_nothing_is_taken():
    attentive, _ = made(1, False)
    inquiry = attentive.inquire()
    before = inquiry.to_json()
    with pytest.raises(ValueError, match=r"'state': the model has no way for 'Utah'.*\['AK', 'CA', 'NY'\]"):
        inquiry.tell_many({"age": 0.1, "state": "Utah"})
    assert inquiry.to_json() == before
    with pytest.raises(ValueError, match=r"'state': the model has no way for 3"):
        inquiry.tell_many({"state": 3})


@pytest.mark.parametrize("name", ["age", "hours", "plan", "late"])
def test_numbers_are_not_taken_from_texts(name):
    inquiry = made(1, False)[0].inquire()
    with pytest.raises(TypeError, match=f"{name!r}: expected a number"):
        inquiry.tell_many({name: "1.0"})
    with pytest.raises(ValueError, match=f"{name!r} is not finite"):
        inquiry.tell_many({name: np.inf})
    for value in (True, np.bool_(False), np.int8(1), np.float32(1), Decimal(1)):
        made(1, False)[0].inquire(known={name: value})


def test_what_was_never_seen_lies_outside():
    rng = np.random.default_rng(4)
    model, frame = model_of(rng), table_of(rng, 1200, unknown=0.0)
    frame = frame[frame["job"] != "Self"].reset_index(drop=True)
    attentive = attended(model, frame)
    for name, value in [("job", "unheard of"), ("job", "Self"), ("plan", 7), ("plan", 7.5), ("age", 1e3), ("late", -1)]:
        inquiry = attentive.inquire(known={name: value})
        assert inquiry.outside == {name: value}
        assert not answer_all(inquiry, frame.loc[0]).certified
    for name, value in [
        ("job", "State"),
        ("job", None),
        ("plan", 5),
        ("state", None),
        ("age", None),
        ("unread", "new"),
    ]:
        assert attentive.inquire(known={name: value}).outside == {}


def test_an_unknown_category_that_rows_had_is_a_value_like_another():
    attentive, frame = made(1, False)
    assert attentive.population_.codes[0].tolist() == [0, 1, 2, 3, 4]
    inquiry = answer_all(attentive.inquire(known={"job": "never heard of either"}), frame.loc[0])
    assert inquiry.outside == {}
    other = frame[:1].assign(job="never heard of either")
    assert inquiry.label == attentive.predict(other)[0]


@pytest.mark.parametrize(("n_scores", "pairs"), KINDS)
def test_the_estimate_becomes_certain(n_scores, pairs):
    attentive, frame = made(n_scores, pairs)
    full, own = attentive.full_margin(frame[:20]), Stub(attentive.additive_).predict(frame[:20])
    plan = attentive.plan_.without_stops()
    questions = attentive._questions()
    reader = type(questions.reader)(
        attentive.additive_, plan, attentive.population_, attentive.prices_, questions.reader.delta
    )
    for i in range(20):
        inquiry = Inquiry(type(questions)(reader, questions.prices, questions.classes, questions.names))
        answer_all(inquiry, frame.loc[i])
        assert len(inquiry.asked) == len(NAMES) - 1
        assert inquiry.confidence == 1
        assert inquiry.label == own[i]
        np.testing.assert_array_equal(inquiry.margin, full[i])


def test_values_that_are_refused_together_are_named_and_nothing_is_taken():
    pair = np.ones((4, 4, 1))
    pair[0, 1] = np.nan
    names, categories = ("a", "b"), np.array(["u", "v"], object)
    own = [Table(k, np.array([[1.0], [-1.0], [0.0], [0.0]])) for k in (0, 1)]
    model = TermModel(
        (*own, Grid((0, 1), (None, None), pair)),
        np.zeros(1),
        np.array([0, 1]),
        names,
        {k: Categories(categories, True, others_apart=True) for k in (0, 1)},
        n_columns=2,
    )
    assert model.takes_missing.all()
    frame = pd.DataFrame({"a": ["u", "v", "v"] * 200, "b": ["u", "v", "u"] * 200})
    attentive = attended(model, frame, when_too_few="read", delta=0.001)
    inquiry = attentive.inquire(known={"a": "u"})
    with pytest.raises(ValueError, match="no way for these values together: column 'a' = 'u', column 'b' = 'v'"):
        inquiry.tell("v")
    assert inquiry.wanted == "b"
    inquiry.tell("u")
    assert inquiry.label == 1


def test_columns_of_pairs_alone_are_tried_with_values_of_the_others():
    pair = np.ones((4, 4, 1))
    pair[3] = np.nan  # a is missing
    categories = {k: Categories(np.array(["u", "v"], object), True, others_apart=True) for k in (0, 1)}
    terms = (NoTerm(0, 1), NoTerm(1, 1), Grid((0, 1), (None, None), pair))
    model = TermModel(terms, np.zeros(1), np.array([0, 1]), None, categories, n_columns=2)
    assert model.takes_missing.tolist() == [False, True]
    assert model.columns_of(np.arange(3)).tolist() == [0, 1]
    assert model.columns_of(np.arange(2)).tolist() == []


def test_a_value_is_not_refused_for_what_was_tried_of_other_columns():
    roots = FormulaTerm(
        (0, 1),
        (
            Formula(
                (0, 1), (Monomials(np.array([[1, 1]])),), (Formula((0,)), Formula((1,), (Apply(far_root, "root"),)))
            ),
        ),
        (np.ones((1, 1)),),
    )
    model = TermModel((NoTerm(0, 1), NoTerm(1, 1), roots), np.zeros(1), np.array([0, 1]), None, n_columns=2)
    assert takes(model.terms, model.kinds, 0, np.array([5.0]))
    assert takes(model.terms, model.kinds, 1, np.array([5000.0]))
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=900), "b": 1001.0 + np.arange(900)})
    attentive = attended(model, frame)
    assert [answer_all(attentive.inquire(), frame.loc[i]).label for i in range(9)] == list(attentive.predict(frame[:9]))
    with pytest.raises(ValueError, match=r"no way for these values together: column 'a' = 1.0, column 'b' = 5.0"):
        attentive.inquire(known={"a": 1, "b": 5})


def far_root(values):
    """Return roots of numbers beyond 1000."""
    return np.sqrt(values - 1000.0)


def test_numbers_that_are_keys_are_told_apart_however_long():
    keys = np.array([9007199254740992, 9007199254740993])
    blocks = [Block(np.arange(2), lookup(0, keys, one_hot(2, other=np.nan)))]
    model = assemble(blocks, np.array([[-1.0, 1.0]]), np.zeros(1), np.array([0, 1]), 1, ["key"])
    attentive = attended(model, pd.DataFrame({"key": keys.tolist() * 300}))
    for key, label in zip(keys.tolist(), (0, 1), strict=True):
        inquiry = attentive.inquire(known={"key": key})
        assert attentive.resume(inquiry.to_json()).label == inquiry.label == label


def test_a_column_that_a_transformer_takes_as_it_is():
    rng = np.random.default_rng(6)
    model, frame = model_of(rng, foreign=True), table_of(rng, 900, foreign=True)
    attentive = attended(model, frame)
    labels = attentive.predict(frame)
    for i in range(60):
        assert answer_all(attentive.inquire(), frame.loc[i]).label == labels[i]
        known = attentive.inquire(known=dict(frame.loc[i]))
        assert known.label == labels[i]
        assert attentive.resume(known.to_json()).label == labels[i]
    with pytest.raises(TypeError, match="'job': expected a number or a text"):
        attentive.inquire(known={"job": pd.Timestamp("2024-01-01")})


def test_categories_may_be_truth_values():
    table = one_hot(2, missing=np.nan)
    blocks = [Block(np.arange(2) + 2 * k, lookup(k, np.array([False, True]), table)) for k in range(2)]
    model = assemble(blocks, np.array([[1.0, 2.0, -3.0, 1.0]]), np.zeros(1), np.array([0, 1]), 2, ["a", "b"])
    frame = pd.DataFrame({"a": [True, False] * 300, "b": [True, True, False] * 200})
    attentive = attended(model, frame)
    labels = attentive.predict(frame[:6])
    for i in range(6):
        for kind in (bool, np.bool_, int, float):
            inquiry = attentive.inquire(known={name: kind(frame.loc[i, name]) for name in ("a", "b")})
            assert inquiry.label == labels[i]
            assert inquiry.certified


def census(rng, n, n_classes):
    """Return a table such as a census has, and labels."""
    frame = pd.DataFrame(
        {
            "age": rng.integers(17, 90, n).astype(float),
            "hours": rng.normal(40, 10, n),
            "work": rng.choice([" Private", "State", "Self", "?"], n),
            "citizen": rng.random(n) < 0.5,
            "education": rng.integers(1, 17, n),
            "country": rng.choice([f"c{k}" for k in range(30)], n),
            "note": rng.choice(["x", "y"], n),
        }
    )
    score = (frame["age"] - 50) / 20 + (frame["work"] == " Private") - (frame["education"] - 8) / 4 + frame["citizen"]
    label = np.digitize(score + rng.normal(size=n) * 0.5, [0.0, 1.5][: n_classes - 1])
    for name, share in {"age": 0.1, "work": 0.1, "country": 0.05}.items():
        frame.loc[rng.random(n) < share, name] = np.nan
    return frame, label


def pipeline_of(numbers, encoder):
    """Return the standard way to build a linear model on a table."""
    texts = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), encoder)
    columns = [("numbers", numbers, ["age", "hours", "education"]), ("texts", texts, ["work", "country"])]
    return make_pipeline(ColumnTransformer([*columns, ("as is", "passthrough", ["citizen"])]), LogisticRegression())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "pipeline",
    [
        pipeline_of(make_pipeline(SimpleImputer(), StandardScaler()), OneHotEncoder()),
        pipeline_of(
            make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures(2)),
            OneHotEncoder(handle_unknown="ignore", min_frequency=0.03),
        ),
        pipeline_of(
            make_pipeline(FunctionTransformer(np.log1p), SimpleImputer(add_indicator=True), StandardScaler()),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        ),
    ],
    ids=["one-hot", "polynomials", "ordinal"],
)
def test_inquiries_about_pipelines_end_as_predict_does(pipeline, n_classes):
    rng = np.random.default_rng(0)
    frame, label = census(rng, 5000, n_classes)
    model = clone(pipeline).fit(frame[:2000], label[:2000])
    attentive = attend(model, frame[2000:], delta=0.05, random_state=0)
    assert isinstance(attentive.additive_, TermModel)
    rows = frame[:80]
    reading, own = attentive.read(rows), model.predict(rows)
    for i in range(80):
        inquiry = answer_all(attentive.inquire(), rows.loc[i])
        assert inquiry.label == reading.label[i]
        assert inquiry.certified or inquiry.outside
        assert attentive.resume(inquiry.to_json()).label == inquiry.label
        if not reading.stopped[i]:
            assert inquiry.label == own[i]
    fetched = attentive.predict_lazily(lambda row, name: rows.loc[row, name], range(80))
    np.testing.assert_array_equal(fetched.label, reading.label)
    assert not fetched.failed
    inquiry = attentive.inquire(known={"age": 41, "work": None, "note": "whatever"}, costs={"country": 20})
    assert not set(inquiry.needed) & {"age", "work", "note"}


def test_a_fingerprint_holds_no_addresses():
    def doubled(values):
        return 2 * values

    prints = []
    for function in (doubled, lambda values: doubled(values)):
        model = model_of(np.random.default_rng(0), foreign=True)
        step = Apply(function, repr(FunctionTransformer(doubled)))
        term = FormulaTerm((1,), (Formula((1,), (step,)),), (np.ones((1, 1)),))
        changed = TermModel((model.terms[0], term), model.intercept, model.classes, n_columns=2)
        prints.append([array.tobytes() for array in changed.arrays()])
    assert prints[0] == prints[1]

"""Inquiries about single rows, for models of every kind."""

import json
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from decimal import Decimal
from functools import cache
from itertools import chain

import attended
import attended_trees
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import reference
import scipy.sparse as sparse
import sklearn.preprocessing as sp
from attended import answer
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from interpret.glassbox import ExplainableBoostingClassifier
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from data import correlated
from saccade import attend
from saccade.planning.prices import price_list

pytestmark = pytest.mark.filterwarnings("ignore:Missing values detected:UserWarning")  # by EBMs
DELTA = 0.05
STATES = ["AK", "CA", "NY", "TX"]
SHOWN = ["wanted", "needed", "asked", "spent", "label", "leaning", "confidence", "certified", "lacked", "outside"]


class Lengths(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer of texts that saccade does not know."""

    def fit(self, X, y=None):
        self.n_features_in_, self.feature_names_in_ = 1, np.array(X.columns)
        return self

    def transform(self, X):
        return np.array([[len(str(value))] for value in np.asarray(X).ravel()], dtype=float)


def pipeline(*, pairs):
    """Return a pipeline over raw columns: ``debt``, ``hours`` and ``late`` take no missing values."""
    imputed = make_pipeline(SimpleImputer(), sp.StandardScaler(), *([sp.PolynomialFeatures(2)] if pairs else []))
    columns = [
        ("imputed", imputed, ["age", "income"]),
        ("one-hot", sp.OneHotEncoder(handle_unknown="ignore"), ["state"]),
        ("job", sp.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["job"]),
        ("size", Lengths() if pairs else sp.OrdinalEncoder(), ["size"]),
        ("late", sp.OneHotEncoder(drop="first") if pairs else "passthrough", ["late"]),
        ("bare", "passthrough", ["debt", "hours"]),
    ]
    return make_pipeline(ColumnTransformer(columns), LogisticRegression(max_iter=1000))


def table(classes=2, n_rows=3600):
    """Return rows with texts, gaps in age and income, and states that models are not fitted on."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)).round(2), columns=["age", "income", "debt", "hours"])
    X["state"], X["job"] = rng.choice(STATES, n_rows), rng.choice(["private", "self", "state"], n_rows)
    X["size"], X["late"] = rng.choice(["s", "mm", "lll"], n_rows), rng.random(n_rows) < 0.5
    score = X["age"] + X["income"] + X["debt"] + X["hours"] + X["state"].isin(STATES[:2]) + X["job"].eq("self")
    score += 0.5 * X["size"].str.len() + X["late"] + 0.3 * rng.normal(size=n_rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    X[["age", "income"]] = X[["age", "income"]].mask(rng.random((n_rows, 2)) < 0.1)
    X.loc[800:, "state"] = X["state"].mask(rng.random(n_rows) < 0.05, "elsewhere")
    X["note"] = "unused"
    return X, np.array(["low", "middle", "high"])[y]


EBM = ExplainableBoostingClassifier(interactions=[(0, 1)], outer_bags=1, max_rounds=50, n_jobs=1, random_state=0)
OTHERS = {
    "pipeline": (pipeline(pairs=False), table, {}),
    "pipeline, pairs": (pipeline(pairs=True), lambda: table(3), {"costs": {"age": 5.0}}),
    "EBM": (EBM, table, {}),
    "naive Bayes": (GaussianNB(), lambda: attended_trees.table(categories=False), {}),
}
LINEAR = ["two classes", "four classes", "groups"]
TREES = [name for name in attended_trees.MODELS if name != "lightgbm, constant"]
KINDS = [*LINEAR, *OTHERS, *TREES]
# The columns that take missing values, and those of them that lacked values when the model was certified.
ALL = attended_trees.NAMES
TAKE_MISSING = dict.fromkeys(KINDS, ([], [])) | dict.fromkeys(set(TREES) - {"adaboost", "gradient"}, (ALL, []))
TAKE_MISSING |= {"lightgbm, gaps": (ALL, ["age"]), "lightgbm, zeros": (ALL, ALL)}
TAKE_MISSING |= dict.fromkeys(("pipeline", "pipeline, pairs", "EBM"), (["age", "income"], ["age", "income"]))


@cache
def made(name):
    """Return a certified model, and rows that took no part in certifying it."""
    if name in LINEAR:
        attentive, rows = attended.attended(name)
        return attentive, rows[:400]
    if name in TREES:
        attentive, rows = attended_trees.attended(name)
        zero = (rows.index % 3 == 0) & (name == "lightgbm, zeros")  # which counts as missing there
        return attentive, rows.assign(age=rows["age"].mask(zero, 0.0))
    model, data, options = OTHERS[name]
    X, y = data()
    attentive = attend(model.fit(X[:800], y[:800]), X[800:3200], delta=DELTA, random_state=0, **options)
    return attentive, X[3200:].reset_index(drop=True)


def longest(name):
    """Return a model and a row that is read to the end."""
    attentive, rows = made(name)
    return attentive, rows.iloc[int(np.argmax(attentive.read(rows).n_read))]


def shown(inquiry):
    return [*np.ravel(inquiry.margin), *(getattr(inquiry, name) for name in SHOWN)]


@pytest.mark.parametrize("name", KINDS)
def test_an_inquiry_ends_with_the_label_and_margin_of_read(name):
    attentive, rows = made(name)
    rows = rows[:60]
    reading, full = attentive.read(rows), attentive.full_margin(rows)
    assert len(set(reading.n_read)) > 1
    np.testing.assert_array_equal(reading.label, attentive.predict(rows))
    for i in range(60):
        inquiry, needed = attentive.inquire(), set()
        while inquiry.wanted is not None:
            assert (inquiry.wanted, inquiry.label, inquiry.certified) == (inquiry.needed[0], None, False)
            needed |= set(inquiry.needed)
            inquiry.tell(rows.loc[i, inquiry.wanted])
        assert sorted(needed) == sorted(inquiry.asked), "inquiries want every needed column, once"
        assert inquiry.label == inquiry.leaning == reading.label[i]
        np.testing.assert_array_equal(inquiry.margin, reading.margin[i])
        assert inquiry.certified == (not inquiry.outside)
        if name in [*LINEAR, "pipeline", "naive Bayes"] and reading.stopped[i]:
            assert len(inquiry.asked) == reading.n_read[i]
        if not reading.stopped[i]:
            np.testing.assert_array_equal(inquiry.margin, full[i])
            assert inquiry.confidence == 1


@pytest.mark.parametrize("name", ["forest, three", "adaboost"])
def test_trees_ask_only_for_columns_on_the_path_of_the_row(name):
    attentive, rows = made(name)
    trees, reading = attentive.estimator_.estimators_, attentive.read(rows)
    plan, every = attentive.plan_, range(len(trees))
    order = list(dict.fromkeys([*(plan.unit[plan.order] if plan.unit.size else plan.order), *every]))
    paths = [tree.decision_path(rows.to_numpy(dtype=np.float32)) for tree in trees]
    for i in range(60):
        nodes = [(trees[k].tree_, paths[k][i].indices) for k in order[: reading.n_read[i]]]
        columns = {column for tree, path in nodes for column in tree.feature[path] if column >= 0}
        assert set(answer(attentive.inquire(), rows.iloc[i]).asked) == {rows.columns[column] for column in columns}


STEPS = ["wanted", "unavailable", "any", "several", "unknown", "twice", "take back", "resume"]


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=examples(300))
@given(row=st.integers(0, 399), steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11)), max_size=15))
def test_any_sequence_of_answers_ends_with_the_label_of_predict(name, row, steps):
    attentive, rows = made(name)
    values, names = rows.iloc[row], list(rows)
    price = {feature: float(position) for position, feature in enumerate(names)}  # the first is free
    group = {feature: "record" if position in (1, 2, 4) else feature for position, feature in enumerate(names)}
    inquiry, answers = attentive.inquire(price, groups=list(group.values())), []
    for step, position in steps:
        before, wanted, feature = inquiry.to_json(), inquiry.wanted, names[position % len(names)]
        known = {*chain.from_iterable(answers)}
        new = {
            "wanted": {} if wanted is None else {wanted: values[wanted]},
            "unavailable": {wanted: None} if wanted in TAKE_MISSING[name][0] else {},
            "any": {feature: values[feature]},
            "several": {each: values[each] for each in names[position:] if each not in known},
            "unknown": {feature: values[feature], "no such column": 1.0},
            "twice": {feature: values[feature], names.index(feature): values[feature]},
        }.get(step, {})
        try:
            if step == "take back":
                assert set(inquiry.take_back()) == set(answers.pop())
            elif step == "resume":
                inquiry = attentive.resume(before)
            else:
                inquiry.tell_many(new)
                answers += [new] if new else []
        except ValueError:
            assert inquiry.to_json() == before
            refused = step in ("unknown", "twice") or wanted is None or set(new) & known
            assert refused or (step == "take back" and not answers)
        assert shown(attentive.resume(inquiry.to_json())) == shown(inquiry)
    answer(inquiry, values)
    unavailable = [feature for told in answers for feature, value in told.items() if value is None]
    filled = rows.iloc[[row]].assign(**dict.fromkeys(unavailable, np.nan)).astype(rows.dtypes)
    assert inquiry.label == attentive.predict(filled)[0]
    bought = {group[feature] for feature in inquiry.asked if not pd.isna(filled[feature].iloc[0])}
    assert inquiry.spent == sum(price[feature] for feature in names if group[feature] in bought)


@pytest.mark.parametrize("name", KINDS)
def test_known_values_are_not_asked_for_and_change_no_label(name):
    attentive, rows = made(name)
    labels, names = attentive.predict(rows[:40]), np.array(rows.columns)
    for i in range(40):
        row = rows.iloc[i]
        everything = attentive.inquire(known=dict(row))
        assert (everything.label, everything.asked, everything.spent) == (labels[i], (), 0)
        known = np.random.default_rng(i).permutation(names)[:3]
        inquiry = answer(attentive.inquire(known={feature: row[feature] for feature in known}), row)
        assert inquiry.label == labels[i]
        assert set(inquiry.asked) == set(answer(attentive.inquire(), row).asked) - set(known)


@pytest.mark.parametrize("name", ["two classes", "pipeline", "lightgbm"])
def test_a_column_without_a_value_in_a_series_is_still_asked_for(name):
    attentive, rows = made(name)
    row, first = rows.iloc[0].astype(object), attentive.inquire().wanted
    for gap in (None, math.nan, pd.NA):
        row[first] = gap
        inquiry = attentive.inquire(known=row)
        assert inquiry.wanted == first
        assert inquiry.to_json() == attentive.inquire(known=row.dropna().to_dict()).to_json()


@pytest.mark.parametrize("known", [lambda rows: rows[5:6], lambda rows: rows.to_numpy()[5], lambda rows: ["f0"]])
def test_what_is_known_is_a_dict_or_a_row(known):
    attentive, rows = made("two classes")
    with pytest.raises(TypeError, match=r"known must be a dict of feature to value, or a row .*X.iloc\[5\]; got "):
        attentive.inquire(known=known(rows))


def test_columns_without_weight_are_never_asked_for():
    X, y = correlated(3000, 6, seed=1, separation=3.0)
    model = LogisticRegression(max_iter=500).fit(X, y)
    model.coef_[0, 4:] = 0
    inquiry = answer(attend(model, X, boundary="full").inquire(), X[0])
    assert sorted(inquiry.asked) == [0, 1, 2, 3]
    assert (inquiry.label, inquiry.confidence, inquiry.certified) == (model.predict(X[:1])[0], 1, True)
    attentive, rows = made("pipeline")
    for value in ("any", 3, np.float32(2), True, pd.Timestamp("2024-01-01"), None):
        inquiry = answer(attentive.inquire(known={"note": value}), rows.iloc[0])
        assert inquiry.certified
        assert attentive.resume(inquiry.to_json()).label == inquiry.label


@pytest.mark.parametrize(
    ("name", "groups", "prices"),
    [
        ("groups", {"sample": ["f0", "f3", "f5"], "record": ["f1", "f2"]}, {"sample": 3, "record": 2}),
        ("lightgbm, groups", {"record": ["income", "debt"]}, {"record": 20, "age": 5, "state": 0}),
        ("forest", {}, {"age": 3, "income": 3, "state": 3, "debt": 3}),
        ("pipeline, pairs", {}, {"age": 5}),
    ],
)
def test_each_purchase_of_the_model_is_paid_for_once(name, groups, prices):
    attentive, rows = made(name)
    group_of = {feature: group for group, features in groups.items() for feature in features}
    shared = 0
    for i in range(60):
        inquiry, bought = attentive.inquire(), set()
        while (feature := inquiry.wanted) is not None:
            purchase, before = group_of.get(feature, feature), inquiry.spent
            inquiry.tell(rows.loc[i, feature])
            free = purchase in bought or pd.isna(rows.loc[i, feature])
            assert inquiry.spent - before == (0 if free else prices.get(purchase, 1))
            shared += purchase in bought
            bought |= set() if pd.isna(rows.loc[i, feature]) else {purchase}
    assert shared or not groups


def priced(attentive, seed):
    """Return a copy of a model in which columns have costs, some of them none, and two are bought together."""
    rng, names = np.random.default_rng(seed), list(attentive.additive_.columns)
    costs = dict(zip(names, rng.integers(0, 9, len(names)) / 4, strict=True))
    groups = {"both": rng.choice(names, 2, replace=False).tolist()}
    costs = {name: cost for name, cost in costs.items() if name not in groups["both"]} | {"both": 2.5}
    copied = copy(attentive).set_params(costs=costs, groups=groups)
    copied.__dict__.pop("_shared_questions", None)
    copied.prices_ = price_list(costs, groups, len(names), names)
    return copied


@settings(max_examples=examples(60), deadline=None)
@given(name=st.sampled_from(KINDS), seed=st.integers(0, 1000))
def test_a_reading_costs_what_inquiries_about_its_rows_spend(name, seed):
    attentive, rows = made(name)
    attentive = priced(attentive, seed)
    some = rows.sample(12, random_state=seed)
    spent = [answer(attentive.inquire(), row).spent for _, row in some.iterrows()]
    np.testing.assert_allclose(attentive.read(some).cost, spent, rtol=1e-12)


@pytest.mark.parametrize("fewest", ["features", "columns"])
def test_csr_rows_cost_what_inquiries_about_them_spend(fewest):
    X, y = correlated(4000, 12, seed=1, separation=3.0)
    X[np.abs(X) < 0.5] = 0
    rows, costs = sparse.csr_array(X), np.arange(12.0)
    attentive = attend(LogisticRegression().fit(X[:1000], y[:1000]), rows[1000:], costs=costs, fewest=fewest, delta=0.1)
    spent = []
    for row in X[:30]:
        inquiry = attentive.inquire()
        spent.append(answer(inquiry, row).spent)
    np.testing.assert_allclose(attentive.read(rows[:30]).cost, spent)


def test_the_certificate_states_what_rows_cost():
    attentive, rows = attended.attended("groups")
    certificate = attentive.certificate_
    assert certificate.cost_of_all == 3 + 7 + 2
    assert certificate.cost_per_row == pytest.approx(attentive.read(rows[1000:]).cost.mean(), rel=0.05)
    assert f"\nExpected cost per row: {certificate.cost_per_row:.3g} of 12." in str(certificate)
    assert "Expected cost per row" in certificate._repr_html_()
    without = attended.attended("two classes")[0]
    assert without.read(rows[:5]).cost is None
    assert "cost" not in str(without.certificate_)


def test_an_unavailable_value_costs_nothing_and_a_group_costs_its_price_once_one_value_is_there():
    attentive, row = longest("groups")
    inquiry, sample = attentive.inquire(), attended.GROUPS["sample"]
    while inquiry.wanted not in sample:
        inquiry.tell(row[inquiry.wanted])
    spent, (first, second, third) = inquiry.spent, [feature for feature in inquiry.needed if feature in sample]
    inquiry.tell_many({first: None, second: None})
    assert inquiry.spent == spent
    inquiry.tell(row[third])
    assert inquiry.spent == spent + 3


def test_costs_of_an_inquiry_replace_those_of_the_model_and_not_its_groups():
    attentive, row = longest("groups")
    plain, dear = answer(attentive.inquire(), row), answer(attentive.inquire({"sample": 100.0}), row)
    assert (dear.asked, dear.spent) == (plain.asked, plain.spent + 97)
    regrouped = answer(attentive.inquire({"all": 2.0}, groups={"all": attended.NAMES}), row)
    assert (regrouped.asked, regrouped.spent) == (plain.asked, 2)
    free = attentive.resume(attentive.inquire(np.zeros(attended.N)).to_json())
    assert answer(free, row).spent == 0


@pytest.mark.parametrize("name", ["two classes", "four classes", "pipeline", "pipeline, pairs", "naive Bayes"])
def test_unavailable_values_are_imputed_as_in_the_reference(name):
    attentive, rows = made(name)
    rng, every, ends = np.random.default_rng(0), np.arange(60), set()
    rows = rows[:60]
    bare = [feature for feature in rows.select_dtypes("number") if feature not in TAKE_MISSING[name][0]]
    parts = attentive.additive_.values(rows, every)
    for i in range(60):
        row, absent = rows.iloc[i].copy(), [feature for feature in bare if rng.random() < 0.3]
        changed = attentive.additive_.values(rows.assign(**{feature: rows[feature] + 1 for feature in absent}), every)
        lost = (changed != parts).any(axis=0)
        without = reference.plan_without(attentive.plan_, attentive.population_, lost, DELTA)
        margin, n_read, _ = reference.read_row(without, np.where(lost, 0.0, parts[i]))
        row[absent] = None
        inquiry = attentive.inquire()
        while inquiry.wanted is not None:
            inquiry.tell(None if inquiry.wanted in absent else row[inquiry.wanted])
        np.testing.assert_allclose(np.ravel(inquiry.margin), margin)
        assert inquiry.label == attentive.classes_[margin.argmax() if margin.size > 1 else int(margin[0] > 0)]
        assert name not in LINEAR or len(inquiry.asked) == n_read
        assert inquiry.lacked == bool(set(absent) & set(inquiry.asked))
        assert inquiry.certified == (not inquiry.lacked and not inquiry.outside)
        in_advance = answer(attentive.inquire(known=dict.fromkeys(absent)), row)
        assert (in_advance.label, in_advance.certified) == (inquiry.label, inquiry.certified)
        ends.add((bool(absent), inquiry.certified))
    assert (True, False) in ends
    assert (True, True) in ends or "pipeline" in name, "a label is certified if the missing values are never read"


@pytest.mark.parametrize("name", [name for name in KINDS if TAKE_MISSING[name][0]])
def test_missing_values_that_the_model_takes_are_values_like_others(name):
    attentive, rows = made(name)
    takes, seen = TAKE_MISSING[name]
    certified = []
    for i in range(40):
        rng = np.random.default_rng(i)
        gone = [feature for feature in takes if rng.random() < 0.3]
        row = rows.iloc[[i]].assign(**dict.fromkeys(gone, np.nan)).astype(rows.dtypes)
        inquiry = attentive.inquire()
        while inquiry.wanted is not None:
            value = row[inquiry.wanted].iloc[0]
            inquiry.tell(rng.choice(np.array([None, math.nan, pd.NA], object)) if pd.isna(value) else value)
        assert inquiry.label == attentive.predict(row)[0]
        np.testing.assert_allclose(inquiry.margin, attentive.read(row).margin[0], rtol=1e-12)
        unseen = set(inquiry.asked) & set(gone) - set(seen)
        assert inquiry.lacked == bool(unseen)
        assert inquiry.certified == (not unseen and not inquiry.outside)
        certified += [inquiry.certified] if set(inquiry.asked) & set(gone) & set(seen) else []
    assert any(certified) or not seen, "a value that was missing in rows that certified the model may be missing"


@pytest.mark.parametrize(
    ("name", "values", "error", "message"),
    [
        ("two classes", {"height": 1.0}, ValueError, "no feature 'height'"),
        ("two classes", {"f1": "tall"}, TypeError, "expected a number"),
        ("two classes", {"f1": math.nan}, ValueError, "not finite"),
        ("pipeline", {"age": math.inf}, ValueError, "not finite"),
        ("pipeline, pairs", {"size": pd.Timestamp("2024-01-01")}, TypeError, "expected a number or a text"),
        ("gradient", {"age": None}, ValueError, "'age': the model takes no missing values"),
        ("adaboost", {"age": pd.NA}, ValueError, "'age': the model takes no missing values"),
        ("lightgbm", {"age": 10**400}, ValueError, "not finite"),
        ("lightgbm", {"state": ["NY"]}, ValueError, "no category that the model was fitted on"),
        ("xgboost, categories", {"state": "Utah"}, ValueError, "'Utah' is none of the categories"),
        ("two classes", {"f2": 1.0, "f11": 2.0}, ValueError, "already"),
        ("two classes", [1.0], TypeError, "Expected a dict"),
        ("two classes", dict.fromkeys(attended.NAMES[:-1], 1.7e308), ValueError, "overflows"),
    ],
)
def test_refused_values_leave_the_inquiry_as_it_was(name, values, error, message):
    attentive, rows = made(name)
    inquiry = attentive.inquire(known={rows.columns[-1]: rows.iloc[0, -1]})
    before = inquiry.to_json()
    with pytest.raises(error, match=message):
        inquiry.tell_many(values)
    assert inquiry.to_json() == before


def test_values_that_a_model_refuses_together_are_named_and_not_accepted():
    X = pd.DataFrame(np.random.default_rng(0).uniform(1, 2, (900, 2)), columns=["a", "b"])
    product = sp.PolynomialFeatures((2, 2), interaction_only=True, include_bias=False)
    root = make_pipeline(product, sp.FunctionTransformer(np.sqrt), LogisticRegression()).fit(X, X["a"] * X["b"] > 2)
    attentive = attend(root, X, delta=DELTA, when_too_few="read", random_state=0)
    inquiry = attentive.inquire(known={"a": -1.0})
    with pytest.raises(ValueError, match=r"together: column 'a' = -1\.0, column 'b' = 2\.0"):
        inquiry.tell(2.0)
    inquiry.tell(-3.0)
    assert inquiry.label == root.predict(pd.DataFrame({"a": [-1.0], "b": [-3.0]}))[0]


@pytest.mark.parametrize("name", ["two classes", "pipeline", "lightgbm"])
def test_an_inquiry_with_a_label_accepts_nothing_until_an_answer_is_taken_back(name):
    attentive, row = longest(name)
    inquiry, states = attentive.inquire(), []
    with pytest.raises(ValueError, match="No answer"):
        inquiry.take_back()
    while inquiry.wanted is not None:
        states.append((inquiry.to_json(), shown(inquiry)))
        inquiry.tell(row[inquiry.wanted])
    end = shown(inquiry)
    for more in (lambda: inquiry.tell(1.0), lambda: inquiry.tell_many({inquiry.asked[0]: 1.0})):
        with pytest.raises(ValueError, match="label is clear"):
            more()
    for text, state in reversed(states):
        assert (inquiry.asked[-1],) == inquiry.take_back()
        assert (inquiry.to_json(), shown(inquiry)) == (text, state)
    assert shown(answer(inquiry, row)) == end


@pytest.mark.parametrize("kind", [float, int, bool, np.float32, np.int8, np.bool_, Decimal])
@pytest.mark.parametrize("name", ["two classes", "pipeline", "pipeline, pairs"])
def test_numbers_of_any_type_are_the_same_value(name, kind):
    attentive, feature = made(name)[0], "f1" if name in LINEAR else "late"
    assert attentive.inquire(known={feature: kind(1)}).confidence == attentive.inquire(known={feature: 1.0}).confidence


def test_integer_categories_are_distinct_beyond_the_precision_of_floats():
    keys = np.array([2**53, 2**53 + 1])
    X = pd.DataFrame({"key": np.tile(keys, 300)})
    model = make_pipeline(ColumnTransformer([("key", sp.OneHotEncoder(), ["key"])]), LogisticRegression())
    attentive = attend(model.fit(X, X["key"] == keys[1]), X, delta=DELTA, random_state=0)
    for key in keys.tolist():
        inquiry = attentive.inquire(known={"key": key})
        assert attentive.resume(inquiry.to_json()).label == inquiry.label == (key == keys[1])


@pytest.mark.parametrize("name", ["two classes", "pipeline", "EBM", "naive Bayes", "lightgbm", "hist", "xgboost"])
def test_a_number_outside_of_the_range_is_reported_and_not_certified(name):
    attentive, rows = made(name)
    feature = rows.columns[0]
    low, high = attentive.population_.low[0], attentive.population_.high[0]
    beyond = [np.nextafter(low, -np.inf), np.nextafter(high, np.inf), 1e6]
    for value in (low, high, *beyond):
        inquiry = answer(attentive.inquire(known={feature: value}), rows.iloc[0])
        again = attentive.resume(inquiry.to_json())
        assert inquiry.outside == again.outside == ({feature: value} if value in beyond else {})
        assert inquiry.certified == again.certified == (value not in beyond)


@pytest.mark.parametrize("name", ["pipeline", "EBM", "lightgbm", "lightgbm, three", "hist", "xgboost, categories"])
def test_a_category_that_no_certifying_row_had_is_reported_and_not_certified(name):
    X, _ = (table if name in OTHERS else attended_trees.table)(classes=3 if name == "lightgbm, three" else 2)
    attentive = attend(made(name)[0].estimator_, X[800:3200].query("state != 'NY'"), delta=DELTA, random_state=0)
    unknown = {"pipeline": "inside", "EBM": "inside", "xgboost, categories": "refused"}.get(name, "outside")
    for state in STATES if unknown == "refused" else [*STATES, "Utah"]:
        inquiry = answer(attentive.inquire(known={"state": state}), X.iloc[3])
        # Rows that certified the pipeline and the EBM had unknown states: any other is then as good as these.
        outside = state == "NY" or (state == "Utah" and unknown == "outside")
        assert inquiry.outside == ({"state": state} if outside else {})
        assert inquiry.certified == (not outside)
    missing = answer(attentive.inquire(known={"state": None}), X.iloc[3])
    assert missing.outside == {}
    assert missing.label == inquiry.label or unknown != "outside", "trees take an unknown category for a missing one"
    if name == "pipeline":
        assert inquiry.label == attentive.predict(X.iloc[[3]].assign(state="Utah"))[0]
        assert attentive.inquire(known={"job": "Utah"}).outside == {"job": "Utah"}


@pytest.mark.parametrize("name", ["lightgbm", "hist", "xgboost, categories", "pipeline"])
@pytest.mark.parametrize("value", [2, "NY", "Utah", pd.Timestamp("2024-01-01")])
def test_an_inquiry_and_predict_refuse_the_same_values(name, value):
    attentive, rows = made(name)
    row = rows.iloc[[5]].assign(state=pd.Series([value], dtype=object, index=rows.index[[5]]))
    refused = []
    for ask in (lambda: attentive.full_margin(row), lambda: attentive.inquire(known={"state": value})):
        try:
            ask()
        except (TypeError, ValueError):
            refused.append(True)
        else:
            refused.append(False)
    assert refused[0] == refused[1]
    assert refused[0] == (
        not isinstance(value, str)
        if name == "lightgbm"
        else isinstance(value, pd.Timestamp) or (name == "xgboost, categories" and value != "NY")
    )


@pytest.mark.filterwarnings("ignore:.*negative value in categorical")
def test_category_codes_in_an_array_are_truncated_as_the_library_does():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(6000, 2)), rng.choice([-1, 0, 1.5, 2, 3, 4], 6000)])
    y = X[:, 0] + np.where(np.isin(X[:, 2], [0, 2, 4]), 2, -2) + 0.3 * rng.normal(size=6000) > 0
    model = lgb.LGBMClassifier(**attended_trees.LIGHT).fit(X[:2000], y[:2000], categorical_feature=[2])
    rows = X[2000:]
    rows[rows[:, 2] == 2, 2] = 3
    attentive = attend(model, rows, delta=0.1, random_state=0)
    for code in (-7.0, -0.5, 0.0, 1.0, 1.9, 4.9, 2.0, 2.5, 5.0):
        inquiry = attentive.inquire(known={0: 0.1, 1: 0.1, 2: code})
        assert inquiry.label == model.predict([[0.1, 0.1, code]])[0]
        assert inquiry.outside == ({2: code} if code in (2.0, 2.5, 5.0) else {})


@pytest.mark.parametrize("name", ["two classes", "four classes", "pipeline", "lightgbm", "forest, three"])
def test_confidence_is_about_the_share_of_rows_with_the_leaning_label(name):
    attentive, rows = made(name)
    full = attentive.full_margin(rows)
    labels = attentive.classes_[(full > 0).astype(int) if full.ndim == 1 else full.argmax(axis=1)]
    known = answer(attentive.inquire(), longest(name)[1]).asked[:3]
    inquiries = [attentive.inquire(known=row) for row in rows[list(known)].to_dict("records")]
    said = np.array([inquiry.confidence for inquiry in inquiries])
    right = np.array([inquiry.leaning for inquiry in inquiries]) == labels
    assert ((said >= 0) & (said <= 1)).all()
    unsure, sure = np.array_split(np.argsort(said), 2)
    assert right[sure].mean() > right[unsure].mean()
    for half in (unsure, sure):
        assert abs(said[half].mean() - right[half].mean()) < 0.15


@pytest.mark.parametrize("name", ["two classes", "pipeline", "lightgbm"])
def test_a_class_without_a_promise_is_never_certified(name):
    rows = attended.attended(name)[1] if name in LINEAR else (table() if name in OTHERS else attended_trees.table())[0]
    fitted = made(name)[0].estimator_
    first, second = fitted.classes_
    attentive = attend(fitted, rows[1000:3200], delta={first: DELTA, second: 1.0}, random_state=0)
    found = [answer(attentive.inquire(), made(name)[1].iloc[i]) for i in range(40)]
    assert {inquiry.label for inquiry in found} == {first, second}
    for inquiry in found:
        assert inquiry.certified == (inquiry.label == first and not inquiry.outside)


@pytest.mark.parametrize("name", KINDS)
def test_an_inquiry_is_resumed_by_a_copy_of_its_model(name):
    attentive, row = longest(name)
    inquiry = attentive.inquire({0: 5.0}, known={row.size - 1: row.iloc[-1]})
    inquiry.tell(row[inquiry.wanted])
    copy = made.__wrapped__(name)[0] if name == "pipeline, pairs" else pickle.loads(pickle.dumps(attentive))
    again = copy.resume(json.dumps(json.loads(inquiry.to_json())))
    assert shown(again) == shown(inquiry)
    assert shown(answer(again, row)) == shown(answer(inquiry, row))


def test_an_inquiry_of_another_model_is_refused():
    for name, other in [("two classes", "four classes"), ("two classes", "groups"), ("xgboost", "lightgbm")]:
        with pytest.raises(ValueError, match="another model"):
            made(name)[0].resume(made(other)[0].inquire().to_json())


def test_after_another_fit_inquiries_are_about_the_new_model():
    X, y = correlated(4000, 6, seed=1, separation=3.0)
    attentive = attend(LogisticRegression().fit(X[:1000], y[:1000]), X[1000:], delta=DELTA, random_state=0)
    text = attentive.inquire().to_json()
    attentive.set_params(estimator=LogisticRegression(C=1e-4).fit(X[:1000], y[:1000])).fit(X[1000:], y[1000:])
    with pytest.raises(ValueError, match="another model"):
        attentive.resume(text)
    reading = attentive.read(X[:20])
    np.testing.assert_array_equal([answer(attentive.inquire(), row).margin for row in X[:20]], reading.margin)


@pytest.mark.parametrize(
    ("written", "changed", "message"),
    [
        ('{"saccade', "[" * 100_000, "not an inquiry"),
        ('"known"', '"something"', "not an inquiry"),
        ('inquiry": 1', 'inquiry": 2', "format 2"),
        ('"told": []', '"told": [[[1, "x"]]]', "not an inquiry"),
        ('"told": []', '"told": [[[1, 1], [1, 1]]]', "twice"),
        ('"told": []', '"told": [[[1, 1]], [[1, 1]]]', "already"),
        ('"price": [1.0', '"price": [-1.0', "prices"),
        ('"purchase": [0', '"purchase": [1' + "0" * 30, "not an inquiry"),
    ],
)
def test_a_damaged_inquiry_is_refused(written, changed, message):
    attentive, _ = made("two classes")
    text = attentive.inquire().to_json()
    assert written in text
    with pytest.raises(ValueError, match=message):
        attentive.resume(text.replace(written, changed))


@pytest.mark.parametrize("name", ["two classes", "pipeline", "lightgbm"])
def test_threads_share_one_model(name):
    attentive, rows = made(name)
    takes = TAKE_MISSING[name][0] or list(rows)

    def decide(model, i):
        return shown(answer(model.inquire(known={takes[i % len(takes)]: None}), rows.iloc[i]))

    fresh = pickle.loads(pickle.dumps(attentive))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: decide(fresh, i), range(100)))
    assert found == [decide(attentive, i) for i in range(100)]

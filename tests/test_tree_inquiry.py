"""Rows that trees ask for one column after another."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import reference_trees
from attended_trees import DELTA, GROUPS, MODELS, NAMES, STATES, N, attended, attended_without, table
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade import attend
from saccade.kernels.tree_walks import is_member
from saccade.models.trees.storage import storage_of

TAKE_MISSING = [name for name in MODELS if name not in ("gradient", "adaboost")]
PLAIN = [name for name in MODELS if name not in ("lightgbm, gaps", "lightgbm, zeros")]


def answer_all(inquiry, row):
    while inquiry.wanted is not None:
        inquiry.tell(row[inquiry.wanted])
    return inquiry


def codes_of(attentive, row):
    """Return one row of a table as the numbers that trees see."""
    model = attentive.additive_
    storage = storage_of(pd.DataFrame([row])[NAMES].astype(types(attentive)), model._layout)
    out = np.empty((model.walks.used.size, 1), storage.dtype)
    storage.gather(np.arange(model.walks.used.size, dtype=np.int32), np.zeros(1, np.uint32), 1, out)
    codes = np.full(N, np.nan)
    codes[model.walks.used] = out[:, 0]
    return codes


def types(attentive):
    held = attentive.additive_.categories
    return {name: pd.CategoricalDtype(STATES) if place in held else float for place, name in enumerate(NAMES)}


def path_of(attentive, tree, codes):
    """Return the columns that a row asks for in a tree, as slowly and as obviously as possible."""
    nodes, columns = attentive.additive_.ensemble.nodes, []
    node, leaf = int(nodes.root[tree]), reference_trees.leaf_of(attentive.additive_.ensemble, tree, codes)
    while node != leaf:
        columns.append(int(nodes.column[node]))
        children = int(nodes.left[node]), int(nodes.left[node]) + 1
        node = next(child for child in children if leads_to(nodes, child, leaf))
    return columns


def leads_to(nodes, node, leaf):
    below = nodes.left[node]
    return node == leaf or (below != node and (leads_to(nodes, below, leaf) or leads_to(nodes, below + 1, leaf)))


def trees_read(attentive, n_read):
    plan = attentive.plan_
    units = plan.order if plan.unit.size == 0 else plan.unit[plan.order]
    order = list(dict.fromkeys([*units.tolist(), *range(plan.n_units)]))
    return order[:n_read]


@pytest.mark.parametrize("name", MODELS)
def test_an_inquiry_ends_as_the_reader_does_and_asks_for_the_columns_on_the_rows_paths(name):
    attentive, frame = attended(name)
    reading = attentive.read(frame[:60])
    assert len(set(reading.n_read)) > 1
    for i in range(60):
        inquiry = answer_all(attentive.inquire(), frame.iloc[i])
        assert inquiry.label == reading.label[i]
        np.testing.assert_array_equal(inquiry.margin, reading.margin[i])
        codes = codes_of(attentive, frame.iloc[i])
        paths = [path_of(attentive, tree, codes) for tree in trees_read(attentive, reading.n_read[i])]
        assert {NAMES.index(column) for column in inquiry.asked} == {column for path in paths for column in path}
        assert inquiry.certified == (not inquiry.outside)
        assert inquiry.spent == attentive.prices_.total(
            [NAMES.index(column) for column in inquiry.asked if not pd.isna(frame.loc[i, column])]
        )


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_are_read_to_the_end_have_the_models_own_margin_to_the_bit(name):
    attentive, frame = attended(name)
    reading = attentive.read(frame)
    to_the_end = np.flatnonzero(~reading.stopped)[:20]
    full = attentive.full_margin(frame)
    for i in to_the_end:
        inquiry = attentive.inquire(known=frame.iloc[i].dropna())
        answer_all(inquiry, frame.iloc[i])
        np.testing.assert_array_equal(inquiry.margin, full[i])
        assert inquiry.confidence == 1


@pytest.mark.parametrize("name", PLAIN)
def test_with_everything_known_nothing_is_asked_for(name):
    attentive, frame = attended(name)
    labels = attentive.predict(frame[:60])
    for i in range(60):
        inquiry = attentive.inquire(known=frame.iloc[i])
        assert inquiry.label == labels[i]
        assert inquiry.asked == ()
        assert inquiry.spent == 0


def expected_needs(attentive, codes, known):
    """Return what a row needs next: where the walks of the first stage that is not complete wait."""
    plan, begin = attentive.plan_, 0
    order = trees_read(attentive, plan.n_units)
    for end in [*plan.units_among(plan.checkpoints).tolist(), plan.n_units]:
        waiting = []
        for tree in order[begin:end]:
            path = path_of(attentive, tree, codes)
            waiting += [column for column in path if column not in known][:1]
        if waiting:
            return list(dict.fromkeys(waiting))
        begin = end
    return []


@pytest.mark.parametrize("name", MODELS)
@settings(deadline=None, max_examples=40)
@given(row=st.integers(0, 399), told=st.lists(st.integers(0, N - 1), unique=True), late=st.data())
def test_needed_is_where_walks_wait_whatever_is_known(name, row, told, late):
    attentive, frame = attended(name)
    values, codes = frame.iloc[row], codes_of(attentive, frame.iloc[row])
    told = [column for column in told if not pd.isna(values.iloc[column])]
    inquiry, known = attentive.inquire(known={NAMES[column]: values.iloc[column] for column in told}), set(told)
    while inquiry.wanted is not None:
        needed = expected_needs(attentive, codes, known)
        assert [NAMES.index(column) for column in inquiry.needed] == needed
        assert inquiry.wanted == NAMES[needed[0]]
        together = late.draw(st.sets(st.sampled_from(needed), min_size=1))
        inquiry.tell_many({NAMES[column]: values.iloc[column] for column in together})
        known |= together
    assert inquiry.label == attentive.predict(frame[row : row + 1])[0]
    assert not {NAMES.index(column) for column in inquiry.asked} & set(told)


@pytest.mark.parametrize("name", TAKE_MISSING)
def test_what_cannot_be_had_goes_the_librarys_own_way(name):
    """None, NaN and a gap in a table are the same; nobody pays for them."""
    attentive, frame = attended(name)
    rng = np.random.default_rng(0)
    for i in range(40):
        gone = rng.random(N) < 0.3
        row = frame.iloc[[i]].mask(gone[None])
        inquiry = attentive.inquire()
        while inquiry.wanted is not None:
            value = row[inquiry.wanted].iloc[0]
            inquiry.tell(None if pd.isna(value) and rng.random() < 0.5 else math.nan if pd.isna(value) else value)
        reading = attentive.read(row)
        assert inquiry.label == reading.label[0]
        np.testing.assert_allclose(inquiry.margin, reading.margin[0], rtol=1e-12)
        assert inquiry.spent == attentive.prices_.total(
            [NAMES.index(column) for column in inquiry.asked if not pd.isna(row[column].iloc[0])]
        )


def test_a_library_without_missing_values_refuses_them_and_nothing_changes():
    attentive, frame = attended("gradient")
    inquiry = attentive.inquire(known={"noise": 0.5})
    before = inquiry.to_json()
    for gone in (None, math.nan, np.float32("nan"), pd.NA):
        with pytest.raises(ValueError, match=f"{inquiry.wanted!r}: the model takes no missing values"):
            inquiry.tell(gone)
        with pytest.raises(ValueError, match="'age': the model takes no missing values"):
            attentive.inquire(known={"age": gone})
    assert inquiry.to_json() == before
    assert answer_all(inquiry, frame.iloc[0]).label == attentive.predict(frame[:1])[0]
    assert set(attentive.population_.spare) == set()


def test_a_missing_value_is_like_another_where_rows_that_certify_had_some():
    attentive, frame = attended("lightgbm, gaps")
    population = attentive.population_
    assert [NAMES[column] for column in np.flatnonzero(population.missing)] == ["age"]
    assert (NAMES.index("age"),) not in population.spare
    certified = 0
    for i in range(30):
        inquiry = attentive.inquire(known={"age": None})
        answer_all(inquiry, frame.iloc[i])
        assert inquiry.certified == (not inquiry.outside)
        certified += inquiry.certified
    assert certified > 20


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, groups", "forest, three", "catboost, three"])
def test_a_label_without_some_columns_is_certified_where_the_calibration_rows_bear_it_out(name):
    """Only columns on the paths that were walked count."""
    attentive, frame = attended(name, delta=0.1)
    spare = attentive.population_.spare
    seen = set()
    for i in range(120):
        column = NAMES[i % N]
        inquiry = answer_all(attentive.inquire(known={column: None}), frame.iloc[i])
        row = frame.iloc[i].copy()
        row[column] = None
        read = trees_read(attentive, attentive.read(pd.DataFrame([row]).astype(types(attentive))).n_read[0])
        codes = codes_of(attentive, row)
        on_path = any(NAMES.index(column) in path_of(attentive, tree, codes) for tree in read)
        borne_out = not on_path or (NAMES.index(column),) in spare
        assert inquiry.certified == (borne_out and not inquiry.outside)
        seen.add((on_path, inquiry.certified))
    assert {(True, False), (False, True)} <= seen


def test_a_column_that_hardly_matters_is_spare_and_one_that_decides_is_not():
    spare = attended("lightgbm", delta=0.1)[0].population_.spare
    assert (NAMES.index("noise"),) in spare
    assert (NAMES.index("age"),) not in spare
    assert (NAMES.index("age"), NAMES.index("noise")) not in spare


def test_what_is_spare_does_not_depend_on_whether_rows_are_kept(monkeypatch):
    kept = attended("lightgbm, groups")[0]
    how, make, options = MODELS["lightgbm, groups"]
    X, y = table(**how)
    monkeypatch.setattr("saccade.planning.spare.MOST_BYTES_KEPT", 0)
    again = attend(make().fit(X[:800], y[:800]), X[800:3200], delta=DELTA, random_state=0, **options)
    assert type(again.population_.spare) is frozenset
    assert again.population_.spare == set(kept.population_.spare)


def test_a_group_that_cannot_be_had_is_judged_as_a_whole():
    attentive, frame = attended("lightgbm, groups")
    group = tuple(NAMES.index(column) for column in GROUPS["record"])
    whole = group in attentive.population_.spare
    both = 0
    for i in range(80):
        inquiry = attentive.inquire(known=dict.fromkeys(GROUPS["record"]))
        answer_all(inquiry, frame.iloc[i])
        if inquiry._decision.lacked == group:
            both += 1
            assert inquiry.certified == (whole and not inquiry.outside)
        half = answer_all(attentive.inquire(known={"income": None}), frame.iloc[i])
        assert half._decision.lacked in ((), group[:1])
    assert both > 5


def test_groups_are_paid_for_once_and_bought_together():
    attentive, frame = attended("lightgbm, groups")
    paid_for_group = 0
    for i in range(60):
        inquiry = attentive.inquire()
        while inquiry.wanted is not None:
            wanted = {column for column in inquiry.purchases if column in GROUPS["record"]}
            assert len(wanted) <= 1
            before = inquiry.spent
            inquiry.tell(frame.loc[i, inquiry.wanted])
            assert inquiry.spent >= before
        assert inquiry.spent == attentive.prices_.total([NAMES.index(column) for column in inquiry.asked])
        paid_for_group += set(GROUPS["record"]) <= set(inquiry.asked)
        dear = answer_all(attentive.inquire({"record": 1000.0}), frame.iloc[i])
        assert (dear.spent >= 1000) == bool(set(GROUPS["record"]) & set(inquiry.asked))
        assert dear.asked == inquiry.asked
    assert paid_for_group


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, three", "hist", "xgboost, categories"])
def test_categories_are_told_as_they_are_and_unknown_ones_lie_outside(name):
    attentive, frame = attended(name)
    for state in STATES:
        row = frame.iloc[[3]].assign(state=pd.Categorical([state], STATES))
        inquiry = attentive.inquire(known=row.iloc[0])
        assert inquiry.label == attentive.predict(row)[0]
        assert "state" not in inquiry.outside
    if name.startswith("xgboost"):  # which refuses it, too
        with pytest.raises(ValueError, match="'Utah' is none of the categories"):
            attentive.inquire(known={"state": "Utah"})
        return
    unknown = attentive.inquire(known={"state": "Utah"})
    assert unknown.outside == {"state": "Utah"}
    answer_all(unknown, frame.iloc[3])
    assert not unknown.certified
    gone = answer_all(attentive.inquire(known={"state": None}), frame.iloc[3])
    assert gone.label == unknown.label
    assert gone.outside == {}
    again = attentive.resume(json.dumps(json.loads(unknown.to_json())))
    assert (again.label, again.outside, again.asked) == (unknown.label, unknown.outside, unknown.asked)


@pytest.mark.parametrize("unseen", ["AK", "NY", "TX"])
@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, three", "hist", "xgboost, categories"])
def test_a_category_that_no_row_had_is_not_certified_though_its_code_lies_between_others(name, unseen):
    attentive, row = attended_without(name, unseen), table()[0].iloc[3]
    codes = [float(code) for code, state in enumerate(STATES) if state != unseen]
    assert {column: seen.tolist() for column, seen in attentive.population_.codes.items()} == {2: codes}
    for state in STATES:
        inquiry = answer_all(attentive.inquire(known={"state": state}), row)
        assert inquiry.outside == ({"state": state} if state == unseen else {})
        assert inquiry.certified == (state != unseen)
    assert answer_all(attentive.inquire(known={"state": None}), row).outside == {}
    told = attentive.inquire(known={"state": unseen})
    assert attentive.resume(told.to_json()).outside == told.outside


def coded_array(dtype=np.float64):
    """Return rows whose last column holds codes, among them -1 and 1.5, and labels that need it."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(6000, 2)), rng.choice([-1, 0, 1.5, 2, 3, 4], 6000)]).astype(dtype)
    score = X[:, 0] + np.where(np.isin(X[:, 2], [0, 2, 4]), 2, -2) + 0.3 * rng.normal(size=6000)
    return X, (score > 0).astype(int)


@pytest.mark.filterwarnings("ignore:.*negative value in categorical")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_codes_in_arrays_go_by_which_were_seen_as_the_library_truncates_them(dtype):
    X, y = coded_array(dtype)
    model = MODELS["lightgbm"][1]().fit(X[:2000], y[:2000], categorical_feature=[2])
    rest = X[2000:].copy()
    rest[rest[:, 2] == 2, 2] = 3
    rest[:100, 2] = np.nan
    attentive = attend(model, rest, delta=0.1, random_state=0)
    assert attentive.additive_.categories == {}
    assert {column: seen.tolist() for column, seen in attentive.population_.codes.items()} == {2: [-1, 0, 1, 3, 4]}
    outside = {
        -7.0: False,
        -0.5: False,
        0.0: False,
        1.0: False,
        1.9: False,
        2.0: True,
        2.5: True,
        4.9: False,
        5.0: True,
    }
    for code, is_outside in outside.items():
        inquiry = attentive.inquire(known={0: 0.1, 1: 0.1, 2: code})
        assert inquiry.outside == ({2: code} if is_outside else {})
        assert inquiry.certified != is_outside
    assert attentive.inquire(known={0: 0.1, 1: 0.1, 2: None}).certified


def test_codes_are_taken_as_walks_take_them():
    """Two numbers with the same code go the same way at every set."""
    for name in ("lightgbm", "xgboost, categories"):
        ensemble = attended(name)[0].additive_.ensemble
        values = np.array([-np.inf, -1e300, -1.5, -1, -1e-9, -0.0, 0, 0.99999999999, 1, 2.7, 2**31 - 1, 2**31, np.inf])
        codes = ensemble.codes_of(values)
        rule = ensemble.single, ensemble.least_category
        for first, count in zip(ensemble.nodes.first_word, ensemble.nodes.n_words, strict=True):
            if first >= 0:
                ways = [
                    [is_member(of, first, count, ensemble.nodes.words, *rule) for of in told]
                    for told in (values, codes)
                ]
                assert ways[0] == ways[1]
        assert codes[7] == (1 if ensemble.single else 0)


def test_numbers_in_a_column_of_texts_are_codes_where_the_library_takes_codes():
    attentive, frame = attended("lightgbm")
    for code, state in enumerate(STATES):
        told, coded = (answer_all(attentive.inquire(known={"state": of}), frame.iloc[5]) for of in (state, code))
        assert told.margin == coded.margin
    attentive, _ = attended("hist")
    assert attentive.inquire(known={"state": 2}).outside == {"state": 2.0}


def test_categories_that_are_numbers_are_told_as_they_are():
    X, y = table()
    frame = X.assign(state=pd.Categorical([10 * (1 + STATES.index(state)) for state in X["state"]]))
    model = MODELS["lightgbm"][1]().fit(frame[:800], y[:800])
    attentive = attend(model, frame[800:3200], delta=DELTA, random_state=0)
    for i in range(3200, 3230):
        assert attentive.inquire(known=frame.iloc[i]).label == attentive.predict(frame[i : i + 1])[0]
    assert attentive.inquire(known={"state": 40}).outside == {}
    assert attentive.inquire(known={"state": 3}).outside == {"state": 3.0}


def test_what_counts_as_missing_may_be_told_as_zero_and_is_paid_for():
    attentive, frame = attended("lightgbm, zeros")
    for i in range(40):
        zero = frame.iloc[[i]].assign(age=0.0, income=1e-36)
        inquiry = answer_all(attentive.inquire(), zero.iloc[0])
        assert inquiry.label == attentive.predict(zero)[0]
        assert inquiry.spent == len(inquiry.asked)


@pytest.mark.parametrize(
    ("told", "error", "message"),
    [
        ({"height": 1.0}, ValueError, "no feature 'height'"),
        ({"age": "old"}, TypeError, "expected a number"),
        ({"age": math.inf}, ValueError, "Tell a finite number"),
        ({"age": 10**400}, ValueError, "Tell a finite number"),
        ({"state": ["NY"]}, TypeError, "expected a number"),
        ({"rooms": 1.0, "noise": 2.0}, ValueError, "told already"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(told, error, message):
    inquiry = attended("lightgbm")[0].inquire(known={"noise": 0.1})
    before = inquiry.to_json()
    with pytest.raises(error, match=message):
        inquiry.tell_many(told)
    assert inquiry.to_json() == before


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, three", "forest"])
def test_an_inquiry_goes_on_in_another_process_and_answers_can_be_taken_back(name):
    attentive, frame = attended(name)
    states = ("wanted", "needed", "asked", "spent", "label", "leaning", "confidence", "certified", "outside")
    for i in range(10):
        inquiry, before = attentive.inquire(known={"noise": 0.25, "visits": None}), []
        while inquiry.wanted is not None:
            again = attentive.resume(inquiry.to_json())
            assert all(getattr(again, state) == getattr(inquiry, state) for state in states)
            before.append((inquiry.to_json(), inquiry.wanted))
            inquiry.tell(frame.loc[i, inquiry.wanted])
        for text, wanted in reversed(before):
            assert inquiry.take_back() == (wanted,)
            assert inquiry.to_json() == text
            assert inquiry.wanted == wanted
    other = attended("xgboost" if name == "lightgbm" else "lightgbm")[0]
    with pytest.raises(ValueError, match="another model"):
        other.resume(inquiry.to_json())


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, three", "catboost, three"])
def test_confidence_is_about_right(name):
    """With some columns known the full model agrees with the label leaned to about as often as is said."""
    attentive, frame = attended(name)
    full = attentive.full_margin(frame)
    codes = (full > 0).astype(int) if full.ndim == 1 else full.argmax(axis=1)
    known = frame[["age", "state", "rooms"]].to_dict("records")
    inquiries = [attentive.inquire(known=row) for row in known]
    said = np.array([inquiry.confidence for inquiry in inquiries])
    right = np.array([inquiry.leaning for inquiry in inquiries]) == attentive.classes_[codes]
    assert abs(said.mean() - right.mean()) < 0.1
    surest = np.argsort(said)[said.size // 2 :]
    assert right[surest].mean() > right.mean()
    assert right.mean() > 0.7


def test_columns_have_the_names_of_the_table_where_the_library_writes_them_otherwise():
    """LightGBM has underscores in the place of spaces."""
    X, y = table()
    frame = X.rename(columns={"age": "age in years"})
    model = MODELS["lightgbm"][1]().fit(frame[:800], y[:800])
    inquiry = attend(model, frame[800:3200], delta=DELTA, random_state=0).inquire(known=frame.iloc[0])
    assert inquiry.label == model.predict(frame[:1])[0]
    with pytest.raises(ValueError, match="column 0 of X is 'years', not 'age_in_years'"):
        attend(model, frame[800:3200].rename(columns={"age in years": "years"}), delta=DELTA)


@pytest.mark.parametrize("beyond", [-1e-9, 1e-9])
def test_a_value_outside_of_what_was_seen_is_not_certified(beyond):
    attentive, frame = attended("lightgbm")
    low, high = attentive.population_.low, attentive.population_.high
    column = NAMES.index("age")
    for value in (low[column], high[column], (low if beyond < 0 else high)[column] + beyond):
        inquiry = answer_all(attentive.inquire(known={"age": value}), frame.iloc[0])
        inside = low[column] <= value <= high[column]
        assert inquiry.outside == ({} if inside else {"age": value})
        assert inquiry.certified == inside


@pytest.mark.parametrize("name", ["lightgbm", "forest, three", "catboost, three"])
@pytest.mark.parametrize("options", [{}, {"concurrency": 3}, {"batch": 16}])
def test_rows_that_are_fetched_lazily_have_the_readers_labels(name, options):
    attentive, frame = attended(name)
    calls = []

    def fetch(row, column):
        calls.append((row, column))
        return frame.loc[row, column].tolist() if isinstance(row, list) else frame.loc[row, column]

    found = attentive.predict_lazily(fetch, range(60), **options)
    reading = attentive.read(frame[:60])
    np.testing.assert_array_equal(found.label, reading.label)
    np.testing.assert_array_equal(found.margin, reading.margin)
    assert found.failed == {}
    cells = [(one, column) for row, column in calls for one in (row if isinstance(row, list) else [row])]
    assert len(cells) == len(set(cells)) == found.n_asked.sum()


def test_a_record_brings_what_is_a_value_and_an_error_belongs_to_its_row():
    attentive, frame = attended("lightgbm")

    async def fetch(row, column):
        if row == 3:
            raise KeyError(row)
        beside = {"state": frame.loc[row, "state"], "noise": None} if column == "age" else {}
        return {**beside, column: frame.loc[row, column]}

    found = attentive.predict_lazily(fetch, range(20), concurrency=4)
    labels = attentive.predict(frame[:20])
    assert list(found.failed) == [3]
    np.testing.assert_array_equal(np.delete(np.asarray(found.label), 3), np.delete(labels, 3))

"""Screens: what single columns tell of all trees, which priced plans may read first."""

from copy import copy

import numpy as np
import pytest
from attended_trees import MODELS, table
from grown import N_COLUMNS, edgy_rows, grown_ensemble
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from reference_trees import leaf_of
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.model_selection import train_test_split

import saccade
from saccade import attend
from saccade.models.trees.ensemble import NO_SCORE
from saccade.models.trees.model import TreeModel
from saccade.models.trees.screens import MOST_LEAVES, UNSEEN, screened

CATEGORICAL = 3  # among the columns of trees that are grown at random


def expected(nodes, value, rows, node, column, x):
    """Return what a tree gives on average of rows with this value in a column."""
    left = int(nodes.left[node])
    if left == node:
        return value[node]
    ways = [expected(nodes, value, rows, child, column, x) for child in (left, left + 1)]
    if nodes.column[node] == column:
        goes_left = nodes.missing_left[node] if np.isnan(x) else x <= nodes.threshold[node]
        return ways[0] if goes_left else ways[1]
    weight = [rows_below(nodes, rows, child) for child in (left, left + 1)]
    return np.average(ways, weights=weight)


def rows_below(nodes, rows, node):
    left = int(nodes.left[node])
    return rows[node] if left == node else rows_below(nodes, rows, left) + rows_below(nodes, rows, left + 1)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), outputs=st.sampled_from([1, 2]))
def test_a_screen_is_what_trees_give_of_rows_of_which_one_column_is_known(seed, outputs):
    model = TreeModel(grown_ensemble(seed, outputs=outputs), np.arange(2))
    X, nodes = edgy_rows(seed, 30), model.ensemble.nodes
    with_screens = screened(model, model.leaves(X, np.arange(30)))
    n_trees = model.ensemble.score.size
    asked = set(nodes.column[nodes.left != np.arange(nodes.left.size)].tolist()) - {CATEGORICAL}
    screens = with_screens.ensemble.nodes.column[with_screens.ensemble.nodes.root[n_trees:]].tolist()
    assert screens == sorted(asked)
    rows = np.full(nodes.left.size, UNSEEN)
    for leaf in model.leaves(X, np.arange(30)).ravel():
        rows[leaf] += 1
    value, values = model.walks.parts[:, 0].astype(float), with_screens.values(X, np.arange(30))
    roots = nodes.root.tolist()
    for place, column in enumerate(screens):
        # What a tree gives that does not ask for the column is the same for all rows.
        ours = [sum(expected(nodes, value, rows, root, column, x) for root in roots) for x in X[:, column]]
        seen = ~np.isnan(X[:, column])
        difference = (values[:, n_trees + place] - ours)[seen]
        np.testing.assert_allclose(difference, difference[:1].repeat(seen.sum()), atol=1e-4)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.sampled_from([1, 30, 200]),
    outputs=st.sampled_from([1, 2]),
    single=st.booleans(),
)
def test_a_full_read_passes_screens_by(seed, n_rows, outputs, single):
    model = TreeModel(grown_ensemble(seed, outputs=outputs, single=single), np.arange(2))
    X, every = edgy_rows(seed, n_rows), np.arange(n_rows)
    with_screens = screened(model, model.leaves(X, every))
    np.testing.assert_array_equal(with_screens.full(X, every), model.full(X, every))
    n_trees = model.ensemble.score.size
    np.testing.assert_array_equal(with_screens.values(X, every)[:, :n_trees], model.values(X, every))
    assert not with_screens.coef[:, n_trees:].any()
    assert screened(with_screens, with_screens.leaves(X, every)) is with_screens
    for k in range(min(n_rows, 5)):
        assert with_screens.leaves(X, every)[k, 0] == leaf_of(model.ensemble, 0, X[k])


def test_missing_values_go_to_the_step_that_is_nearest_to_what_trees_give_of_them():
    model = TreeModel(grown_ensemble(3, n_trees=12), np.arange(2))
    X = edgy_rows(3, 50)
    with_screens = screened(model, model.leaves(X, np.arange(50)))
    nodes, n_trees = with_screens.ensemble.nodes, model.ensemble.score.size
    rows = np.full(model.ensemble.nodes.left.size, UNSEEN)
    for leaf in model.leaves(X, np.arange(50)).ravel():
        rows[leaf] += 1
    value = model.walks.parts[:, 0].astype(float)
    for tree in range(n_trees, nodes.root.size):
        column, end = int(nodes.column[nodes.root[tree]]), [*nodes.root.tolist(), nodes.left.size][tree + 1]
        own = np.arange(nodes.root[tree], end)
        steps = nodes.value[own[nodes.left[own] == own], 0]
        given = with_screens.values(np.full((1, N_COLUMNS), np.nan), np.arange(1))[0, tree]
        asking = [
            root
            for root, last in zip(model.ensemble.nodes.root, [*model.ensemble.nodes.root[1:], rows.size], strict=True)
            if column in {int(nodes.column[node]) for node in range(root, last) if nodes.left[node] != node}
        ]
        wanted = sum(expected(model.ensemble.nodes, value, rows, int(root), column, np.nan) for root in asking)
        assert abs(given - wanted) == pytest.approx(np.abs(steps - wanted).min(), abs=1e-5)


def test_screens_have_no_more_leaves_than_a_small_scan_takes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    model = LGBMClassifier(n_estimators=80, num_leaves=31, verbose=-1, n_jobs=1).fit(X, np.sin(X.sum(axis=1)) > 0)
    attentive = attend(model, rng.normal(size=(1500, 3)), delta=0.05, costs=[1, 2, 3], random_state=0)
    nodes, trees = attentive.additive_.ensemble.nodes, attentive.additive_.ensemble.n_counting
    leaves = np.add.reduceat(nodes.left == np.arange(nodes.left.size), nodes.root)
    assert trees == 80
    assert leaves[trees:].tolist() == [MOST_LEAVES] * 3
    assert attentive.additive_.walks.scan.width == 32


@pytest.fixture(scope="module")
def priced():
    """Return a certified model of a table in which one cheap column decides most rows, and its rows."""
    X, y = table(1, 4000, categories=False)
    X["age"] *= 3
    X_fit, X_held_out, y_fit, _ = train_test_split(X, y, test_size=0.6, random_state=0)
    model = LGBMClassifier(n_estimators=40, num_leaves=8, verbose=-1, n_jobs=1).fit(X_fit, y_fit)
    costs = {"age": 1.0, "income": 30.0, "state": 10.0, "debt": 20.0, "rooms": 5.0}
    return attend(model, X_held_out, delta=0.05, costs=costs, random_state=0), model, X_held_out.iloc[:120]


def test_rows_may_be_decided_for_less_than_any_tree_costs(priced):
    attentive, _, rows = priced
    trees, prices = attentive.additive_, attentive.prices_
    needs, leaf = trees.walks.needs(prices.purchase), trees.leaves(rows, np.arange(len(rows)))

    def mean_price(tree):
        bits = np.unpackbits(needs[leaf[:, tree]].astype("<u8").view(np.uint8), axis=1, bitorder="little")
        return (bits[:, : prices.price.size] @ prices.price).mean()

    assert attentive.plan_.order[0] >= trees.ensemble.n_counting
    assert attentive.inquire().wanted == "age"
    assert f"Those from {trees.ensemble.n_counting} on are screens" in attentive.plan_.describe()
    spent = []
    for row in rows.to_dict("records"):
        inquiry = attentive.inquire()
        while inquiry.wanted is not None:
            inquiry.tell(row[inquiry.wanted])
        spent.append(inquiry.spent)
    assert min(spent) == 1.0
    assert min(mean_price(tree) for tree in range(trees.ensemble.n_counting)) > np.median(spent)


def test_inquiries_lazy_reads_and_files_agree_with_predict(priced, tmp_path):
    attentive, model, rows = priced
    reading = attentive.read(rows)
    records = rows.to_dict("records")
    lazily = attentive.predict_lazily(lambda row, column: row[column], records)
    np.testing.assert_array_equal(lazily.label, reading.label)
    whole = ~reading.stopped
    # Its own trees, and the screens that the plan read before.
    to_the_end = attentive.plan_.n_units - attentive.plan_.weightless.sum()
    assert (reading.n_read[whole] == to_the_end).all()
    np.testing.assert_array_equal(reading.label[whole], model.predict(rows)[whole])
    saccade.save(attentive, tmp_path / "model.saccade")
    loaded = saccade.load(tmp_path / "model.saccade")
    again = loaded.read(rows)
    for name in ("label", "margin", "n_read", "stopped"):
        np.testing.assert_array_equal(getattr(again, name), getattr(reading, name))
    np.testing.assert_array_equal(loaded.estimator_.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(loaded.full_margin(rows), attentive.full_margin(rows))


def test_a_row_that_is_read_to_the_end_buys_the_columns_on_its_paths_alone(priced):
    attentive, model, rows = priced
    whole = copy(attentive)
    whole.plan_ = attentive.plan_.without_stops()
    trees = attentive.additive_
    needs = trees.walks.needs(np.arange(trees.n_columns))
    for k, row in enumerate(rows.iloc[:10].to_dict("records")):
        inquiry = whole.inquire()
        while inquiry.wanted is not None:
            inquiry.tell(row[inquiry.wanted])
        leaf = trees.leaves(rows.iloc[[k]], np.arange(1))[0, : trees.ensemble.n_counting]
        bits = int(np.bitwise_or.reduce(needs[leaf, 0]))
        on_paths = {name for j, name in enumerate(rows.columns) if bits >> j & 1}
        assert set(inquiry.asked) == on_paths
        assert inquiry.label == model.predict(rows.iloc[[k]])[0]


@pytest.mark.parametrize("options", [{}, {"boundary": "curved"}, {"order": "sorted"}])
def test_without_prices_or_a_choice_of_parts_there_are_none(options):
    X, y = table(2, 2400, categories=False)
    model = LGBMClassifier(n_estimators=10, num_leaves=6, verbose=-1, n_jobs=1).fit(X[:800], y[:800])
    costs = {"age": 2.0} if options else None
    attentive = attend(model, X[800:], delta=0.1, costs=costs, random_state=0, when_too_few="read", **options)
    assert (attentive.additive_.ensemble.score != NO_SCORE).all()


def test_several_classes_have_none():
    options, make, _ = MODELS["lightgbm, three"]
    X, y = table(0, 3000, **options)
    model = make().fit(X[:1000], y[:1000])
    attentive = attend(model, X[1000:], delta=0.1, costs={"age": 2.0}, random_state=0)
    assert (attentive.additive_.ensemble.score != NO_SCORE).all()


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, AdaBoostClassifier])
@pytest.mark.parametrize("reads", [False, True])
def test_a_missing_value_is_an_error_where_the_library_takes_none(kind, reads):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 12))
    y = X[:, 0] * X[:, 1] + X[:, 2:6].sum(axis=1) + rng.logistic(size=5000) > 0
    model = kind(n_estimators=20, random_state=0).fit(X[:2000], y[:2000])
    terms = {"delta": 1e-6, "when_too_few": "read"} if reads else {"delta": 0.06}
    attentive = attend(model, X[2000:], promise="rows", costs=np.arange(1.0, 13), random_state=0, **terms)
    assert attentive.plan_.n_screens
    if reads:
        assert attentive.plan_.weightless.sum() == attentive.plan_.n_screens
        assert attentive.plan_.describe().startswith("All 20 trees of every row are read.")
        assert (attentive.read(X[:9]).n_read == 20).all()
    rows = X[:40].copy()
    rows[3, np.unique(attentive.additive_.walks.used)] = np.nan
    for read in (attentive.predict, attentive.read, attentive.full_margin):
        for given_rows in (rows, np.asfortranarray(rows), rows[3:4]):
            with pytest.raises(ValueError, match=r"row (3|0)"):
                read(given_rows)

"""What trees cost where columns have prices, and what plans make of it."""

import numpy as np
import pandas as pd
import pytest
from attended_trees import LIGHT, NAMES, attended
from grown import N_COLUMNS, edgy_rows, grown_ensemble
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from reference_trees import leaf_of
from sklearn.ensemble import RandomForestClassifier

from saccade import attend
from saccade.models.trees.model import TreeModel
from saccade.models.trees.walks import Walks
from saccade.planning.part_prices import part_prices
from saccade.planning.paths import SHARES, TIME
from saccade.planning.prices import price_list


def columns_to(nodes, node, leaf):
    """Return the columns on the way from a node to a leaf, or None where none leads there."""
    if node == leaf:
        return set()
    if nodes.left[node] == node:
        return None
    ways = [columns_to(nodes, child, leaf) for child in (int(nodes.left[node]), int(nodes.left[node]) + 1)]
    return next(({int(nodes.column[node])} | way for way in ways if way is not None), None)


def paths(ensemble, X):
    """Return the columns on each row's path through each tree."""
    nodes = ensemble.nodes
    return [
        [columns_to(nodes, int(nodes.root[tree]), leaf_of(ensemble, tree, x)) for tree in range(ensemble.score.size)]
        for x in X
    ]


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), spread=st.sampled_from([1, 30, 70]))
def test_the_bits_of_a_node_are_the_purchases_on_the_way_to_it(seed, spread):
    nodes = grown_ensemble(seed).nodes
    purchase = np.random.default_rng(seed).integers(0, 3, N_COLUMNS) * spread
    needs = Walks(grown_ensemble(seed)).needs(purchase)
    for tree, root in enumerate(nodes.root.tolist()):
        end = nodes.root[tree + 1] if tree + 1 < nodes.root.size else nodes.left.size
        for node in range(root, int(end)):
            bits = {
                64 * word + bit
                for word in range(needs.shape[1])
                for bit in range(64)
                if needs[node, word] >> np.uint64(bit) & np.uint64(1)
            }
            assert bits == {int(purchase[column]) for column in columns_to(nodes, root, node)}


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), outputs=st.sampled_from([1, 3]), grouped=st.booleans())
def test_what_trees_are_expected_to_cost_is_what_rows_would_pay_next(seed, outputs, grouped):
    """In any order of trees, against sets of columns."""
    rng = np.random.default_rng(seed)
    ensemble = grown_ensemble(seed, n_scores=1 if outputs == 1 else 3, outputs=outputs)
    model = TreeModel(ensemble, np.arange(2 if outputs == 1 else 3))
    X, rows = edgy_rows(seed, 12), np.arange(12)
    prices = price_list(10 ** rng.uniform(0, 3, N_COLUMNS), {"both": [0, 3]} if grouped else None, N_COLUMNS, None)
    by_path, walked = part_prices(model, X, rows, prices, stated=True), paths(ensemble, X)
    order, basket = rng.permutation(ensemble.score.size), by_path.basket()
    bought = [set() for _ in rows]
    paid = [[0.0] * rows.size]
    for tree in order.tolist():
        for other in range(ensemble.score.size):
            new = [prices.total(sorted(bought[i] | walked[i][other])) - prices.total(sorted(bought[i])) for i in rows]
            assert basket.price[other] == pytest.approx(np.mean(new) + TIME * prices.price.mean(), rel=1e-9, abs=1e-6)
        basket.add(tree)
        for i in rows:
            bought[i] |= walked[i][tree]
        paid.append([prices.total(sorted(have)) for have in bought])
    parts = np.flatnonzero(np.isin(by_path.purchase, order))
    parts = np.concatenate([parts[by_path.purchase[parts] == tree] for tree in order])
    sizes = np.arange(0, parts.size + 1, outputs)[1:]
    np.testing.assert_allclose(by_path.spent(parts, sizes, slice(None)).T, paid[1:])
    np.testing.assert_allclose(by_path.everything(slice(3, 9)), paid[-1][3:9])


def priced_table():
    """Columns that share factors, some of them cheap and noisy, some dear and exact."""
    rng = np.random.default_rng(5)
    factors = rng.normal(size=(9000, 4))
    noise = np.tile([0.3, 0.5, 1.0], 4)
    X = factors[:, np.repeat(np.arange(4), 3)] + noise * rng.normal(size=(9000, 12))
    score = np.sin(factors[:, 0]) + factors[:, 1] * factors[:, 2] + np.abs(factors[:, 3])
    y = (score > 0.5 + 0.2 * rng.normal(size=9000)).astype(int)
    return X, y, np.tile([100.0, 10.0, 1.0], 4)


def spent(attentive, X, costs):
    """Return what rows cost on average."""
    paid = []
    for row in X:
        inquiry = attentive.inquire(costs)
        while inquiry.wanted is not None:
            inquiry.tell_many({column: row[column] for column in inquiry.needed})
        paid.append(inquiry.spent)
    return np.mean(paid)


@pytest.mark.parametrize(
    "model", [LGBMClassifier(**LIGHT | {"n_estimators": 60}), RandomForestClassifier(60, max_depth=8, random_state=0)]
)
def test_a_plan_by_prices_spends_less_than_one_without_and_than_everything(model):
    X, y, costs = priced_table()
    model.fit(X[:2000], y[:2000])
    frugal = attend(model, X[2000:8400], delta=0.05, costs=costs, random_state=0)
    careless = attend(model, X[2000:8400], delta=0.05, random_state=0)
    new = X[8400:]
    paid = spent(frugal, new, costs)
    assert paid < 0.95 * spent(careless, new, costs)
    assert paid < 0.9 * costs.sum()
    found = frugal.predict_lazily(lambda row, column: new[row, column], range(len(new)))
    assert found.spent.mean() == pytest.approx(paid)
    np.testing.assert_array_equal(frugal.prices_.price, costs)  # by column
    lost = np.mean(frugal.predict(new) != model.predict(new))
    assert lost < 0.08


def test_what_is_free_is_asked_for_before_what_is_not():
    X, y, costs = priced_table()
    model = LGBMClassifier(**LIGHT).fit(X[:2000], y[:2000])
    free = np.where(costs < 50, 0.0, costs)
    attentive = attend(model, X[2000:8400], delta=0.05, costs=free, random_state=0)
    inquiry = attentive.inquire()
    asked_for_free = 0
    while inquiry.wanted is not None:
        asked_for_free += free[inquiry.wanted] == 0
        inquiry.tell(X[8500, inquiry.wanted])
    assert asked_for_free
    assert inquiry.spent == 100 * (len(inquiry.asked) - asked_for_free)
    nothing = attend(model, X[2000:8400], delta=0.05, costs=np.zeros(12), random_state=0)
    assert nothing.prices_.price.sum() == 0


def test_the_fewest_columns_are_refused_for_trees():
    attentive, frame = attended("lightgbm")
    with pytest.raises(ValueError, match="a tree, or a pair of columns, asks for several"):
        attend(attentive.estimator_.estimator, frame, costs={"age": 3.0}, fewest="columns")


def test_ranges_and_gaps_are_by_column_and_moments_by_part():
    for name in ("lightgbm, gaps", "forest, three", "catboost, three"):
        attentive, _ = attended(name)
        population = attentive.population_
        assert population.low.shape == population.high.shape == population.missing.shape == (len(NAMES),)
        assert population.mean.shape == population.variance.shape == (attentive.plan_.n_features,)


def test_ranges_are_those_of_the_rows_that_plan_and_calibrate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0]) > np.nan_to_num(X[:, 1])).astype(int)
    for kind in (np.float64, np.float32, pd.DataFrame):
        rows = kind(X) if kind is pd.DataFrame else X.astype(kind)
        model = LGBMClassifier(**LIGHT).fit(rows[:1000], y[:1000])
        population = attend(model, rows[1000:], delta=0.1, random_state=0).population_
        held_out = np.asarray(rows[1000:], dtype=np.float64)
        used = np.isfinite(population.low)
        np.testing.assert_array_equal(population.low[used], np.nanmin(held_out, axis=0)[used])
        np.testing.assert_array_equal(population.high[used], np.nanmax(held_out, axis=0)[used])
        assert population.missing[used].all()
        assert used[:2].all()


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), outputs=st.sampled_from([1, 3]))
def test_looks_are_where_shares_are_paid_and_nothing_more_is_free(seed, outputs):
    ensemble = grown_ensemble(seed, n_trees=30, n_scores=1 if outputs == 1 else 3, outputs=outputs)
    model = TreeModel(ensemble, np.arange(2 if outputs == 1 else 3))
    X, rows = edgy_rows(seed, 20), np.arange(20)
    prices = price_list(10 ** np.random.default_rng(seed).uniform(0, 3, N_COLUMNS), None, N_COLUMNS, None)
    by_path = part_prices(model, X, rows, prices, stated=True)
    parts = np.arange(model.coef.shape[1])
    ends = by_path.complete(parts)
    paid = by_path.spent(parts, ends.astype(np.int64), slice(None)).mean(axis=0)
    looks = by_path.looks(parts)
    assert 0 < looks.size <= SHARES
    assert np.isin(looks, ends).all()
    for look in looks[:-1]:
        k = int(np.searchsorted(ends, look))
        assert paid[k + 1] > paid[k]
    reached = paid[np.searchsorted(ends, looks)]
    for share in np.linspace(paid[0], paid[-1], SHARES, endpoint=False):
        assert paid[paid <= share].max() in reached
    assert by_path.looks(parts[:0]).size == 0

"""What features cost: alone, together, and by name."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.planning.prices import places_of, position_of, price_list

NAMES = ["age", "glucose", "iron", "weight"]


def spent(prices, order):
    """Return what has been paid after each feature of an order."""
    return prices.spent(np.array(order), np.arange(1, len(order) + 1), slice(None))[0].tolist()


def test_a_group_is_paid_for_once_whichever_of_its_features_comes_first():
    prices = price_list({"sample": 20, "age": 2}, {"sample": ["glucose", "iron"]}, 4, NAMES)
    assert spent(prices, [0, 2, 3, 1]) == [2, 22, 23, 23]
    assert prices.total([1, 2]) == 20
    assert prices.total([]) == 0
    assert prices.price.sum() == 23


def test_a_series_goes_by_its_index():
    costs = pd.Series({"weight": 4.0, "iron": 3.0, "glucose": 2.0, "age": 1.0})
    assert price_list(costs, None, 4, NAMES).price.tolist() == [1, 2, 3, 4]


def test_a_group_without_a_price_costs_what_its_features_cost():
    assert price_list([1, 2, 3, 4], [0, 1, 1, 2], 4, None).total([1]) == 5
    assert price_list({"iron": 7}, {"sample": ["glucose", "iron"]}, 4, NAMES).total([1]) == 8


def test_what_is_free_costs_nothing_and_counts_the_same_where_everything_is():
    prices = price_list({"sample": 0, "age": 0}, {"sample": ["glucose", "iron"]}, 4, NAMES)
    assert spent(prices, [0, 1, 3, 2]) == [0, 0, 1, 1]
    assert prices.to_plan_by() is prices
    assert price_list([0, 0, 0, 0], None, 4, NAMES).to_plan_by().price.tolist() == [1, 1, 1, 1]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.randoms())
def test_without_groups_every_feature_costs_its_own(costs, random):
    order = list(range(len(costs)))
    random.shuffle(order)
    prices = price_list(costs, None, len(costs), None)
    np.testing.assert_allclose(spent(prices, order), np.cumsum([costs[j] for j in order]))


@pytest.mark.parametrize(
    ("costs", "groups", "message"),
    [
        ([1, 2], None, "4 numbers of at least 0"),
        ([1, 2, 3, np.nan], None, "4 numbers of at least 0"),
        ([1, 2, 3, -1e-9], None, "4 numbers of at least 0"),
        ([1, 2, 3, np.inf], None, "got inf"),
        ({"age": -1}, None, "must be a number of at least 0"),
        ({"age": "much"}, None, "must be a number of at least 0"),
        ({"height": 1}, None, "no feature 'height'"),
        (None, {"sample": ["height"]}, "no feature 'height'"),
        (None, {"sample": ["age"], "other": ["age"]}, "at most one group"),
        (None, {"sample": []}, "at least one feature"),
        (None, ["a", "b"], "2 labels"),
        ({"sample": 3, "iron": 1}, {"sample": ["glucose", "iron"]}, "paid for once"),
        ({9: 1}, None, "no feature 9"),
    ],
)
def test_prices_that_cannot_be_are_refused(costs, groups, message):
    with pytest.raises(ValueError, match=message):
        price_list(costs, groups, 4, NAMES)


@pytest.mark.parametrize(("n", "said"), [(2, r"are a, b\.$"), (6, r"are a, b, c, d, e, …\.$")])
def test_an_unknown_feature_is_answered_with_those_that_there_are(n, said):
    with pytest.raises(ValueError, match=rf"no feature 'z'\. The features {said}"):
        position_of("z", n, places_of("abcdef"[:n]), "costs")

"""The boundaries' formulas against the equations that they solve, and their parameters."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from data import correlated
from saccade import Budget, ConstantSTST, CurvedSTST, Full, Pegasos, attend
from saccade.kernels.state import REST_SQUARED_WEIGHTS
from saccade.planning.boundaries import as_boundary

levels = st.floats(1e-6, 0.999)
thetas = st.floats(0, 10)
variances = st.floats(1e-6, 1e6)


@given(delta=levels, theta=thetas, variance=variances)
def test_exact_form_makes_the_bridge_cross_with_probability_delta(delta, theta, variance):
    tau = ConstantSTST(delta).threshold(theta, variance)
    assert tau >= theta
    assert math.exp(-2 * tau * (tau - theta) / variance) == pytest.approx(delta, rel=1e-6)


@given(delta=levels, variance=variances)
def test_all_forms_agree_where_theta_is_zero(delta, variance):
    exact, printed, simplified = (
        ConstantSTST(delta, form=form).threshold(0.0, variance) for form in ("exact", "printed", "simplified")
    )
    assert exact == pytest.approx(math.sqrt(variance * math.log(1 / math.sqrt(delta))))
    assert exact == pytest.approx(printed) == pytest.approx(simplified)


@given(delta=levels, theta=st.floats(0.01, 10), variance=variances)
def test_printed_forms_demand_more_than_the_equation_does(delta, theta, variance):
    exact, printed, simplified = (
        ConstantSTST(delta, form=form).threshold(theta, variance) for form in ("exact", "printed", "simplified")
    )
    assert printed - exact == pytest.approx(theta / 2)
    assert exact <= simplified <= printed


@given(delta=levels, theta=thetas, mean=st.floats(-5, 5), variance=st.floats(1e-3, 1e3))
def test_gaussian_tail_leaves_exactly_delta_below_theta(delta, theta, mean, variance):
    law = CurvedSTST(delta).law(theta)
    tau = theta - law.centred * mean + law.slope * math.sqrt(law.shift + variance) - law.offset
    assert norm.cdf(theta - tau, loc=mean, scale=math.sqrt(variance)) == pytest.approx(delta, rel=1e-6)


@given(delta=st.floats(1e-6, 0.5))
def test_tails_that_assume_less_demand_more(delta):
    gaussian, cantelli = (CurvedSTST(delta, tail=tail).law(0.0).slope for tail in ("gaussian", "cantelli"))
    assert gaussian <= cantelli
    hoeffding = CurvedSTST(delta, tail="hoeffding").law(0.0)
    assert hoeffding.grows_with == REST_SQUARED_WEIGHTS
    assert hoeffding.slope == pytest.approx(math.sqrt(2 * math.log(1 / delta)))


@given(low=levels, high=levels, theta=thetas, variance=variances)
def test_a_smaller_delta_is_more_cautious(low, high, theta, variance):
    low, high = sorted((low, high))
    for form in ("exact", "printed", "simplified"):
        assert ConstantSTST(low, form=form).threshold(theta, variance) >= ConstantSTST(high, form=form).threshold(
            theta, variance
        )


@pytest.mark.parametrize(
    ("boundary", "word"),
    [
        (ConstantSTST(0.0), "delta"),
        (ConstantSTST(1.0), "delta"),
        (ConstantSTST(float("nan")), "delta"),
        (ConstantSTST("a"), "delta"),
        (ConstantSTST(0.1, form="square"), "form"),
        (CurvedSTST(-0.1), "delta"),
        (CurvedSTST(True), "delta"),
        (CurvedSTST(0.1, tail="fat"), "tail"),
        (Budget(0), "k must be"),
        (Budget(2.5), "k must be"),
        (Budget(True), "k must be"),
        ("curvy", "names are"),
    ],
    ids=repr,
)
def test_bad_parameters_raise_at_fit_and_name_the_parameter(boundary, word):
    X, y = correlated(20, 4, seed=0)
    model = Pegasos(boundary=boundary, order="natural")
    with pytest.raises(ValueError, match=word):
        model.fit(X, y)
    with pytest.raises(ValueError, match=word):
        model.partial_fit(X, y, [0, 1])
    assert not hasattr(model, "coef_")


class Own(BaseEstimator):
    """A boundary as users write them."""

    def __init__(self, law=None, limit=3):
        self.given, self.limited = law, limit

    def law(self, theta):
        return self.given

    def limit(self, n_features):
        return self.limited

    def __repr__(self):
        return "Own()"


@pytest.mark.parametrize(
    ("law", "limit", "word"),
    [
        *((None, limit, r"limit\(4\) returned .* from 1 to 4") for limit in (5, 10**6, 0, -1, 2.0, None)),
        *((law, 4, r"law\(.*\) returned .* a Law of finite numbers") for law in (0.5, (0.0, 1, 1.0, 0.0, 0.0, 1))),
        *(
            (CurvedSTST().law(0.0)._replace(**change), 4, r"law\(.*\) returned .* a Law of finite numbers")
            for change in ({"slope": math.nan}, {"offset": "a"}, {"grows_with": 3}, {"centred": 2})
        ),
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_what_an_own_boundary_returns_is_checked_before_it_is_used(law, limit, word, classes):
    X, y = correlated(400, 4, seed=0, classes=classes)
    with pytest.raises(ValueError, match=r"Own\(\): " + word):
        Pegasos(boundary=Own(law, limit), order="natural").fit(X, y)
    model = LogisticRegression().fit(X[:100], y[:100])
    with pytest.raises(ValueError, match=r"Own\(\): " + word):
        attend(model, X[100:], boundary=Own(law, limit), order="natural", delta=0.4)


def test_something_else_is_refused_with_what_is_accepted():
    with pytest.raises(TypeError, match="Full"):
        as_boundary(0.1)


def test_numpy_integers_and_floats_are_numbers():
    X, y = correlated(100, 20, seed=0)
    for order, numpys, pythons in [
        ("natural", Budget(np.int64(5)), Budget(5)),
        ("sorted", CurvedSTST(np.float32(0.125)), CurvedSTST(0.125)),
    ]:
        one, other = (Pegasos(boundary=given, order=order, random_state=0).fit(X, y) for given in (numpys, pythons))
        np.testing.assert_array_equal(one.coef_, other.coef_)


def accuracy_when_stopped(model, X, y):
    return np.mean(model.read(X).label == y)


def test_delta_can_be_searched_for():
    """A boundary that stops at the first checkpoint learns little, and reads too little: the search has to see it."""
    X, y = correlated(1000, 64, seed=1, factors=3, separation=2.0)
    model = Pegasos(boundary=ConstantSTST(), order="natural", audit=0, random_state=0)
    search = GridSearchCV(model, {"boundary__delta": [0.9999, 0.01]}, cv=3, scoring=accuracy_when_stopped).fit(X, y)
    assert search.best_params_ == {"boundary__delta": 0.01}
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0.05


@pytest.mark.parametrize("boundary", [Full(), Budget(3), ConstantSTST(0.2, form="printed"), CurvedSTST(0.3)], ids=repr)
def test_boundaries_are_cloned_with_their_parameters(boundary):
    copy = clone(Pegasos(boundary=boundary)).boundary
    assert copy is not boundary
    assert repr(copy) == repr(boundary)


def test_names_stand_for_the_default_objects():
    assert repr(as_boundary("full")) == "Full()"
    assert as_boundary("constant").get_params() == ConstantSTST().get_params()
    assert as_boundary("curved").get_params() == CurvedSTST().get_params()


def test_sorted_budget_is_refused_with_the_remedy():
    X, y = correlated(50, 20, seed=2)
    with pytest.raises(ValueError, match="permuted"):
        Pegasos(boundary=Budget(5)).fit(X, y)

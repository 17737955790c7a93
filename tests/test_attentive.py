"""Certified prediction: the promise, the estimator's manners, and what is refused."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from effort import repetitions
from promised import assert_kept
from scipy.stats import binom
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from data import correlated
from saccade import AttentiveClassifier, Budget, Conditional, CurvedSTST, Full, Pegasos, attend
from saccade.promises.evidence import Count

EVERY_X, every_y = correlated(11_000, 60, seed=0, separation=4.0)
X, y, FRESH = EVERY_X[:6000], every_y[:6000], EVERY_X[6000:]


@pytest.fixture(scope="module")
def linear():
    return LogisticRegression(C=0.1, max_iter=500).fit(X[:2000], y[:2000])


@pytest.fixture(scope="module")
def attentive(linear):
    """The default plan at 5 %: for tests that only read."""
    return attend(linear, X[2000:], delta=0.05, random_state=0)


def disagreement(attentive, rows):
    full = attentive.classes_[(attentive.full_margin(rows) > 0).astype(int)]
    return float(np.mean(attentive.predict(rows) != full))


@pytest.mark.parametrize("boundary", ["conditional", "curved", "constant", CurvedSTST(0.05, "cantelli")], ids=str)
@pytest.mark.parametrize("order", ["greedy", "sorted", "permuted", "natural"])
def test_a_plan_reads_less_and_keeps_its_level(linear, boundary, order):
    attentive = attend(linear, X[2000:], delta=0.05, boundary=boundary, order=order, random_state=0)
    certificate = attentive.certificate_
    assert (certificate.promise, certificate.delta, certificate.n_calibration) == ("classes", 0.05, 1200)
    assert_kept(attentive.predict(FRESH), linear.predict(FRESH), [0, 1], 0.05)
    assert attentive.read(FRESH).n_read.mean() < 60
    np.testing.assert_allclose(attentive.full_margin(FRESH), linear.decision_function(FRESH), rtol=1e-6, atol=1e-6)


def test_the_conditional_plan_reads_least(linear):
    read = {
        boundary: attend(
            linear, X[2000:], delta=0.05, boundary=boundary, order=order, random_state=0
        ).certificate_.features_per_row
        for boundary, order in [("conditional", "greedy"), ("curved", "sorted"), ("constant", "sorted")]
    }
    assert read["conditional"] < min(read["curved"], read["constant"])


def heavy_tailed(rng, rows):
    return rng.standard_t(2, size=(rows, 3)) @ LOADINGS + rng.standard_t(3, size=(rows, 20))


def skewed(rng, rows):
    return rng.exponential(size=(rows, 3)) @ LOADINGS + rng.exponential(size=(rows, 20))


def correlated_normal(rng, rows):
    return rng.normal(size=(rows, 3)) @ LOADINGS + rng.normal(size=(rows, 20))


LOADINGS = np.random.default_rng(7).normal(size=(3, 20))


@pytest.mark.slow
@pytest.mark.parametrize("draw", [correlated_normal, heavy_tailed, skewed])
def test_the_promise_holds_over_many_calibrations(draw):
    """The share of calibrations whose true disagreement exceeds delta, measured on untouched rows."""
    rng = np.random.default_rng(3)
    first = draw(rng, 2000)
    weights = rng.normal(size=20)
    labels = (first @ weights - np.median(first @ weights) + rng.normal(size=2000) > 0).astype(int)
    model = LogisticRegression(max_iter=1000).fit(first, labels)
    delta, confidence, calibrations = 0.05, 0.9, repetitions(100, fewest=25)
    untouched = draw(rng, 20_000)
    broken = 0
    for repetition in range(calibrations):
        attentive = attend(model, draw(rng, 1500), delta=delta, confidence=confidence, random_state=repetition)
        broken += disagreement(attentive, untouched) > delta
    assert broken <= binom.ppf(0.9999, calibrations, 1 - confidence)


def test_costs_change_what_is_read(linear):
    costs = np.where(np.arange(60) % 2, 100.0, 1.0)
    cheap = attend(linear, X[2000:], delta=0.1, costs=costs, random_state=0)
    plain = attend(linear, X[2000:], delta=0.1, random_state=0)

    def spent(attentive):
        upto = np.concatenate([[0], np.cumsum(costs[attentive.plan_.order])])
        n_read = attentive.read(X[:2000]).n_read
        return np.where(n_read == 60, costs.sum(), upto[np.minimum(n_read, upto.size - 1)]).mean()

    assert spent(cheap) < spent(plain)


def test_average_features_gives_the_safest_plan_that_is_affordable(linear):
    few, many = (attend(linear, X[2000:], average_features=k, random_state=0) for k in (5, 15))
    assert few.read(X[:2000]).n_read.mean() < 6
    assert many.read(X[:2000]).n_read.mean() < 17
    assert disagreement(many, FRESH) <= disagreement(few, FRESH)
    worst = max(
        Count(*pair).upper_bound(0.95)
        for record in few.certificate_.by_class
        for pair in ((record.lost, record.full), (record.false, record.here))
    )
    assert few.certificate_.delta == worst
    with pytest.raises(ValueError, match=r"No plan reads as few .* the boldest reads 1"):
        attend(linear, X[2000:], average_features=0.5)


@pytest.mark.parametrize("boundary", [Full(), "full"])
def test_the_full_boundary_reads_everything_and_never_disagrees(linear, boundary):
    attentive = attend(linear, X[2000:], boundary=boundary)
    assert attentive.certificate_.features_per_row == 60
    assert disagreement(attentive, X) == 0


def test_a_budget_is_certified_or_refused(linear):
    assert attend(linear, X, delta=0.2, boundary=Budget(40), order="sorted").certificate_.features_per_row == 40
    with pytest.raises(ValueError, match=r"Too few rows of class \d.* at least 2,995 are needed"):
        attend(linear, X, delta=0.001, boundary=Budget(1), order="sorted")
    with pytest.raises(ValueError, match=r"safest plan of Budget\(k=1\) gives other labels too often"):
        attend(linear, X, delta=0.01, boundary=Budget(1), order="sorted")


def test_too_few_rows_are_an_error_that_says_how_many_or_a_full_read(linear):
    with pytest.raises(ValueError, match="at least 299 are needed"):
        attend(linear, X[:500])
    careful = AttentiveClassifier(FrozenEstimator(linear), when_too_few="read").fit(X[:500])
    assert careful.read(X).n_read.min() == 60
    assert careful.certificate_.features_per_row == 60


def test_the_same_seed_gives_the_same_plan_and_another_seed_another(linear):
    one, same, other = (attend(linear, X, delta=0.05, random_state=seed) for seed in (0, 0, 1))
    for mine, theirs in zip(one.plan_, same.plan_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert one.certificate_ == same.certificate_ != other.certificate_


@pytest.mark.parametrize("convert", [np.asfortranarray, pd.DataFrame, lambda X: X.astype(np.float32)])
def test_storage_changes_no_label(attentive, convert):
    plain, other = attentive.read(X[:500]), attentive.read(convert(X[:500]))
    np.testing.assert_array_equal(plain.label, other.label)
    np.testing.assert_array_equal(plain.n_read, other.n_read)


def test_csr_rows_get_the_label_of_the_plan_or_of_the_full_model_and_count_what_they_store(attentive):
    few = np.where(np.random.default_rng(0).random(X[:500].shape) < 0.3, X[:500], 0.0)
    plain, other = attentive.read(few), attentive.read(sp.csr_array(few))
    expected = np.where(other.stopped, plain.label, attentive.estimator_.predict(few))
    np.testing.assert_array_equal(other.label, expected)
    assert (other.n_read <= np.count_nonzero(few, axis=1)).all()


def test_a_reading_depends_neither_on_the_other_rows_nor_on_other_threads(attentive):
    whole = attentive.read(FRESH)
    with ThreadPoolExecutor(8) as pool:
        readings = list(pool.map(lambda _: attentive.read(FRESH), range(16)))
    single = [attentive.read(FRESH[[row]]) for row in range(50)]
    for name in ("label", "margin", "n_read", "stopped"):
        expected = getattr(whole, name)
        for reading in readings:
            np.testing.assert_array_equal(getattr(reading, name), expected)
        np.testing.assert_array_equal([getattr(reading, name)[0] for reading in single], expected[:50])


def test_tables_are_read_by_name():
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(60)])
    model = LogisticRegression(C=0.1, max_iter=500).fit(frame[:2000], y[:2000])
    attentive = attend(model, frame[2000:], delta=0.05, random_state=0)
    assert list(attentive.feature_names_in_) == list(frame.columns)
    expected = attentive.read(frame[:500])
    reordered = frame[:500][frame.columns[::-1]]
    for other in (pl.DataFrame(frame[:500]), pl.DataFrame(frame[:500]).to_arrow(), reordered):
        np.testing.assert_array_equal(attentive.read(other).n_read, expected.n_read)
        np.testing.assert_array_equal(attentive.predict(other), expected.label)
    with pytest.raises(ValueError, match="feature names"):
        attentive.predict(frame[:500].drop(columns=attentive.columns_[0]))


def test_unread_features_may_be_anything_and_read_ones_must_be_finite(attentive):
    reading, order = attentive.read(X[:100]), attentive.plan_.order
    row = int(np.argmin(reading.n_read))
    rows = X[:100].copy()
    rows[row, order[-1]] = np.nan
    np.testing.assert_array_equal(attentive.read(rows[[row]]).label, reading.label[[row]])
    rows[row, order[0]] = np.inf
    with pytest.raises(ValueError, match=f"at row {row}, feature"):
        attentive.predict(rows)
    frame = pd.DataFrame(X[:100].copy())  # before version 3 pandas writes through to the array
    frame.iloc[7, int(order[0])] = np.nan
    with pytest.raises(ValueError, match="NaN at row 7"):
        attentive.predict(frame.to_numpy())
    with pytest.raises(ValueError, match="NaN at row 7"):
        attentive.predict(frame)


def test_clone_pickle_pipeline_and_grid_search():
    model = AttentiveClassifier(LogisticRegression(max_iter=500), delta=0.1, random_state=0)
    assert clone(model).get_params()["delta"] == 0.1
    fitted = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
    assert fitted.certificate_.delta == 0.1
    assert make_pipeline(StandardScaler(), model).fit(X, y).score(X, y) > 0.8
    attended = attend(make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(X, y), X, delta=0.1)
    assert attended.score(X, y) > 0.8


def test_a_grid_search_reaches_the_estimator_and_the_level():
    """Weights that are all but zero, and a level that lets almost any label pass, both cost accuracy."""
    flipped = np.where(np.random.default_rng(0).random(len(y)) < 0.05, 1 - y, y)
    grid = {"estimator__C": [1e-9, 0.1], "delta": [0.02, 0.4]}
    model = AttentiveClassifier(LogisticRegression(max_iter=500), promise="rows", random_state=0)
    search = GridSearchCV(model, grid, cv=2).fit(X[:, :20], flipped)
    assert search.best_params_ == {"estimator__C": 0.1, "delta": 0.02}
    assert search.best_estimator_.certificate_.delta == 0.02


def test_sample_weights_are_routed_to_the_estimator():
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
        model = AttentiveClassifier(estimator, delta=0.1, random_state=0)
        even = model.fit(X, y, sample_weight=np.ones(len(y))).full_margin(X)
        uneven = model.fit(X, y, sample_weight=np.where(y == 1, 50.0, 1.0)).full_margin(X)
    assert uneven.mean() > even.mean() + 0.5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.5}, "delta"),
        ({"confidence": 1.0}, "confidence"),
        ({"order": "sideways"}, "order"),
        ({"order": "sampled"}, "more than once"),
        ({"boundary": "wavy"}, "boundary"),
        ({"boundary": Conditional(ridge=-1)}, "ridge"),
        ({"costs": np.full(60, -1.0)}, "costs"),
        ({"costs": np.ones(3)}, "costs"),
        ({"average_features": -1}, "average_features"),
    ],
)
def test_bad_parameters_are_refused(linear, changed, message):
    with pytest.raises(ValueError, match=message):
        attend(linear, X, **changed)


def test_a_plan_describes_itself(linear, attentive):
    plan, said = attentive.plan_, attentive.plan_.describe(names=[f"f{j}" for j in range(60)])
    assert len(said.splitlines()) == 1 + plan.checkpoints.size
    for start, stop, line in zip([0, *plan.checkpoints], plan.checkpoints, said.splitlines()[1:], strict=False):
        asked = ", ".join(f"f{feature}" for feature in plan.order[start:stop][:8])
        assert line.startswith(asked)
        assert f"after {stop} feature{'' if stop == 1 else 's'}, " in line
    assert "margins up to -" in said
    whole = attend(linear, X, boundary="full").plan_
    nothing = "Reads nearly everything: early exit saves nothing here."
    assert whole.describe() == f"All 60 features of every row are read.\n{nothing}"
    assert plan._replace(saves_nothing=True).describe().endswith(f"\n{nothing}")
    assert r"\x1b[2J" in plan.describe(["\x1b[2J"] * 60)
    assert all(line.isprintable() for line in plan.describe(["\x1b[2J"] * 60).split("\n"))


EVERY_SORT, every_kind = correlated(11_000, 60, seed=4, separation=6.0, classes=4)
SORTS, KINDS, FRESH_SORTS = (
    EVERY_SORT[:6000],
    np.array(["ash", "elm", "fir", "oak"])[every_kind[:6000]],
    EVERY_SORT[6000:],
)


@pytest.fixture(scope="module")
def of_several():
    return LogisticRegression(C=0.1, max_iter=500).fit(SORTS[:2000], KINDS[:2000])


@pytest.mark.parametrize("boundary", ["conditional", "curved", "constant", CurvedSTST(0.05, "hoeffding")], ids=str)
@pytest.mark.parametrize("order", ["greedy", "sorted", "permuted", "natural"])
def test_several_classes_are_read_until_the_best_leads_and_keep_their_level(of_several, boundary, order):
    attentive = attend(of_several, SORTS[2000:], delta=0.05, boundary=boundary, order=order, random_state=0)
    reading = attentive.read(FRESH_SORTS)
    full = of_several.predict(FRESH_SORTS)
    assert_kept(reading.label, full, attentive.classes_, 0.05)
    assert reading.n_read.mean() < 60
    assert reading.margin.shape == (len(full), 4)
    np.testing.assert_array_equal(reading.label, attentive.classes_[reading.margin.argmax(axis=1)])
    margin = of_several.decision_function(FRESH_SORTS)
    np.testing.assert_allclose(attentive.full_margin(FRESH_SORTS), margin, rtol=1e-6, atol=1e-6)


def test_of_several_classes_the_conditional_plan_reads_least(of_several):
    read = {
        boundary: attend(
            of_several, SORTS[2000:], delta=0.05, boundary=boundary, order=order, random_state=0
        ).certificate_.features_per_row
        for boundary, order in [("conditional", "greedy"), ("curved", "sorted"), ("constant", "sorted")]
    }
    assert read["conditional"] < min(read["curved"], read["constant"])


def test_several_classes_can_have_a_budget_and_be_read_in_full(of_several):
    budget = attend(of_several, SORTS, delta=0.4, boundary=Budget(30), order="sorted")
    assert set(budget.read(SORTS).n_read) == {30}
    np.testing.assert_array_equal(attend(of_several, SORTS, boundary="full").predict(SORTS), of_several.predict(SORTS))
    attentive = attend(of_several, SORTS, delta=0.1, random_state=0)
    assert "features, a lead of" in attentive.plan_.describe()
    with pytest.raises(ValueError, match="has several"):
        attend(of_several, SORTS, boundary="curved", order="sampled")


@pytest.mark.slow
def test_the_promise_holds_for_several_classes():
    rng = np.random.default_rng(3)
    centres = 2 * rng.normal(size=(3, 20))

    def draw(rows):
        return centres[rng.integers(3, size=rows)] + rng.normal(size=(rows, 3)) @ LOADINGS + rng.normal(size=(rows, 20))

    first = draw(2000)
    model = LogisticRegression(max_iter=1000).fit(
        first, np.argmin(((first[:, None] - centres) ** 2).sum(axis=2), axis=1)
    )
    delta, confidence, calibrations, untouched = 0.05, 0.9, repetitions(60, fewest=25), draw(20_000)
    full, broken = model.predict(untouched), 0
    for repetition in range(calibrations):
        attentive = attend(model, draw(1500), delta=delta, confidence=confidence, random_state=repetition)
        broken += np.mean(attentive.predict(untouched) != full) > delta
    assert broken <= binom.ppf(0.9999, calibrations, 1 - confidence)


def test_columns_in_another_order_or_of_other_names_are_refused():
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(60)])
    model = LogisticRegression(C=0.1, max_iter=500).fit(frame[:2000], y[:2000])
    for other in (frame[frame.columns[::-1]], frame.rename(columns={"f0": "zzz"})):
        with pytest.raises(ValueError, match="feature names should match"):
            attend(model, other, delta=0.05)


@pytest.mark.parametrize(
    "rows", [np.ones((2000, 20)), np.random.default_rng(0).normal(size=(2, 20))], ids=["ones", "two"]
)
def test_rows_that_tell_nothing_are_read_in_full(rows):
    model = LogisticRegression().fit(np.random.default_rng(0).normal(size=(50, 20)), np.arange(50) % 2)
    careful = AttentiveClassifier(FrozenEstimator(model), when_too_few="read", delta=0.05).fit(rows)
    np.testing.assert_array_equal(careful.predict(rows), model.predict(rows))


@pytest.mark.parametrize("fewest", ["features", "columns"])
def test_in_single_precision_a_large_offset_changes_little(linear, fewest):
    rows = X.astype(np.float32)
    read = []
    for offset in (0, 300, 3000):
        moved = LogisticRegression()
        moved.coef_, moved.classes_ = linear.coef_, linear.classes_
        moved.intercept_ = linear.intercept_ - offset * linear.coef_.sum()
        attentive = attend(moved, rows + np.float32(offset), delta=0.05, fewest=fewest, random_state=0)
        read.append(attentive.read(FRESH.astype(np.float32) + np.float32(offset)).n_read.mean())
    assert max(read) < 1.1 * min(read)


@pytest.mark.parametrize("order", ["greedy", "natural"])
def test_neither_an_offset_nor_a_unit_nor_a_constant_column_matters(order):
    moved = X * np.geomspace(1e-6, 1e6, 60) + 1e3 * np.geomspace(1e-6, 1e6, 60)
    moved[:, 7] = 3.0
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(moved[:2000], y[:2000])
    plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(X[:2000], y[:2000])
    read = [
        attend(one, rows, delta=0.05, order=order, random_state=0).certificate_.features_per_row
        for one, rows in ((model, moved[2000:]), (plain, X[2000:]))
    ]
    assert read[0] < 1.3 * read[1]


@pytest.mark.parametrize("order", ["sampled", "sampled-printed"])
def test_sampled_orders_work_where_they_have_a_meaning(linear, order):
    attentive = attend(linear, X[2000:], delta=0.2, boundary="curved", order=order, random_state=0)
    assert disagreement(attentive, FRESH) <= binom.ppf(0.9999, len(FRESH), 0.2) / len(FRESH)


def test_rows_of_another_width_are_refused(linear):
    with pytest.raises(ValueError, match="fitted on 60 features, but X has 59"):
        attend(linear, X[:, :59])
    attentive = attend(linear, X, delta=0.1)
    with pytest.raises(ValueError, match="59 features"):
        attentive.predict(X[:, :59])


def test_the_conditional_boundary_is_not_for_learning():
    with pytest.raises(ValueError, match="use it with attend"):
        Pegasos(boundary=Conditional()).fit(X, y)

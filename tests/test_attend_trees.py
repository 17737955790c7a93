"""Tree ensembles read until the label is clear: the library's own labels and bits, whatever holds the rows."""

import pickle

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import xgboost as xgb
from attended_trees import DELTA, LIGHT, MODELS, attended, table
from catboost import CatBoostClassifier
from effort import repetitions
from hypothesis import given, settings
from hypothesis import strategies as st
from promised import assert_kept
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from saccade import AttentiveClassifier, attend
from saccade.models.trees.model import TreeModel

PLAIN = {"categories": False}


def numbers(n_rows=3600, seed=0, **how):
    X, y = table(seed, n_rows, **PLAIN, **how)
    return X.to_numpy(), y


@pytest.fixture(scope="module")
def boosted():
    X, y = numbers()
    return lgb.LGBMClassifier(**LIGHT).fit(X[:800], y[:800]), X


@pytest.fixture(scope="module")
def attentive(boosted):
    model, X = boosted
    return attend(model, X[800:3200], delta=DELTA, random_state=0)


@pytest.mark.parametrize("name", MODELS)
def test_new_rows_keep_their_labels_at_the_level_that_was_promised(name):
    attentive, X = attended(name)
    full = np.asarray(attentive.estimator_.predict(X)).ravel()
    assert_kept(attentive.predict(X), full, attentive.classes_, DELTA)
    assert attentive.certificate_.features_per_row < attentive.certificate_.n_features


@pytest.mark.parametrize("name", MODELS)
def test_one_row_is_read_as_it_is_among_others(name):
    attentive, X = attended(name)
    together = attentive.read(X)
    for i in (0, 3, 77):
        alone = attentive.read(X[i : i + 1])
        assert (alone.label[0], alone.n_read[0], alone.stopped[0]) == (
            together.label[i],
            together.n_read[i],
            together.stopped[i],
        )
        np.testing.assert_allclose(alone.margin[0], together.margin[i], rtol=1e-12)


def test_a_full_read_has_the_models_own_margin_to_the_bit(boosted):
    model, X = boosted
    attentive = attend(model, X[800:3200], delta=DELTA, boundary="curved", random_state=0)  # it forces no decision
    assert np.array_equal(attentive.full_margin(X), model.predict(X, raw_score=True))
    reading = attentive.read(X)
    assert not reading.stopped.all()
    whole = ~reading.stopped
    assert np.array_equal(reading.margin[whole], model.predict(X[whole], raw_score=True))
    assert (reading.n_read[whole] == 30).all()


@pytest.mark.filterwarnings("ignore:X has feature names")
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([1, 7, 300]), st.sampled_from([np.float64, np.float32]))
def test_every_storage_is_read_alike(attentive, seed, n_rows, kind):
    rows = np.random.default_rng(seed).normal(size=(n_rows, 8)).round(1).astype(kind)
    rows[np.random.default_rng(seed + 1).random(rows.shape) < 0.2] = np.nan
    names = [f"c{j}" for j in range(8)]
    expected = attentive.read(rows)
    strided = np.repeat(np.repeat(rows, 2, axis=0), 3, axis=1)[::2, ::3]
    backwards = np.ascontiguousarray(rows[::-1, ::-1])[::-1, ::-1]
    frame = pl.DataFrame(rows, schema=names)
    sparse = sp.csr_array(np.nan_to_num(rows))
    for X in (np.asfortranarray(rows), strided, backwards, pd.DataFrame(rows, columns=names), frame, frame.to_arrow()):
        reading = attentive.read(X)
        assert np.array_equal(reading.label, expected.label)
        assert np.array_equal(reading.n_read, expected.n_read)
        np.testing.assert_allclose(reading.margin, expected.margin, rtol=1e-12)
    dense = attentive.read(np.nan_to_num(rows))
    assert np.array_equal(attentive.read(sparse).n_read, dense.n_read)
    assert np.array_equal(attentive.read(sparse).label, dense.label)


def test_threads_change_no_bit(attentive):
    rows = np.random.default_rng(0).normal(size=(50_000, 8))
    alone, threaded = attentive.read(rows), clone(attentive)
    threaded.__dict__.update(attentive.__dict__ | {"n_jobs": 2})
    together = threaded.read(rows)
    assert np.array_equal(alone.margin, together.margin)
    assert np.array_equal(alone.n_read, together.n_read)


def test_the_same_seed_gives_the_same_plan(boosted):
    model, X = boosted
    plans = [attend(model, X[800:3200], delta=DELTA, random_state=3).plan_ for _ in range(2)]
    assert all(np.array_equal(a, b) for a, b in zip(*plans, strict=True))


def test_plans_and_certificates_speak_of_trees(attentive):
    said = attentive.plan_.describe()
    assert said.startswith("Of 30 trees, all are read of a row, and fewer where a checkpoint decides it.")
    assert "\nTrees read per row: " in str(attentive.certificate_)


def test_trees_of_several_outputs_count_once():
    attentive, X = attended("forest, three")
    plan, certificate = attentive.plan_, attentive.certificate_
    assert (plan.n_features, plan.n_units, certificate.n_features) == (120, 40, 40)
    reading = attentive.read(X)
    assert reading.n_read.max() <= 40
    assert set(np.unique(reading.n_read)) <= {*plan.units_among(plan.checkpoints).tolist(), 40}


def test_columns_are_those_of_the_trees():
    attentive, X = attended("lightgbm, constant")
    assert "noise" not in attentive.columns_  # constant, so that no tree asks for it
    assert set(attentive.columns_) <= set(X.columns)
    fewer = X[[name for name in X.columns if name in attentive.columns_]]
    assert np.array_equal(attentive.predict(fewer), attentive.predict(X))


def test_the_librarys_own_order(boosted):
    model, X = boosted
    natural = attend(model, X[800:3200], delta=DELTA, order="natural", random_state=0)
    assert np.array_equal(natural.plan_.order, np.arange(natural.plan_.order.size))


def test_a_budget_of_trees(boosted):
    model, X = boosted
    frugal = attend(model, X[800:3200], average_features=4, random_state=0)
    assert frugal.read(X[800:]).n_read.mean() < 4.5
    with pytest.raises(ValueError, match=r"average_features=0\.1 trees per row"):
        attend(model, X[800:3200], average_features=0.1)


@pytest.mark.parametrize("promise", ["rows", "accuracy"])
@pytest.mark.parametrize("boundary", ["conditional", "curved", "constant"])
def test_other_promises_and_boundaries(boosted, promise, boundary):
    model, X = boosted
    y = numbers()[1]
    other = attend(model, X[800:3200], y[800:3200], delta=DELTA, promise=promise, boundary=boundary, random_state=0)
    assert np.mean(other.predict(X[3200:]) != model.predict(X[3200:])) < 2 * DELTA


def test_a_threshold_moves_the_decision(boosted):
    model, X = boosted
    probability = model.predict_proba(X[3200:])[:, 1]
    for moved in (
        attend(model, X[800:3200], delta=DELTA, threshold=0.2, random_state=0),
        attend(FixedThresholdClassifier(model, threshold=0.2), X[800:3200], delta=DELTA, random_state=0),
    ):
        assert np.mean(moved.predict(X[3200:]) != (probability >= 0.2)) < 2 * DELTA
        assert np.array_equal(moved.full_margin(X[3200:]) > 0, probability >= 0.2)


CALIBRATED = {
    "lightgbm": lgb.LGBMClassifier(**LIGHT),
    "lightgbm, forest": lgb.LGBMClassifier(**LIGHT, boosting_type="rf", subsample=0.6, subsample_freq=1),
    "xgboost": xgb.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1),
    "xgboost, raw": xgb.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, objective="binary:logitraw"),
    "catboost": CatBoostClassifier(iterations=20, depth=3, verbose=0, allow_writing_files=False, thread_count=1),
    "histograms": HistGradientBoostingClassifier(max_iter=20),
    "gradient boosting": GradientBoostingClassifier(n_estimators=20),
    "exponential loss": GradientBoostingClassifier(n_estimators=20, loss="exponential"),
    "forest": RandomForestClassifier(20, min_samples_leaf=30, random_state=0),
    "extra trees": ExtraTreesClassifier(20, max_depth=6, random_state=0),
    "adaboost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=20),
}


@pytest.fixture(scope="module")
def tied_rows():
    """Return rows of which many have the same margins, and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(6000, 5)).astype(float)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] / 2 - X[:, 3] + 2 * rng.normal(size=6000) > 1).astype(int)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_trees_give_the_calibrated_labels_to_ties_too(name, method, tied_rows):
    X, y = tied_rows
    model = clone(CALIBRATED[name]).fit(X[:1500], y[:1500])
    calibrated = CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(X[1500:2000], y[1500:2000])
    first, second = calibrated.predict_proba(X).T
    middle = np.argsort(second)[len(X) // 2]
    assert np.sum(second == second[middle]) > 3
    # In single precision scikit-learn's interpolation may round the end of a plateau above the plateau.
    exact = not (method == "isotonic" and name.startswith("xgboost"))
    changes = [
        FixedThresholdClassifier(FrozenEstimator(calibrated), threshold=second[middle] if exact else 0.4),
        FixedThresholdClassifier(FrozenEstimator(calibrated), threshold=first[middle] if exact else 0.4, pos_label=0),
    ]
    for whole in [calibrated, *(change.fit(X, y) for change in changes)]:
        labels = whole.predict(X)
        assert 0.02 < labels.mean() < 0.98
        attentive = attend(whole, X[2000:], delta=0.2, random_state=0)
        np.testing.assert_array_equal(attentive.full_margin(X) > 0, labels)


def test_a_calibrator_within_the_fit_and_a_temperature_for_several_classes_are_read(tied_rows):
    X, y = tied_rows
    forest = RandomForestClassifier(10, max_depth=5, random_state=0)
    within = CalibratedClassifierCV(forest, ensemble=False, cv=3).fit(X[:1500], y[:1500])
    attentive = attend(within, X[2000:], delta=0.2, random_state=0)
    np.testing.assert_array_equal(attentive.full_margin(X) > 0, within.predict(X))
    again = pickle.loads(pickle.dumps(attentive))
    np.testing.assert_array_equal(again.predict(X), attentive.predict(X))
    with pytest.raises(TypeError, match="averages the probabilities of 3 calibrated models"):
        attend(CalibratedClassifierCV(forest, cv=3).fit(X[:1500], y[:1500]), X[2000:])
    three = np.digitize(X[:, 0] + X[:, 3], [2, 4])
    calibrated = CalibratedClassifierCV(forest, ensemble=False, cv=3).fit(X[:1500], three[:1500])
    with pytest.raises(TypeError, match="calibrates each of several classes by itself"):
        attend(calibrated, X[2000:])


@pytest.mark.parametrize("estimator", [HistGradientBoostingClassifier(max_iter=20), RandomForestClassifier(30)])
def test_fit_fits_plans_and_calibrates_on_rows_of_its_own(estimator):
    X, y = numbers(6000)
    model = AttentiveClassifier(estimator, delta=DELTA, random_state=0).fit(X[:5000], y[:5000])
    assert np.mean(model.predict(X[5000:]) == y[5000:]) > 0.85
    assert not hasattr(clone(model), "plan_")


def test_a_copy_by_pickle_reads_alike(attentive, boosted):
    copied = pickle.loads(pickle.dumps(attentive))
    assert np.array_equal(copied.read(boosted[1]).margin, attentive.read(boosted[1]).margin)


def test_a_missing_value_is_a_value_where_the_library_takes_it():
    attentive, X = attended("lightgbm, gaps")
    assert X["age"].isna().any()
    assert np.isfinite(attentive.read(X).margin).all()


@pytest.mark.parametrize("model", [GradientBoostingClassifier(n_estimators=10), AdaBoostClassifier(n_estimators=10)])
def test_a_missing_value_is_named_where_the_library_takes_none(model):
    X, y = numbers()
    attentive = attend(model.fit(X[:800], y[:800]), X[800:3200], delta=0.1, random_state=0)
    bad = X[3200:].copy()
    bad[5, 3] = np.nan
    with pytest.raises(ValueError, match="NaN at row 5, feature 3"):
        attentive.predict(bad)
    bad = X[800:3200].copy()
    bad[100, 2] = np.inf
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN at row 7, feature 1"):
        attend(model, bad, delta=0.1, random_state=0)


def test_what_stands_before_trees_is_named():
    X, y = numbers()
    model = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=5)).fit(X[:800], y[:800])
    with pytest.raises(TypeError, match="StandardScaler stands before the trees of HistGradientBoostingClassifier"):
        attend(model, X[800:])


def test_trees_that_are_misread_are_refused(boosted, monkeypatch):
    model, X = boosted
    right = TreeModel.raw
    monkeypatch.setattr(TreeModel, "raw", lambda self, sums: np.nextafter(right(self, sums), np.inf))
    with pytest.raises(TypeError, match=r"LightGBM .* are not read as it reads them: row \d+ of X has the margin"):
        attend(model, X[800:3200], delta=DELTA, random_state=0)


def test_a_model_that_overrides_predict_is_refused(boosted):
    class Stubborn(lgb.LGBMClassifier):
        def predict(self, X, **options):
            return 1 - super().predict(X, **options) if not options else super().predict(X, **options)

    X, y = numbers()
    with pytest.raises(TypeError, match="Stubborn"):
        attend(Stubborn(**LIGHT).fit(X[:800], y[:800]), X[800:3200], delta=DELTA, random_state=0)


def test_rare_labels_are_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 10))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=60_000) > 4.3).astype(int)
    model = lgb.LGBMClassifier(**LIGHT).fit(X[:15_000], y[:15_000])
    attentive = attend(model, X[15_000:45_000], delta=0.1, random_state=0)
    full = model.predict(X[45_000:])
    assert 0.001 < full.mean() < 0.02
    assert_kept(attentive.predict(X[45_000:]), full, [0, 1], 0.1)


def test_over_many_splits_the_promise_holds():
    X, _ = numbers(14_000, seed=5)
    fit, y = numbers(1500, seed=6)
    model = lgb.LGBMClassifier(**LIGHT).fit(fit, y)
    full, broken, splits = model.predict(X), 0, repetitions(200, fewest=20)
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(X))
        chosen, untouched = order[:3000], order[3000:]
        here = attend(model, X[chosen], delta=DELTA, promise="rows", random_state=seed).predict(X[untouched])
        broken += np.mean(here != full[untouched]) > DELTA
    assert broken <= (18 if splits == 200 else 4)  # binomial, 5 %, at 99 % and more


def coded(n_rows=4000, seed=0):
    """Return a table with a column of categories that are numbers, and labels that follow from them."""
    rng = np.random.default_rng(seed)
    kinds, code = np.array([10, 20, 30, 40, 50, 60]), rng.integers(0, 6, n_rows)
    x = rng.normal(size=n_rows)
    y = (np.where(code % 2 == 0, 2, -2) + x + 0.3 * rng.normal(size=n_rows) > 0).astype(int)
    return pd.DataFrame({"c": pd.Categorical(kinds[code], categories=kinds), "x": x}), y


BY_CATEGORY = {
    "lightgbm": lambda: lgb.LGBMClassifier(**LIGHT),
    "xgboost": lambda: xgb.XGBClassifier(n_estimators=20, enable_categorical=True, n_jobs=1),
}


@pytest.mark.parametrize("name", BY_CATEGORY)
def test_a_column_that_lost_its_categories_is_looked_up_or_refused(name):
    X, y = coded()
    model = BY_CATEGORY[name]().fit(X[:1000], y[:1000])
    attentive, new = attend(model, X[1000:3000], delta=0.1, random_state=0), X[3000:].reset_index(drop=True)
    assert np.array_equal(attentive.predict(new.assign(c=new.c.astype(int))), attentive.predict(new))
    with pytest.raises(ValueError, match="categor"):
        attentive.predict(new.assign(c=new.c.astype(str)))


def test_entries_of_csr_rows_that_are_stored_twice_are_refused():
    """LightGBM and XGBoost take one of them, and linear models their sum."""
    X = np.random.default_rng(0).normal(size=(3000, 4))
    model = lgb.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1).fit(X[:1000], X[:1000, 0] > 0)
    attentive = attend(model, X[1000:], delta=0.05, random_state=0)
    rows = sp.csr_array(X[:10])
    halves = (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr)
    with pytest.raises(ValueError, match="X stores 40 entries more than once"):
        attentive.predict(sp.csr_array(halves, shape=rows.shape))
    assert (attentive.predict(rows[:, ::-1][:, ::-1]) == attentive.predict(X[:10])).all()  # in another order


@pytest.mark.parametrize("n_rows", [1, 19, 20, 900])
def test_new_categories_are_missing_values_to_lightgbm_whatever_the_number_of_rows(n_rows):
    rng = np.random.default_rng(0)
    code, x = rng.integers(0, 4, 5000), rng.normal(size=5000)
    X = pd.DataFrame({"c": pd.Categorical(np.array(["a", "b", "c", "d"])[code]), "x": x})
    model = lgb.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1).fit(X[:2000], code[:2000] + x[:2000] > 2)
    attentive = attend(model, X[2000:4000], delta=0.05, random_state=0)
    new = X[4000 : 4000 + n_rows].assign(c="new")
    missing = new.assign(c=pd.Categorical([None] * n_rows, categories=list("abcd")))
    for rows in (new, new.assign(c=new.c.astype("category")), pa.Table.from_pandas(new), missing):
        assert (attentive.full_margin(rows) > 0).tolist() == model.predict(missing).tolist()
    with pytest.raises(ValueError, match=r"Column 'c' of X holds 2, which is no category that the model was fitted on"):
        attentive.predict(new.assign(c=["a"] * (n_rows - 1) + [2]))
    with pytest.raises(ValueError, match=r"'c' of X holds 2, which is no category"):
        attentive.inquire(known={"c": 2})


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_categories_of_a_model_that_knows_codes_alone_are_refused():
    """XGBoost before 3.1 reads a frame by its codes, and does not keep what they stood for; so does one of arrays."""
    frame, y = coded()
    codes = frame.assign(c=frame["c"].cat.codes).to_numpy()
    model = xgb.XGBClassifier(n_estimators=20, enable_categorical=True, feature_types=["c", "q"], n_jobs=1)
    model.fit(codes[:1000], y[:1000])
    attentive = attend(model, codes[1000:3000], delta=0.1, random_state=0)
    for call in (lambda: attend(model, frame[1000:3000], delta=0.1), lambda: attentive.predict(frame[3000:])):
        with pytest.raises(ValueError, match=r"Column 0 of X holds categories, .* knows codes alone"):
            call()
    agree = attentive.predict(codes[3000:]) == model.predict(codes[3000:])
    assert agree.mean() > 0.9


def test_a_category_that_xgboost_refuses_is_refused():
    X, y = coded()
    attentive = attend(BY_CATEGORY["xgboost"]().fit(X[:1000], y[:1000]), X[1000:3000], delta=0.1, random_state=0)
    more = X[3000:].assign(c=X.c[3000:].cat.add_categories([70]))
    assert np.array_equal(attentive.predict(more), attentive.predict(X[3000:]))  # that no row has
    more.iloc[3, 0] = 70
    with pytest.raises(ValueError, match="70 is none of the categories that the model was fitted on"):
        attentive.predict(more)
    with pytest.raises(ValueError, match=r"70\.0 is none"):
        attentive.inquire(known={"c": 70})


@pytest.mark.parametrize("kind", [RandomForestClassifier, HistGradientBoostingClassifier])
def test_names_that_only_the_model_knows_are_gone_by(kind):
    X, y = table(**PLAIN)
    attentive = attend(kind(random_state=0).fit(X[:800], y[:800]), X.to_numpy()[800:3200], delta=0.1, random_state=0)
    expected = attentive.predict(X.to_numpy()[3200:])
    assert np.array_equal(attentive.predict(X[3200:][X.columns[::-1]]), expected)
    with pytest.raises(ValueError, match="X has no column 'age'"):
        attentive.predict(X[3200:].rename(columns={"age": "years"}))


def test_integers_are_taken_in_the_precision_that_lightgbm_takes():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2**31, (4000, 3))
    X[:, 0] = 2**25 + rng.integers(0, 64, 4000)
    y = (X[:, 0] % 64 > 31).astype(int)
    model = lgb.LGBMClassifier(**LIGHT).fit(X[:1000].astype(float), y[:1000])
    attentive = attend(model, X[1000:3000], delta=0.1, random_state=0)
    assert np.array_equal(attentive.full_margin(X), model.predict(X, raw_score=True))
    assert not np.array_equal(attentive.full_margin(X.astype(float)), attentive.full_margin(X))


def test_a_label_that_changes_elsewhere_is_counted_from_there():
    X, y = numbers()
    model = CatBoostClassifier(iterations=20, verbose=False, thread_count=1, allow_writing_files=False)
    model.fit(X[:800], y[:800]).set_probability_threshold(0.3)
    attentive = attend(model, X[800:3200], delta=0.1, random_state=0)
    raw = model.predict(X, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(attentive.full_margin(X), raw - np.log(0.3 / 0.7), atol=1e-12)
    assert np.array_equal(attentive.full_margin(X) > 0, model.predict(X) == 1)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_native_model_is_copied_and_takes_a_threshold(library):
    X, y = numbers()
    if library == "lightgbm":
        model = lgb.LGBMClassifier(**LIGHT).fit(X[:800], y[:800])
        native, second = model.booster_, model.predict_proba(X)[:, 1]
    else:
        model = xgb.XGBClassifier(n_estimators=20, n_jobs=1).fit(X[:800], y[:800])
        native, second = model.get_booster(), model.predict_proba(X)[:, 1]
    attentive = attend(native, X[800:3200], delta=0.1, threshold=0.3, random_state=0)
    assert np.array_equal(attentive.full_margin(X) > 0, second >= np.float32(0.3))
    copied = pickle.loads(pickle.dumps(attentive))
    assert np.array_equal(copied.predict(X), attentive.predict(X))
    assert np.array_equal(copied.estimator_.predict(X[:9]), attentive.estimator_.predict(X[:9]))


def test_classes_that_are_not_sorted_can_be_promised_their_accuracy():
    X, y = numbers()
    names = np.array(["zz", "aa"])
    model = CatBoostClassifier(iterations=20, verbose=False, class_names=["zz", "aa"], allow_writing_files=False)
    model.fit(X[:800], names[y[:800]])
    attentive = attend(model, X[800:3200], names[y[800:3200]], delta=0.1, promise="accuracy", random_state=0)
    assert np.mean(attentive.predict(X[3200:]) == names[y[3200:]]) > 0.8


@pytest.mark.parametrize("base_score", [0.480388, 0.491, 0.5, 0.03])
def test_xgboosts_sums_start_where_its_own_do(base_score):
    X, y = numbers()
    model = xgb.XGBClassifier(n_estimators=10, base_score=base_score, n_jobs=1).fit(X[:800], y[:800])
    assert np.array_equal(
        attend(model, X[800:3200], delta=0.1, random_state=0).full_margin(X), model.predict(X, output_margin=True)
    )

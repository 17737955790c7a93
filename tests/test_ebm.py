"""Explainable boosting machines as additive models: scores and labels are interpret's own, pairs included."""

import interpret
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from saccade import attend
from saccade.files.categories import categories_from, categories_parts
from saccade.models.agreement import own_labels
from saccade.models.apart import take_apart
from saccade.models.categories import AS_PYTHON, PLAIN, Categories
from saccade.models.tables.storage import Kinds, raw_columns

pytestmark = [
    pytest.mark.filterwarnings("ignore:Missing values detected:UserWarning"),  # of its plots
    pytest.mark.filterwarnings("ignore:For multiclass we cannot currently visualize pairs:UserWarning"),
]
QUICK = {"outer_bags": 1, "max_rounds": 15, "n_jobs": 1, "random_state": 0}
TYPES = {"age": "continuous", "income": "continuous", "kind": "nominal", "code": "nominal", "size": ["s", "m", "l"]}


def table(seed, n_rows, missing=0.1):
    """Return a table of numbers, texts, whole numbers that are names and ordered texts, some missing; and a score."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n_rows).round(1),
            "income": rng.exponential(1.0, n_rows),
            "kind": rng.choice(["private", "state", "none at all", "1"], n_rows),
            "code": rng.integers(-1, 4, n_rows),
            "size": rng.choice(["s", "m", "l"], n_rows),
        }
    )
    score = 2.0 * ((frame.age > 40) ^ (frame.income > 0.7)) + (frame.kind == "state") + (frame.code == 2)
    score += 0.5 * (frame["size"] == "m") + rng.normal(0, 0.3, n_rows)
    for name in ("age", "kind", "size"):
        frame.loc[rng.random(n_rows) < missing, name] = None
    return frame, score.to_numpy()


def labelled(score, n_classes):
    levels = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return np.array(["low", "middle", "high"])[np.digitize(score, levels)]


def machine(frame, y, **parameters):
    given = {"feature_types": list(TYPES.values()), "interactions": [(0, 1), (0, 2), (2, 3)], **QUICK, **parameters}
    return ExplainableBoostingClassifier(**given).fit(frame, y)


def scores_of(additive, X):
    scores = additive.values(X, np.arange(X.shape[0])) @ additive.coef.T + additive.intercept
    return scores[:, 0] if scores.shape[1] == 1 else scores


def strange(frame, seed):
    """Return rows with values that no row had before."""
    rng = np.random.default_rng(seed)
    frame = frame.copy()
    frame.loc[rng.random(len(frame)) < 0.2, "kind"] = "unheard of"
    frame.loc[rng.random(len(frame)) < 0.2, "code"] = 77
    frame.loc[rng.random(len(frame)) < 0.2, "income"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.1, "age"] = np.inf
    frame.loc[rng.random(len(frame)) < 0.1, "age"] = -np.inf
    return frame


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    n_classes=st.sampled_from([2, 3]),
    missing=st.sampled_from([0.0, 0.2]),
    max_bins=st.sampled_from([8, 64]),
    max_interaction_bins=st.sampled_from([3, 32]),
)
def test_scores_and_labels_are_the_model_s_own(seed, n_classes, missing, max_bins, max_interaction_bins):
    frame, score = table(seed, 300, missing)
    fitted = machine(
        frame[:200],
        labelled(score, n_classes)[:200],
        max_bins=max_bins,
        max_interaction_bins=max_interaction_bins,
    )
    additive, rows = take_apart(fitted), np.arange(len(frame))
    for X in (frame, strange(frame, seed)):
        assert_allclose(scores_of(additive, X), fitted.decision_function(X), rtol=1e-12, atol=1e-12)
        labels = own_labels(fitted, X, rows, additive, additive.values(X, rows))
        assert_array_equal(additive.classes[labels], fitted.predict(X))


def test_a_number_on_a_cut_lies_in_the_bin_above_as_in_interpret():
    X = np.repeat(np.arange(40.0)[:, None], 2, axis=1)
    fitted = ExplainableBoostingClassifier(interactions=1, **QUICK).fit(X, np.arange(40) % 7 > 2)
    cuts = np.concatenate([level for levels in fitted.bins_ for level in levels])
    near = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)])
    rows = np.column_stack([near, near[::-1]])
    assert_allclose(scores_of(take_apart(fitted), rows), fitted.decision_function(rows), rtol=1e-12)


def test_numbers_stand_for_the_texts_that_they_are_written_as_in_any_storage():
    rng = np.random.default_rng(0)
    held = rng.choice([0.0, 1.0, 2.5, -3.0], (200, 3))
    y = (held[:, 0] > 0) ^ (held[:, 1] == 2.5) ^ (rng.random(200) < 0.1)
    fitted = ExplainableBoostingClassifier(feature_types=["nominal"] * 3, interactions=1, **QUICK).fit(held, y)
    additive = take_apart(fitted)
    assert additive.columns is None
    texts = np.where(held == 2.5, "2.5", held.astype(int).astype(str))
    for X in (held, held.astype(np.float32), held.astype(object), texts.astype(object), held == 1.0, held.astype(int)):
        assert_allclose(scores_of(additive, X), fitted.decision_function(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("spelled", "codes"),
    [(PLAIN, [0, 5, 5, 3, 1, 5, 6]), (AS_PYTHON, [0, 1, 5, 3, 1, 4, 6]), ("", [5, 5, 5, 3, 1, 5, 6])],
)
def test_how_a_number_is_written_says_which_text_it_stands_for(spelled, codes):
    texts = np.array(["1", "2.0", "2.50", "x", "False"], dtype=object)
    names = Categories(texts, numbers_too=True, others_apart=True, spelled=spelled)
    kinds = Kinds(1, {0: names})
    values = np.array([1.0, 2.0, 2.5, "x", "2.0", False, None], dtype=object)
    assert raw_columns(values[:, None], kinds).some(0, np.arange(7, dtype=np.uint32)).tolist() == codes
    [[back]] = [categories_from(categories_parts({0: names}), 1).values()]
    assert back.spelled == spelled
    assert back.codes == names.codes


def test_earlier_versions_of_interpret_wrote_numbers_as_python_does(monkeypatch):
    X = np.random.default_rng(0).choice([0.0, 1.0, 2.5], (100, 2))
    fitted = ExplainableBoostingClassifier(feature_types=["nominal"] * 2, **QUICK).fit(X, X[:, 0] > 0)
    monkeypatch.setattr(interpret, "__version__", "0.7.6")
    assert take_apart(fitted).categories[0].spelled == AS_PYTHON
    monkeypatch.setattr(interpret, "__version__", "0.7.10")
    assert take_apart(fitted).categories[0].spelled == PLAIN


@pytest.mark.parametrize("n_classes", [2, 3])
def test_tables_of_all_kinds_are_read_as_interpret_reads_the_pandas_one(n_classes):
    frame, score = table(1, 400)
    fitted = machine(frame, labelled(score, n_classes))
    additive, expected = take_apart(fitted), fitted.decision_function(frame)
    as_categories = frame.astype({"kind": "category", "code": "category", "size": "category"})
    for X in (as_categories, pl.from_pandas(frame), frame.to_numpy(object), frame.convert_dtypes()):
        assert_allclose(scores_of(additive, X), expected, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_attend_counts_terms_and_buys_columns(n_classes):
    frame, score = table(2, 5000)
    y = labelled(score, n_classes)
    fitted = machine(frame[:1000], y[:1000], max_rounds=60)
    new = frame[1000:]
    for costs in (None, {"age": 5.0, "income": 3.0, "code": 0.5}):
        attentive = attend(fitted, new, delta=0.1, promise="rows", costs=costs, random_state=0)
        assert attentive.plan_.n_units == len(fitted.term_features_) == 8
        assert attentive.certificate_.features_per_row < 8
        assert "Terms read per row" in str(attentive.certificate_)
        assert np.mean(attentive.predict(new) == fitted.predict(new)) > 0.9
        assert_allclose(attentive.full_margin(new), fitted.decision_function(new), rtol=1e-9, atol=1e-12)
        assert set(attentive.columns_) <= set(frame.columns)
        assert "age & income" in attentive.additive_.unit_names
        assert "age & income" in attentive.plan_.describe(attentive.additive_.unit_names)


def test_terms_of_an_array_are_named_by_number():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    fitted = ExplainableBoostingClassifier(interactions=[(0, 2)], **QUICK).fit(X, X[:, 0] * X[:, 2] > 0)
    assert take_apart(fitted).unit_names == ("0", "1", "2", "0 & 2")
    named = take_apart(fitted).named(("a", "b", "c"))
    assert named.unit_names == ("a", "b", "c", "a & c")


def test_a_term_that_adds_nothing_needs_no_column():
    frame, score = table(4, 300)
    fitted = machine(frame, labelled(score, 2))
    fitted.scale(fitted.term_features_.index((4,)), 0.0)
    additive = take_apart(fitted)
    assert additive.used.tolist() == [0, 1, 2, 3]
    assert_allclose(scores_of(additive, frame), fitted.decision_function(frame), rtol=1e-12)
    fitted.sweep()
    assert_allclose(scores_of(take_apart(fitted), frame), fitted.decision_function(frame), rtol=1e-12)


@pytest.mark.parametrize("threshold", [0.3, 0.8])
def test_thresholds_move_the_margin(threshold):
    frame, score = table(3, 300)
    fitted = machine(frame, labelled(score, 2))
    model = FixedThresholdClassifier(fitted, threshold=threshold, pos_label="low")
    additive = take_apart(model)
    probability = fitted.predict_proba(frame)[:, list(fitted.classes_).index("low")]
    labels = additive.classes[(scores_of(additive, frame) > 0).astype(int)]
    assert_array_equal(labels == "low", probability >= threshold)


def test_what_cannot_be_read_is_refused():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] > 0
    with pytest.raises(TypeError, match=r"ExplainableBoostingRegressor is a regressor.*Fit a classifier"):
        take_apart(ExplainableBoostingRegressor(**QUICK).fit(X, X[:, 0]))
    behind = make_pipeline(StandardScaler(), ExplainableBoostingClassifier(**QUICK)).fit(X, y)
    with pytest.raises(TypeError, match="ExplainableBoostingClassifier is no model"):
        take_apart(behind)

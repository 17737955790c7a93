"""What users pass in: tables, names, values that are not finite, and failures that lose nothing."""

import pickle
from decimal import Decimal

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from data import correlated
from saccade import AttentiveClassifier, CurvedSTST, Full, PassiveAggressive, Pegasos, Perceptron, attend, version
from saccade.exceptions import NotNumbersError, OtherVersionWarning
from saccade.reading.inputs import encode_labels

NAMES = [f"feature {j}" for j in range(20)]
TABLES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
}


@pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")  # which older pandas calls
def test_a_frame_that_was_learned_from_is_predicted_too():
    X, y = correlated(200, 20, seed=0)
    frame = pd.DataFrame(X, columns=NAMES).astype({NAMES[0]: object, NAMES[1]: np.float32})
    model = Pegasos(random_state=0).fit(frame, y)
    np.testing.assert_allclose(model.full_margin(frame), frame.astype(float) @ model.coef_[0] + model.intercept_[0])


@pytest.mark.parametrize("table", TABLES)
def test_tables_give_the_same_model_and_teach_the_names(table):
    X, y = correlated(200, 20, seed=31)
    model, plain = (Pegasos(random_state=0).fit(rows, y) for rows in (TABLES[table](X), X))
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    assert list(model.feature_names_in_) == NAMES
    assert not hasattr(plain, "feature_names_in_")
    reading, expected = model.read(TABLES[table](X)), plain.read(X)
    np.testing.assert_array_equal(reading.label, expected.label)
    np.testing.assert_allclose(reading.margin, expected.margin, rtol=1e-9)


@pytest.mark.parametrize("table", TABLES)
def test_columns_are_matched_by_name(table):
    X, y = correlated(100, 20, seed=32)
    model = Pegasos(random_state=0).fit(TABLES["pandas"](X), y)
    frame = pd.DataFrame(X, columns=NAMES)[NAMES[::-1]]
    for rows in (frame, frame.assign(more=1.0)):
        rows = {"pandas": pd.DataFrame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}[table](rows)
        np.testing.assert_allclose(model.decision_function(rows), model.decision_function(frame[NAMES]), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(TABLES["pandas"](X)[NAMES[1:]])
    with pytest.raises(ValueError, match="20 features"):
        Pegasos().fit(X, y).predict(X[:, :5])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_value_that_is_read_and_not_finite_is_named(value, kind):
    X, y = correlated(100, 20, seed=33, dtype=kind)
    model = Pegasos(boundary=Full(), random_state=0).fit(X, y)
    bad = X.copy()
    bad[17, 5] = value
    word = "NaN" if np.isnan(value) else rf"infinity \({value}\)"
    for call in (model.predict, model.full_margin, model.read, lambda X: Perceptron(boundary=Full()).fit(X, y)):
        with pytest.raises(ValueError, match=rf"{word}.*row 17, feature 5\b"):
            call(bad)
        with pytest.raises(ValueError, match=rf"{word}.*row 17, feature 5\b"):
            call(sp.csr_matrix(bad))
    with pytest.raises(ValueError, match=r"feature 'feature 5' \(column 5\)"):
        Pegasos(boundary=Full()).fit(TABLES["pandas"](bad), y)


def test_a_value_that_is_not_read_may_be_anything():
    X, y = correlated(2000, 60, seed=34, separation=4.0)
    model = Pegasos(max_iter=3, random_state=0).fit(X, y)
    reading = model.read(X)
    row = int(np.flatnonzero(reading.stopped)[0])
    last = model.plans_[0].order[-1]
    bad = X[row : row + 1].copy()
    bad[0, last] = np.nan
    assert model.read(bad).label[0] == reading.label[row]
    with pytest.raises(ValueError, match="NaN"):
        model.predict(bad)


def test_finite_values_whose_margin_overflows_are_said_to():
    X, y = correlated(50, 10, seed=35)
    with pytest.raises(ValueError, match="overflows"):
        Pegasos().fit(X * 1e200, y)


def test_a_failed_call_leaves_the_model_as_it_was():
    X, y = correlated(200, 20, seed=36)
    model = Pegasos(random_state=0).fit(X, y)
    before = pickle.dumps(model)
    bad = X.copy()
    bad[150] = np.nan
    for call in (
        lambda: model.partial_fit(bad, y),
        lambda: model.partial_fit(X, y + 7),
        lambda: model.partial_fit(X, y, sample_weight=-np.ones(200)),
        lambda: model.set_params(warm_start=True).fit(bad, y),
        lambda: model.set_params(warm_start=True).fit(X, y + 1),
    ):
        with pytest.raises(ValueError, match=r".+"):
            call()
        assert pickle.dumps(model.set_params(warm_start=False)) == before


def test_learning_goes_on_after_pickling_with_the_same_bits(tmp_path):
    X, y = correlated(400, 30, seed=37)
    model = Pegasos(random_state=0).partial_fit(X[:200], y[:200], [0, 1])
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")]
    model.partial_fit(X[200:], y[200:])
    for copy in copies:
        np.testing.assert_array_equal(copy.partial_fit(X[200:], y[200:]).coef_, model.coef_)


def test_a_model_of_another_version_is_warned_about(monkeypatch):
    X, y = correlated(50, 10, seed=38)
    pickled = pickle.dumps(PassiveAggressive().fit(X, y))
    monkeypatch.setattr("saccade.learners.classifier.__version__", "99.0")
    with pytest.warns(OtherVersionWarning, match=rf"{version.__version__}.*99\.0"):
        pickle.loads(pickled)


@pytest.mark.parametrize(
    "labels", [[3, 2, 3], [-5, 7, -5], ["b", "a", "b"], [True, False, True], [2**40, -(2**40), 2**40], [1.0, 0.0, 1.0]]
)
@pytest.mark.parametrize("kind", [None, np.uint8, np.int16])
def test_labels_of_any_kind_are_encoded_like_unique_does(labels, kind):
    if kind is not None:
        labels = np.array([4, 1, 4], dtype=kind)
    classes, codes = encode_labels(np.asarray(labels))
    expected_classes, expected_codes = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(classes, expected_classes)
    np.testing.assert_array_equal(codes, expected_codes)
    assert classes.dtype == expected_classes.dtype


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (Pegasos(lam=0), "lam"),
        (Pegasos(lam=float("nan")), "lam"),
        (Pegasos(rule="svm"), "rule"),
        (Pegasos(audit=-0.1), "audit"),
        (Pegasos(audit=float("nan")), "audit"),
        (Pegasos(max_iter=0), "max_iter"),
        (Pegasos(max_iter=1.5), "max_iter"),
        (Pegasos(lam="x"), "lam"),
        (Pegasos(fit_intercept=5), "fit_intercept"),
        (Pegasos(average=None), "average"),
        (Pegasos(order=["sorted"]), "order"),
        (Pegasos(n_jobs="two"), "n_jobs"),
        (PassiveAggressive(C=-1), "'C'"),
        (PassiveAggressive(variant="pa3"), "variant"),
    ],
    ids=repr,
)
def test_bad_parameters_are_named(model, word):
    X, y = correlated(20, 4, seed=39)
    with pytest.raises(ValueError, match=word):
        model.fit(X, y)


def test_partial_fit_says_what_it_needs():
    X, y = correlated(20, 4, seed=40)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        Pegasos().partial_fit(X, y)
    with pytest.raises(ValueError, match="balanced"):
        Pegasos(class_weight="balanced").partial_fit(X, y, [0, 1])
    with pytest.raises(ValueError, match="not among the classes"):
        Pegasos().partial_fit(X, y + 5, [0, 1])
    with pytest.raises(ValueError, match="not the same as on the last call"):
        Pegasos().partial_fit(X, y, [0, 1]).partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="at least 2 classes"):
        Pegasos().fit(X, np.zeros(20))


def test_a_batch_of_weight_zero_teaches_nothing():
    X, y = correlated(100, 10, seed=41)
    model = Pegasos(random_state=0).partial_fit(X, y, [0, 1], sample_weight=np.zeros(100))
    assert model.training_.n_examples == 0
    assert not model.coef_.any()


def test_a_failed_fit_of_another_width_changes_nothing():
    X, y = correlated(200, 20, seed=42)
    model = Pegasos(random_state=0).fit(TABLES["pandas"](X), y)
    before = pickle.dumps(model)
    for bad in (np.full((4, 30), np.nan), pd.DataFrame(np.full((4, 3), np.nan), columns=list("abc"))):
        with pytest.raises(ValueError, match="NaN"):
            model.fit(bad, [0, 1, 0, 1])
        assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="30 features"):
        Pegasos(random_state=0).fit(X, y).partial_fit(np.ones((4, 30)), [0, 1, 0, 1])


def test_a_model_that_failed_at_once_is_not_fitted():
    model = Pegasos()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((4, 3), np.nan), [0, 1, 0, 1])
    with pytest.raises(NotFittedError):
        model.predict(np.ones((1, 3)))


def test_learning_goes_on_with_the_parameters_as_they_are_now():
    X, y = correlated(300, 20, seed=43)
    kept = Pegasos(random_state=0).partial_fit(X[:150], y[:150], [0, 1])
    changed = pickle.loads(pickle.dumps(kept)).set_params(lam=10.0)
    assert not np.allclose(kept.partial_fit(X[150:], y[150:]).coef_, changed.partial_fit(X[150:], y[150:]).coef_)
    for other in ({"boundary": Full()}, {"boundary": "constant"}, {"order": "natural"}, {"cost": "features"}):
        with pytest.raises(ValueError, match="cannot go on"):
            pickle.loads(pickle.dumps(kept)).set_params(**other).partial_fit(X, y)


def test_a_model_keeps_its_own_boundary():
    X, y = correlated(2000, 60, seed=44, separation=4.0)
    boundary = CurvedSTST(0.1)
    model = Pegasos(boundary=boundary, random_state=0).fit(X, y)
    before = model.read(X).n_read
    boundary.delta = 0.45
    np.testing.assert_array_equal(model.read(X).n_read, before)


@pytest.mark.parametrize("weights", [{0: np.nan, 1: 1}, {0: -1, 1: 1}, {0: np.inf, 1: 1}, {0: 0, 1: 0}], ids=repr)
def test_bad_class_weights_are_named(weights):
    X, y = correlated(50, 5, seed=45)
    with pytest.raises(ValueError, match="class_weight"):
        Pegasos(class_weight=weights).fit(X, y)


@pytest.mark.parametrize("learner", [Pegasos(), Perceptron(), PassiveAggressive()], ids=repr)
def test_class_weights_move_the_decision(learner):
    X, y = correlated(2000, 10, seed=46, separation=0.5)
    rare = (y == 1) & (np.arange(2000) % 5 > 0)
    X, y = X[~rare], y[~rare]
    plain = np.mean(learner.set_params(max_iter=3, random_state=0).fit(X, y).predict(X) == 1)
    balanced = np.mean(learner.set_params(class_weight="balanced").fit(X, y).predict(X) == 1)
    learner.set_params(class_weight=None)
    assert balanced > plain + 0.05


def test_wide_indices_and_wide_labels_are_taken():
    X, y = correlated(60, 8, seed=47)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(Pegasos(random_state=0).fit(wide, y).coef_, Pegasos(random_state=0).fit(X, y).coef_)
    far = y.astype(np.uint64) + np.uint64(2**63 + 5)
    assert set(Pegasos().fit(X, far).predict(X)) <= set(far)


@pytest.mark.parametrize("size", [1.0, 1e4, 1e8])
def test_large_features_do_not_drown_the_average(size):
    """The first steps on large features are projected far back; the average must not remember their rounding errors."""
    X, y = correlated(400, 20, seed=48, dtype=np.float32)
    narrow = Pegasos(boundary=Full(), shuffle=False).fit(X * np.float32(size), y)
    wide = Pegasos(boundary=Full(), shuffle=False).fit((X * np.float32(size)).astype(np.float64), y)
    np.testing.assert_allclose(narrow.coef_, wide.coef_, rtol=1e-3, atol=1e-3 * np.abs(wide.coef_).max())


def test_with_several_classes_too_the_row_is_named():
    X, _ = correlated(1500, 60, seed=49)
    y = np.argmax(X[:, :4], axis=1)
    model = Pegasos(max_iter=3, random_state=0).fit(X, y)
    reading = model.read(X)
    again = int(np.flatnonzero(~reading.stopped)[-1])
    bad = X.copy()
    bad[again] = np.nan
    with pytest.raises(ValueError, match=rf"row {again}, feature 0\b"):
        model.read(bad)
    unread = [plan.order[-1] for plan in model.plans_]
    bad[again] = X[again]
    bad[again, unread] = np.nan
    with pytest.raises(ValueError, match=rf"row {again}, feature {min(unread)}\b"):
        model.read(bad)


ROWS, LABELS = correlated(1200, 4, seed=50, separation=3.0)
FOUR = list("abcd")


def calls():
    """Every way in for rows."""

    def named(rows):
        return pd.DataFrame(rows, columns=FOUR)

    learner = Pegasos(random_state=0).fit(named(ROWS), LABELS)
    linear = LogisticRegression().fit(named(ROWS), LABELS)
    attentive = attend(linear, named(ROWS), delta=0.2, random_state=0)
    return {
        "predict": learner.predict,
        "read": learner.read,
        "certified": attentive.predict,
        "fit": lambda X: Pegasos(random_state=0).fit(X, LABELS),
        "partial_fit": lambda X: Pegasos(random_state=0).partial_fit(X, LABELS, [0, 1]),
        "attend": lambda X: attend(linear, X, delta=0.2, random_state=0),
        "classifier": lambda X: AttentiveClassifier(delta=0.2, random_state=0).fit(X, LABELS),
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pl.DataFrame(ROWS, schema=FOUR).lazy(), "X is a LazyFrame, whose rows are not there yet.*X.collect"),
        (dict(zip(FOUR, ROWS.T, strict=True)), "X is a dict, not an array or a table of rows.*pandas.DataFrame"),
        (pd.DataFrame(ROWS).to_dict("records"), "X is a list of dicts, not an array or a table .*pandas.DataFrame"),
        (pd.Series(ROWS[0], FOUR), "X is a Series of 4 values, not a table of rows. Pass a DataFrame"),
        (pd.Series([1, "a", None], dtype=object), "X is a Series of 3 values, not a table of rows. Pass a DataFrame"),
        (pl.Series(ROWS[:, 0]), "X is a Series of 1,200 values, not a table of rows. Pass a DataFrame"),
    ],
    ids=["lazy", "dict", "dicts", "pandas series", "objects", "polars series"],
)
def test_what_holds_no_rows_is_refused_with_one_line(given, message):
    for call in calls().values():
        with pytest.raises((TypeError, ValueError), match=message) as caught:
            call(given)
        assert "\n" not in str(caught.value)


def test_half_precision_is_taken_as_scikit_learn_takes_it():
    half = ROWS.astype(np.float16)
    for given in (half, pd.DataFrame(half, columns=FOUR)):
        wide = given.astype(np.float64)
        for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
            attentive = attend(model.fit(wide[:400], LABELS[:400]), given, delta=0.2, random_state=0)
            np.testing.assert_array_equal(attentive.predict(given), attentive.predict(wide))
            np.testing.assert_array_equal(attentive.full_margin(given) > 0, model.predict(wide))
        learner = Pegasos(random_state=0).fit(given, LABELS)
        np.testing.assert_array_equal(learner.predict(given), learner.predict(wide))


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
@pytest.mark.parametrize("text", ["x", "1.5"])
def test_a_column_of_text_is_refused_with_one_message(table, text):
    given = table({name: [text] * 1200 if name == "a" else ROWS[:, j] for j, name in enumerate(FOUR)})
    for call in calls().values():
        with pytest.raises(NotNumbersError, match="Column 'a' holds String, not numbers"):
            call(given)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_text_in_an_array_is_refused_with_its_place():
    given = ROWS.astype(object)
    given[7, 2] = "x"
    learner, linear = Pegasos(random_state=0).fit(ROWS, LABELS), LogisticRegression().fit(ROWS, LABELS)
    for call in (
        lambda X: Pegasos().fit(X, LABELS),
        learner.predict,
        lambda X: attend(linear, X, delta=0.2),
        attend(linear, ROWS, delta=0.2, random_state=0).predict,
    ):
        with pytest.raises(ValueError, match="Row 7, feature 2 of X is 'x', not a number"):
            call(given)


def decimals(values):
    return [Decimal(f"{value:.3f}") for value in values]


@pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")  # which older pandas calls
@pytest.mark.parametrize(
    "store",
    [
        lambda rows: pd.DataFrame(rows.astype(np.float16), columns=FOUR),
        lambda rows: pd.DataFrame(rows.astype(object), columns=FOUR),
        lambda rows: pd.DataFrame({name: decimals(rows[:, j]) for j, name in enumerate(FOUR)}),
        lambda rows: pl.DataFrame({name: decimals(rows[:, j]) for j, name in enumerate(FOUR)}),
        lambda rows: pa.table({name: pa.array(decimals(rows[:, j])) for j, name in enumerate(FOUR)}),
    ],
    ids=["float16", "objects", "decimals", "polars decimals", "arrow decimals"],
)
def test_other_kinds_of_numbers_are_read_as_the_numbers_that_they_are(store):
    plain = np.round(4 * ROWS) / 4  # which half precision holds exactly
    for way, call in calls().items():
        given, expected = call(store(plain)), call(pd.DataFrame(plain, columns=FOUR))
        if way in ("predict", "certified"):
            np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("storage", [np.asarray, np.float32, sp.csr_matrix])
def test_attend_says_where_a_value_is_not_finite(value, storage):
    bad = ROWS.copy()
    bad[17, 2] = value
    linear = LogisticRegression().fit(ROWS, LABELS)
    word = "NaN" if np.isnan(value) else rf"infinity \({value}\)"
    with pytest.raises(ValueError, match=rf"contains {word} at row 17, feature 2\. .* impute or drop it"):
        attend(linear, storage(bad), delta=0.2)
    named = LogisticRegression().fit(pd.DataFrame(ROWS, columns=FOUR), LABELS)
    with pytest.raises(ValueError, match=rf"contains {word} at row 17, feature 'c' \(column 2\)"):
        attend(named, pd.DataFrame(bad, columns=FOUR), delta=0.2)


def test_a_missing_value_is_named_whatever_the_columns_hold_that_are_not_read():
    X, y = correlated(4000, 12, seed=51, separation=4.0)
    names = [f"p{j}" for j in range(12)]
    linear = LogisticRegression().fit(X[:2000], y[:2000])
    attentive = attend(linear, X[2000:], delta=0.2, fewest="columns", random_state=0)
    attentive.feature_names_in_ = np.array(names, dtype=object)
    read = attentive.plan_.order[: attentive.plan_.most_read]
    unread = np.setdiff1d(np.arange(12), read)
    assert unread.size
    frame = pd.DataFrame(X[:5], columns=names).assign(**{names[j]: "text" for j in unread})
    frame.loc[3, names[read[0]]] = np.nan
    with pytest.raises(ValueError, match=rf"NaN at row 3, feature '{names[read[0]]}'"):
        attentive.predict(frame)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_single_precision_rows_of_any_magnitude_are_planned_like_double_ones(scale):
    X, y = correlated(3000, 40, seed=52, separation=3.0)
    linear = LogisticRegression().fit(X[:1500], y[:1500])
    linear.coef_ = linear.coef_ / scale
    wide, narrow = (
        attend(linear, (X[1500:] * scale).astype(kind), delta=0.05, random_state=0) for kind in (float, "f4")
    )
    assert narrow.certificate_.features_per_row == pytest.approx(wide.certificate_.features_per_row, abs=0.2)
    assert narrow.certificate_.features_per_row < 20


def test_an_unknown_boundary_lists_those_that_there_are():
    linear = LogisticRegression().fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="'foo': the names are 'full', 'constant', 'curved', 'conditional'"):
        attend(linear, ROWS, boundary="foo")
    with pytest.raises(ValueError, match="'foo': the names are 'full', 'constant', 'curved'\\."):
        Pegasos(boundary="foo").fit(ROWS, LABELS)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
@pytest.mark.parametrize("use", ["learn", "attend", "fit"])
def test_rows_without_a_label_are_counted_and_the_first_is_named(use, missing):
    X, y = correlated(400, 20, seed=3)
    labels = np.where(y == y.max(), "oak", "elm").astype(object)
    model = LogisticRegression().fit(X, labels)
    labels[[7, 31]] = missing
    uses = {
        "learn": lambda: Pegasos().fit(X, labels),
        "attend": lambda: attend(model, X, labels, promise="accuracy"),
        "fit": lambda: AttentiveClassifier().fit(X, labels),
    }
    with pytest.raises(ValueError, match=r"no label in 2 of 400 rows, the first of them is row 7: .* Leave these rows"):
        uses[use]()


@pytest.mark.parametrize("table", ["pandas", "arrow"])
def test_columns_of_one_name_are_named(table):
    X, y = correlated(400, 20, seed=3)
    names = ["age", "age", *NAMES[2:]]
    twice = pd.DataFrame(X, columns=names) if table == "pandas" else pa.Table.from_arrays(list(X.T), names=names)
    model = LogisticRegression().fit(X, y)
    for use in (lambda: Pegasos().fit(twice, y), lambda: attend(model, twice)):
        with pytest.raises(ValueError, match=r"several columns of one name: age. Rename them, or pass an array"):
            use()


def test_no_model_is_refused_with_what_is_accepted():
    with pytest.raises(TypeError, match=r"model is None. Pass a fitted classifier: .*LightGBM"):
        attend(None, np.ones((3, 2)))


def test_model_and_rows_in_the_wrong_order_are_told_apart():
    X, y = correlated(400, 20, seed=3)
    with pytest.raises(TypeError, match=r"X is a LogisticRegression, not rows. Pass the fitted model first"):
        attend(X, LogisticRegression().fit(X, y))


def test_a_certified_model_is_certified_anew_by_its_own_model():
    X, y = correlated(2000, 20, seed=3)
    attentive = attend(LogisticRegression().fit(X[:500], y[:500]), X[500:], delta=0.1, random_state=0)
    with pytest.raises(TypeError, match=r"which has been certified.*pass that: model\.estimator_"):
        attend(attentive, X[500:])
    again = attend(attentive.estimator_, X[500:], delta=0.1, random_state=0)
    assert again.certificate_ == attentive.certificate_


@pytest.mark.parametrize("listed", [list, np.array, pd.Series, pl.Series])
def test_texts_are_to_be_vectorized_before(listed):
    texts, kinds = ["red car", "blue car", "red bus", "blue bus"] * 100, ["red", "blue"] * 200
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, kinds)
    with pytest.raises(ValueError, match=r"list of texts.* the vectorizer first.*pipeline\[:-1\]\.transform"):
        attend(model, listed(texts), delta=0.1)
    attentive = attend(model[-1], model[:-1].transform(texts), delta=0.1, random_state=0)
    assert attentive.predict(model[:-1].transform(["red bus", "blue car"])).tolist() == ["red", "blue"]


def test_too_few_rows_to_split_say_what_is_needed():
    X, y = correlated(400, 20, seed=3)
    with pytest.raises(ValueError, match=r"X has 1 rows, too few to plan.*hundreds of each class"):
        attend(LogisticRegression().fit(X, y), X[:1])

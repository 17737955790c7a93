"""Dask DataFrames and Arrays: predicted and read lazily, with the labels of the rows in one piece; and sampled."""

import pickle
from functools import cache

import attended
import attended_trees
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask.dataframe.utils import assert_eq
from divided import boom, divided, nameless
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from data import census, correlated
from saccade import AttentiveClassifier, ExponentiatedGradient, PassiveAggressive, Pegasos, Perceptron, Watch, attend

LEARNERS = {
    "pegasos": lambda: Pegasos(random_state=0),
    "perceptron": lambda: Perceptron(random_state=0),
    "passive-aggressive": lambda: PassiveAggressive(random_state=0),
    "exponentiated": lambda: ExponentiatedGradient(random_state=0),
}


@cache
def table_model():
    """Return a pipeline over texts, certified on other rows than it was fitted on, and all rows."""
    frame = census(3000)
    y = frame.pop("income")
    numbers, texts = make_pipeline(SimpleImputer(), StandardScaler()), OneHotEncoder(handle_unknown="ignore")
    steps = make_column_transformer((numbers, ["age", "hours"]), (texts, ["state", "work"]), ("passthrough", ["size"]))
    model = make_pipeline(steps, LogisticRegression(max_iter=1000)).fit(frame[:1000], y[:1000])
    return attend(model, frame[1000:], delta=0.05, random_state=0), frame


@cache
def learner(name, classes=2):
    X, y = correlated(1500, 12, seed=1, separation=3.0, classes=classes)
    frame = pd.DataFrame(X, columns=attended.NAMES)
    return LEARNERS[name]().fit(frame[:500], np.array(["a", "b", "c"])[y][:500]), frame


MODELS = {
    "linear": lambda: attended.attended("two classes"),
    "linear, four classes": lambda: attended.attended("four classes"),
    "linear, with costs": lambda: attended.attended("groups"),
    "forest, with costs": lambda: attended_trees.attended("forest"),
    "histogram trees": lambda: attended_trees.attended("hist"),
    "forest, three classes": lambda: attended_trees.attended("forest, three"),
    "table": table_model,
    "learner": lambda: learner("pegasos"),
    "learner, three classes": lambda: learner("pegasos", 3),
}
every_model = pytest.mark.parametrize("name", MODELS)


def columns_of(reading, classes):
    """Return a reading as a slow, obvious reference of its columns."""
    columns = {"label": pd.Series(reading.label, dtype=pd.Series(classes).dtype)}
    if reading.margin.ndim == 1:
        columns["margin"] = reading.margin
    else:
        columns |= {f"margin_{label}": reading.margin[:, k] for k, label in enumerate(classes)}
    columns |= {"n_read": reading.n_read, "stopped": reading.stopped}
    return pd.DataFrame(columns if reading.cost is None else columns | {"cost": reading.cost})


# ---------------------------------------------------------------------------------------------------- the same answers


@every_model
@settings(max_examples=5)
@given(ends=st.lists(st.integers(0, 400), min_size=1, max_size=8))
def test_labels_are_those_of_the_rows_in_one_piece(name, ends):
    model, frame = MODELS[name]()
    frame = frame.iloc[:400]
    lazy, whole = divided(frame, ends), columns_of(model.read(frame), model.classes_).set_index(frame.index)
    read = model.read(lazy)
    assert_eq(read, whole, check_divisions=False)
    assert list(read.columns) == list(whole.columns)
    predicted = model.predict(lazy)
    assert (predicted.name, predicted.npartitions) == ("label", lazy.npartitions)
    labels = pd.Series(model.predict(frame), index=frame.index, name="label", dtype=whole["label"].dtype)
    assert_eq(predicted, labels, check_divisions=False)


@every_model
def test_full_margins_are_those_of_the_rows_in_one_piece(name):
    model, frame = MODELS[name]()
    margin, lazy = model.full_margin(frame[:300]), model.full_margin(divided(frame[:300], [0, 120, 120]))
    np.testing.assert_array_equal(lazy.compute().to_numpy(), margin)
    names = "margin" if margin.ndim == 1 else [f"margin_{label}" for label in model.classes_]
    assert (lazy.name if margin.ndim == 1 else list(lazy.columns)) == names
    assert_eq(lazy, lazy.compute(), check_divisions=False)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_learner_has_the_same_door(name, classes):
    model, frame = learner(name, classes)
    lazy = dd.from_pandas(frame, npartitions=3)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(frame))
    margin = model.decision_function(frame)  # a product of matrices, whose last bits are a matter of BLAS
    np.testing.assert_allclose(model.decision_function(lazy).compute(), margin, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.read(lazy)["n_read"].compute(), model.read(frame).n_read)


def test_the_index_and_its_divisions_are_kept():
    model, frame = MODELS["linear"]()
    known = dd.from_pandas(frame.set_index(frame.index * 2 + 7), npartitions=5)
    for lazy in (known, known.clear_divisions()):
        assert model.predict(lazy).divisions == model.read(lazy).divisions == lazy.divisions
        assert_eq(model.predict(lazy).index, lazy.index.compute(), check_divisions=False)
    assigned = known.assign(label=model.predict(known))
    assert_eq(assigned, known.compute().assign(label=model.predict(frame)))
    unknown = known.clear_divisions()
    assert_eq(unknown.assign(label=model.predict(unknown)), assigned.compute())
    few = known[known["f0"] > 1]
    assert_eq(few.assign(label=model.predict(few)), assigned.compute().loc[lambda rows: rows["f0"] > 1])
    counts = model.predict(known.persist()).value_counts().compute()
    assert counts.to_dict() == pd.Series(model.predict(frame)).value_counts().to_dict()


@pytest.mark.parametrize("classes", [["no", "yes"], np.array(["no", "yes"], dtype=object), [False, True], [2.0, 7.0]])
def test_labels_have_one_type_in_every_partition(classes):
    X, y = correlated(600, 4, seed=0, separation=3.0)
    model = Pegasos(random_state=0).fit(X[:300], np.asarray(classes)[y[:300]])
    lazy = da.from_array(X[300:], chunks=(100, 4))
    assert model.predict(lazy).dtype == model.classes_.dtype == model.predict(lazy).compute().dtype
    named = Pegasos(random_state=0).fit(pd.DataFrame(X[:300]).add_prefix("f"), np.asarray(classes)[y[:300]])
    labels = named.predict(divided(pd.DataFrame(X[300:]).add_prefix("f"), [0, 0, 100]))
    assert {part.dtype for part in dask.compute(*labels.to_delayed())} == {labels.dtype}


# -------------------------------------------------------------------------------------------------------------- arrays


@pytest.mark.parametrize("several", [False, True])
@settings(max_examples=10)
@given(rows=st.lists(st.integers(0, 150), min_size=1, max_size=6), columns=st.lists(st.integers(1, 5), min_size=1))
def test_arrays_may_be_divided_anyhow(several, rows, columns):
    model, X = nameless(3 if several else 2)
    n, width = min(sum(rows), len(X)), X.shape[1]
    cut = np.minimum(np.cumsum([0, *rows]), n), np.minimum(np.cumsum([0, *columns, width]), width)
    chunks = tuple(np.diff(cut[0]).tolist()), tuple(np.diff(cut[1]).tolist())
    lazy, whole = da.from_array(X[:n], chunks=chunks), X[:n]
    predicted, read = model.predict(lazy), model.read(lazy)
    assert predicted.chunks == read.label.chunks == read.n_read.chunks == lazy.chunks[:1]
    (computed,) = dask.compute(read)
    expected = model.read(whole) if n else model.read(X[:1])
    for field in ("label", "margin", "n_read", "stopped"):
        values = getattr(expected, field)[:n]
        assert getattr(read, field).dtype == getattr(computed, field).dtype == values.dtype
        np.testing.assert_array_equal(getattr(computed, field), values)
    np.testing.assert_array_equal(predicted, expected.label[:n])
    np.testing.assert_array_equal(model.full_margin(lazy), model.full_margin(X)[:n])


def test_readings_of_arrays_have_costs():
    X, y = correlated(3000, 6, seed=1, separation=3.0)
    model = LogisticRegression().fit(X[:1000], y[:1000])
    attentive = attend(model, X[1000:], delta=0.1, costs=np.arange(6.0), random_state=0)
    (read,) = dask.compute(attentive.read(da.from_array(X, chunks=(1100, 6))))
    np.testing.assert_array_equal(read.cost, attentive.read(X).cost)


def test_arrays_need_not_know_their_rows():
    model, X = nameless()
    unknown = dd.from_pandas(pd.DataFrame(X), npartitions=4).to_dask_array()
    assert np.isnan(unknown.shape[0])
    apart = da.concatenate([unknown[:, :5], unknown[:, 5:]], axis=1, allow_unknown_chunksizes=True)
    for lazy in (unknown, apart):
        np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))
        np.testing.assert_array_equal(model.read(lazy).margin.compute(), model.read(X).margin)
    with pytest.raises(ValueError, match=r"compute_chunk_sizes"):
        model.predict(unknown[:, unknown[0] > 0])


def test_blocks_may_be_sparse():
    model, X = nameless()
    stored = np.where(np.abs(X) > 1, X, 0)
    for kind in (sp.csr_matrix, sp.csr_array):
        lazy = da.from_array(stored, chunks=(900, 5)).rechunk({1: -1}).map_blocks(kind)
        np.testing.assert_array_equal(model.read(lazy).n_read.compute(), model.read(kind(stored)).n_read)
        np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(kind(stored)))


# -------------------------------------------------------------------------------------------------- nothing is computed


@every_model
def test_nothing_is_computed_before_the_answer_is(name):
    model, frame = MODELS[name]()
    lazy = dd.from_map(boom, range(3), meta=frame.iloc[:0])
    for method in ("predict", "read", "full_margin"):
        answer = getattr(model, method)(lazy)
        assert answer.npartitions == 3
        with pytest.raises(AssertionError, match="a partition was computed"):
            answer.compute()


def test_no_block_is_computed_before_the_answer_is():
    model, X = nameless()
    for chunks in ((900, 12), (900, 5)):
        lazy = da.from_array(X, chunks=chunks).map_blocks(boom, dtype=float, meta=np.empty((0, 0)))
        for answer in (model.predict(lazy), model.read(lazy).margin, model.full_margin(lazy)):
            with pytest.raises(AssertionError, match="a partition was computed"):
                answer.compute()


def test_a_graph_holds_the_model_once():
    model, frame = MODELS["forest, three classes"]()
    size = len(pickle.dumps(model._snapshot()))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):  # once, and not in every block
        read = model.read(da.from_array(frame.to_numpy(), chunks=(2, -1)))
    np.testing.assert_array_equal(read.n_read, model.read(frame).n_read)
    for answer in (model.predict(dd.from_pandas(frame, npartitions=200)), read.n_read):
        (computed,) = dask.optimize(answer)
        tasks = {key: len(pickle.dumps(task)) for key, task in dict(computed.__dask_graph__()).items()}
        large = [key for key, own in tasks.items() if own > size / 2]
        assert len(tasks) > 200
        assert len(large) <= 2  # the model, and perhaps the rows
        assert np.median(list(tasks.values())) < 2000


def test_a_graph_is_known_by_what_the_model_holds():
    model, frame = MODELS["table"]()
    lazy = dd.from_pandas(frame, npartitions=2)
    key, again = model.predict(lazy)._name, pickle.loads(pickle.dumps(model))
    model.predict(frame)
    model.inquire()
    assert model.predict(lazy)._name == key == again.predict(lazy)._name
    assert model.read(lazy)._name != key != model.full_margin(lazy)._name
    near = pickle.loads(pickle.dumps(model))
    near.plan_.upper[0, 0] = np.nextafter(near.plan_.upper[0, 0], np.inf)
    assert near.predict(lazy)._name != key


def test_a_model_that_learns_on_does_not_change_an_answer():
    X, y = correlated(1500, 12, seed=1, separation=1.0)
    model = Pegasos(random_state=0).partial_fit(X[:300], y[:300], classes=[0, 1])
    lazy = da.from_array(X, chunks=(400, 12))
    labels, read, early = model.predict(X), model.read(X), (model.predict(lazy), model.read(lazy))
    model.partial_fit(X[300:], 1 - y[300:])
    np.testing.assert_array_equal(early[0], labels)
    np.testing.assert_array_equal(early[1].margin, read.margin)
    assert (model.predict(lazy).compute() != labels).any()


def test_threads_read_the_same_bits():
    model, frame = MODELS["forest, three classes"]()
    rows = pd.concat([frame] * 10, ignore_index=True)
    fresh = pickle.loads(pickle.dumps(model))  # its caches are filled by many threads at once
    read = fresh.read(dd.from_pandas(rows, npartitions=40)).compute(scheduler="threads", num_workers=8)
    pd.testing.assert_frame_equal(read, columns_of(model.read(rows), model.classes_))


# ------------------------------------------------------------------------------------------------------------- columns


def test_only_columns_of_the_plan_are_asked_for(tmp_path):
    X, y = correlated(6000, 60, seed=3, separation=2.0)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(60)])
    model = LogisticRegression(max_iter=500).fit(frame[:2000], y[:2000])
    few = attend(model, frame[2000:], delta=0.1, fewest="columns", random_state=0)
    assert len(few.columns_) < 30
    asked = set()

    def part(k, columns=None):
        columns = list(frame.columns) if columns is None else columns
        asked.update(columns)
        return frame[1000 * k : 1000 * k + 1000][columns]

    lazy = dd.from_map(part, range(6))
    asked.clear()  # what a first look at the columns has asked for
    np.testing.assert_array_equal(few.predict(lazy).compute(), few.predict(frame))
    assert asked == set(few.columns_)
    reordered = dd.from_pandas(frame, npartitions=2)[frame.columns[::-1].tolist()]
    np.testing.assert_array_equal(few.predict(reordered).compute(), few.predict(frame))
    frame.to_parquet(tmp_path / "rows.parquet")
    stored = dd.read_parquet(tmp_path / "rows.parquet")
    assert_eq(few.read(stored), columns_of(few.read(frame), few.classes_))
    with pytest.raises(ValueError, match="feature names should match"):
        few.full_margin(stored[few.columns_])


def test_wrong_columns_are_named_at_once():
    model, frame = MODELS["table"]()
    lazy = dd.from_map(boom, range(3), meta=frame.iloc[:0])
    for wrong in (lazy.drop(columns="age"), lazy.rename(columns={"age": "years"})):
        with pytest.raises(ValueError, match="feature names should match") as of_dask:
            model.predict(wrong)
        with pytest.raises(ValueError, match="feature names should match") as of_pandas:
            model.predict(wrong._meta)
        assert str(of_dask.value) == str(of_pandas.value)
    with pytest.raises(ValueError, match="Dask Series with ndim=1"):
        model.predict(lazy["age"])
    with pytest.raises(ValueError, match="X has 3 features, but AttentiveClassifier is expecting 12"):
        nameless()[0].predict(da.ones((10, 3)))
    with pytest.raises(ValueError, match="Dask Array with ndim=1"):
        nameless()[0].predict(da.ones(12))
    with pytest.raises(NotFittedError):
        Pegasos().predict(lazy)


def test_columns_are_found_by_name_as_in_pandas():
    model, frame = MODELS["table"]()
    labels = model.predict(frame)
    needed = frame[model.columns_]
    assert "name" not in needed
    for rows in (needed, needed.assign(other=1), frame[frame.columns[::-1]].assign(other="x")):
        lazy = dd.from_pandas(rows, npartitions=3)
        np.testing.assert_array_equal(model.predict(rows), labels)
        assert_eq(model.predict(lazy), pd.Series(labels, index=frame.index, name="label"))


@pytest.mark.skipif(
    pd.__version__ < "3", reason="texts were objects, whose missing values encoders tell from those of Arrow's texts"
)
def test_texts_and_categories_as_dask_holds_them(tmp_path):
    model, frame = MODELS["table"]()
    frame.to_parquet(tmp_path / "rows.parquet")
    texts = dd.read_parquet(tmp_path / "rows.parquet").repartition(npartitions=3)
    assert str(texts["work"].dtype) == "string"
    assert texts["work"].compute().isna().any()
    unknown = texts.astype({"state": "category", "work": "category"})
    assert not unknown["state"].cat.known
    for lazy in (texts, unknown, unknown.categorize()):
        assert_eq(model.predict(lazy), pd.Series(model.predict(frame), index=frame.index, name="label"))
        certified = attend(model.estimator_, lazy, delta=0.05, random_state=0)
        assert certified.certificate_ == attend(model.estimator_, frame, delta=0.05, random_state=0).certificate_


def test_an_error_says_that_rows_are_those_of_a_partition():
    model, frame = MODELS["linear"]()
    bad = frame.copy()
    bad.iloc[2501] = np.nan
    with pytest.raises(ValueError, match="NaN at row 501") as error:
        model.predict(divided(bad, [1000, 2000, 3000])).compute()
    assert error.value.__notes__ == ["Rows are counted within one partition of X."]


# ------------------------------------------------------------------------------------------------------ what is refused


def test_learning_from_a_collection_is_refused_with_what_does_it():
    frame = MODELS["linear"]()[1]
    lazy = dd.from_map(boom, range(2), meta=frame.iloc[:0])
    for make in LEARNERS.values():
        for method in ("fit", "partial_fit"):
            with pytest.raises(TypeError, match=r"X is a Dask DataFrame.*DaskPegasos"):
                getattr(make(), method)(lazy, lazy["f0"])
    with pytest.raises(TypeError, match=r"X is a Dask Array.*DaskPegasos"):
        Pegasos().fit(da.ones((10, 3)), np.ones(10))
    with pytest.raises(TypeError, match=r"DataFrame, of which a sample is enough.*DaskPegasos.*saccade\.attend"):
        AttentiveClassifier().fit(lazy, lazy["f0"])


def test_a_watch_counts_no_lazy_rows():
    model, frame = MODELS["linear"]()
    watch = Watch(model, share=1.0, random_state=0)
    for method in (watch.predict, watch.read):
        with pytest.raises(TypeError, match=r"predict_files\(\.\.\., watch=watch, client=client\).*merge"):
            method(dd.from_pandas(frame, npartitions=2))
    assert watch.n_rows == 0

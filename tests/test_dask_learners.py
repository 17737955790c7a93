"""Learners over the partitions of Dask collections: beside the local ones, beside a slow loop, and on a cluster."""

import os
import pickle
import signal
import sys
import time

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask.delayed import delayed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import saccade
from data import correlated
from saccade.cluster import mixing, tasks
from saccade.dask import DaskExponentiatedGradient, DaskPassiveAggressive, DaskPegasos, DaskPerceptron

LEARNERS = [DaskPegasos, DaskPerceptron, DaskPassiveAggressive, DaskExponentiatedGradient]
LOCAL = {kind: getattr(saccade, kind.__name__.removeprefix("Dask")) for kind in LEARNERS}

# Enough values for margins to be remembered, so that rows are skipped.
X, y = correlated(6000, 90, seed=90, separation=2.0)


@pytest.fixture(scope="module")
def client():
    """A cluster of two processes, which is not the default; its dashboard has any free port, for others may run."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def collection(values, parts):
    """Return a Dask Array whose chunks are these rows; CSR rows stay so."""
    meta = sp.csr_array((0, 0)) if sp.issparse(values) else np.empty((0,) * values.ndim, values.dtype)
    chunks = [
        da.from_delayed(delayed(values[part]), shape=values[part].shape, dtype=values.dtype, meta=meta)
        for part in parts
    ]
    return da.concatenate(chunks)


def dealt(n_parts):
    """Return the rows of partitions that are dealt out one by one, as shards are."""
    return [np.arange(len(y))[k::n_parts] for k in range(n_parts)]


def split(n_parts):
    return np.array_split(np.arange(len(y)), n_parts)


def fitted(model, X, y, parts, sample_weight=None):
    weight = None if sample_weight is None else collection(sample_weight, parts)
    return model.fit(collection(X, parts), collection(y, parts), weight)


def assert_same(model, other):
    assert_array_equal(model.coef_, other.coef_)
    assert_array_equal(model.intercept_, other.intercept_)
    assert_array_equal(model.classes_, other.classes_)
    assert (model.n_iter_, model.t_, model.training_) == (other.n_iter_, other.t_, other.training_)


def sparse(X):
    return sp.csr_array(np.where(np.abs(X) > 0.05, X, 0.0))


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("rows", [X, X.astype(np.float32), sparse(X)], ids=["double", "single", "sparse"])
def test_one_partition_gives_the_model_of_the_local_learner(kind, rows):
    local = LOCAL[kind](max_iter=4, random_state=0).fit(rows, y)
    model = fitted(kind(max_iter=4, random_state=0), rows, y, split(1))
    assert local.training_.n_skipped > 0
    assert_same(model, local)
    assert_same(model.to_local(), local)


@pytest.mark.parametrize(
    "options", [{"class_weight": "balanced"}, {"class_weight": {0: 2.0, 1: 0.5, 2: 1.0}}, {"cost": "features"}]
)
def test_one_partition_of_weighted_rows_of_several_classes_gives_the_model_of_the_local_learner(options):
    rows, labels = correlated(900, 20, seed=91, separation=2.0, classes=3)
    weight = np.random.default_rng(0).integers(0, 4, 900) / 2.0
    local = saccade.Pegasos(**options, max_iter=3, random_state=0).fit(rows, labels, weight)
    parts = [np.arange(900), np.arange(0), np.arange(0)]  # empty partitions count for nothing
    assert_same(fitted(DaskPegasos(**options, max_iter=3, random_state=0), rows, labels, parts, weight), local)


def mixed_by_hand(rows, labels, parts, lam, passes):
    """Return averaged weights of Pegasos over partitions, with the intercept as the last: a slow loop."""
    rows, signs = np.column_stack([rows, np.ones(len(rows))]), np.where(labels == 1, 1.0, -1.0)
    held = np.array([(rows[part] != 0).sum(axis=0) for part in parts], dtype=float)
    shares = held / held.sum(axis=0)
    mean, averages, weights_of_averages = (np.zeros(rows.shape[1]) for _ in range(3))
    t, way = 1, None
    for _ in range(passes):
        ends, sums, totals, steps = [], [], [], []
        for part in parts:
            w, total, weight, step = mean.copy(), averages.copy(), weights_of_averages.copy(), t
            for row in part:
                step += 1
                due = signs[row] * (w @ rows[row]) < 1
                w = (1 - 1 / step) * w + due / (lam * step) * signs[row] * rows[row]
                total, weight = total + step * w, weight + step
            ends.append(w), sums.append(total), totals.append(weight), steps.append(step)
        begun, mean = mean, (shares * ends).sum(axis=0)
        if way is not None:
            mean = mean + 0.5 * way
        way = np.zeros_like(mean) if way is None else mean - begun
        averages, weights_of_averages = (shares * sums).sum(axis=0), (shares * totals).sum(axis=0)
        by_rows = np.array([len(part) for part in parts]) / len(rows)
        averages *= (by_rows @ np.array(totals)[:, -1]) / weights_of_averages
        weights_of_averages = np.full_like(mean, by_rows @ np.array(totals)[:, -1])
        t = max(steps)
    return averages / weights_of_averages


def test_weights_are_means_over_the_rows_that_hold_their_feature():
    rows, labels = correlated(120, 6, seed=92)
    rows[np.abs(rows) < 1.0] = 0.0
    rows[5:, 0] = 0.0  # held by the first partition alone
    parts = np.split(np.arange(120), [70, 90])
    expected = mixed_by_hand(rows, labels, parts, 0.1, 4)
    options = {"boundary": "full", "project": False, "shuffle": False, "max_iter": 4, "tol": None}
    for given in (rows, sp.csr_array(rows)):
        model = fitted(DaskPegasos(0.1, **options), given, labels, parts)
        assert_allclose(np.append(model.coef_, model.intercept_), expected, rtol=1e-9)


@pytest.mark.parametrize("rows", [X, sparse(X)], ids=["dense", "sparse"])
def test_the_model_depends_on_the_partitions_and_not_on_the_workers(client, rows):
    here = fitted(DaskPegasos(max_iter=4, random_state=0), rows, y, split(5))
    two = fitted(DaskPegasos(max_iter=4, random_state=0, client=client), rows, y, split(5))
    with dask.annotate(workers=[next(iter(client.scheduler_info()["workers"]))]):
        one = fitted(DaskPegasos(max_iter=4, random_state=0, client=client), rows, y, split(5))
    assert here.training_.n_skipped > 0
    assert_same(two, here)
    assert_same(one, here)
    other = fitted(DaskPegasos(max_iter=4, random_state=0), rows, y, split(4))
    assert not np.array_equal(other.coef_, here.coef_)


def test_a_wide_model_travels_without_a_warning_of_dask(client):
    wide = sp.random(60, 800_000, density=1e-4, format="csr", random_state=0)
    labels = np.arange(60) % 2
    parts = np.array_split(np.arange(60), 2)
    here, there = (
        fitted(DaskPegasos(max_iter=1, random_state=0, client=where), wide, labels, parts) for where in (None, client)
    )
    assert there.coef_.nbytes + here._local._learners[0].state.correction.nbytes > 10e6
    assert_same(there, here)


def test_a_killed_worker_changes_no_bit(client, monkeypatch, tmp_path):
    expected = fitted(DaskPegasos(random_state=0), X, y, split(4))
    assert expected.n_iter_ > 3
    learn_pass, killed, runs = mixing.learn_pass, tmp_path / "killed", tmp_path / "runs"

    def learn_or_die(number, examples, before, learners, turn, manner):
        with runs.open("a") as file:
            file.write(f"{turn} {number}\n")
        if (turn, number) == (2, 1) and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return learn_pass(number, examples, before, learners, turn, manner)

    monkeypatch.setattr(mixing, "learn_pass", learn_or_die)
    model = fitted(DaskPegasos(random_state=0, client=client), X, y, split(4))
    assert killed.exists()
    assert_same(model, expected)
    again = runs.read_text().splitlines()
    assert again.count("2 1") == 2  # earlier passes too, where their results were only on that worker
    client.wait_for_workers(2)


def test_a_pass_changes_nothing_that_it_is_given(monkeypatch):
    expected = fitted(DaskPegasos(max_iter=3, random_state=0), X, y, split(2))
    learn_pass = mixing.learn_pass

    def learn_twice(*given):
        learn_pass(*given)
        return learn_pass(*given)

    monkeypatch.setattr(mixing, "learn_pass", learn_twice)
    assert_same(fitted(DaskPegasos(max_iter=3, random_state=0), X, y, split(2)), expected)


def test_what_is_remembered_is_not_collected_and_nothing_is_left_behind(client, monkeypatch):
    collected = []
    collect = tasks._OnCluster.collect

    def spy(self, results):
        values = collect(self, results)
        collected.extend(values)
        return values

    monkeypatch.setattr(tasks._OnCluster, "collect", spy)
    model = fitted(DaskPegasos(max_iter=3, random_state=0, client=client), X, y, split(4))
    assert model.training_.n_skipped > 0
    assert len(collected) == 4 * (1 + model.n_iter_)
    assert max(len(pickle.dumps(value)) for value in collected) < X.nbytes / 20
    for _ in range(200):  # futures are let go by another thread
        if not client.futures:
            break
        time.sleep(0.05)
    assert not client.futures


def tables(labels, n_parts=3):
    """Return the rows as a Dask DataFrame with a column of labels."""
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(kind=np.asarray(labels))
    return dd.from_pandas(table, npartitions=n_parts)


def test_tables_are_learned_by_the_names_of_their_columns(client):
    table = tables(np.where(y == 1, "oak", "elm"))
    features = table.drop(columns="kind")
    model = DaskPegasos(max_iter=3, random_state=0, client=client).fit(features, table["kind"])
    sizes = table.map_partitions(len).compute()
    parts = np.split(np.arange(len(y)), np.cumsum(sizes)[:-1])
    assert_array_equal(model.coef_, fitted(DaskPegasos(max_iter=3, random_state=0), X, y, parts).coef_)
    assert model.classes_.tolist() == ["elm", "oak"]
    assert model.feature_names_in_.tolist() == list(features.columns)
    labels = model.predict(features)
    assert isinstance(labels, dd.Series)
    assert_array_equal(labels.compute(), model.to_local().predict(features.compute()))
    fitted(model, X, y, parts)
    assert not hasattr(model, "feature_names_in_")


def test_partitions_may_be_empty_or_lack_a_class():
    rows, labels = correlated(900, 20, seed=93, separation=3.0, classes=3)
    first, second, third = (np.flatnonzero(labels == code) for code in range(3))
    parts = [np.concatenate([first[:100], second[:100]]), np.arange(0), second[100:], third, np.arange(0), first[100:]]
    model = fitted(DaskPegasos(random_state=0), rows, labels, parts)
    without = fitted(DaskPegasos(random_state=0), rows, labels, [part for part in parts if part.size])
    assert_same(model, without)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.training_.n_examples == 3 * 900 * model.n_iter_
    assert model.to_local().score(rows, labels) > 0.8


def test_partitions_of_one_class_each_can_be_learned_from():
    rows, labels = correlated(600, 20, seed=94, separation=3.0)
    parts = [np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)]
    assert fitted(DaskPegasos(random_state=0), rows, labels, parts).to_local().score(rows, labels) > 0.9


def test_rows_of_weight_0_count_for_nothing():
    weight = np.ones(len(y))
    weight[4000:] = 0.0
    kept = np.array_split(np.arange(4000), 2)
    model = fitted(DaskPegasos(max_iter=1, random_state=0), X, y, [*kept, np.arange(4000, len(y))], weight)
    alone = fitted(DaskPegasos(max_iter=1, random_state=0), X, y, kept)
    assert_same(model, alone)
    with pytest.raises(ValueError, match="at least one non-zero"):
        fitted(DaskPegasos(), X, y, split(2), np.zeros(len(y)))


X_DASK, Y_DASK = collection(X, split(3)), collection(y, split(3))
TABLE = tables(y)
BAD = X.copy()
BAD[3000, 7] = np.nan


def unknown(values, parts):
    """Return a Dask Array that does not know how many rows its chunks have."""
    chunks = [
        da.from_delayed(delayed(values[part]), shape=(np.nan, *values.shape[1:]), dtype=values.dtype) for part in parts
    ]
    return da.concatenate(chunks, allow_unknown_chunksizes=True)


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X, Y_DASK, "X is a numpy ndarray, not a Dask .* without 'Dask'"),
        (X_DASK, y, "y is a numpy ndarray, not a Dask Series"),
        (X_DASK, Y_DASK[:, None], "y is a dask Array of 2 dimensions"),
        (Y_DASK, Y_DASK, "X is a Dask Array of 1 dimensions"),
        (X_DASK.rechunk((2000, 45)), Y_DASK, r"features. Chunks must hold whole rows: pass X.rechunk\(\{1: -1\}\)"),
        (X_DASK, Y_DASK.rechunk(1000), "X has 3 chunks of 2000, 2000, 2000 rows, y has 6 chunks of 1000, 1000"),
        (X_DASK, collection(y, [*split(3)[:1], *np.split(np.arange(2000, 6000), [100])]), "X and y are partitioned"),
        (TABLE[["x1"]], TABLE["kind"].repartition(npartitions=2), "X has 3 partitions divided at .* 2 partitions"),
        (TABLE[["x1"]], TABLE["kind"].repartition(divisions=[0, 10, 20, 5999], force=True), "divided at 0, 10, 20"),
        (TABLE[["x1"]], unknown(y, np.split(np.arange(6000), [1999, 4000])), r"Partition \d: .* X has 2,000, y has"),
        (TABLE[["x1", "kind"]].astype({"kind": str}), TABLE["kind"], r"Partition \d: Column 'kind' holds"),
        (collection(BAD, split(3)), Y_DASK, "Partition 1: Input X contains NaN at row 1000, feature 7"),
        (X_DASK, da.zeros(6000, chunks=2000, dtype=int), "needs at least 2 classes, but got 1 class"),
        (X_DASK[:0], Y_DASK[:0], "X has no rows: all of its 1 partitions are empty"),
        (unknown(X, [[0, 1]]), collection(y, [[0, 1]]) + 0.5, "Unknown label type"),
    ],
)
def test_what_does_not_fit_together_is_named(rows, labels, message):
    with pytest.raises((TypeError, ValueError), match=message):
        DaskPegasos().fit(rows, labels)


def test_partitions_that_differ_are_named():
    mixed = da.concatenate([collection(X, [[0, 1]]), collection(sp.csr_array(X), [[2, 3]])])
    with pytest.raises(ValueError, match="Partitions 0 and 1 of X differ: dense rows of 90 features, sparse rows"):
        DaskPegasos().fit(mixed, collection(y, [[0, 1], [2, 3]]))


@pytest.mark.parametrize("change", [lambda rows: rows[["x2", "x1"]], lambda rows: rows.rename(columns={"x1": "x3"})])
def test_partitions_whose_columns_are_not_what_dask_was_told_are_refused(change):
    frame = pd.DataFrame(X[:, :2], columns=["x1", "x2"])
    rows = dd.from_delayed([delayed(frame[:3000]), delayed(change(frame[3000:]))], meta=frame[:0], verify_meta=False)
    labels = dd.from_delayed([delayed(pd.Series(y[:3000])), delayed(pd.Series(y[3000:]))])
    with pytest.raises(ValueError, match=r"Partitions 0 and 1 of X differ: .* x1, x2 and x[23], x[12]\."):
        DaskPegasos().fit(rows, labels)


def test_labels_that_are_texts_in_some_partitions_only_are_refused():
    kinds = [pd.Series(["a", "b"]), pd.Series([0, 1])]
    labels = dd.from_delayed(list(map(delayed, kinds)), meta=kinds[0][:0], verify_meta=False)
    with pytest.raises(ValueError, match=r"Partitions 0 and 1 of y differ: labels are texts in one, such as 'a', .* 0"):
        DaskPegasos().fit(collection(X[:4], [[0, 1], [2, 3]]), labels)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = fitted(DaskPegasos(max_iter=1, random_state=0), X, y, split(2))
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        fitted(model, BAD, y, split(2))
    assert vars(model) == before


def test_an_unfitted_learner_says_so():
    for use in (DaskPegasos().to_local, lambda: DaskPegasos().predict(X), lambda: DaskPegasos().decision_function(X)):
        with pytest.raises(NotFittedError):
            use()


@pytest.mark.parametrize("kind", LEARNERS)
def test_the_parameters_are_those_of_the_local_learner_and_a_client(kind):
    params, local = kind().get_params(), LOCAL[kind]().get_params()
    assert params.pop("client") is None
    assert params == {name: value for name, value in local.items() if name not in ("n_jobs", "warm_start")}
    with pytest.raises(TypeError, match="n_jobs"):
        kind(n_jobs=2)
    assert repr(kind(max_iter=3).set_params(tol=None)) == f"{kind.__name__}(max_iter=3, tol=None)"


def test_a_clone_has_the_same_client_and_a_pickle_none(client):
    model = DaskPegasos(1e-3, boundary=saccade.CurvedSTST(0.2), random_state=0, client=client)
    copied = clone(model)
    assert copied.client is copied.client_ is client
    assert copied.boundary is not model.boundary
    assert copied.get_params()["boundary__delta"] == 0.2
    fitted(model, X, y, split(2))
    assert not hasattr(clone(model), "coef_")
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.client is None
    assert_same(loaded, model)


def test_the_default_client_is_taken_where_none_is_given(client):
    assert DaskPegasos().client_ is None
    with client.as_current():
        assert DaskPegasos().client_ is client


def test_the_local_model_is_saved_attended_and_predicts(tmp_path):
    train, rest = np.arange(3000), np.arange(3000, 6000)
    model = fitted(DaskPegasos(random_state=0), X, y, np.array_split(train, 3))
    local = model.to_local()
    assert type(local) is saccade.Pegasos
    assert local is not model.to_local()
    saccade.save(local, tmp_path / "model.saccade")
    loaded = saccade.load(tmp_path / "model.saccade")
    assert_same(loaded, model)
    assert_array_equal(loaded.predict(X[rest]), model.predict(X[rest]))
    assert_array_equal(loaded.decision_function(X[rest]), model.decision_function(X[rest]))
    assert saccade.attend(local, X[rest], delta=0.1, random_state=0).certificate_.delta == 0.1


def test_without_the_extra_an_import_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "saccade.cluster.learners")
    monkeypatch.setitem(sys.modules, "saccade.cluster.tasks", None)
    with pytest.raises(ImportError, match=r"pip install 'saccade\[dask\]'"):
        saccade.dask.DaskPegasos  # noqa: B018
    assert dir(saccade.dask) == saccade.dask.__all__
    with pytest.raises(AttributeError, match="DaskPegasus"):
        saccade.dask.DaskPegasus  # noqa: B018

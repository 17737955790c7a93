"""Samples of Dask collections, to plan and calibrate on: uniform, in bounded memory, the same on any machine."""

import attended
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from divided import boom, divided, nameless
from scipy.stats import hypergeom

from data import correlated
from saccade import attend
from saccade.reading import samples


def fitted():
    frame = attended.attended("two classes")[1]
    return attended.attended("two classes")[0].estimator_.estimator, frame[1000:]


def same_plan(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one.plan_, other.plan_, strict=True))


def test_a_collection_that_fits_is_certified_as_its_rows_are():
    model, frame = fitted()
    expected = attend(model, frame, delta=0.05, random_state=0)
    lazy = divided(frame, [0, 500, 500, 2200])
    certified = attend(model, lazy, delta=0.05, random_state=0)
    assert certified.certificate_ == expected.certificate_
    assert same_plan(certified, expected)
    assert certified.feature_names_in_.tolist() == attended.NAMES
    assert certified.columns_ == expected.columns_


def test_a_sample_is_the_same_however_it_is_computed(monkeypatch):
    monkeypatch.setattr(samples, "MOST_ROWS", 2000)
    model, frame = fitted()
    lazy = dd.from_pandas(frame, npartitions=7)
    made = []
    for scheduler, workers in (("synchronous", 1), ("threads", 1), ("threads", 8)):
        with dask.config.set(scheduler=scheduler, num_workers=workers):
            made.append(attend(model, lazy, delta=0.1, random_state=3))
    assert same_plan(made[0], made[1])
    assert same_plan(made[0], made[2])
    assert made[0].certificate_ == made[1].certificate_ == made[2].certificate_
    assert made[0].certificate_.n_calibration == 600  # of 2,000 rows
    drawn = samples.draw(lazy, None, 3)
    assert drawn.n_from == len(frame)
    pd.testing.assert_frame_equal(drawn.X, frame.loc[drawn.X.index])
    assert drawn.X.index.is_monotonic_increasing
    assert not drawn.X.index.equals(samples.draw(lazy, None, 4).X.index)


def test_a_sample_is_uniform_over_all_rows(monkeypatch):
    rows, most, first, seeds = 3000, 300, 2000, 50
    monkeypatch.setattr(samples, "MOST_ROWS", most)
    numbers = pd.DataFrame({"number": np.arange(rows)})
    lazy, counts, of_first = divided(numbers, [0, first, first, first + 10]), np.zeros(rows), np.zeros(seeds)
    for seed in range(seeds):
        with dask.config.set(scheduler="synchronous"):
            drawn = samples.draw(lazy, None, seed).X["number"].to_numpy()
        assert drawn.size == most
        assert (np.diff(drawn) > 0).all()
        counts[drawn] += 1
        of_first[seed] = (drawn < first).sum()
    tenth = seeds * most / 10
    np.testing.assert_allclose(counts.reshape(10, -1).sum(axis=1), tenth, atol=5 * np.sqrt(tenth))
    exact = hypergeom(rows, first, most)  # shares of partitions as when rows are drawn without replacement
    assert of_first.mean() == pytest.approx(exact.mean(), abs=5 * exact.std() / np.sqrt(seeds))
    assert of_first.var() == pytest.approx(exact.var(), abs=5 * exact.var() * np.sqrt(2 / seeds))


def test_partitions_give_little_more_than_the_sample(monkeypatch):
    monkeypatch.setattr(samples, "MOST_ROWS", 400)
    given = []
    computed = samples.computed

    def watched(function, each):
        given.append(computed(function, each))
        return given[-1]

    monkeypatch.setattr(samples, "computed", watched)
    numbers = pd.DataFrame({"number": np.arange(20_000.0)})
    drawn = samples.draw(dd.from_pandas(numbers, npartitions=50), None, 0)
    kept = [len(part.rows) for part in given[0]]
    assert len(kept) == 50
    assert 400 == len(drawn.X) <= sum(kept) < 400 + 12 * 20
    assert max(kept) < 40


@pytest.mark.parametrize("most", [2000, 10**6])
def test_arrays_are_sampled_too(monkeypatch, most):
    monkeypatch.setattr(samples, "MOST_ROWS", most)
    _, X = nameless()
    known = da.from_array(X, chunks=(900, 5))
    unknown = dd.from_pandas(pd.DataFrame(X), npartitions=4).to_dask_array()
    sparse = known.rechunk({1: -1}).map_blocks(sp.csr_array)
    for lazy in (known.rechunk({1: -1}), unknown, sparse):
        drawn = samples.draw(lazy, None, 0)
        rows = drawn.X.toarray() if sp.issparse(drawn.X) else drawn.X
        assert (drawn.n_from, len(rows)) == (4000, min(most, 4000))
        places = np.searchsorted(np.sort(X[:, 0]), rows[:, 0])
        np.testing.assert_array_equal(X[np.argsort(X[:, 0])[places]], rows)
    model = nameless()[0].estimator_.estimator
    attentive = attend(model, known, delta=0.1, random_state=0)
    assert attentive.certificate_.n_calibration == round(0.3 * min(most, 4000))
    np.testing.assert_array_equal(attentive.predict(known).compute(), attentive.predict(X))


@pytest.mark.parametrize("most", [2000, 10**6])
def test_labels_may_be_divided_otherwise(monkeypatch, most):
    monkeypatch.setattr(samples, "MOST_ROWS", most)
    model, frame = fitted()
    y = pd.Series(correlated(4000, 12, seed=1, separation=3.0)[1][1000:])
    lazy = dd.from_pandas(frame, npartitions=5)
    ways = [y, y.to_numpy(), y.tolist(), divided(y.to_frame("y"), [0, 10, 2500])["y"], da.from_array(y, chunks=777)]
    made = [attend(model, lazy, way, promise="accuracy", delta=0.1, random_state=0) for way in ways]
    assert all(own.certificate_ == made[0].certificate_ for own in made)
    with pytest.raises(ValueError, match="needs y"):
        attend(model, dd.from_map(boom, range(2), meta=frame.iloc[:0]), promise="accuracy")
    for short in (y[:-1], da.from_array(y[:-1], chunks=777)):
        with pytest.raises(ValueError, match=r"2,999 labels, but X has 3,000 rows|inconsistent numbers of samples"):
            attend(model, lazy, short, promise="accuracy", delta=0.1)


def test_columns_are_checked_before_rows_are_drawn():
    model, frame = fitted()
    lazy = dd.from_map(boom, range(2), meta=frame.iloc[:0])
    with pytest.raises(ValueError, match="fitted on 12 features, but X has 11"):
        attend(model, lazy.drop(columns="f3"))
    with pytest.raises(ValueError, match="column 3 of X is 'g3', not 'f3'"):
        attend(model, lazy.rename(columns={"f3": "g3"}))
    with pytest.raises(ValueError, match="fitted on 12 features, but X has 3"):
        attend(model, da.ones((10, 3)))
    with pytest.raises(ValueError, match="Dask Series with ndim=1"):
        attend(model, lazy["f3"])


def test_too_few_of_a_class_in_a_sample_say_what_to_do(monkeypatch):
    monkeypatch.setattr(samples, "MOST_ROWS", 2000)
    model, frame = fitted()
    with pytest.raises(ValueError, match=r"Of the 3,000 rows of X 2,000 were drawn, .*: raise calibration_size\."):
        attend(model, dd.from_pandas(frame, npartitions=3), delta=0.01, calibration_size=0.1, random_state=0)

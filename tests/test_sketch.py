"""The sketch of training rows: what a row's hash depends on, and which rows attend refuses."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import saccade
from data import correlated
from saccade import AttentiveClassifier, PassiveAggressive, Pegasos, Perceptron, attend
from saccade.files.archive import read_archive, write_archive
from saccade.learners.held_out import refuse_training_rows
from saccade.learners.sketch import FEWEST, MOST, RowSketch, hash_rows
from saccade.reading.inputs import without_repeats

X, y = correlated(3000, 12, seed=60, separation=3.0)
TRAIN, REST = slice(0, 1500), slice(1500, 3000)
REFUSED = "rows that .* was fitted on"


def scramble(z):
    """SplitMix64's finaliser, in Python's integers."""
    z = (z + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def slow_hash(row):
    total = 0
    for column, value in enumerate(row):
        if np.float32(value) != 0:
            bits = int(np.float32(value).view(np.uint32))
            total += scramble(column) * (bits ^ (bits >> 16))
    return scramble(total % 2**64)


VALUES = st.one_of(st.floats(-1e30, 1e30), st.sampled_from([0.0, -0.0, 1.0, 255.0, 1e-30]))


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 20)), elements=VALUES))
def test_a_hash_is_that_of_a_slow_loop(rows):
    assert hash_rows(rows).tolist() == [slow_hash(row) for row in rows]


def test_a_hash_does_not_depend_on_how_a_row_is_stored():
    whole = np.random.default_rng(0).integers(0, 5, (40, 30)).astype(np.float64)
    whole[0], whole[1, 0] = 0.0, -0.0
    twice = sp.csr_matrix(whole)
    twice.data, twice.indices, twice.indptr = (  # every value as two halves
        np.repeat(twice.data / 2, 2),
        np.repeat(twice.indices, 2),
        2 * twice.indptr,
    )
    twice = without_repeats(twice)
    expected = hash_rows(whole)
    assert np.unique(expected).size == 40
    for stored in (
        whole.astype(np.float32),
        whole.astype(np.uint8),
        np.asfortranarray(whole),
        np.repeat(whole, 2, axis=1)[:, ::2],
        sp.csr_matrix(whole),
        sp.csr_array(whole.astype(np.float32)),
        twice,
    ):
        np.testing.assert_array_equal(hash_rows(stored), expected)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 300, 600]), st.booleans(), st.sampled_from([0.0, 0.01, 1.0]))
def test_rows_that_hold_a_column_twice_are_found_and_summed_up(seed, n_rows, ascending, share):
    rng = np.random.default_rng(seed)
    rows = [rng.choice(40, rng.integers(0, 9), replace=False) for _ in range(n_rows)]
    rows = [np.append(row, row[:1]) if rng.random() < share else row for row in rows]
    rows = [np.sort(row) if ascending else row for row in rows]
    indptr = np.cumsum([0, *map(len, rows)])
    X = sp.csr_matrix((rng.integers(1, 5, indptr[-1]).astype(float), np.concatenate(rows), indptr), (n_rows, 40))
    before = X.toarray()
    single = without_repeats(X)
    assert (single is X) == all(np.unique(row).size == row.size for row in rows)
    assert all(np.unique(row.indices).size == row.nnz for row in single)
    np.testing.assert_array_equal(single.toarray(), before)


@given(st.lists(st.integers(0, 4000), max_size=5), st.integers(1, 6000))
def test_a_stream_gives_the_same_sketch_however_it_is_split(cuts, size):
    rows = np.random.default_rng(size).random((size, 2))
    sketch = RowSketch()
    for part in np.split(rows, sorted(cuts)):
        sketch = sketch.add(part)
    whole = RowSketch().add(rows)
    assert sketch.n_rows == whole.n_rows == size
    np.testing.assert_array_equal(sketch.hashes, whole.hashes)
    np.testing.assert_array_equal(sketch.priorities, whole.priorities)
    assert np.isin(whole.hashes, hash_rows(rows)).all()


@pytest.mark.parametrize(
    ("rows", "kept"), [(100, 100), (FEWEST, FEWEST), (6000, FEWEST), (24_000, 2000), (200_000, MOST)]
)
def test_a_sketch_is_bounded(rows, kept):
    sketch = RowSketch().add(np.random.default_rng(0).random((rows, 1)))
    assert abs(sketch.hashes.size - kept) <= (0 if kept == rows else 0.2 * kept)


def fitted(rows, learner=None):
    return (learner or Pegasos(random_state=0)).fit(rows, y[TRAIN])


STORAGES = {
    "float64": lambda rows: rows,
    "float32": lambda rows: rows.astype(np.float32),
    "fortran": np.asfortranarray,
    "csr": sp.csr_matrix,
    "pandas": pd.DataFrame,
    "polars": lambda rows: pl.DataFrame(rows, schema=[str(j) for j in range(rows.shape[1])]),
}


@pytest.mark.parametrize("storage", STORAGES)
def test_training_rows_are_refused_in_any_storage_and_others_taken(storage):
    store = STORAGES[storage]
    for model in (fitted(store(X[TRAIN])), fitted(np.ascontiguousarray(X[TRAIN]))):
        with pytest.raises(ValueError, match=REFUSED):
            attend(model, store(X[TRAIN]), delta=0.2, random_state=0)
        attend(model, store(X[REST]), delta=0.2, random_state=0)


@pytest.mark.parametrize("learner", [Pegasos(), Perceptron(), PassiveAggressive()], ids=repr)
def test_the_message_says_how_many_why_and_what_to_do(learner):
    model = fitted(X[TRAIN], learner.set_params(random_state=0))
    with pytest.raises(ValueError, match=REFUSED) as refused:
        attend(model, X[TRAIN], delta=0.2, random_state=0)
    kept = model._sketch.hashes.size
    said = str(refused.value)
    assert f"{kept:,} of the 1,500 that were checked are among {kept:,} of its 1,500 training rows" in said
    for word in ("certificate would not hold", "train_test_split", "AttentiveClassifier", "--hold-out"):
        assert word in said


def test_a_few_per_cent_of_training_rows_are_refused():
    some = np.concatenate([X[:60], X[1500:2500]])
    with pytest.raises(ValueError, match=REFUSED):
        attend(fitted(X[TRAIN]), some, delta=0.2, random_state=0)


def test_a_learner_that_went_on_knows_all_of_its_rows(tmp_path):
    model = Pegasos(random_state=0)
    for start in range(0, 1500, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100], [0, 1])
    assert pickle.dumps(model._sketch) == pickle.dumps(fitted(X[TRAIN])._sketch)
    saccade.save(model, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model").partial_fit(X[1500:2000], y[1500:2000])
    warm = fitted(X[TRAIN], Pegasos(warm_start=True, random_state=0)).fit(X[1500:2000], y[1500:2000])
    for later in (loaded, warm, pickle.loads(pickle.dumps(loaded))):
        for rows in (X[:500], X[1500:2000]):
            with pytest.raises(ValueError, match=REFUSED):
                attend(later, rows, delta=0.2, random_state=0)
        attend(later, X[2000:], delta=0.2, random_state=0)
    again = warm.set_params(warm_start=False).fit(X[1500:2000], y[1500:2000])
    attend(again, X[:1500], delta=0.2, random_state=0)


@pytest.mark.parametrize("passes", [2, 10])
def test_rows_that_were_learned_from_several_times_are_refused(passes):
    model = Pegasos(random_state=0)
    for _ in range(passes):
        model.partial_fit(X[TRAIN], y[TRAIN], [0, 1])
    with pytest.raises(ValueError, match=REFUSED):
        attend(model, X[TRAIN], delta=0.2, random_state=0)
    attend(model, X[REST], delta=0.2, random_state=0)


def test_passes_of_one_fit_count_once():
    once, often = (fitted(X[TRAIN], Pegasos(max_iter=k, random_state=0)) for k in (1, 5))
    assert pickle.dumps(once._sketch) == pickle.dumps(often._sketch)


def categories(rng, rows):
    return (rng.random((rows, 7)) < 0.4).astype(np.float64)


def often_empty(rng, rows):
    values = rng.normal(size=(rows, 7))
    values[rng.random(rows) < 0.1] = 0.0
    return values


@pytest.mark.filterwarnings("ignore::saccade.exceptions.LevelNotHeldWarning")
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("draw", [categories, often_empty])
def test_new_rows_that_coincide_with_training_rows_by_chance_are_taken(draw, passes):
    rng = np.random.default_rng(1)
    for _ in range(3):
        rows, new = draw(rng, 1000), draw(rng, 1000)
        model = Pegasos(random_state=0)
        for _ in range(passes):
            model.partial_fit(rows, (rows[:, 0] + rows[:, 1] - rows[:, 2] > 0.5).astype(int), [0, 1])
        assert model._sketch.share_of(new) > 0.05
        attend(model, new, delta=0.3, random_state=0)


def test_false_alarms_are_as_rare_as_they_are_said_to_be():
    """Rows whose coincidences are as few as can be told apart from none: a Zipf law over many contents."""
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(300):
        rows, new = (rng.zipf(1.15, size=(size, 1)).clip(max=2**50).astype(float) for size in (900, 500))
        alarms += RowSketch().add(rows).recognises(hash_rows(new))
    assert alarms <= 12, "2 % of 300, and chance"


def test_rows_behind_a_scaler_are_recognised():
    model = make_pipeline(StandardScaler(), Pegasos(random_state=0)).fit(X[TRAIN], y[TRAIN])
    named = make_pipeline(StandardScaler(), Pegasos(random_state=0)).fit(
        pd.DataFrame(X[TRAIN]).add_prefix("f"), y[TRAIN]
    )
    for pipeline in (model, named):
        with pytest.raises(ValueError, match="Pegasos was fitted on"):
            attend(pipeline, X[TRAIN], delta=0.2, random_state=0)
        attend(pipeline, X[REST], delta=0.2, random_state=0)


@pytest.mark.parametrize(
    "wrap",
    [FixedThresholdClassifier, lambda learner: TunedThresholdClassifierCV(learner, cv=3)],
    ids=["fixed", "tuned"],
)
def test_rows_behind_other_wrappers_are_recognised(wrap):
    model = wrap(Pegasos(random_state=0)).fit(X[TRAIN], y[TRAIN])
    with pytest.raises(ValueError, match="Pegasos was fitted on"):
        refuse_training_rows(model, X[TRAIN], np.arange(1500))
    refuse_training_rows(model, X[REST], np.arange(1500))


def test_a_certified_model_in_a_file_knows_what_it_learned_from(tmp_path):
    saccade.save(attend(fitted(X[TRAIN]), X[REST], delta=0.2, random_state=0), tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    with pytest.raises(ValueError, match="was fitted on"):
        attend(loaded.estimator_, X[TRAIN], delta=0.2, random_state=0)
    attend(loaded.estimator_, X[REST], delta=0.2, random_state=0)


@pytest.mark.parametrize("again", [lambda rows: np.tile(rows, (2, 1)), lambda rows: np.repeat(rows, 3, axis=0)])
def test_training_rows_that_are_repeated_as_a_whole_are_refused(again):
    with pytest.raises(ValueError, match=REFUSED):
        attend(fitted(X[TRAIN]), again(X[TRAIN]), delta=0.2, random_state=0)


def test_rows_of_weight_zero_were_not_learned_from():
    weight = np.repeat([1.0, 0.0], 1500)
    model = Pegasos(random_state=0).fit(X, y, sample_weight=weight)
    assert model._sketch.n_rows == 1500
    attend(model, X[REST], delta=0.2, random_state=0)


def test_a_classifier_that_fits_its_learner_splits_by_itself():
    AttentiveClassifier(Pegasos(random_state=0), delta=0.2, random_state=0).fit(X, y)


def test_files_of_older_versions_have_no_sketch(tmp_path):
    saccade.save(fitted(X[TRAIN]), tmp_path / "model")
    archive = read_archive(tmp_path / "model")
    header = {key: value for key, value in archive.header.items() if key not in ("sha256", "training_rows")}
    arrays_kept = {name: array for name, array in archive.arrays.items() if not name.startswith("sketch.")}
    write_archive(tmp_path / "old", header, arrays_kept)
    old = saccade.load(tmp_path / "old")
    assert old._sketch.n_rows == 0
    attend(old, X[TRAIN], delta=0.2, random_state=0)
    for change in ({"training_rows": -1}, {"training_rows": 10}):
        write_archive(tmp_path / "bad", {**header, **change}, archive.arrays)
        with pytest.raises(saccade.exceptions.ModelFileError, match="training_rows"):
            saccade.load(tmp_path / "bad")

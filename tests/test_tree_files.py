"""Tree ensembles in model files: the same bits, and nothing that a hostile file can make a kernel do."""

import contextlib
import random
import struct
from functools import cache

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from effort import examples
from grown import edgy_rows, grown_ensemble
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

import saccade
from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive, read_archive, signed, write_archive
from saccade.files.trees import trees_from, trees_parts
from saccade.models.categories import Categories
from saccade.models.trees.model import TreeModel
from saccade.reading.plan import Plan
from saccade.reading.reader import read_plan

N = 6000
rng = np.random.default_rng(0)
COLOURS = np.array(["red", "green", "blue", "grey"])
FRAME = pd.DataFrame(rng.normal(size=(N, 5)), columns=["a", "b", "c", "d", "e"]).assign(
    colour=pd.Categorical(rng.choice(COLOURS, N), categories=COLOURS)
)
SCORE = FRAME["a"] + FRAME["b"] * FRAME["c"] + (FRAME["colour"] == "red") + 0.3 * rng.normal(size=N)
TWO = np.array(["elm", "oak"])[(SCORE > 0.3).astype(int)]
THREE = np.digitize(SCORE, [-0.5, 1.0])
FRAME.loc[rng.random(N) < 0.1, "a"] = np.nan
FRAME.loc[rng.random(N) < 0.1, "colour"] = np.nan
NUMBERS = FRAME.drop(columns="colour").to_numpy()
WHOLE = np.nan_to_num(NUMBERS)

QUIET = {"n_estimators": 20, "random_state": 0}
MODELS = {
    "lightgbm": (lambda: lightgbm.LGBMClassifier(**QUIET, verbose=-1), FRAME, TWO),
    "lightgbm zeros": (lambda: lightgbm.LGBMClassifier(**QUIET, zero_as_missing=True, verbose=-1), WHOLE, THREE),
    "xgboost": (lambda: xgboost.XGBClassifier(**QUIET, enable_categorical=True), FRAME, THREE),
    "catboost": (lambda: catboost.CatBoostClassifier(20, verbose=0, allow_writing_files=False), NUMBERS, TWO),
    "catboost classes": (lambda: catboost.CatBoostClassifier(20, verbose=0, allow_writing_files=False), WHOLE, THREE),
    "histograms": (
        lambda: HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype", random_state=0),
        FRAME,
        TWO,
    ),
    "gradient": (lambda: GradientBoostingClassifier(**QUIET), WHOLE, THREE),
    "forest": (lambda: RandomForestClassifier(**QUIET, max_depth=7), NUMBERS, THREE),
    "extra": (lambda: ExtraTreesClassifier(**QUIET, max_depth=9), WHOLE, TWO),
    "adaboost": (lambda: AdaBoostClassifier(**QUIET), WHOLE, TWO),
}


@cache
def attended(name):
    """Return a fitted library's model, certified on rows that it was not fitted on, and all rows."""
    make, rows, labels = MODELS[name]
    codes = np.unique(labels, return_inverse=True)[1] if name == "xgboost" else labels
    model = make().fit(rows[:2000], codes[:2000])
    return model, saccade.attend(model, rows[2000:], delta=0.1, when_too_few="read", random_state=0), rows


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_has_the_same_bits_and_labels_and_is_saved_the_same_again(name, tmp_path):
    model, attentive, rows = attended(name)
    saccade.save(attentive, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    for mine, theirs in zip(vars(loaded.read(rows)).values(), vars(attentive.read(rows)).values(), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(loaded.full_margin(rows), attentive.full_margin(rows))
    np.testing.assert_array_equal(loaded.estimator_.predict(rows), np.ravel(model.predict(rows)))
    assert loaded.certificate_ == attentive.certificate_
    assert "trees were read per row" in str(loaded.certificate_)
    for mine, theirs in zip(loaded.plan_, attentive.plan_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert loaded.columns_ == attentive.columns_
    saccade.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "histograms", "extra"])
def test_a_loaded_model_is_certified_anew_to_the_same_plan(name, tmp_path):
    _, attentive, rows = attended(name)
    saccade.save(attentive, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    again = saccade.attend(loaded.estimator_, rows[2000:], delta=0.1, when_too_few="read", random_state=0)
    np.testing.assert_array_equal(again.read(rows).margin, attentive.read(rows).margin)
    with pytest.raises(TypeError, match="cannot be fitted again"):
        loaded.estimator_.estimator.fit(rows, rows)


def test_a_threshold_is_kept_and_can_be_moved(tmp_path):
    model, _, rows = attended("lightgbm")
    attentive = saccade.attend(model, rows[2000:], delta=0.2, threshold=0.3, random_state=0)
    saccade.save(attentive, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.full_margin(rows), attentive.full_margin(rows))
    np.testing.assert_array_equal(loaded.estimator_.predict_proba(rows), model.predict_proba(rows))
    moved = saccade.attend(loaded.estimator_, rows[2000:], delta=0.2, threshold=0.6, random_state=0)
    expected = model.predict_proba(rows)[:, 1] >= 0.6
    np.testing.assert_array_equal(moved.full_margin(rows) > 0, expected)


def test_what_was_seen_of_each_column_is_kept(tmp_path):
    _, attentive, _ = attended("lightgbm")
    saccade.save(attentive, tmp_path / "model")
    population = saccade.load(tmp_path / "model").population_
    assert population.missing.tolist() == [True, False, False, False, False, True]
    assert population.low[1] == FRAME["b"][2000:].min()
    assert population.high[1] == FRAME["b"][2000:].max()
    np.testing.assert_array_equal(population.high, attentive.population_.high)


@cache
def attended_without_green():
    """Return a model that knows a colour which no row had that certified it."""
    rows = FRAME[2000:]
    return saccade.attend(attended("lightgbm")[0], rows[rows["colour"] != "green"], delta=0.1, random_state=0)


def test_the_categories_that_were_seen_are_kept(tmp_path):
    attentive = attended_without_green()
    saccade.save(attentive, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    for model in (attentive, loaded):
        assert {column: seen.tolist() for column, seen in model.population_.codes.items()} == {5: [0, 2, 3]}
    whole = FRAME.iloc[0].fillna({"a": 0.0})
    for colour in COLOURS:
        inquiry = loaded.inquire(known={**whole, "colour": colour})
        assert inquiry.outside == ({"colour": "green"} if colour == "green" else {})
        assert inquiry.certified == (colour != "green")


def test_a_file_without_the_categories_that_were_seen_goes_by_their_range(tmp_path):
    saccade.save(attended_without_green(), tmp_path / "model")
    archive = read_archive(tmp_path / "model")
    kept = {
        name: array for name, array in archive.arrays.items() if name not in ("population.codes", "population.coded")
    }
    write_archive(tmp_path / "older", archive.header, kept)
    loaded = saccade.load(tmp_path / "older")
    assert loaded.population_.codes == {}
    assert loaded.inquire(known={"colour": "green"}).outside == {}


@pytest.mark.parametrize(
    ("codes", "coded"),
    [
        ([0.0, 2.0, 3.0], [5, 5, 6]),
        ([0.0, 2.0, 3.0], [-1, 5, 5]),
        ([0.0, 2.0, 3.0], [5, 4, 4]),
        ([0.0, 3.0, 2.0], [5, 5, 5]),
        ([0.0, 2.0, 2.0], [5, 5, 5]),
        ([0.0, 2.0, np.nan], [5, 5, 5]),
        ([0.0, 2.0, np.inf], [5, 5, 5]),
        ([0.0, 2.0, 3.0], [5, 5]),
        ([0.0, 2.0, 3.0], [5.0, 5.0, 5.0]),
        ([0.0, 2.0, 3.0], None),
        (np.zeros(0), np.zeros(0, np.int64)),
    ],
)
def test_impossible_codes_of_categories_are_refused(codes, coded, tmp_path):
    saccade.save(attended_without_green(), tmp_path / "model")
    archive = read_archive(tmp_path / "model")
    arrays = {**archive.arrays, "population.codes": np.array(codes)}
    del arrays["population.coded"]
    if coded is not None:
        arrays["population.coded"] = np.array(coded)
    write_archive(tmp_path / "bad", archive.header, arrays)
    with pytest.raises(ModelFileError, match="code"):
        saccade.load(tmp_path / "bad")


kinds = st.fixed_dictionaries(
    {
        "n_scores": st.sampled_from([1, 3]),
        "most_leaves": st.sampled_from([1, 3, 31, 90]),
        "single": st.booleans(),
        "zeros": st.booleans(),
    }
)


def archived(model):
    """Return what a file would hold of a model, as far as its trees go."""
    header, arrays = trees_parts(model)
    return Archive(header, {**arrays, "prices.purchase": np.zeros(model.n_columns, np.int64)})


def grown(seed, kind, outputs=1):
    ensemble = grown_ensemble(seed, **kind) if outputs == 1 else grown_ensemble(seed, n_scores=3, outputs=3)
    own = {3: Categories(np.array(["x", "y"]), numbers_too=False), 1: Categories(np.array([1.5, 7.0]), True)}
    return TreeModel(ensemble, np.arange(max(2, ensemble.n_scores)), None, own, threshold=None)


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 2**31), kinds, st.sampled_from([1, 3]))
def test_any_trees_come_back_as_they_were(seed, kind, outputs):
    model = grown(seed, kind, outputs)
    loaded, estimator = trees_from(archived(model), model.classes)
    for mine, theirs in zip(loaded.ensemble.nodes, model.ensemble.nodes, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    rows = edgy_rows(seed, 40)
    np.testing.assert_array_equal(loaded.raw(loaded.sums(rows)), model.raw(model.sums(rows)))
    assert estimator.predict(rows).shape == (40,)
    assert loaded.categories.keys() == model.categories.keys()


def a_plan(model):
    """Return a plan that looks after the first part and after all of them."""
    scores, n = model.coef.shape
    stops = np.unique([1, n])
    begins = np.concatenate([[0], np.cumsum(stops)])
    width = np.full((scores, stops.size), 0.5)
    weights = np.ones((scores, begins[-1]))
    order, shift, first = np.arange(n, dtype=np.uint32), np.zeros_like(width), np.zeros_like(stops)
    return Plan(
        order, stops, first, begins[:-1], weights, shift, -width, width, model.coef, model.intercept, model.unit, True
    )


ODD = [0, 1, -1, 2, 3, 7, 31, 32, 33, 255, 2**15, 2**31 - 1, -(2**31), 2**32 - 1, 2**62]
ODD_REALS = [0.0, -1.0, 0.5, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan, 2.0**31, 3.0]


def mutated(array, place, draw):
    """Return an array with another entry, another length or another type."""
    changed = array.copy()
    what = draw(st.integers(0, 9))
    if what == 0:
        return changed[:-1]
    if what == 1:
        return np.concatenate([changed, changed])
    if what == 2:
        return changed.astype(np.float32 if changed.dtype.kind == "i" else np.int32)
    if changed.size:
        values = ODD_REALS if changed.dtype.kind == "f" else [changed.ravel()[place % changed.size] ^ 1, *ODD]
        with contextlib.suppress(OverflowError):
            changed.ravel()[place % changed.size] = draw(st.sampled_from(values))
    return changed


@settings(max_examples=examples(6000), deadline=None)
@given(st.data(), st.integers(0, 50), st.sampled_from([1, 3]))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers that a mutation made huge
def test_any_array_with_another_entry_is_refused_or_makes_trees_that_read_rows(data, seed, outputs):
    """A child that is not there, a cycle, a set that ends behind its words: none of them may reach a kernel."""
    kind = {"n_scores": 1, "most_leaves": data.draw(st.sampled_from([3, 31, 90])), "single": False, "zeros": True}
    model = grown(seed, kind, outputs)
    archive = archived(model)
    for _ in range(data.draw(st.integers(1, 2))):
        name = data.draw(st.sampled_from(sorted(archive.arrays)))
        archive.arrays[name] = mutated(archive.arrays[name], data.draw(st.integers(0, 2**16)), data.draw)
    try:
        loaded, estimator = trees_from(archive, model.classes)
    except ModelFileError:
        return
    rows = edgy_rows(seed, 50)
    estimator.predict(rows)
    read_plan(a_plan(loaded), loaded.source(rows))
    assert np.isin(loaded.leaves(rows, np.arange(50)), np.arange(loaded.ensemble.nodes.left.size)).all()


def change(name, place, value):
    def apply(archive):
        archive.arrays[name] = archive.arrays[name].copy()
        archive.arrays[name].ravel()[place] = value

    return apply


def at_leaf(name, value):
    def apply(archive):
        left = archive.arrays["nodes.left"]
        change(name, int(np.argmax(left == np.arange(left.size))), value)(archive)

    return apply


HOSTILE = {
    "a child that is its grandparent": (lambda archive: change("nodes.left", int(inner(archive)[1]), 0)(archive)),
    "a child of another tree": (lambda archive: change("nodes.left", 0, int(archive.arrays["nodes.root"][1]))(archive)),
    "a child out of memory": change("nodes.left", 0, 2**31 - 2),
    "a negative child": change("nodes.left", 0, -5),
    "a root out of memory": change("nodes.root", -1, 2**31 - 1),
    "no first tree": change("nodes.root", 0, 1),
    "a column out of the row": change("nodes.column", 0, 5),
    "a negative column": change("nodes.column", 0, -1),
    "a leaf with a threshold": at_leaf("nodes.threshold", 0.0),
    "a leaf that sends missing values right": at_leaf("nodes.missing_left", False),
    "a leaf with categories": at_leaf("nodes.first_word", 0),
    "words out of memory": change("nodes.first_word", 0, 2**31 - 1),
    "more words than there are": lambda archive: (
        change("nodes.first_word", 0, 0)(archive),
        change("nodes.n_words", 0, 2**31 - 1)(archive),
    ),
    "a score that is not there": change("score", 0, 9),
    "a category that is no integer": change("least_category", 0, -1e300),
    "no divisor": change("sum.divisor", 0, 0.0),
    "a leaf of no value": change("nodes.value", 0, np.nan),
    "a threshold that nothing compares with": change("nodes.threshold", 0, np.nan),
    "no columns": lambda archive: archive.header["trees"].update(n_columns=0),
    "columns that take all memory": lambda archive: archive.header["trees"].update(n_columns=2**31),
    "categories of no column": lambda archive: archive.header["trees"].update(categories=[[77, True, "texts", []]]),
    "categories of an odd type": lambda archive: archive.header["trees"].update(categories=[[1, True, "O,O", [1]]]),
    "a sum of an odd type": lambda archive: archive.header["trees"].update(sum_dtype="object"),
}


def inner(archive):
    left = archive.arrays["nodes.left"]
    return np.flatnonzero(left != np.arange(left.size))


@pytest.mark.parametrize("name", HOSTILE)
def test_trees_that_would_lead_a_kernel_astray_are_refused(name):
    model = grown(3, {"n_scores": 1, "most_leaves": 12, "single": False, "zeros": False})
    archive = archived(model)
    assert archive.arrays["nodes.left"][0] > 0  # the first tree has a split
    HOSTILE[name](archive)
    with pytest.raises(ModelFileError):
        trees_from(archive, model.classes)


@pytest.mark.parametrize(
    ("field", "value"), [("n_features", 19), ("n_features", 60), ("features_per_row", 21.0), ("confidence", 1.0)]
)
def test_a_certificate_of_other_trees_is_refused(field, value, tmp_path):
    _, attentive, _ = attended("catboost classes")  # whose trees have three outputs each
    assert attentive.certificate_.n_features == 20
    saccade.save(attentive, tmp_path / "model")
    archive = read_archive(tmp_path / "model")
    certificate = {**archive.header["certificate"], field: value}
    write_archive(tmp_path / "bad", {**archive.header, "certificate": certificate}, archive.arrays)
    with pytest.raises(ModelFileError, match="certificate"):
        saccade.load(tmp_path / "bad")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers that a mutation made huge
@pytest.mark.parametrize("name", ["lightgbm", "catboost classes"])
def test_no_mutation_of_a_file_crashes_or_loads_a_model_that_crashes(name, tmp_path):
    """Bytes changed at random, with a digest that is right, as a hostile file has."""
    _, attentive, rows = attended(name)
    saccade.save(attentive, tmp_path / "model")
    content, random_bytes, refused = (tmp_path / "model").read_bytes(), random.Random(name), 0
    (length,) = struct.unpack("<Q", content[:8])
    for _ in range(examples(2500)):
        mutant = bytearray(content)
        for _ in range(random_bytes.randint(1, 3)):
            at = random_bytes.randrange(8 + length if random_bytes.random() < 0.5 else len(mutant))
            mutant[at] = random_bytes.choice([random_bytes.randrange(256), 0, 255, mutant[at] ^ 1])
        with contextlib.suppress(ValueError):  # no digest is left
            mutant = signed(bytes(mutant))
        (tmp_path / "mutant").write_bytes(mutant)
        try:
            model = saccade.load(tmp_path / "mutant")
        except ModelFileError:
            refused += 1
            continue
        some = rows[:30]
        if hasattr(model, "feature_names_in_"):
            some = some.set_axis(model.feature_names_in_, axis=1)
        with contextlib.suppress(ValueError):  # a leaf may have become too large to sum
            model.read(some)
    assert refused > examples(500)


def test_categories_that_json_cannot_hold_are_refused_and_nothing_is_written(tmp_path):
    _, attentive, _ = attended("lightgbm")
    odd = Categories(np.array(["2020-01-01"], dtype="datetime64[D]"), numbers_too=False)
    before = attentive.additive_
    try:
        attentive.additive_ = TreeModel(before.ensemble, before.classes, before.columns, {5: odd})
        with pytest.raises(TypeError, match="categories of column 5"):
            saccade.save(attentive, tmp_path / "model")
    finally:
        attentive.additive_ = before
    assert not (tmp_path / "model").exists()

"""Models over raw columns in model files: the same bits, and nothing that a hostile file can make a term do."""

import contextlib
import copy
import random
import struct
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from interpret.glassbox import ExplainableBoostingClassifier
from saccade.models.tables.loaded import LoadedTerms
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from termed import NAMES, estimator_of, looked_up, model_of, rows_of

import saccade
from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive, read_archive, signed, write_archive
from saccade.files.terms import terms_from, terms_parts
from saccade.models.categories import Categories
from saccade.models.tables.assembling import assemble
from saccade.models.tables.blocks import Block, Foreign, Formula, Raw, mapped
from saccade.models.tables.maps import Fill
from saccade.models.tables.terms import FormulaTerm, NoTerm

ROWS = rows_of(4000)
CLASSES = {"two": ("no", "yes"), "three": ("a", "b", "c")}
N = len(NAMES)


@cache
def attended(name):
    return saccade.attend(estimator_of(classes=CLASSES[name]), ROWS, delta=0.1, when_too_few="read", random_state=0)


@pytest.mark.parametrize("name", CLASSES)
def test_a_loaded_model_has_the_same_bits_and_labels_and_is_saved_the_same_again(name, tmp_path):
    attentive = attended(name)
    saccade.save(attentive, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    for mine, theirs in zip(vars(loaded.read(ROWS)).values(), vars(attentive.read(ROWS)).values(), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(loaded.full_margin(ROWS), attentive.full_margin(ROWS))
    np.testing.assert_array_equal(
        loaded.estimator_.decision_function(ROWS), attentive.estimator_.decision_function(ROWS)
    )
    assert loaded.certificate_ == attentive.certificate_
    for mine, theirs in zip(loaded.plan_, attentive.plan_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert loaded.columns_ == attentive.columns_
    np.testing.assert_array_equal(loaded.population_.missing, attentive.population_.missing)
    saccade.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("name", CLASSES)
def test_a_loaded_model_is_certified_anew_to_the_same_plan_and_never_fitted(name, tmp_path):
    saccade.save(attended(name), tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    again = saccade.attend(loaded.estimator_, ROWS, delta=0.1, when_too_few="read", random_state=0)
    np.testing.assert_array_equal(again.read(ROWS).margin, attended(name).read(ROWS).margin)
    with pytest.raises(TypeError, match="cannot be fitted again"):
        loaded.estimator_.estimator.fit(ROWS, ROWS)


def test_full_reads_give_the_labels_of_the_loaded_estimator():
    for seed in range(3):
        model = estimator_of(seed)
        attentive = saccade.attend(model, ROWS, delta=0.2, when_too_few="read", boundary="full", random_state=0)
        np.testing.assert_array_equal(attentive.predict(ROWS), model.predict(ROWS))


PEOPLE = ROWS[["state", "age", "income", "kind", "hours"]]
RICH = np.array(["poor", "rich"])[
    (np.log(PEOPLE["income"]) + 2 * (PEOPLE["state"] == "NY") + PEOPLE["hours"] / 40 > 4.2).astype(int)
]


def fitted(model):
    """Return a pipeline over texts, whole numbers and gaps."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), FunctionTransformer(np.abs), StandardScaler())
    texts = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = ColumnTransformer(
        [("n", numbers, ["age", "income"]), ("c", texts, ["state", "kind"])], remainder="passthrough"
    )
    return make_pipeline(columns, model).fit(PEOPLE[:1500], RICH[:1500])


def test_pipelines_come_back_with_their_own_labels_and_their_threshold(tmp_path):
    model, terms = fitted(LogisticRegression(max_iter=1000)), {"delta": 0.2, "when_too_few": "read", "random_state": 0}
    attentive = saccade.attend(model, PEOPLE[1500:], threshold=0.3, **terms)
    saccade.save(attentive, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    expected = np.array(["poor", "rich"])[(model.predict_proba(PEOPLE)[:, 1] >= 0.3).astype(int)]
    np.testing.assert_array_equal(loaded.estimator_.predict(PEOPLE), expected)
    np.testing.assert_array_equal(loaded.read(PEOPLE).margin, attentive.read(PEOPLE).margin)
    again = saccade.attend(loaded.estimator_, PEOPLE[1500:], threshold=0.3, **terms)
    np.testing.assert_array_equal(again.read(PEOPLE).margin, attentive.read(PEOPLE).margin)
    with pytest.raises(ValueError, match=r"only the weights at threshold=0.3"):
        saccade.attend(loaded.estimator_, PEOPLE[1500:], threshold=0.5)


@pytest.mark.filterwarnings("ignore:Missing values detected:UserWarning")  # of interpret
def test_naive_bayes_and_ebms_come_back_with_their_own_labels(tmp_path):
    boosted = ExplainableBoostingClassifier(interactions=2, max_rounds=20, outer_bags=1, n_jobs=1, random_state=0)
    numbers = PEOPLE[["income", "hours"]]
    for model, rows in ((boosted, PEOPLE), (GaussianNB(), numbers)):
        model.fit(rows[:1500], RICH[:1500])
        attentive = saccade.attend(model, rows[1500:], delta=0.2, when_too_few="read", random_state=0)
        saccade.save(attentive, tmp_path / "model")
        loaded = saccade.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.estimator_.predict(rows), model.predict(rows))
        np.testing.assert_array_equal(loaded.read(rows).margin, attentive.read(rows).margin)


def test_a_loaded_model_asks_the_same_questions(tmp_path):
    attentive = saccade.attend(
        fitted(LogisticRegression(max_iter=1000)), PEOPLE[1500:], delta=0.2, when_too_few="read", random_state=0
    )
    saccade.save(attentive, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    for row in range(40):
        asked = []
        for model in (attentive, loaded):
            inquiry = model.inquire()
            while (wanted := inquiry.wanted) is not None:
                value = PEOPLE.iloc[row][wanted]
                inquiry.tell(None if pd.isna(value) else value)
            asked.append((inquiry.label, inquiry.asked, inquiry.confidence))
        assert asked[0] == asked[1]


def test_a_transformer_that_is_used_as_it_is_is_named_and_nothing_is_written(tmp_path):
    blocks = [
        Block(np.array([0]), looked_up(0, np.array(["NY"], dtype=object), np.array([[1.0], [0.0], [0.0]]))),
        Block(np.array([1]), Foreign(7, lambda values: np.log1p(values)[:, None], "FunctionTransformer(log1p)", True)),
    ]
    model = assemble(blocks, np.array([[1.0, 0.5]]), np.array([-1.5]), np.array([0, 1]), N, NAMES)
    attentive = saccade.attend(LoadedTerms(model), ROWS, delta=0.2, when_too_few="read", random_state=0)
    with pytest.raises(TypeError, match=r"FunctionTransformer\(log1p\).*column 'hours'.*pickled.*fit anew"):
        saccade.save(attentive, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def archived(model):
    """Return what a file would hold of a model, as far as its terms go."""
    header, arrays = terms_parts(model)
    header = {**copy.deepcopy(header), "names": None if model.columns is None else list(model.columns)}
    return Archive(header, {**arrays, "prices.purchase": np.zeros(model.n_columns, np.int64)})


@settings(max_examples=examples(200))
@given(st.integers(0, 2**31), st.sampled_from(sorted(CLASSES)), st.booleans())
def test_any_terms_come_back_as_they_were(seed, name, named):
    model = model_of(seed, CLASSES[name], NAMES if named else None)
    loaded, estimator = terms_from(archived(model), model.classes)
    rows = rows_of(60, seed)
    np.testing.assert_array_equal(loaded.source(rows).values(), model.source(rows).values())
    np.testing.assert_array_equal(loaded.coef, model.coef)
    assert list(map(type, loaded.terms)) == list(map(type, model.terms))
    assert loaded.columns == model.columns
    assert estimator.n_features_in_ == N


ODD = [0, 1, -1, 2, 3, 7, 31, 255, 2**15, 2**31 - 1, -(2**31), 2**62]
ODD_REALS = [0.0, -1.0, 0.5, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan, 2.0**31, 3.0]
ODD_FIELDS = [
    None,
    True,
    -1,
    0,
    1,
    3,
    2**31,
    1e300,
    "Scale",
    "Splines",
    "Select",
    "none",
    "table",
    "pieces",
    [],
    {},
    [0, 0],
]


def mutated(array, place, draw):
    """Return an array with another entry, another length, another shape or another type."""
    changed, what = array.copy(), draw(st.integers(0, 10))
    if what == 0:
        return changed[:-1]
    if what == 1:
        return np.concatenate([changed, changed])
    if what == 2:
        return changed.astype(np.float32 if changed.dtype.kind == "i" else np.int64)
    if what == 3:
        return changed.ravel()
    if changed.size:
        values = ODD_REALS if changed.dtype.kind == "f" else ODD
        with contextlib.suppress(OverflowError):
            changed.ravel()[place % changed.size] = draw(st.sampled_from(values))
    return changed


def fields_in(entry, path=()):
    """Yield the way to everything in a header."""
    pairs = entry.items() if isinstance(entry, dict) else enumerate(entry) if isinstance(entry, list) else ()
    for key, inside in pairs:
        yield (*path, key)
        yield from fields_in(inside, (*path, key))


def change_field(header, way, value):
    for key in way[:-1]:
        header = header[key]
    header[way[-1]] = value


@settings(max_examples=examples(4000))
@given(st.data(), st.integers(0, 5), st.sampled_from(sorted(CLASSES)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers that a mutation made huge
def test_any_file_with_another_entry_is_refused_or_makes_terms_that_read_rows(data, seed, name):
    """A code beyond its table, a feature that is not there, knots that make no spline: none may reach a term."""
    model = model_of(seed, CLASSES[name])
    archive = archived(model)
    for _ in range(data.draw(st.integers(1, 2))):
        if data.draw(st.booleans()):
            own = data.draw(st.sampled_from(sorted(archive.arrays)))
            archive.arrays[own] = mutated(archive.arrays[own], data.draw(st.integers(0, 2**16)), data.draw)
        else:
            way = data.draw(st.sampled_from(list(fields_in(archive.header))))
            change_field(archive.header, way, data.draw(st.sampled_from(ODD_FIELDS)))
    try:
        loaded, _ = terms_from(archive, model.classes)
    except ModelFileError:
        return
    rows = rows_of(40, seed)
    with contextlib.suppress(saccade.exceptions.NotNumbersError):  # texts in a column whose categories are gone
        assert loaded.source(rows).values().shape == (40, loaded.coef.shape[1])
        assert loaded.takes_missing.shape == (N,)


def array(name, value):
    return lambda archive: archive.arrays.update({name: np.array(value)})


def entry(place, key, value):
    return lambda archive: archive.header["terms"]["terms"][place].update({key: value})


def deep(archive):
    block = {"maps": [], "column": 5}
    for _ in range(400):
        block = {"maps": [], "inputs": [block]}
    archive.header["terms"]["terms"][5]["blocks"][0] = block


HOSTILE = {
    "a table without a row for missing values": array("terms.0.table", np.zeros((5, 1))),
    "a table of too many scores": array("terms.0.table", np.zeros((6, 2))),
    "an infinite table": array("terms.0.table", np.full((6, 1), np.inf)),
    "a table of a column of numbers": entry(1, "kind", "table"),
    "numbers of a column of categories": entry(0, "kind", "pieces"),
    "edges that descend": array("terms.7.edges", [40.0, 10.0]),
    "edges that are none": array("terms.7.edges", [10.0, np.nan]),
    "no polynomials": array("terms.7.coefficients", np.zeros((3, 1, 0))),
    "more pieces than edges have": array("terms.7.origin", np.zeros(9)),
    "a column that there is not": entry(8, "columns", [1, 77]),
    "a column twice": entry(8, "columns", [1, 1]),
    "a pair that is none": entry(8, "columns", [1]),
    "a term of nothing": entry(8, "blocks", []),
    "a grid with too few cells": array("terms.9.table", np.zeros((6, 3, 1))),
    "a term of an unknown kind": entry(0, "kind", "pickle"),
    "a column that a term lacks": lambda archive: entry(8, "blocks", [{"lookup": 0}])(archive),
    "blocks in blocks without end": deep,
    "columns that take all memory": lambda archive: archive.header["terms"].update(n_columns=2**31),
    "no columns": lambda archive: archive.header["terms"].update(n_columns=0),
    "fewer terms than columns": lambda archive: archive.header["terms"].update(terms=[{"kind": "none"}]),
    "no terms": lambda archive: archive.header.update(terms=[]),
    "other values without a code": lambda archive: archive.header["terms"]["categories"][0].pop(),
    "categories of another kind": lambda archive: archive.header["terms"]["categories"].__setitem__(0, [0, 1]),
    "an intercept of no value": array("intercept", [np.nan]),
    "a category twice": lambda archive: archive.header["terms"]["categories"][0][4].__setitem__(1, "NY"),
    "half a character": lambda archive: archive.header["terms"]["categories"][0][4].__setitem__(1, "\ud800"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_terms_that_would_look_up_what_is_not_there_are_refused(name):
    model = model_of()
    archive = archived(model)
    HOSTILE[name](archive)
    with pytest.raises(ModelFileError):
        terms_from(archive, model.classes)


def test_a_function_that_is_not_on_the_list_is_not_looked_up():
    model = model_of()
    archive = archived(model)
    (named,) = [
        m for block in archive.header["terms"]["terms"][2]["blocks"] for m in block["maps"] if m["map"] == "Elementwise"
    ]
    named["function"] = "save"
    with pytest.raises(ModelFileError, match="'save' is no function"):
        terms_from(archive, model.classes)


MAPS = {
    "places": ("Select", [0, 7]),
    "powers": ("Monomials", [[1, -1, 0], [0, 1, 1]]),
    "knots": ("Splines", [0.0, 1.0]),
    "over": ("Scale", [0.0]),
    "quantiles": ("Quantiles", [3.0, 2.0, 1.0, 0.0]),
    "references": ("Quantiles", [0.0, 1.0]),
    "exponents": ("Power", [0.4, 0.5]),
}


@pytest.mark.parametrize("name", MAPS)
def test_maps_that_are_impossible_are_refused_by_their_path(name):
    model = model_of()
    archive = archived(model)
    own = next(path for path in archive.arrays if path.endswith(f".{name}") and ".maps." in path)
    archive.arrays[own] = np.array(MAPS[name][1])
    with pytest.raises(ModelFileError, match=r"terms\.\d+\.blocks"):
        terms_from(archive, model.classes)


def test_a_term_of_many_columns_takes_no_more_memory_than_its_file():
    model = replace(model_of(), terms=tuple(NoTerm(k, 1) for k in range(N)), categories={})
    wide = replace(
        model,
        terms=(*(NoTerm(k, 1) for k in range(40)), *wide_term(40)),
        n_columns=40,
        columns=None,
    )
    loaded, _ = terms_from(archived(wide), wide.classes)
    assert loaded.takes_missing.all()


def wide_term(n):
    """Return a term that adds up columns, each of which may be missing."""
    filled = tuple(mapped(Raw(k), Fill(np.nan, np.array([0.0]))) for k in range(n))
    return [FormulaTerm(tuple(range(n)), (Formula(tuple(range(n)), (), filled),), (np.ones((1, n)),))]


def test_many_classes_and_terms_that_would_take_all_memory_are_refused():
    model = model_of()
    archive = archived(model)
    with pytest.raises(ModelFileError, match="scores"):
        terms_from(archive, np.arange(2**14))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers that a mutation made huge
@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")  # where a mutation took the model's away
@pytest.mark.parametrize("name", CLASSES)
def test_no_mutation_of_a_file_crashes_or_loads_a_model_that_crashes(name, tmp_path):
    """Bytes changed at random, with a digest that is right, as a hostile file has."""
    saccade.save(attended(name), tmp_path / "model")
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
        some = ROWS[:30]
        if hasattr(model, "feature_names_in_"):
            some = some.set_axis(model.feature_names_in_, axis=1)
        with contextlib.suppress(ValueError):  # a number may have become too large to sum
            model.read(some)
    assert refused > examples(500)


def test_categories_of_other_models_stay_as_they_were(tmp_path):
    saccade.save(attended("two"), tmp_path / "model")
    archive = read_archive(tmp_path / "model")
    stored = archive.header["terms"]["categories"]
    assert [entry[-1] for entry in stored] == [True] * len(stored)
    write_archive(tmp_path / "same", archive.header, archive.arrays)
    assert saccade.load(tmp_path / "same").additive_.categories.keys() == attended("two").additive_.categories.keys()


def test_a_model_of_an_unsaved_kind_of_category_is_refused(tmp_path):
    attentive = copy.copy(attended("two"))
    odd = Categories(np.array(["2020-01-01"], dtype="datetime64[D]"), True, others_apart=True)
    before = attentive.additive_
    attentive.additive_ = replace(before, categories={**before.categories, 4: odd}, terms=before.terms)
    assert isinstance(before.terms[4], NoTerm)
    with pytest.raises(TypeError, match="categories of column 4"):
        saccade.save(attentive, tmp_path / "model")
    assert isinstance(attentive.estimator_, FrozenEstimator)

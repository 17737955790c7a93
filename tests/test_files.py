"""Models in files: the same bits, whole files or none, and nothing that a hostile file can do."""

import contextlib
import json
import os
import pickle
import random
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from effort import examples
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import saccade
from data import correlated
from saccade import AttentiveClassifier, Budget, ConstantSTST, CurvedSTST, PassiveAggressive, Pegasos, Perceptron
from saccade.exceptions import ModelFileError
from saccade.files import writing
from saccade.files.archive import read_archive, signed, write_archive
from saccade.files.learners import COUNTERS, SCALARS
from saccade.files.models import FORMAT
from saccade.files.parameters import decode_labels
from saccade.kernels import state

X, y = correlated(2000, 20, seed=0, separation=2.0)
SEVERAL, kinds = correlated(2000, 20, seed=1, separation=4.0, classes=4)
KINDS = np.array(["ash", "elm", "fir", "oak"])[kinds]
FRAME = pd.DataFrame(X, columns=[f"f{j}" for j in range(20)])

LEARNERS = {
    "Pegasos": lambda: Pegasos(random_state=0).fit(X, y),
    "single": lambda: Pegasos(random_state=0, average=False).fit(X.astype(np.float32), y),
    "named": lambda: Pegasos(0.1, boundary=ConstantSTST(0.2, "printed"), order="permuted").fit(FRAME, y > 0),
    "several": lambda: Perceptron(boundary=CurvedSTST(0.05), random_state=3).fit(SEVERAL, KINDS),
    "budget": lambda: PassiveAggressive(boundary=Budget(9), order="sampled", random_state=0).fit(X, y),
    "weighted": lambda: Pegasos(class_weight={0: 1.0, 1: 3.0}, audit=0, random_state=0).fit(X, y),
}
ATTENTIVE = {
    "attentive": lambda: saccade.attend(LogisticRegression().fit(X, y), X, delta=0.1, random_state=0),
    "pipeline": lambda: saccade.attend(
        make_pipeline(StandardScaler(), LogisticRegression()).fit(FRAME, y),
        FRAME,
        delta=0.1,
        costs={"sample": 5.0, "f7": 2.0},
        groups={"sample": ["f1", "f2", "f3"]},
    ),
    "classes": lambda: saccade.attend(LogisticRegression().fit(SEVERAL, KINDS), SEVERAL, delta=0.1, random_state=0),
    "columns": lambda: saccade.attend(
        LogisticRegression().fit(X, y), X, delta=0.1, fewest="columns", costs=list(range(1, 21)), random_state=0
    ),
    "curved": lambda: AttentiveClassifier(boundary=CurvedSTST(0.01), delta=0.1, random_state=0).fit(X, y),
}
MODELS = {**LEARNERS, **ATTENTIVE}


def rows_for(name):
    return SEVERAL if name in ("several", "classes") else FRAME if name in ("named", "pipeline") else X


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_reads_the_same_bits_and_has_the_same_parameters(name, tmp_path):
    model, path = MODELS[name](), tmp_path / "model.saccade"
    saccade.save(model, path)
    loaded = saccade.load(path)
    assert type(loaded) is type(model)
    readings = [one.read(rows_for(name)) for one in (loaded, model)]
    for mine, theirs in zip(*(vars(one).values() for one in readings), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(loaded.full_margin(rows_for(name)), model.full_margin(rows_for(name)))
    mine, theirs = (
        {key: repr(value) for key, value in one.get_params().items() if not key.startswith("estimator")}
        for one in (loaded, model)
    )
    assert mine == theirs
    assert (
        getattr(loaded, "feature_names_in_", np.array([])).tolist()
        == getattr(model, "feature_names_in_", np.array([])).tolist()
    )
    again = tmp_path / "again.saccade"
    saccade.save(loaded, again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ("several", "named")])
def test_a_loaded_learner_goes_on_learning_as_if_nothing_had_happened(name, tmp_path):
    model, path = MODELS[name](), tmp_path / "model.saccade"
    saccade.save(model, path)
    loaded = saccade.load(path)
    assert loaded.training_ == model.training_
    rows = X.astype(np.float32) if name == "single" else X
    np.testing.assert_array_equal(loaded.partial_fit(rows, y).coef_, model.partial_fit(rows, y).coef_)
    assert loaded.training_ == model.training_


@pytest.mark.parametrize("name", ATTENTIVE)
def test_a_loaded_model_has_the_same_certificate_and_asks_the_same_questions(name, tmp_path):
    model = MODELS[name]()
    saccade.save(model, tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    assert loaded.certificate_ == model.certificate_
    assert loaded.population_.spare == model.population_.spare
    inquiry = model.inquire()
    inquiry.tell(0.5)
    again = loaded.resume(inquiry.to_json())
    assert (again.wanted, again.spent, again.confidence) == (inquiry.wanted, inquiry.spent, inquiry.confidence)
    labels = model.estimator_.predict(rows_for(name))
    np.testing.assert_array_equal(loaded.estimator_.predict(rows_for(name)), labels)
    with pytest.raises(TypeError, match="cannot be fitted again"):
        loaded.estimator_.estimator.fit(X, y)
    assert pickle.loads(pickle.dumps(loaded)).certificate_ == model.certificate_


def test_a_crash_in_the_middle_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.saccade"
    saccade.save(LEARNERS["Pegasos"](), path)
    before = path.read_bytes()

    def crash(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(writing.os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        saccade.save(LEARNERS["budget"](), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.saccade"]


def test_what_cannot_be_saved_is_refused_and_writes_nothing(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(NotFittedError):
        saccade.save(Pegasos(), path)
    with pytest.raises(TypeError, match="only Pegasos"):
        saccade.save(LogisticRegression().fit(X, y), path)
    with pytest.raises(TypeError, match="random_state"):
        saccade.save(Pegasos(random_state=np.random.RandomState(0)).fit(X, y), path)
    odd = saccade.attend(LogisticRegression().fit(X, y), X, delta=0.1, groups={("a", 1): [1, 2]})
    with pytest.raises(TypeError, match="groups"):
        saccade.save(odd, path)
    with pytest.raises(ValueError, match="changed after fit"):
        saccade.save(Pegasos().fit(X, y).set_params(lam=0.5), path)
    assert not path.exists()


def altered(path, change, target):
    """Write the model again with another header or other arrays, and with a digest that is right."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    inner = json.loads(header["__metadata__"]["saccade"])
    body = bytearray(content[8 + length :])
    change(inner, header, body)
    header["__metadata__"]["saccade"] = json.dumps(inner)
    text = json.dumps(header).encode()
    target.write_bytes(signed(struct.pack("<Q", len(text)) + text + bytes(body)))
    return target


def write_array(header, body, name, index, value, kind):
    start = header[name]["data_offsets"][0]
    size = struct.calcsize(kind)
    body[start + index * size : start + (index + 1) * size] = struct.pack(kind, value)


BAD_HEADERS = {
    "format '3'": lambda inner, header, body: inner.update(format=3),
    "holds a 'Exec'": lambda inner, header, body: inner.update({"class": "Exec"}),
    "its field 'class'": lambda inner, header, body: inner.update({"class": ["Pegasos"]}),
    "not those of Pegasos": lambda inner, header, body: inner["parameters"].update(colour="red"),
    "its parameters": lambda inner, header, body: inner["parameters"].update(lam=-1.0),
    "its boundary": lambda inner, header, body: inner["parameters"].update(boundary={"boundary": "os.system"}),
    "its classes": lambda inner, header, body: inner.update(classes={"dtype": "<i8", "labels": ["a", "b"]}),
    "its seeds": lambda inner, header, body: inner.update(seeds=[-1]),
    "its names": lambda inner, header, body: inner.update(names=["a"]),
    "no array 'weights'": lambda inner, header, body: header.update(other=header.pop("weights")),
    "order or its counters": lambda inner, header, body: write_array(header, body, "order", 3, 10**9, "<I"),
    "not finite": lambda inner, header, body: write_array(header, body, "weights", 3, float("nan"), "<d"),
    "not float64": lambda inner, header, body: header["weights"].update(dtype="I64"),
    "not any|not float64": lambda inner, header, body: header["correction"].update(shape=[20, 1]),
}


FURTHER_LIES = [
    lambda inner, header, body: inner.update(format=True),
    lambda inner, header, body: inner.update(format=1.0),
    lambda inner, header, body: inner["parameters"].update(lam=10**400),
    lambda inner, header, body: inner.update(classes={"dtype": "", "labels": [0, 1]}),
    lambda inner, header, body: inner.update(classes={"dtype": "<i8", "labels": [1, 0]}),
    lambda inner, header, body: inner.update(classes={"dtype": "<f8", "labels": [0.0, float("inf")]}),
    lambda inner, header, body: inner.update(classes={"dtype": "<f8,<f8", "labels": [0, 1]}),
    lambda inner, header, body: inner.update(classes={"dtype": "<U1", "labels": ["x" * 10**6, *map(str, range(3000))]}),
    lambda inner, header, body: inner.update(names=["twice"] * 20),
    lambda inner, header, body: inner.update(n_iter=-1),
    lambda inner, header, body: header["correction"].update(dtype="F8_E4M3"),
    lambda inner, header, body: write_array(header, body, "counts", 0, -1.0, "<d"),
    lambda inner, header, body: header.update(other=header.pop("order")),
]


@pytest.mark.parametrize("lie", range(len(FURTHER_LIES)))
def test_what_no_learner_could_have_written_is_refused(lie, tmp_path):
    path = tmp_path / "model"
    saccade.save(Pegasos(random_state=0).fit(X, y), path)
    with pytest.raises(ModelFileError):
        saccade.load(altered(path, FURTHER_LIES[lie], tmp_path / "bad"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("delta", 10**400),
        ("delta", float("nan")),
        ("disagreement", -0.1),
        ("promise", "everything"),
        ("by_class", [[1, 1, 0, 0]]),
        ("by_class", [[-1, 1, 0, 0], [1, 1, 0, 0]]),
        ("confidence", 1.0),
        ("by_stage", [[1, 2, 3]]),
        ("worse", 0.5),
        ("features_per_row", float("inf")),
        ("n_features", 3),
    ],
)
def test_an_impossible_certificate_is_refused(field, value, tmp_path):
    path = tmp_path / "model"
    saccade.save(MODELS["attentive"](), path)
    with pytest.raises(ModelFileError, match="certificate"):
        saccade.load(altered(path, lambda inner, *_: inner["certificate"].update({field: value}), tmp_path / "bad"))


@pytest.mark.parametrize("stops", [[2**62, -(2**63), -(2**62), 2], [3, 4, 5, -(2**63)]])
def test_checkpoints_whose_differences_wrap_around_are_refused(stops, tmp_path):
    """Each is above the one before it, if only modulo 2^64: a reader that believed it would read all over memory."""
    path = tmp_path / "model"
    saccade.save(MODELS["attentive"](), path)
    archive = read_archive(path)
    arrays, checkpoints = archive.arrays, np.array(stops)
    first = np.append(0, checkpoints[:-1])
    forged = {"plan.checkpoints": checkpoints, "plan.first": first, "plan.begins": first}
    forged |= {
        "plan.shift": np.zeros((1, len(stops))),
        "plan.lower": -np.ones((1, len(stops))),
        "plan.upper": np.ones((1, len(stops))),
    }
    write_archive(tmp_path / "bad", archive.header, {**arrays, **forged})
    with pytest.raises(ModelFileError, match="plan is impossible"):
        saccade.load(tmp_path / "bad")


def test_a_link_is_written_through(tmp_path):
    saccade.save(LEARNERS["Pegasos"](), tmp_path / "model")
    (tmp_path / "link").symlink_to(tmp_path / "model")
    saccade.save(LEARNERS["budget"](), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert saccade.load(tmp_path / "model").boundary.k == LEARNERS["budget"]().boundary.k


@pytest.mark.parametrize("message", BAD_HEADERS)
def test_a_file_that_lies_is_refused_with_the_reason(message, tmp_path):
    path = tmp_path / "model"
    saccade.save(Pegasos(random_state=0).fit(X, y), path)
    with pytest.raises(ModelFileError, match=message) as raised:
        saccade.load(altered(path, BAD_HEADERS[message], tmp_path / "bad"))
    assert str(tmp_path / "bad") in str(raised.value)


BAD_PLANS = {
    "plan is impossible": [
        ("plan.order", 0, 10**9, "<I"),
        ("plan.checkpoints", 0, -5, "<q"),
        ("plan.begins", 1, 7, "<q"),
    ],
    "regression is impossible": [("regression.order", 0, 999, "<q"), ("regression.order", 0, -1, "<q")],
    "prices are impossible": [("prices.purchase", 0, 10**6, "<q"), ("prices.price", 0, -1.0, "<d")],
}


@pytest.mark.parametrize(
    ("message", "where"), [(message, one) for message, several in BAD_PLANS.items() for one in several]
)
def test_a_plan_that_would_read_beyond_a_row_is_refused(message, where, tmp_path):
    path = tmp_path / "model"
    saccade.save(ATTENTIVE["attentive"](), path)
    with pytest.raises(ModelFileError, match=message):
        saccade.load(altered(path, lambda inner, header, body: write_array(header, body, *where), tmp_path / "bad"))


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 7, b"\xff" * 100, b"{}", pickle.dumps({"a": 1}), struct.pack("<Q", 2**62) + b"{}"]
)
def test_what_is_no_model_is_refused(content, tmp_path):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        saccade.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        saccade.load(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["several", "pipeline"])
def test_not_one_wrong_bit_loads(name, tmp_path):
    path, target = tmp_path / "model", tmp_path / "mutant"
    saccade.save(MODELS[name](), path)
    content, rng = path.read_bytes(), random.Random(name)
    for bit in [*range(8 * 300), *rng.sample(range(8 * len(content)), 1500)]:
        mutant = bytearray(content)
        mutant[bit // 8] ^= 1 << bit % 8
        target.write_bytes(mutant)
        with pytest.raises(ModelFileError):
            saccade.load(target)


def test_a_number_that_an_older_learner_did_not_keep_is_as_in_a_new_one(tmp_path):
    """A later version may keep one more number: files without it must load, with what a learner begins with."""
    path = tmp_path / "model"
    saccade.save(Pegasos(random_state=0).fit(X, y), path)
    archive = read_archive(path)
    write_archive(path, archive.header, {name: array for name, array in archive.arrays.items() if name != "tracked"})
    model = saccade.load(path)
    assert model._learners[0].counters[state.TRACKED] == 0
    np.testing.assert_array_equal(model.full_margin(X), Pegasos(random_state=0).fit(X, y).full_margin(X))


def test_every_number_of_a_learner_is_kept_under_its_own_name():
    for entries, size in ((SCALARS, state.SCALARS_SIZE), (COUNTERS, state.COUNTERS_SIZE)):
        assert sorted(getattr(state, entry.upper()) for entry in entries) == list(range(size))


def test_the_weights_stand_in_a_file_once(tmp_path):
    saccade.save(MODELS["classes"](), tmp_path / "model")
    shapes = [array.shape for array in read_archive(tmp_path / "model").arrays.values()]
    assert shapes.count((4, 20)) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # weights that a mutation made huge
@pytest.mark.parametrize("name", ["Pegasos", "several", "attentive", "pipeline"])
def test_no_mutation_of_a_file_crashes_or_loads_a_model_that_crashes(name, tmp_path):
    """Bytes changed, cut and doubled at random: a clear error, or a model that reads rows without harm.

    The mutants have a digest that is right, as a hostile file would.
    """
    path, target = tmp_path / "model", tmp_path / "mutant"
    saccade.save(MODELS[name](), path)
    content, rng, refused = path.read_bytes(), random.Random(name), 0
    (length,) = struct.unpack("<Q", content[:8])
    for _ in range(examples(2500)):
        mutant = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            # Most of a file is arrays; half of the changes are made in its header.
            at = rng.randrange(min(8 + length, len(mutant)) if rng.random() < 0.5 else len(mutant))
            match rng.randrange(5):
                case 0:
                    mutant[at] = rng.randrange(256)
                case 1:
                    mutant[at] ^= 1 << rng.randrange(8)
                case 2:
                    del mutant[at : at + rng.randrange(1, 50)]
                case 3:
                    mutant[at:at] = mutant[at : at + rng.randrange(1, 50)]
                case 4:
                    mutant = mutant[: max(at, 1)]
            if len(mutant) < 2:
                break
        with contextlib.suppress(ValueError):  # no digest is left
            mutant = signed(bytes(mutant))
        target.write_bytes(mutant)
        try:
            model = saccade.load(target)
        except ModelFileError:
            refused += 1
            continue
        rows = pd.DataFrame(rows_for(name))[:5]
        named = hasattr(model, "feature_names_in_")
        with contextlib.suppress(ValueError):  # a weight may have become too large to sum
            model.read(rows.set_axis(model.feature_names_in_, axis=1) if named else rows.to_numpy())
    assert refused > examples(1000)


KEPT = sorted((Path(__file__).parent / "models").glob("format-*.saccade"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_old_files_still_load_and_predict_as_they_did(path):
    model = saccade.load(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    rows = np.random.default_rng(0).normal(size=(50, model.n_features_in_))
    reading = model.read(rows)
    assert reading.label.tolist() == expected["label"]
    assert reading.n_read.tolist() == expected["n_read"]
    np.testing.assert_allclose(reading.margin, expected["margin"], rtol=1e-9)


def test_a_file_of_every_format_is_kept():
    assert {int(path.stem.split("-")[1]) for path in KEPT} == set(range(1, FORMAT + 1))


def test_a_plan_longer_than_its_features_a_singular_regression_and_a_plan_that_stops_unproved_are_refused(tmp_path):
    path = tmp_path / "model"
    saccade.save(MODELS["attentive"](), path)
    archive = read_archive(path)
    arrays, header = archive.arrays, {key: value for key, value in archive.header.items() if key != "sha256"}
    long = np.concatenate([arrays["plan.order"], np.zeros(40, dtype=np.uint32)])
    factor = arrays["regression.factor"].copy()
    factor[0, 0] = 0.0
    unproved = {"delta": 1e-12, "features_per_row": 20.0}
    certificate = {**header["certificate"], **unproved}
    for changed, new_header, message in [
        ({"plan.order": long}, header, "plan is impossible"),
        ({"regression.factor": factor}, header, "regression is impossible"),
        ({}, {**header, "certificate": certificate}, "contradicts itself"),
    ]:
        write_archive(tmp_path / "bad", new_header, {**arrays, **changed})
        with pytest.raises(ModelFileError, match=message):
            saccade.load(tmp_path / "bad")


@pytest.mark.parametrize("dtype", ["U10", "U1", object, np.int8, np.float32, bool])
def test_labels_keep_their_type(dtype, tmp_path):
    kinds = np.array(["a", "b"], dtype=dtype)[y] if dtype in ("U10", "U1", object) else y.astype(dtype)
    saccade.save(Pegasos(random_state=0).fit(X, kinds), tmp_path / "model")
    loaded = saccade.load(tmp_path / "model")
    assert loaded.classes_.dtype == loaded.predict(X).dtype == np.dtype(dtype)


@pytest.mark.parametrize("width", ["<U1", "<U0", "<U99999999"])
def test_a_width_that_labels_do_not_have_is_not_believed(width):
    classes = decode_labels({"dtype": width, "labels": ["elm", "oak"]})
    assert classes.tolist() == ["elm", "oak"]
    assert classes.nbytes < 10**6

"""Saved models: the same bits after loading, whole files or none, and nothing that a hostile file can do."""

import collections
import contextlib
import fcntl
import functools
import os
import pickle
import re
import stat
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.preprocessing as sp
from catboost import CatBoostClassifier
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from interpret.glassbox import ExplainableBoostingClassifier
from lightgbm import LGBMClassifier
from numpy.testing import assert_equal
from safetensors.numpy import save_file
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

import saccade
from data import correlated
from saccade import AttentiveClassifier, CurvedSTST, Pegasos
from saccade.exceptions import ModelFileError
from saccade.files.archive import read_archive, signed, write_archive
from saccade.files.writing import writing_whole

N, FITTED = 2000, 800  # rows, and how many of them fit a model; the others certify it
X, y = correlated(N, 20, seed=0, separation=2.0)
X4, kinds = correlated(N, 20, seed=1, separation=4.0, classes=4)
FRAME = pd.DataFrame(X).add_prefix("f")
WOODS, OBJECTS = np.array(["ash", "elm", "fir", "oak"])[kinds], np.array(["no", "yes"], dtype=object)[y]

rng = np.random.default_rng(0)
CITIES = ["Bonn", "Kyiv", "Oslo", "Riga"]
NAMES = ["city", "age", "debt", "hours", "income", "visits", "level", "member"]
TABLE = pd.DataFrame(rng.normal(size=(N, 24)).round(3), columns=[*NAMES, *(f"unused{k}" for k in range(16))])
TABLE["city"], TABLE["member"] = rng.choice(CITIES, N).astype(object), rng.random(N) < 0.3
TABLE["age"], TABLE["income"] = rng.integers(18, 80, N).astype(float), np.exp(3 + TABLE.income)
TABLE["visits"], TABLE["level"] = rng.integers(0, 6, (2, N))
SCORE = (TABLE.age - 45) / 12 + 2 * (TABLE.city == "Oslo") + TABLE.debt + (TABLE.visits == 3) + np.log(TABLE.income) - 3
TWO, THREE = np.where(SCORE > 0, "yes", "no"), np.digitize(SCORE, [-0.7, 0.8])
TABLE.loc[rng.random(N) < 0.1, "age"] = np.nan
NUMBERS, WHOLE = TABLE[NAMES[1:5]].to_numpy(), TABLE[NAMES[1:5]].fillna(0.0).to_numpy()
CODES = TABLE[["age", "debt", "income"]].assign(city=pd.Categorical(TABLE.city, CITIES))
CODES.loc[rng.random(N) < 0.1, "city"] = np.nan


def pipeline():
    """Return a pipeline whose archive has every kind of map."""
    steps = make_column_transformer(
        (make_pipeline(sp.PowerTransformer(), SimpleImputer(add_indicator=True)), ["age"]),
        (sp.OneHotEncoder(handle_unknown="ignore"), ["city", "visits"]),
        (sp.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99), ["level"]),
        (make_pipeline(sp.StandardScaler(), sp.PolynomialFeatures(2)), ["debt", "hours"]),
        (sp.QuantileTransformer(n_quantiles=20, output_distribution="normal"), ["hours"]),
        (sp.KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), ["income"]),
        (make_pipeline(sp.SplineTransformer(4), SelectKBest(k=4)), ["income"]),
        (make_pipeline(sp.FunctionTransformer(np.log1p), sp.MinMaxScaler(clip=True)), ["income"]),
        (sp.Binarizer(threshold=20.0), ["income"]),
        ("passthrough", ["visits", "member"]),
    )
    return make_pipeline(steps, LogisticRegression(max_iter=1000))


SMALL, LOOSE = {"n_estimators": 20, "random_state": 0, "n_jobs": 1}, {"delta": 0.2, "when_too_few": "read"}
EBM = ExplainableBoostingClassifier(interactions=1, max_rounds=200, outer_bags=1, n_jobs=1, random_state=0)
HISTOGRAMS = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype", random_state=0)
PRICES = {"costs": {"sample": 5.0, "f7": 2.0}, "groups": {"sample": ["f1", "f2", "f3"]}}
FEW, WEIGHTED = (
    {"boundary": saccade.Budget(9), "order": "sampled"},
    {"class_weight": {"no": 1.0, "yes": 3.0}, "audit": 0},
)
# The model, all of its rows and labels, and what attend is given; None for models that are saved as fit leaves them.
MODELS = {
    "Pegasos": (Pegasos(random_state=0), X, y, None),
    "Pegasos, single": (Pegasos(random_state=0, average=False), X.astype(np.float32), y.astype(np.float32), None),
    "Pegasos, named": (Pegasos(0.1, boundary=saccade.ConstantSTST(0.2, "printed"), random_state=1), FRAME, y > 0, None),
    "Perceptron, classes": (saccade.Perceptron(boundary=CurvedSTST(0.05), random_state=3), X4, WOODS, None),
    "passive-aggressive": (saccade.PassiveAggressive(random_state=0, **FEW), X, OBJECTS.astype("U10"), None),
    "exponentiated gradient": (saccade.ExponentiatedGradient(random_state=0, **WEIGHTED), X, OBJECTS, None),
    "own learner": (AttentiveClassifier(delta=0.1, random_state=0), X, y, None),
    "logistic": (LogisticRegression(), X, y, {"delta": 0.1}),
    "logistic, classes": (LogisticRegression(), X4, WOODS, {"delta": 0.1}),
    "logistic, curved": (LogisticRegression(), X, y, {"delta": {0: 0.1, 1: 0.3}, "boundary": CurvedSTST(0.01)}),
    "logistic, threshold": (LogisticRegression(), X, y, {"delta": 0.1, "threshold": 0.3, "promise": "accuracy"}),
    "logistic, columns": (LogisticRegression(), X, y, {"delta": 0.1, "fewest": "columns", "costs": [*range(1, 21)]}),
    "logistic, costs": (make_pipeline(sp.StandardScaler(), LogisticRegression()), FRAME, y, {"delta": 0.1, **PRICES}),
    "pipeline": (pipeline(), TABLE, TWO, LOOSE),
    "pipeline, classes": (pipeline(), TABLE, THREE, LOOSE),
    "naive Bayes": (GaussianNB(), WHOLE, THREE, LOOSE),
    "EBM": (EBM, CODES.fillna({"age": 40, "city": "Oslo"}), TWO, LOOSE),
    "LightGBM": (LGBMClassifier(**SMALL, verbose=-1), CODES, TWO, LOOSE),
    "LightGBM, zeros": (LGBMClassifier(**SMALL, verbose=-1, zero_as_missing=True), WHOLE, THREE, LOOSE),
    "XGBoost": (XGBClassifier(**SMALL, enable_categorical=True), CODES, THREE, LOOSE),
    "CatBoost": (CatBoostClassifier(20, verbose=0, allow_writing_files=False, thread_count=1), NUMBERS, THREE, LOOSE),
    "histograms": (HISTOGRAMS, CODES, TWO, LOOSE | {"threshold": 0.4}),
    "forest": (RandomForestClassifier(**SMALL, max_depth=6), NUMBERS, TWO, LOOSE),
    "AdaBoost": (AdaBoostClassifier(n_estimators=20, random_state=0), WHOLE, TWO, LOOSE),
    "gradient boosting": (GradientBoostingClassifier(n_estimators=20, random_state=0), WHOLE, THREE, LOOSE),
}
LEARNERS = list(MODELS)[:6]
CERTIFIED = [name for name, (*_, options) in MODELS.items() if options is not None]


def made(estimator, rows, labels, options):
    if options is None:
        return estimator.fit(rows, labels)
    estimator.fit(rows[:FITTED], labels[:FITTED])
    return saccade.attend(estimator, rows[FITTED:], labels[FITTED:], random_state=0, **options)


fitted = functools.cache(lambda name: made(*MODELS[name]))


def reloaded(model, folder):
    saccade.save(model, folder / "model")
    return saccade.load(folder / "model")


@pytest.mark.parametrize("name", MODELS)
def test_loaded_model_reads_the_same_bits_and_is_saved_to_the_same_bytes(name, tmp_path):
    model, rows = fitted(name), MODELS[name][1]
    loaded = reloaded(model, tmp_path)
    assert type(loaded) is type(model)
    assert name in LEARNERS or model.plan_.checkpoints.size > 1
    assert_equal(vars(loaded.read(rows)), vars(model.read(rows)))
    assert_equal(loaded.full_margin(rows), model.full_margin(rows))
    assert loaded.predict(rows).dtype == loaded.classes_.dtype == model.classes_.dtype
    assert_equal(*(one.plans_ if name in LEARNERS else one.plan_ for one in (loaded, model)))
    kept, given = ({**one.get_params(deep=False), "estimator": None} for one in (loaded, model))
    assert {key: repr(value) for key, value in kept.items()} == {key: repr(value) for key, value in given.items()}
    assert list(getattr(loaded, "feature_names_in_", [])) == list(getattr(model, "feature_names_in_", []))
    saccade.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_loaded_learner_refuses_to_go_on_learning_but_can_be_fitted_anew(name, tmp_path):
    model, (_, rows, labels, _) = fitted(name), MODELS[name]
    loaded = reloaded(model, tmp_path)
    assert (loaded.training_, loaded.n_iter_, loaded.t_) == (model.training_, model.n_iter_, model.t_)
    for go_on in (loaded.partial_fit, loaded.set_params(warm_start=True).fit):
        with pytest.raises(ValueError, match="was loaded from a model file"):
            go_on(rows, labels)
    assert_equal([loaded.coef_, loaded.intercept_], [model.coef_, model.intercept_])
    assert_equal(loaded.set_params(warm_start=False).fit(rows, labels).coef_, model.coef_)


@pytest.mark.parametrize("name", CERTIFIED)
def test_loaded_model_is_certified_again_to_the_same_plan(name, tmp_path):
    model, (_, rows, labels, options) = fitted(name), MODELS[name]
    loaded = reloaded(model, tmp_path)
    assert loaded.columns_ == model.columns_
    assert len(repr(loaded)) < 600
    assert_equal(loaded.estimator_.predict(rows), np.ravel(model.estimator_.predict(rows)))
    assert_equal(loaded.estimator_.decision_function(rows), model.full_margin(rows))
    again = saccade.attend(loaded.estimator_, rows[FITTED:], labels[FITTED:], random_state=0, **options)
    assert_equal(again.plan_, model.plan_)
    assert again.certificate_ == pickle.loads(pickle.dumps(loaded)).certificate_ == model.certificate_
    with pytest.raises(ValueError, match="only the weights at threshold"):
        saccade.attend(loaded.estimator_, rows[FITTED:], labels[FITTED:], **options | {"threshold": 0.55})
    with pytest.raises(TypeError, match="cannot be fitted again"):
        loaded.estimator_.estimator.fit(rows, labels)


def answers(inquiry, row):
    while (feature := inquiry.wanted) is not None:
        inquiry.tell(None if pd.isna(row[feature]) else row[feature])
    return inquiry.label, inquiry.asked, inquiry.spent, inquiry.confidence, inquiry.certified, inquiry.outside


@pytest.mark.parametrize("name", CERTIFIED)
def test_loaded_model_asks_the_same_questions_and_resumes_inquiries(name, tmp_path):
    model, rows = fitted(name), pd.DataFrame(MODELS[name][1])
    loaded = reloaded(model, tmp_path)
    for k in range(20):
        assert answers(loaded.inquire(), rows.iloc[k]) == answers(model.inquire(), rows.iloc[k])
    inquiry = model.inquire()
    inquiry.tell(rows.iloc[0][inquiry.wanted])
    resumed = loaded.resume(inquiry.to_json())
    assert (resumed.wanted, resumed.spent, resumed.confidence) == (inquiry.wanted, inquiry.spent, inquiry.confidence)
    assert answers(resumed, rows.iloc[0]) == answers(inquiry, rows.iloc[0])


def test_loaded_model_knows_the_values_that_certified_it(tmp_path):
    rows, usual = CODES[FITTED:], {"age": 40.0, "debt": 0.0, "income": 20.0, "city": "Riga"}
    model = saccade.attend(fitted("LightGBM").estimator_, rows[rows["city"] != "Oslo"], random_state=0, **LOOSE)
    loaded = reloaded(model, tmp_path)
    for unseen in ({}, {"city": "Oslo"}, {"age": 81.0}, {"debt": -9.0}):
        inquiry = loaded.inquire(known=usual | unseen)
        assert (inquiry.outside, inquiry.certified) == (unseen, not unseen)


OWN = type("OwnScaler", (sp.StandardScaler,), {})()  # which saccade does not know, and uses as it is
CUBE = sp.FunctionTransformer(lambda values: values**3)
UNSAVEABLE = {
    "LogisticRegression cannot be saved, only Pegasos.*saccade.attend": (LogisticRegression(), X, y, None),
    "random_state=.* cannot be saved": (Pegasos(random_state=np.random.RandomState(0)), X, y, None),
    "classes .* only numbers and texts": (Pegasos(), X, np.array(["2020", "2021"], dtype="M8[Y]")[y], None),
    "groups=.* cannot be saved": (LogisticRegression(), X, y, LOOSE | {"groups": {("a", 1): [1, 2]}}),
    "<function <lambda> .* of column 'f.*pickled": (make_pipeline(CUBE, LogisticRegression()), FRAME, y, LOOSE),
    "OwnScaler .* column 'f0'.*pickled": (make_pipeline(OWN, LogisticRegression()), FRAME[["f0"]], y, LOOSE),
    "categories of column 1 cannot be saved": (HISTOGRAMS, FRAME.assign(f1=pd.cut(FRAME.f1, 3)), y, LOOSE),
}


@pytest.mark.parametrize("reason", UNSAVEABLE)
def test_unsaveable_model_is_refused_and_nothing_is_written(reason, tmp_path):
    model = made(*UNSAVEABLE[reason])
    with pytest.raises(TypeError, match=reason):
        saccade.save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="Pegasos instance is not fitted"):
        saccade.save(Pegasos(), tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_crash_while_saving_leaves_the_old_file(tmp_path, monkeypatch):
    saccade.save(fitted("Pegasos"), tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    monkeypatch.setattr(os, "replace", lambda *paths: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        saccade.save(fitted("logistic"), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_link_is_written_through_with_usual_permissions(tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    path.touch()
    link.symlink_to(path)
    mode = path.stat().st_mode
    saccade.save(fitted("logistic"), link)
    assert link.is_symlink()
    assert saccade.load(path).certificate_ == fitted("logistic").certificate_
    assert path.stat().st_mode == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
def test_overwritten_file_keeps_its_permissions_and_a_new_one_has_the_usual_ones(mode, tmp_path):
    saved = []
    for umask in (0o077, 0o022):
        before = os.umask(umask)
        try:
            path = tmp_path / f"{umask}"
            with writing_whole(path) as file:
                file.write(b"old")
            assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
            path.chmod(mode)
            with writing_whole(path):
                (scratch,) = tmp_path.glob(".*")
                assert stat.S_IMODE(scratch.stat().st_mode) == mode
            assert stat.S_IMODE(path.stat().st_mode) == mode
            saved.append(path)
        finally:
            os.umask(before)
    assert sorted(tmp_path.iterdir()) == sorted(saved)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_overwritten_file_keeps_its_owner(tmp_path):
    path = tmp_path / "model"
    path.touch()
    os.chown(path, 12345, 54321)
    saccade.save(fitted("Pegasos"), path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


@pytest.mark.parametrize("kind", ["FIFO", "link to a pipe"])
def test_what_is_no_file_is_written_to_as_it_is(kind, tmp_path):
    saccade.save(fitted("Pegasos"), tmp_path / "model")
    expected = (tmp_path / "model").read_bytes()
    if kind == "FIFO":
        os.mkfifo(tmp_path / "fifo")
        reading, path, ends = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK), tmp_path / "fifo", []
    else:
        reading, writing = os.pipe()  # where /dev/stdout often leads
        path, ends = Path(f"/dev/fd/{writing}"), [writing]
    try:
        saccade.save(fitted("Pegasos"), path)
        assert os.read(reading, len(expected) + 1) == expected
        assert stat.S_ISFIFO(path.stat().st_mode)
    finally:
        for end in (reading, *ends):
            os.close(end)


def test_device_stays_a_device(tmp_path):
    try:
        os.mknod(tmp_path / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        open(tmp_path / "null", "wb").close()
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")
    saccade.save(fitted("Pegasos"), tmp_path / "null")
    assert stat.S_ISCHR((tmp_path / "null").stat().st_mode)
    assert os.listdir(tmp_path) == ["null"]


def test_folder_is_no_place_for_a_model(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="folder"):
        saccade.save(fitted("Pegasos"), tmp_path / "folder")
    with pytest.raises(FileNotFoundError, match=r"'.*/nowhere/model'"):
        saccade.save(fitted("Pegasos"), tmp_path / "nowhere" / "model")


WRITE_SLOWLY = """
import sys
from pathlib import Path
from saccade.files.writing import writing_whole
with writing_whole(Path(sys.argv[1])) as file:
    file.write(b"whole")
    file.flush()
    print("begun", flush=True)
    sys.stdin.readline()
"""


def test_scratch_files_of_killed_processes_are_removed_by_the_next_save(tmp_path):
    killed, alive = (
        subprocess.Popen(
            [sys.executable, "-c", WRITE_SLOWLY, str(tmp_path / name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("killed", "alive")
    )
    elsewhere = tmp_path / ".saccade-another.host-1-0"
    elsewhere.touch()  # whose processes nobody here knows
    with killed, alive:
        assert killed.stdout.readline() == alive.stdout.readline() == "begun\n"
        (of_killed,), (of_alive,) = (list(tmp_path.glob(f".saccade-*-{own.pid}-*")) for own in (killed, alive))
        killed.kill()
        killed.wait()
        reused = of_killed.rename(str(of_killed).replace(f"-{killed.pid}-", f"-{alive.pid}-"))  # that has its number
        saccade.save(fitted("Pegasos"), tmp_path / "model")
        assert not reused.exists()
        assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "model", of_alive, elsewhere])
        alive.communicate("go on\n")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "model", tmp_path / "alive", elsewhere])
    assert (tmp_path / "alive").read_bytes() == b"whole"


def test_scratch_file_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, taken = fcntl.flock, []

    def take_first(file, mode):
        if not taken:
            taken.extend(tmp_path.iterdir())
            taken[0].unlink()
        lock(file, mode)

    monkeypatch.setattr(fcntl, "flock", take_first)
    saccade.save(fitted("Pegasos"), tmp_path / "model")
    assert taken
    assert os.listdir(tmp_path) == ["model"]


def test_file_that_is_no_model_or_has_one_wrong_bit_is_refused(tmp_path):
    path = tmp_path / "model"
    saccade.save(fitted("Perceptron, classes"), path)
    size, number = path.stat().st_size, int.from_bytes(path.read_bytes(), "little")
    bits = [
        *range(8 * 130),
        *np.random.default_rng(0).integers(8 * size, size=500).tolist(),
    ]  # the digest ends before byte 130
    damaged = [(number ^ (1 << bit)).to_bytes(size, "little") for bit in bits]
    for content in (b"", b"\0" * 7, b"\xff" * 100, b"{}", pickle.dumps({}), (2**62).to_bytes(8, "little"), *damaged):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="model cannot be loaded"):
            saccade.load(path)


def other_files(folder):
    """Write files that others write, and return by name what they are."""
    rows, labels = X[:60], y[:60]
    trees = LGBMClassifier(n_estimators=2, verbose=-1).fit(rows, labels).booster_
    gradient, symmetric = XGBClassifier(n_estimators=2).fit(rows, labels), fitted("CatBoost").estimator_.estimator
    trees.save_model(folder / "LightGBM.txt")
    gradient.save_model(folder / "XGBoost.json")
    gradient.save_model(folder / "XGBoost.ubj")
    symmetric.save_model(str(folder / "CatBoost.cbm"))
    joblib.dump(gradient, folder / "model.joblib")
    joblib.dump(gradient, folder / "model.joblib.z", compress=3)
    joblib.dump(gradient, folder / "model.joblib.gz", compress=("gzip", 3))
    (folder / "model.pickle").write_bytes(pickle.dumps(gradient))
    np.savez(folder / "arrays.npz", rows)
    FRAME.to_csv(folder / "rows.csv")
    FRAME.to_parquet(folder / "rows.parquet")
    save_file({"weights": rows}, folder / "weights.safetensors")
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    (folder / "noise").write_bytes(np.random.default_rng(0).bytes(1000))
    return {
        "LightGBM.txt": "a model file of LightGBM",
        "XGBoost.json": "a model file of XGBoost",
        "XGBoost.ubj": "a model file of XGBoost",
        "CatBoost.cbm": "a model file of CatBoost",
        "model.joblib": "a pickle, as pickle and joblib write it",
        "model.joblib.z": "compressed (zlib), as joblib does it",
        "model.joblib.gz": "compressed (gzip)",
        "model.pickle": "a pickle, as pickle and joblib write it",
        "arrays.npz": "a zip archive, such as .skops or .npz",
        "rows.csv": "a text file, such as CSV",
        "rows.parquet": "a Parquet file",
        "weights.safetensors": "arrays (safetensors) that saccade did not write",
        "empty": "empty",
        "folder": "a folder",
        "noise": "damaged, or of a kind that saccade does not know",
    }


def test_a_file_that_is_no_model_is_named_for_what_it_is_with_what_is_accepted(tmp_path):
    for name, kind in other_files(tmp_path).items():
        with pytest.raises(ModelFileError, match=re.escape(f"{name} cannot be loaded: it ")) as caught:
            saccade.load(tmp_path / name)
        said = str(caught.value)
        assert kind in said
        assert "Only files that saccade.save wrote can be loaded" in said
        assert "Error" not in said
    with pytest.raises(FileNotFoundError):
        saccade.load(tmp_path / "none")


def forged(name, change, path):
    """Write the archive of a model with a change, signed as if nothing had happened, and return the path."""
    saccade.save(fitted(name), path)
    archive = read_archive(path)
    del archive.header["sha256"]
    change(archive)
    write_archive(path, archive.header, {own: array for own, array in archive.arrays.items() if array is not None})
    path.write_bytes(signed(path.read_bytes().replace(rb"\"not a number\"", b"NaN".ljust(16))))
    return path


def put(path, *values):
    """Return changes that put a value into the header or the arrays of an archive, by an array's first matching end."""
    first, *way = (int(key) if key.lstrip("-").isdigit() else key for key in path.split("/"))

    def change(value, archive):
        name = next((own for own in archive.arrays if own.endswith(first)), None)
        *outer, last = [name or first, *way]
        place = archive.header if name is None else archive.arrays
        functools.reduce(lambda inside, key: inside[key], outer, place)[last] = value

    return [functools.partial(change, value) for value in values]


def together(*changes):
    return [lambda archive: [change(archive) for change in changes]]


def stops(*values):
    first = np.append(0, values[:-1])
    return together(*put("plan.checkpoints", np.array(values)), *put("plan.first", first), *put("plan.begins", first))


NAN, INF = "not a number", np.inf  # the first stands for NaN in a header
NESTED = functools.reduce(lambda block, _: {"maps": [], "inputs": [block]}, range(400), {"maps": [], "column": 4})
ODD_BOUNDARIES = {"boundary": "os.system", "parameters": {}}, {"boundary": "Budget", "parameters": {"colour": 1}}
LONG = {"dtype": "<U1", "labels": ["x" * 10**6, *map(str, range(3000))]}
EMPTY = put("codes", np.zeros(0)) + put("coded", np.zeros(0, int))
TERM, LOG = "terms/terms/24", "terms/terms/4/blocks/2/maps/0"  # products of two columns, and a function
# What is saved, the reason for which a changed file is refused, and the changes.
HOSTILE = [
    ("Pegasos", "has format|holds a 'Exec'", put("format", 2, True, 1.0, None) + put("class", "Exec")),
    ("Pegasos", "its field", put("class", []) + put("parameters", []) + put("training", {}) + put("t_", -1, 1.5, True)),
    ("Pegasos", "not those of Pegasos", put("parameters/lam", 10**400, -1.0, NAN) + put("parameters/colour", "red")),
    ("Pegasos", "its (lam|b.*) is", put("parameters/lam", {"path": "/"}) + put("parameters/boundary", *ODD_BOUNDARIES)),
    ("Pegasos", "its classes", put("classes/labels", ["a", "b"], [1, 0], [0, 0], [0], [0, 10**400], [0, {}], [0, NAN])),
    ("Pegasos", "its classes", put("classes/dtype", "", "<f8,<f8", "O", "<U1") + put("classes", LONG, None)),
    ("Pegasos", "its names", put("names", ["a"], ["twice"] * 20, [*range(20)])),
    ("Pegasos", "'coef'|no features", put("coef", None, np.zeros((1, 20), int), np.zeros((1, 0)))),
    ("Pegasos", "not finite", put("coef/0/3", np.nan) + put("plan.0.weights/0/0", np.inf)),
    ("logistic", "kind|not those", put("kind", "pickle") + put("parameters/delta", -1) + put("parameters/order", "rm")),
    ("logistic", "plan is impossible", put("plan.order/0", 10**9) + put("plan.order", np.arange(60, dtype=np.uint32))),
    ("logistic", "plan is impossible", stops(2**62, -(2**63), -(2**62), 2) + stops(3, 4, 5, -(2**63))),
    ("logistic", "plan is", put("checkpoints/0", -5) + put("checkpoints/-1", 21) + put("weights", np.zeros((1, 1)))),
    ("logistic", "(plan|regression) is", put("begins/1", 7) + put("first/1", 9) + put("regression.order/0", 999, -1)),
    ("logistic", "impossible", put("factor/0", 0.0) + put("purchase/0", 10**6, -1) + put("price/0", -1.0)),
    ("logistic", "certificate", put("certificate/delta", 10**400, 1e-12, NAN) + put("certificate/by_stage", [[1, 2]])),
    ("logistic", "certificate", put("certificate/by_class", [[1, 1, 0, 0]]) + put("certificate/disagreement", -0.1)),
    ("logistic", "certificate", put("certificate/by_class", [[-1, 1, 0, 0]] * 2) + put("certificate/promise", "all")),
    ("logistic", "certificate", put("certificate/confidence", 1.0) + put("certificate/features_per_row", NAN, 21.0)),
    ("logistic", "certificate", put("certificate/worse", 0.5) + put("certificate/n_features", 3)),
    ("logistic", "certificate", put("certificate/cost_per_row", -1.0, 1e9, "x")),
    ("logistic", "certificate", put("certificate/stored_per_row", 1e-9, "x")),
    ("CatBoost", "about (19|60) trees", put("certificate/n_features", 19, 60)),  # of 20 with three outputs each
    ("LightGBM", "codes", put("coded/3", 4, 2) + put("codes/0", 2.0, 1.0, np.nan) + put("codes/3", np.inf)),
    ("LightGBM", "code", put("coded/0", -1) + put("coded", np.full(3, 3), np.full(4, 3.0), None) + together(*EMPTY)),
    ("LightGBM", "children", put("nodes.left/0", 2**31 - 2, -5, 1000) + put("nodes.left/1", 0)),  # 1000: another tree's
    ("LightGBM", "that there|begin", put("column/0", 4, -1) + put("score/0", 9) + put("root/-1", 2**31 - 1, 0)),
    ("LightGBM", "leaves", put("threshold/-1", 0.0) + put("missing_left/-1", False) + put("first_word/-1", 0)),
    ("LightGBM", "words|begin", put("first_word/0", 2**31 - 1) + put("n_words/0", 2**31 - 1) + put("root/0", 1)),
    ("LightGBM", "number|dtype", put("least_category/0", -1e300) + put("divisor/0", 0.0) + put("trees/sum_dtype", "O")),
    ("LightGBM", "not finite", put("value/0/0", np.nan) + put("nodes.threshold/0", np.nan)),
    ("LightGBM", "its cat", put("trees/categories", [[77, True, False, "texts", []]], [[3, True, False, "O,O", [1]]])),
    ("LightGBM", "prices.purchase", put("trees/n_columns", 0, 2**31)),
    ("EBM", "terms.[04]", put("terms.4.table", np.zeros((6, 3, 1))) + put("terms.0.edges.0/1", -1e9)),
    ("pipeline", "purchase|terms", put("terms/n_columns", 0, 2**31) + put("terms", []) + put("terms/terms", [{}])),
    ("pipeline", "terms.0.table", put("terms.0.table", np.zeros((5, 1)), np.zeros((6, 2)), np.full((6, 1), np.inf))),
    ("pipeline", "finite|constant", put("intercept/0", np.nan) + put("terms.5.coefficients", np.zeros((13, 1, 0)))),
    ("pipeline", "terms.5", put("terms.5.edges/1", -1e9, 0.0, np.nan) + put("terms.5.origin", np.zeros(9))),
    ("pipeline", "column (0|2)", put("terms/terms/0/kind", "pieces") + put("terms/terms/2/kind", "table")),
    ("pipeline", "no term|needs", put("terms/terms/1/columns", [2]) + put(f"{TERM}/columns", [2, 77], [2, 2], [2])),
    ("pipeline", "no (feat|bl)", put(f"{TERM}/blocks", [], [{"lookup": 0}]) + put("terms/terms/4/blocks", [NESTED])),
    ("pipeline", "and 16384 scores", put("classes", {"dtype": "<i8", "labels": [*range(2**14)]})),
    ("pipeline", "its categories", put("terms/categories/0", [0, 1], [0, True, False, "texts", CITIES])),
    ("pipeline", "not all|no term", put("terms/categories/0/4/1", "Bonn", "\ud800") + put("terms/terms/0/kind", "rm")),
    ("pipeline", "no (map|function) that", put(LOG, {"map": "Foreign"}) + put(f"{LOG}/function", "save")),
    ("pipeline", "blocks", put(".places/0", 77) + put(".powers/0/0", -1) + put(".over/0", 0.0) + put(".knots/0", 99.0)),
    ("pipeline", "finite", put("maps.0.edges/0", INF) + put("maps.1.values/0", INF) + put("3.maps.0.value/0", INF)),
    ("pipeline", "finite", put("maps.2.low/0", INF) + put("maps.2.value/0", INF) + put("1.maps.2.missing/0", INF)),
    ("pipeline", "blocks", put("exponents", np.ones(2)) + put("quantiles/0", 1e9) + put("references", np.ones(2))),
]


@pytest.mark.parametrize(("name", "reason", "change"), [(*row, own) for *row, changes in HOSTILE for own in changes])
def test_hostile_file_is_refused_with_the_reason(name, reason, change, tmp_path):
    with pytest.raises(ModelFileError, match=f"forged cannot be loaded: .*({reason})"):
        saccade.load(forged(name, change, tmp_path / "forged"))


def test_term_of_many_columns_takes_little_memory(tmp_path):
    columns = [2, 3, *range(8, 24)]
    block = {"maps": [], "inputs": [{"maps": [], "column": column} for column in columns]}
    wide = (
        put(f"{TERM}/columns", columns) + put(f"{TERM}/blocks", [block]) + put("terms.24.weights.0", np.ones((1, 18)))
    )
    model = saccade.load(forged("pipeline", together(*wide)[0], tmp_path / "forged"))
    assert model.inquire().wanted is not None


def is_refused(path, name):
    """Return whether a file is no model; else read some rows, which may have become too large to sum."""
    try:
        model = saccade.load(path)
    except ModelFileError:
        return True
    with contextlib.suppress(ValueError):
        model.read(MODELS[name][1][:40])
    with contextlib.suppress(ValueError):
        name in LEARNERS or answers(model.inquire(), collections.defaultdict(float))
    return False


def ways(entry, path=""):
    """Yield the path of everything in a header."""
    items = entry.items() if isinstance(entry, dict) else enumerate(entry) if isinstance(entry, list) else ()
    for key, inside in items:
        yield f"{path}{key}"
        yield from ways(inside, f"{path}{key}/")


ODD = [0, 1, -1, 2, 3, 7, 31, 32, 33, 255, 2**15, 2**31 - 1, -(2**31), 2**32 - 1, 2**62]
ODD_REALS = [0.0, -1.0, 0.5, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan, 2.0**31, 3.0]
ODD_FIELDS = [None, True, -1, 0, 1, 3, 2**31, 1e300, "Scale", "Splines", "Select", "none", "table", (), {}, (0, 0)]
RANDOM = ["Perceptron, classes", "logistic, costs", "pipeline", "EBM", "LightGBM", "CatBoost"]


def changed(array):
    """Return a strategy of arrays with another length, shape, type or entry."""
    odd = np.array(ODD_REALS if array.dtype.kind == "f" else ODD).astype(array.dtype)
    others = [array[:0], array[:-1], np.concatenate([array, array]), array.ravel(), array.astype(np.float32)]
    places = st.integers(0, max(array.size - 1, 0)).map(np.arange(array.size).reshape(array.shape).__eq__)
    return st.sampled_from(others) | st.builds(np.where, places, st.sampled_from(list(odd)), st.just(array))


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:X has feature names")  # huge numbers, lost names
@pytest.mark.parametrize("name", RANDOM)
@settings(max_examples=examples(1500))
@given(data=st.data())
def test_file_with_random_changes_is_refused_or_reads_rows(name, tmp_path_factory, data):
    def change(archive):
        for _ in range(data.draw(st.integers(1, 2))):
            path = data.draw(st.sampled_from([*sorted(archive.arrays), *ways(archive.header)]))
            array = archive.arrays.get(path)
            value = data.draw(st.sampled_from(ODD_FIELDS) if array is None else changed(array))
            put(path, value)[0](archive)

    is_refused(forged(name, change, tmp_path_factory.getbasetemp() / "forged"), name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:X has feature names")
@pytest.mark.parametrize("name", RANDOM)
def test_file_with_random_bytes_is_refused_or_reads_rows(name, tmp_path):
    saccade.save(fitted(name), tmp_path / "model")
    content, random, refused = (tmp_path / "model").read_bytes(), np.random.default_rng(0), 0
    for _ in range(examples(2500)):
        mutant = bytearray(content)
        for _ in range(random.integers(1, 4)):  # half of the changes are made in the header
            at = random.integers(random.choice([len(content), 8 + int.from_bytes(content[:8], "little")]))
            mutant[at : at + random.choice([0, 1, 1, 1, 9, 10**9])] = random.bytes(random.choice([0, 1, 1, 1, 9]))
        with contextlib.suppress(ValueError):  # no digest is left
            mutant = signed(bytes(mutant))
        (tmp_path / "model").write_bytes(mutant)
        refused += is_refused(tmp_path / "model", name)
    assert refused > examples(1000)

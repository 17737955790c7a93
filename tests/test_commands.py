"""``saccade fit``, ``attend``, ``predict``, ``evaluate`` and ``inspect`` on files."""

import inspect
import io
import json
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io as skops
from sklearn.datasets import dump_svmlight_file
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier

import saccade
from data import correlated
from saccade import PassiveAggressive, Pegasos, Perceptron
from saccade.cli.fit import LEARNERS, PARAMETERS
from saccade.cli.main import run
from saccade.data import lines
from saccade.files import models
from saccade.reading import progress

COMMAND = [sys.executable, "-c", "from saccade.cli import main; main()"]
ROWS, LABELS = correlated(9000, 12, seed=3, separation=3.0)
EVERY, labels = ROWS[:6000], LABELS[:6000]
NAMES = [f"f{j}" for j in range(12)]
FRAME = pd.DataFrame(EVERY, columns=NAMES)
HELD_OUT = pd.DataFrame(ROWS[6000:], columns=NAMES)  # to certify on: no model learns from these


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.assign(kind=np.array(["elm", "oak"])[labels])[:5000].to_csv("train.csv", index=False)
    FRAME.assign(kind=np.array(["elm", "oak"])[labels])[5000:].to_parquet("test.parquet", row_group_size=100)
    FRAME.assign(kind=np.array(["elm", "oak"])[labels])[5000:].to_csv("test.csv", index=False)
    return tmp_path


def saccade_prints(capsys, *arguments):
    assert run([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_the_options_of_fit_are_the_parameters_of_the_learners():
    kinds = (Pegasos, Perceptron, PassiveAggressive, saccade.ExponentiatedGradient)
    assert {kind.__name__ for kind in kinds} == set(LEARNERS.values())
    assert set(PARAMETERS) == {name for kind in kinds for name in kind().get_params()}
    for kind in kinds:
        for name, parameter in inspect.signature(kind).parameters.items():
            if parameter.default is not None and name != "boundary":
                kind, says = PARAMETERS[name]
                assert isinstance(parameter.default, kind) or kind is float
                assert says


def test_a_model_is_learned_certified_measured_and_used(folder, capsys):
    said = json.loads(
        saccade_prints(
            capsys,
            *("fit", "train.csv", "--target", "kind", "-o", "m.saccade", "--random-state", 0, "--json"),
            *("--hold-out", 0.3, "--max-iter", 1),
        )
    )
    assert 3400 < said["examples"] < 3600
    assert said["rows measured"] == 5000 - said["examples"]
    assert said["measured on"] == "rows held out of learning"
    assert said["accuracy"] > 0.9 > 0.6 > said["majority class"]
    model = saccade.load("m.saccade")
    assert list(model.feature_names_in_) == NAMES
    assert model.classes_.tolist() == ["elm", "oak"]
    assert model.score(FRAME[5000:], model.classes_[labels[5000:]]) > 0.9
    HELD_OUT.to_csv("held-out.csv", index=False)
    said = saccade_prints(
        capsys,
        "attend",
        "m.saccade",
        "held-out.csv",
        "-o",
        "a.saccade",
        "--delta",
        0.05,
        "--random-state",
        0,
    )
    assert said.startswith("With 95 % confidence, of new rows such as the calibration rows")
    assert "at most 5 % of each class" in said
    attentive = saccade.load("a.saccade")
    assert list(attentive.feature_names_in_) == NAMES
    FRAME.drop(columns="f4").to_csv("fewer.csv", index=False)
    assert run(["attend", "m.saccade", "fewer.csv", "-o", "b.saccade"]) == 1
    assert "no column 'f4'" in capsys.readouterr().err
    reading = attentive.read(FRAME[5000:])
    for data in ("test.csv", "test.parquet"):
        said = json.loads(saccade_prints(capsys, "evaluate", "a.saccade", data, "--target", "kind", "--json"))
        assert said["rows"] == 1000
        assert said["accuracy"] == np.mean(reading.label == attentive.classes_[labels[5000:]])
        assert said["features per row"] == reading.n_read.mean()
        assert said["disagreement with the full read"] <= 0.05
        assert said["certificate"] == str(attentive.certificate_)
        printed = saccade_prints(capsys, "predict", "a.saccade", data, "--target", "kind").splitlines()
        assert printed[0] == "label,margin,n_read"
        assert [line.split(",")[0] for line in printed[1:]] == reading.label.tolist()
        assert [int(line.split(",")[2]) for line in printed[1:]] == reading.n_read.tolist()
    assert (
        saccade_prints(capsys, "predict", "a.saccade", "test.csv", "--target", "kind", "-o", "-").splitlines()
        == printed
    )
    saccade_prints(capsys, "predict", "a.saccade", "test.csv", "--target", "kind", "-o", "out.csv")
    assert (folder / "out.csv").read_text().splitlines() == printed
    shown = saccade_prints(capsys, "inspect", "a.saccade")
    assert "AttentiveClassifier" in shown
    assert str(attentive.certificate_) in shown
    assert json.loads(saccade_prints(capsys, "inspect", "m.saccade", "--json"))["classes"] == ["elm", "oak"]


def test_a_page_shows_the_plan_of_a_certified_model(folder, capsys):
    saccade.save(saccade.attend(LogisticRegression().fit(FRAME, labels), FRAME, delta=0.1), "a.saccade")
    saccade_prints(capsys, "inspect", "a.saccade", "--html", "plan.html")
    page = (folder / "plan.html").read_text()
    assert "<svg" in page
    assert "With 95 % confidence" in page
    assert run(["inspect", "a.saccade", "--html", "plan.html"]) == 2
    saccade_prints(capsys, "inspect", "a.saccade", "--html", "plan.html", "--force")


def test_a_page_shows_a_learner_that_is_not_certified(folder, capsys):
    saccade.save(Pegasos().fit(FRAME, labels), "m.saccade")
    saccade_prints(capsys, "inspect", "m.saccade", "--html", "other.html")
    assert "saccade attend m.saccade DATA" in (folder / "other.html").read_text()


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_without_a_package_for_pages_one_line_names_the_extra(folder, capsys, monkeypatch, package):
    saccade.save(Pegasos().fit(FRAME, labels), "m.saccade")
    for name in [name for name in sys.modules if name.startswith(("saccade.study.report", package))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert run(["inspect", "m.saccade", "--html", "other.html"]) == 2
    assert "saccade[report]" in capsys.readouterr().err
    assert not (folder / "other.html").exists()


def test_a_threshold_is_certified_kept_and_certified_anew(folder, capsys):
    model = LogisticRegression().fit(FRAME[:3000], labels[:3000])
    expected = model.classes_[(model.predict_proba(FRAME)[:, 1] >= 0.8).astype(int)]
    skops.dump(model, "m.skops")
    fixed = FixedThresholdClassifier(LogisticRegression(), threshold=0.8, pos_label=model.classes_[1])
    skops.dump(fixed.fit(FRAME[:3000], labels[:3000]), "fixed.skops")
    arguments = ["train.csv", "--target", "kind", "--delta", "0.1", "--force", "-o", "a.saccade"]
    for given in (
        ["m.skops", "--threshold", "0.8"],
        ["a.saccade"],
        ["a.saccade", "--threshold", "0.8"],
        ["fixed.skops"],
    ):
        assert run(["attend", *given, *arguments]) == 0
        full = saccade.load("a.saccade").full_margin(FRAME) > 0
        np.testing.assert_array_equal(model.classes_[full.astype(int)], expected)
    capsys.readouterr()
    assert run(["attend", "a.saccade", "--threshold", "0.3", *arguments]) == 1
    assert "only the weights at threshold=None are known" in capsys.readouterr().err
    assert run(["attend", "m.skops", "--threshold", "1.2", *arguments]) == 1
    assert "Pass a number above 0 and below 1" in capsys.readouterr().err
    FRAME[FRAME.columns[::-1]].to_csv("turned.csv", index=False)
    skops.dump(FixedThresholdClassifier(model, threshold=0.8), "prefit.skops")  # only the model inside knows the names
    assert run(["attend", "prefit.skops", "turned.csv", *arguments[3:]]) == 0
    assert saccade.load("a.saccade").additive_.columns == tuple(FRAME.columns)


def test_a_skops_file_of_a_linear_model_is_certified_and_another_refused(folder, capsys):
    skops.dump(LogisticRegression().fit(FRAME[:3000], labels[:3000]), "m.skops")
    arguments = ["--target", "kind", "-o", "a.saccade", "--delta", "0.1"]
    said = saccade_prints(capsys, "attend", "m.skops", "train.csv", *arguments)
    assert "at most 10 %" in said
    assert saccade.load("a.saccade").certificate_.delta == 0.1
    skops.dump(DecisionTreeClassifier().fit(FRAME[:300], labels[:300]), "tree.skops")
    assert run(["attend", "tree.skops", "train.csv", *arguments, "--force"]) == 1
    assert "not trusted: sklearn.tree" in capsys.readouterr().err
    skops.dump(QuadraticDiscriminantAnalysis().fit(FRAME[:300], labels[:300]), "quadratic.skops")
    assert run(["attend", "quadratic.skops", "train.csv", *arguments, "--force"]) == 1
    assert "no model that can be read part by part" in capsys.readouterr().err


@pytest.mark.filterwarnings("default:odd:UserWarning")
def test_a_warning_is_one_line(folder, capsys, monkeypatch):
    saccade.save(Pegasos(random_state=0).fit(FRAME[:100], labels[:100]), "m")
    load = models.load_with

    def warn(path):
        warnings.warn("odd", UserWarning, stacklevel=2)
        return load(path)

    monkeypatch.setattr(models, "load_with", warn)
    assert run(["inspect", "m"]) == 0
    assert capsys.readouterr().err == "saccade: odd\n"


def test_an_unexpected_error_is_one_line_and_with_debug_a_traceback(folder, capsys, monkeypatch):
    def fail(path):
        raise ZeroDivisionError("unexpected")

    monkeypatch.setattr(models, "load_with", fail)
    assert run(["inspect", "m"]) == 1
    assert capsys.readouterr().err == "saccade: ZeroDivisionError: unexpected (see it with --debug)\n"
    for arguments in (["--debug", "inspect", "m"], ["inspect", "m", "--debug"]):
        with pytest.raises(ZeroDivisionError):
            run(arguments)


def test_parquet_is_read_by_the_columns_that_are_asked_for(folder, capsys):
    model = LogisticRegression().fit(FRAME[:3000], labels[:3000])
    attentive = saccade.attend(model, HELD_OUT, delta=0.1, promise="rows", random_state=0)
    saccade.save(attentive, "a.saccade")
    unread = NAMES[attentive.plan_.order[-1]]
    assert attentive.read(FRAME[5000:]).n_read.max() < 12
    frame = pd.read_parquet("test.parquet").assign(**{unread: "text that nobody reads"})
    frame.to_parquet("odd.parquet", row_group_size=100)
    assert run(["predict", "a.saccade", "odd.parquet", "--target", "kind"]) == 0
    done = capsys.readouterr()
    assert len(done.out.splitlines()) == 1001
    read, size = (int(part.replace(",", "")) for part in done.err.split(";")[1].split(" bytes")[0].split(" of "))
    assert 0 < read < size


def test_few_columns_are_chosen_by_their_bytes(folder, capsys):
    noisy = HELD_OUT.assign(**{name: HELD_OUT[name].round(1) for name in NAMES[::2]})  # half compress well
    noisy.to_parquet("held-out.parquet")
    saccade.save(Pegasos(random_state=0).fit(FRAME[:5000], labels[:5000]), "m.saccade")
    told = [
        "attend",
        "m.saccade",
        "held-out.parquet",
        "--fewest",
        "columns",
        "--delta",
        "0.2",
        "--random-state",
        0,
        "--json",
    ]
    said = json.loads(saccade_prints(capsys, *told, "-o", "a.saccade"))
    attentive = saccade.load("a.saccade")
    assert attentive.fewest == "columns"
    assert attentive.plan_.most_read == said["most_read"] < 12
    assert attentive.costs[0] < attentive.costs[1] / 2
    assert run(["predict", "a.saccade", "test.parquet", "--target", "kind", "-o", "labels.csv"]) == 0
    read, size = (
        int(part.replace(",", "")) for part in capsys.readouterr().err.split(";")[1].split(" bytes")[0].split(" of ")
    )
    kept = pd.read_parquet("test.parquet", columns=[NAMES[j] for j in attentive.plan_.order])
    assert kept.shape[1] == said["most_read"]
    assert read < size * said["most_read"] / 12


def test_a_missing_value_reads_no_further_columns(folder, capsys):
    model = LogisticRegression().fit(FRAME[:3000], labels[:3000])
    attentive = saccade.attend(model, FRAME[:5000], delta=0.2, fewest="columns", random_state=0)
    saccade.save(attentive, "a.saccade")
    assert attentive.plan_.most_read < 12
    frame = pd.read_parquet("test.parquet")
    frame.loc[frame.index[150], NAMES[attentive.plan_.order[0]]] = np.nan
    frame.to_parquet("gap.parquet", row_group_size=100)
    assert run(["predict", "a.saccade", "gap.parquet", "--skip-bad"]) == 0
    assert "; 1 bad row was" in (said := capsys.readouterr()).err
    frame.assign(**{name: "unread" for k, name in enumerate(NAMES) if k not in attentive.plan_.order}).to_parquet(
        "gap.parquet"
    )
    assert run(["predict", "a.saccade", "gap.parquet", "--skip-bad"]) == 0
    assert capsys.readouterr().out == said.out


def test_numbers_that_are_not_whole_are_labels_too(folder, capsys):
    FRAME.assign(kind=np.array([1.5, 2.0])[labels]).to_parquet("halves.parquet")
    FRAME.assign(kind=np.array([1.5, 2.0])[labels]).to_csv("halves.csv", index=False)
    for name in ("halves.parquet", "halves.csv"):
        saccade_prints(capsys, "fit", name, "--target", "kind", "-o", "m", "--force", "--random-state", 0)
        for data in ("halves.parquet", "halves.csv"):
            said = json.loads(saccade_prints(capsys, "evaluate", "m", data, "--target", "kind", "--json"))
            assert said["accuracy"] > 0.9


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_learning_shows_rows_and_how_far_it_is_on_a_terminal(folder, capsys, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", Terminal())
        patched.setattr(progress, "SECONDS_BEFORE", 0)
        patched.setattr(progress, "SECONDS_BETWEEN", 0)
        output = saccade_prints(capsys, "fit", "train.csv", "--target", "kind", "-o", "m", "--max-iter", 1)
        seen = sys.stderr.getvalue()
    assert "Learning: 100%, 5,000 rows" in seen
    assert "%" not in output


def test_a_missing_value_in_parquet_is_named_where_it_is_needed_or_passed_over(folder, capsys):
    attentive = saccade.attend(LogisticRegression().fit(FRAME, labels), FRAME, delta=0.1, random_state=0)
    saccade.save(attentive, "a.saccade")
    frame = pd.read_parquet("test.parquet")
    frame.loc[frame.index[150], NAMES[attentive.plan_.order[0]]] = np.nan
    frame.to_parquet("gap.parquet", row_group_size=100)
    assert run(["predict", "a.saccade", "gap.parquet", "--target", "kind", "-o", "out.csv"]) == 1
    assert "gap.parquet, row 151: a value that is needed is missing" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()
    assert run(["predict", "a.saccade", "gap.parquet", "--target", "kind", "-o", "out.csv", "--skip-bad"]) == 0
    assert "1 bad row was" in capsys.readouterr().err
    written = (folder / "out.csv").read_text().splitlines()
    assert len(written) == 1001  # lines stay in step with rows
    assert [k for k, line in enumerate(written) if line == ",,"] == [151]


@pytest.mark.parametrize(("command", "value"), [("predict", np.nan), ("evaluate", 1.7e308)])
def test_a_bad_row_of_several_files_is_named_by_its_file_and_its_row_there(command, value, folder, capsys):
    attentive = saccade.attend(LogisticRegression().fit(FRAME, labels), FRAME, delta=0.1, random_state=0)
    saccade.save(attentive, "a.saccade")
    frame = pd.read_parquet("test.parquet").assign(kind=labels[5000:])
    frame[:300].to_parquet("part-1.parquet", row_group_size=100)
    second = frame[300:].reset_index(drop=True)
    second.loc[150, NAMES] = value * np.sign(attentive.additive_.coef[0])  # the margin is missing, or overflows
    second.to_parquet("part-2.parquet", row_group_size=100)
    assert run([command, "a.saccade", "part-*.parquet", "--target", "kind"]) == 1
    assert "part-2.parquet, row 151: a value that is needed" in capsys.readouterr().err
    assert run([command, "a.saccade", "part-*.parquet", "--target", "kind", "--skip-bad"]) == 0


def test_parameters_reach_the_learner(folder, capsys):
    saccade_prints(
        capsys, "fit", "train.csv", "--target", "kind", "-o", "m", "--learner", "passive-aggressive", "--C", 0.5,
        "--boundary", "constant(delta=0.2, form=printed)", "--order", "permuted", "--no-average", "--max-iter", 2,
    )  # fmt: skip
    model = saccade.load("m")
    assert isinstance(model, PassiveAggressive)
    assert (model.C, model.order, model.average, model.max_iter) == (0.5, "permuted", False, 2)
    assert repr(model.boundary) == "ConstantSTST(delta=0.2, form='printed')"
    assert model.training_.n_examples == 10_000


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        (["fit", "train.csv", "--target", "kind", "-o", "m", "--C", "1"], "no parameter of Pegasos", 2),
        (["fit", "train.csv", "--target", "kind", "-o", "m", "--lam", "-1"], "lam", 2),
        (["fit", "train.csv", "--target", "kind", "-o", "m", "--boundary", "wavy"], "expected one of", 2),
        (["fit", "train.csv", "--target", "kind", "-o", "m", "--class-weight", "{0: 1}"], "expected JSON", 2),
        (["fit", "train.csv", "--target", "kind", "-o", "m", "--class-weight", "[1, 2]"], "expected JSON", 2),
        (["fit", "train.csv", "--target", "kind", "-o", "m", "--class-weight", "balanced"], "Give weights", 2),
        (["fit", "train.csv", "--target", "colour", "-o", "m"], "no column 'colour'", 1),
        (["fit", "train.csv", "-o", "m"], "Columns of texts are 'kind'", 1),
        (["fit", "nothing.csv", "--target", "kind", "-o", "m"], "no file", 1),
        (["fit", "train.csv", "--target", "kind", "-o", "test.csv"], "--force", 2),
        (["fit", "train.csv", "--target", "kind", "-o", "no/where/m"], "cannot be written", 2),
        (["fit", "train.csv", "--target", "kind", "-o", "m", "--resume"], "name the checkpoint", 2),
        (["predict", "train.csv", "test.csv"], "cannot be loaded", 1),
        (["inspect", "nothing"], "No such file", 1),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(folder, arguments, message, status, capsys):
    before = sorted(path.name for path in folder.iterdir())
    assert run(arguments) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert len(said.err.splitlines()) == 1
    assert sorted(path.name for path in folder.iterdir()) == before


def test_bad_rows_stop_learning_or_are_counted(folder, capsys):
    with open("train.csv", "a") as file:
        file.write("1,2,3\n")
    assert run(["fit", "train.csv", "--target", "kind", "-o", "m"]) == 1
    assert "train.csv, line 5002: it has 3 fields, not 13" in capsys.readouterr().err
    given = ("fit", "train.csv", "--target", "kind", "-o", "m", "--skip-bad", "--json", "--max-iter", 1)
    said = json.loads(saccade_prints(capsys, *given))
    assert said["bad rows"] == 1
    assert said["examples"] == 5000


def test_columns_are_matched_by_name_and_missing_ones_are_named(folder, capsys):
    saccade_prints(capsys, "fit", "train.csv", "--target", "kind", "-o", "m", "--random-state", 0)
    frame = pd.read_csv("test.csv")
    expected = saccade_prints(capsys, "predict", "m", "test.csv", "--target", "kind")
    frame[["kind", *reversed(NAMES)]].to_csv("other.csv", index=False)
    printed = saccade_prints(capsys, "predict", "m", "other.csv", "--target", "kind")
    tables = [pd.read_csv(io.StringIO(text)) for text in (printed, expected)]
    pd.testing.assert_frame_equal(*tables, rtol=1e-12)  # columns in another order may be summed in another order
    frame.drop(columns="f3").to_csv("fewer.csv", index=False)
    assert run(["predict", "m", "fewer.csv", "--target", "kind"]) == 1
    assert "no column 'f3'" in capsys.readouterr().err


def test_a_stream_is_read_from_standard_input(folder, capsys, monkeypatch):
    done = subprocess.run(
        [*COMMAND, "fit", "-", "--target", "kind", "-o", "m.saccade"],
        input=(folder / "train.csv").read_bytes(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with open("test.csv") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert len(saccade_prints(capsys, "predict", "m.saccade", "-", "--target", "kind").splitlines()) == 1001


def written_at(path):
    return path.stat().st_mtime_ns if path.exists() else 0


@pytest.mark.slow
def test_learning_that_is_killed_and_resumed_gives_the_same_bits(folder):
    options = ["--target", "kind", "--random-state", "0", "--max-iter", "4"]
    script = f"from saccade.data import lines; lines.BLOCK = {lines.BLOCK // 100}; from saccade.cli import main; main()"
    command = [sys.executable, "-c", script, "fit", "train.csv", *options]
    subprocess.run([*command, "-o", "whole"], check=True, capture_output=True)
    resumed = [*command, "-o", "pieces", "--checkpoint", "state", "--checkpoint-every", "0", "--resume"]
    rng, kills = random.Random(0), 0
    while not (folder / "pieces").exists():
        process = subprocess.Popen(resumed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        begun = written_at(folder / "state")
        while process.poll() is None and written_at(folder / "state") == begun:
            time.sleep(0.001)
        time.sleep(rng.random() * 0.02)
        if process.poll() is None and kills < 3:  # benchmarks/files.py kills more often
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills > 1
    one, other = saccade.load("whole"), saccade.load("pieces")
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.training_ == other.training_
    assert (folder / "whole").read_bytes() == (folder / "pieces").read_bytes()


@pytest.mark.parametrize("labels_are", ["texts", "numbers"])
def test_class_weights_go_by_the_labels_of_the_file(folder, labels_are, capsys):
    names = ["elm", "oak"] if labels_are == "texts" else [0, 1]
    FRAME.assign(kind=np.array(names)[labels]).to_csv("data.csv", index=False)
    weight = json.dumps({str(names[0]): 1.0, str(names[1]): 20.0})
    for out, more in (("even", []), ("uneven", ["--class-weight", weight])):
        saccade_prints(capsys, "fit", "data.csv", "--target", "kind", "-o", out, "--random-state", 0, *more)
    even, uneven = saccade.load("even"), saccade.load("uneven")
    assert uneven.class_weight == {names[0]: 1.0, names[1]: 20.0}
    assert uneven.full_margin(FRAME).mean() > even.full_margin(FRAME).mean()


def test_a_libsvm_file_without_the_last_features_is_certified_too(folder, capsys):
    dump_svmlight_file(EVERY, labels, "all.svm", zero_based=False)
    shorter = HELD_OUT.assign(f11=0.0).to_numpy()
    dump_svmlight_file(shorter, LABELS[6000:], "shorter.svm", zero_based=False)
    saccade_prints(capsys, "fit", "all.svm", "-o", "m", "--random-state", 0)
    assert saccade_prints(capsys, "attend", "m", "shorter.svm", "-o", "a", "--delta", 0.05).startswith("With 95 %")
    said = json.loads(saccade_prints(capsys, "evaluate", "a", "all.svm", "--json"))
    assert said["rows"] == 6000
    assert said["accuracy"] > 0.8


def test_a_checkpoint_of_other_data_is_refused(folder, capsys):
    fit = ["fit", "train.csv", "--target", "kind", "--checkpoint", "state", "--checkpoint-every", "0", "--resume"]
    assert run([*fit, "-o", "m"]) == 0
    assert run([*fit, "-o", "m2", "--learner", "perceptron"]) == 2
    with open("train.csv", "a") as file:
        file.write(",".join(["1"] * 12) + ",elm\n")
    assert run([*fit, "-o", "m2"]) == 2
    assert "other data" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["train.csv", "m.saccade", "notes.txt"])
def test_a_checkpoint_replaces_no_other_file(folder, name, capsys):
    (folder / "notes.txt").write_text("mine")
    before = (folder / "train.csv").read_bytes()
    told = ["fit", "train.csv", "--target", "kind", "-o", "m.saccade", "--checkpoint", name, "--checkpoint-every", "0"]
    assert run(told) == 2
    assert name in capsys.readouterr().err
    assert (folder / "train.csv").read_bytes() == before
    assert (folder / "notes.txt").read_text() == "mine"
    assert run([*told[:-4], "--checkpoint", "nowhere/state"]) == 2
    assert "nowhere/state cannot be written" in capsys.readouterr().err


def checkpoint(folder, capsys):
    told = [
        "fit",
        "train.csv",
        "--target",
        "kind",
        "--random-state",
        "0",
        "--checkpoint",
        "state",
        "--checkpoint-every",
        "0",
    ]
    saccade_prints(capsys, *told, "-o", "m")
    return [*told, "-o", "other", "--resume"]


def test_a_checkpoint_of_data_of_the_same_size_is_refused(folder, capsys):
    told = checkpoint(folder, capsys)
    content = (folder / "train.csv").read_text()
    (folder / "train.csv").write_text(content.replace("elm", "ash"))
    assert run(told) == 2
    assert "state was made with other data" in capsys.readouterr().err
    (folder / "train.csv").write_text(content)
    assert run([*told, "--no-header"]) != 0
    assert run([*told, "--header"]) == 2
    assert "other options" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        lambda state: [],
        lambda state: state | {"run": {}},
        lambda state: state | {"run": state["run"] | {"start": -5}},
        lambda state: state | {"run": state["run"] | {"start": 10**12}},
        lambda state: state | {"run": state["run"] | {"batch": "x"}},
        lambda state: state | {"run": state["run"] | {"written": 3}},
        lambda state: state | {"run": state["run"] | {"written": ["elm"]}},
        lambda state: state | {"run": state["run"] | {"classes": ["ash", "oak"]}},
        lambda state: state | {"run": state["run"] | {"classes": [["elm"], ["oak"]]}},
        lambda state: state | {"run": state["run"] | {"turn": 99}},
        lambda state: state | {"run": state["run"] | {"batch": 10**30}},
    ],
)
def test_a_checkpoint_that_is_none_is_refused(folder, change, capsys):
    told = checkpoint(folder, capsys)
    model, state = models.load_with("state")
    models.save_with(model, "state", change(state))
    assert run(told) == 2
    assert "state is no checkpoint of learning from files" in capsys.readouterr().err


def test_what_a_certified_model_costs_is_kept_when_it_is_certified_anew(folder, capsys):
    costs, groups = {"f3": 5.0}, {"blood": ["f0", "f1"]}
    model = LogisticRegression().fit(FRAME[:3000], labels[:3000])
    saccade.save(
        saccade.attend(model, FRAME[:5000], delta=0.2, costs=costs, groups=groups, random_state=0), "a.saccade"
    )
    told = ["attend", "a.saccade", "train.csv", "--target", "kind", "--delta", "0.1", "-o", "b.saccade"]
    saccade_prints(capsys, *told)
    again = saccade.load("b.saccade")
    assert (again.delta, again.costs, dict(again.groups)) == (0.1, costs, groups)
    assert list(again.feature_names_in_) == NAMES


def test_parameters_are_whole_for_machines_and_short_for_people(folder, capsys):
    model = LogisticRegression().fit(FRAME[:3000], labels[:3000])
    costs, boundary = list(range(1, 13)), saccade.Conditional(focus=0.25)
    attentive = saccade.attend(model, FRAME[:5000], delta=0.2, costs=costs, boundary=boundary, random_state=0)
    saccade.save(attentive, "a.saccade")
    said = json.loads(saccade_prints(capsys, "inspect", "a.saccade", "--json"))["parameters"]
    assert said["costs"] == {"list": costs}
    assert said["boundary"] == {"boundary": "Conditional", "parameters": {"focus": 0.25, "ridge": 0.01}}
    shown = saccade_prints(capsys, "inspect", "a.saccade")
    assert "[1, 2, 3, 4, 5, 6, ...]" in shown
    assert "Conditional(focus=0.25)" in shown


def test_a_model_of_indices_from_zero_reads_files_without_a_zero(folder, capsys):
    rows = np.where(np.random.default_rng(0).random((5000, 12)) < 0.5, EVERY[:5000], 0)
    dump_svmlight_file(rows, labels[:5000], "train.svm", zero_based=True)
    rows[:, 0] = 0
    dump_svmlight_file(rows, labels[:5000], "test.svm", zero_based=True)
    saccade_prints(capsys, "fit", "train.svm", "-o", "m", "--random-state", 0, "--hold-out", 0.3)
    saccade_prints(capsys, "attend", "m", "train.svm", "-o", "a", "--delta", 0.1, "--random-state", 0)
    for name in ("m", "a"):
        said = saccade_prints(capsys, "predict", name, "test.svm")
        predicted = [int(line.split(",")[0]) for line in said.splitlines()[1:]]
        np.testing.assert_array_equal(predicted, saccade.load(name).predict(sp.csr_array(rows)))


def test_other_columns_may_hold_anything(folder, capsys):
    saccade_prints(capsys, "fit", "train.csv", "--target", "kind", "-o", "m", "--random-state", 0, "--hold-out", 0.3)
    saccade_prints(capsys, "attend", "m", "train.csv", "--target", "kind", "-o", "a", "--delta", 0.1)
    frame = pd.read_csv("test.csv").assign(id="who", when=pd.Timestamp("2026-01-01"))
    frame.loc[3, "id"] = None
    frame.to_parquet("more.parquet")
    frame.to_csv("more.csv", index=False)
    for model in ("m", "a"):
        plain = saccade_prints(capsys, "evaluate", model, "test.csv", "--target", "kind")
        for data in ("more.parquet", "more.csv"):
            assert saccade_prints(capsys, "evaluate", model, data, "--target", "kind") == plain
            assert len(saccade_prints(capsys, "predict", model, data, "--skip-bad").splitlines()) == 1001
        assert saccade_prints(capsys, "attend", model, "more.csv", "-o", f"{model}2", "--delta", 0.1)


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        (["predict", "m.skops", "test.csv"], "saccade attend m.skops", 2),
        (["attend", "broken.skops", "test.csv", "-o", "a"], "broken.skops is damaged", 1),
        (["attend", "m", "test.csv", "-o", "a", "--delta", "2"], "--delta", 2),
        (["attend", "m", "test.csv", "-o", "a", "--random-state", "-1"], "--random-state", 2),
        (["attend", "m", "only_header.csv", "-o", "a"], "only_header.csv has no rows", 1),
        (["attend", "m", "test.csv", "-o", "-"], "give it a name", 2),
        (["attend", "m", "test.csv", "-o", "."], "give it a name", 2),
        (["evaluate", "m", "only_header.csv", "--target", "kind"], "no rows", 1),
        (["evaluate", "m", "test.csv"], "--target", 2),
        (["fit", "train.csv", "-o", "b"], "name the column that is to be predicted", 1),
        (["fit", "train.csv", "--target", "kind", "-o", "train.csv", "--force"], "would replace the data", 2),
        (["fit", "train.csv", "--target", "kind", "-o", "b", "--boundary", "curved(0.05)"], "NAME=VALUE", 2),
    ],
)
def test_what_cannot_be_is_said_in_one_line(folder, arguments, message, status, capsys):
    saccade_prints(capsys, "fit", "train.csv", "--target", "kind", "-o", "m", "--random-state", 0)
    (folder / "m.skops").write_bytes(b"whatever")
    (folder / "broken.skops").write_bytes(b"whatever")
    (folder / "only_header.csv").write_text(",".join([*NAMES, "kind"]) + "\n")
    assert run(arguments) == status
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


def test_labels_that_nobody_taught_are_an_error_that_names_them(folder, capsys):
    np.save("n.npy", np.column_stack([EVERY, labels]))
    saccade_prints(capsys, "fit", "n.npy", "--target", 12, "-o", "m", "--random-state", 0)
    FRAME.assign(kind=np.where(labels == 1, "1", "zzz")).to_csv("odd.csv", index=False)
    assert run(["evaluate", "m", "odd.csv", "--target", "kind"]) == 1
    assert "odd.csv: the model does not know the labels 'zzz'; it knows 0, 1." in capsys.readouterr().err
    FRAME.assign(kind=EVERY[:, 0]).to_csv("odd.csv", index=False)
    assert run(["evaluate", "m", "odd.csv", "--target", "kind"]) == 1
    assert "odd.csv: the target is a quantity, not a class" in capsys.readouterr().err


@pytest.mark.parametrize("passes", [1, 3])
def test_the_rows_that_a_model_learned_from_do_not_certify_it(folder, capsys, passes):
    saccade_prints(capsys, "fit", "train.csv", "--target", "kind", "-o", "m", "--max-iter", passes)
    FRAME[1000:3000].to_parquet("some.parquet")
    for data in ("train.csv", "some.parquet"):
        assert run(["attend", "m", data, "--delta", "0.1", "-o", "a"]) == 1
        said = capsys.readouterr().err
        assert "has rows that Pegasos was fitted on" in said
        assert "saccade fit --hold-out" in said
        assert len(said.splitlines()) == 1
    assert not Path("a").exists()
    assert saccade.load("m")._sketch.n_rows == 5000


def test_attend_counts_bad_rows(folder, capsys):
    saccade_prints(capsys, "fit", "train.csv", "--target", "kind", "-o", "m", "--random-state", 0)
    (folder / "test.csv").write_text((folder / "test.csv").read_text() + "1,2\nx\n")
    told = ["attend", "m", "test.csv", "--target", "kind", "--delta", 0.1, "-o", "a", "--skip-bad"]
    assert json.loads(saccade_prints(capsys, *told, "--json"))["bad rows"] == 2
    assert run([*map(str, told), "--force"]) == 0
    assert "2 bad rows were passed over" in capsys.readouterr().err


def test_without_safetensors_the_extra_is_named_in_one_line(folder):
    script = "import sys; sys.modules['safetensors'] = None; from saccade.cli.main import run; "
    runs = [["fit", "train.csv", "--target", "kind", "-o", "m"], ["attend", "m", "train.csv", "-o", "a"], ["ask", "m"]]
    script += f"print([run(arguments) for arguments in {runs}])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[2, 2, 2]"
    assert len(done.stderr.splitlines()) == 3
    assert all("pip install 'saccade[files]'" in line for line in done.stderr.splitlines())


@pytest.mark.parametrize("data", ["test.parquet", "train.csv"])
def test_without_pyarrow_the_extra_is_named_in_one_line(folder, data, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run(["fit", data, "--target", "kind", "-o", "m"]) == 1
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "pip install 'saccade[files]'" in said


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_pattern_or_a_folder_is_one_data_set(folder, suffix, capsys):
    frame = FRAME.assign(kind=np.array(["elm", "oak"])[labels])
    (folder / "parts").mkdir()
    (folder / "parts" / "_SUCCESS").touch()
    for number, part in enumerate((frame[:2000], frame[2000:2500], frame[2500:5000])):
        name = f"parts/part-{number}.{suffix}"
        part.to_csv(name, index=False) if suffix == "csv" else part.to_parquet(name, row_group_size=700)
    fit = ["--target", "kind", "--random-state", 0, "--json", "--hold-out", 0.3, "--max-iter", 1]
    said = json.loads(saccade_prints(capsys, "fit", f"parts/part-*.{suffix}", *fit, "-o", "m"))
    assert said["examples"] + said["rows measured"] == 5000
    saccade_prints(capsys, "attend", "m", "parts/", "--target", "kind", "--delta", 0.1, "--random-state", 0, "-o", "a")
    assert run(["predict", "a", "parts", "--target", "kind"]) == 0
    done = capsys.readouterr()
    reading = saccade.load("a").read(FRAME[:5000])
    assert [line.split(",")[0] for line in done.out.splitlines()[1:]] == reading.label.tolist()
    size = sum(file.stat().st_size for file in (folder / "parts").iterdir())
    assert f"of {size:,} bytes were read" in done.err
    assert run(["fit", "parts", "--target", "kind", "-o", f"parts/part-1.{suffix}", "--force"]) == 2
    assert "would replace the data" in capsys.readouterr().err


@pytest.mark.parametrize("classes", [2, 3])
def test_an_empty_row_group_is_no_row(folder, capsys, classes):
    y = labels[:5000] + (np.arange(5000) % 2 if classes == 3 else 0)
    saccade.save(Pegasos(random_state=0).fit(FRAME[:5000], y), "m.saccade")
    Path("parts").mkdir()
    FRAME[:0].to_parquet("parts/a.parquet")
    FRAME[5000:5003].to_parquet("parts/b.parquet")
    assert len(saccade_prints(capsys, "predict", "m.saccade", "parts").splitlines()) == 4
    assert saccade_prints(capsys, "predict", "m.saccade", "parts/a.parquet") == "label,margin,n_read\n"


def test_a_nested_column_is_refused_by_name(folder, capsys):
    saccade.save(Pegasos(random_state=0).fit(FRAME[:5000], labels[:5000]), "m.saccade")
    FRAME[:20].assign(f0=[[1.0, 2.0]] * 20).to_parquet("nested.parquet")
    assert run(["predict", "m.saccade", "nested.parquet"]) == 1
    assert "column 'f0' holds list" in capsys.readouterr().err


def test_a_learner_predicts_and_is_measured_in_full(folder, capsys):
    model = Pegasos(boundary=saccade.CurvedSTST(0.4), max_iter=3, random_state=0).fit(FRAME[:5000], labels[:5000])
    rows, y = FRAME[5000:], labels[5000:]
    saccade.save(model, "m.saccade")
    rows.assign(kind=y).to_parquet("new.parquet")
    assert model.read(rows).stopped.any()
    printed = saccade_prints(capsys, "predict", "m.saccade", "new.parquet", "--target", "kind").splitlines()[1:]
    label, _, n_read = zip(*(line.split(",") for line in printed), strict=True)
    np.testing.assert_array_equal(np.array(label, dtype=int), model.predict(rows))
    assert set(n_read) == {"12"}
    said = json.loads(saccade_prints(capsys, "evaluate", "m.saccade", "new.parquet", "--target", "kind", "--json"))
    assert said["accuracy"] == np.mean(model.predict(rows) == y)
    assert said["disagreement with the full read"] == 0
    assert said["features per row"] == 12

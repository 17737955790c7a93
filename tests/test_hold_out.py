"""``saccade fit``: rows held out of learning, what is remembered of the data, and what it warns of or refuses."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import saccade
from data import correlated
from saccade.cli.main import run
from saccade.data import checkpoints, lines
from saccade.data.batches import BadRows, Wanted
from saccade.data.held_out import HeldOut, held_out_batches
from saccade.data.learning import learn_from
from saccade.data.opening import open_data
from saccade.data.origin import Origin
from saccade.exceptions import DataFileError, SuspectColumnWarning

ROWS, LABELS = correlated(6000, 8, seed=5, separation=3.0)
BOTH = pd.DataFrame(ROWS).add_prefix("f").assign(kind=np.array(["elm", "oak"])[LABELS])
EVERY, CODES, FRAME, OTHERS = ROWS[:3000], LABELS[:3000], BOTH[:3000], BOTH[3000:]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("train.csv", index=False)
    return tmp_path


def told(capsys, *arguments):
    assert run([str(argument) for argument in arguments]) == 0
    return json.loads(capsys.readouterr().out)


def fails(capsys, *arguments):
    assert run([str(argument) for argument in arguments]) == 1
    return capsys.readouterr().err


FIT = ("fit", "train.csv", "--target", "kind", "--random-state", 0, "--json")


def test_columns_of_very_different_scales_are_learned_certified_and_predicted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = load_breast_cancer(as_frame=True)
    kinds = np.array(["malignant", "benign"])[data.target]
    data.data.assign(kind=kinds).to_csv("train.csv", index=False)
    said = told(capsys, *FIT, "--hold-out", 0.5, "--max-iter", 5, "-o", "m")
    assert said["accuracy"] > 0.93 > 0.7 > said["majority class"]
    attend = ("attend", "m", "train.csv", "--target", "kind", "--delta", 0.2, "--random-state", 0)
    assert run([*map(str, attend), "-o", "a"]) == 0
    done = capsys.readouterr()
    assert "on the rows of the data that were held out of learning" in done.err
    said = told(capsys, "evaluate", "a", "train.csv", "--target", "kind", "--json")
    assert said["measured on"] == "rows held out of learning"
    assert said["accuracy"] > 0.85
    assert run(["predict", "a", "train.csv", "--target", "kind"]) == 0
    labels = [line.split(",")[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert np.mean(np.array(labels) == kinds) > 0.85


def test_rows_are_held_out_by_their_number_and_the_seed(folder, monkeypatch):
    held_out = HeldOut(0.3, 7)
    whole = held_out.among(0, 10_000)
    assert abs(whole.mean() - 0.3) < 4 * np.sqrt(0.21 / 10_000)
    for first in (0, 1, 4095, 9000):
        np.testing.assert_array_equal(held_out.among(first, 500), whole[first : first + 500])
    assert not np.array_equal(whole, HeldOut(0.3, 8).among(0, 10_000))
    for block in (8_000_000, 4000):
        monkeypatch.setattr(lines, "BLOCK", block)
        with open_data("train.csv", Wanted("kind")) as data:
            found = np.concatenate([batch.X for batch in held_out_batches(data, BadRows("", skip=False), held_out)])
        np.testing.assert_allclose(found, EVERY[whole[:3000]], rtol=1e-15)


def test_bad_rows_keep_their_numbers(folder):
    lines_ = Path("train.csv").read_text().splitlines()
    lines_[5] = "bad"
    Path("bad.csv").write_text("\n".join(lines_) + "\n")
    held_out = HeldOut(0.5, 1)
    with open_data("bad.csv", Wanted("kind")) as data:
        (batch,) = held_out_batches(data, BadRows("", skip=True), held_out)
    kept = held_out.among(0, 3000)
    kept[4] = False
    np.testing.assert_array_equal(batch.good, kept)
    np.testing.assert_allclose(batch.X, EVERY[kept], rtol=1e-15)


def test_learning_sees_nothing_of_the_rows_that_are_held_out(folder, capsys):
    told(capsys, *FIT, "--hold-out", 0.4, "-o", "m")
    seed = saccade.load("m").random_state
    held = HeldOut(0.4, int(np.random.default_rng(seed).integers(2**31))).among(0, 3000)
    changed = FRAME.copy()
    changed.loc[held, [f"f{j}" for j in range(8)]] *= 1000.0
    changed.to_csv("train.csv", index=False)
    told(capsys, *FIT, "--hold-out", 0.4, "-o", "n")
    one, other = saccade.load("m"), saccade.load("n")
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.training_.n_examples == one.n_iter_ * (3000 - held.sum())


def test_learning_with_rows_held_out_resumes_to_the_same_bits(folder, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 20_000)
    options = {"kind": None, "scale": True, "skip_bad": False, "hold_out": 0.3, "checkpoint_every": 0}
    given = saccade.Pegasos(max_iter=2, random_state=0), "train.csv", Wanted("kind")
    whole = learn_from(*given, **options, checkpoint=None, resume=False)
    keep, left = checkpoints.Checkpoint.keep, [0]

    def interrupted(self, *state):
        keep(self, *state)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints.Checkpoint, "keep", interrupted)
    interruptions = 0
    while True:
        left[0] = 5
        try:
            pieces = learn_from(*given, **options, checkpoint="state", resume=True)
            break
        except KeyboardInterrupt:
            interruptions += 1
    assert interruptions > 3
    saccade.save(whole.model, "whole")
    saccade.save(pieces.model, "pieces")
    assert Path("whole").read_bytes() == Path("pieces").read_bytes()
    assert whole.origin == pieces.origin
    with pytest.raises(ValueError, match="other options"):
        learn_from(*given, **{**options, "hold_out": 0.2}, checkpoint="state", resume=True)
    with pytest.raises(ValueError, match="other options"):
        learn_from(*given, **{**options, "scale": False}, checkpoint="state", resume=True)


def test_data_that_was_learned_from_is_refused_with_what_to_do(folder, capsys, monkeypatch):
    told(capsys, *FIT, "-o", "m")
    attend = ("attend", "m", "--target", "kind", "--delta", 0.1, "-o", "a")
    assert "train.csv has rows that Pegasos was fitted on" in fails(capsys, *attend, "train.csv")
    assert "saccade fit --hold-out 0.3; or pass other rows" in fails(capsys, *attend, "train.csv")
    Path("copy.csv").write_bytes(Path("train.csv").read_bytes())
    assert "--hold-out" in fails(capsys, *attend, "copy.csv")
    with open("train.csv", "rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read())))
    assert "--hold-out" in fails(capsys, *attend, "-")
    said = told(capsys, "evaluate", "m", "train.csv", "--target", "kind", "--json")
    assert said["measured on"] == "rows that it learned from"
    OTHERS.to_csv("other.csv", index=False)
    assert run([*map(str, attend), "other.csv"]) == 0
    capsys.readouterr()
    said = told(capsys, "evaluate", "a", "other.csv", "--target", "kind", "--json")
    assert said["measured on"] == "all rows"


def test_held_out_rows_of_some_of_the_files_are_not_known(folder, capsys):
    for number in range(2):
        FRAME[number::2].to_csv(f"part-{number}.csv", index=False)
    told(capsys, "fit", "part-?.csv", *FIT[2:], "--hold-out", 0.3, "-o", "m")
    attend = ("attend", "m", "--target", "kind", "--delta", 0.1, "-o", "a")
    assert "Pass all of its files and no others, in the same order" in fails(capsys, *attend, "part-1.csv")
    said = told(capsys, "evaluate", "m", "part-1.csv", "--target", "kind", "--json")
    assert said["measured on"] == "rows, some of which it learned from"
    assert said["rows"] == 1500
    assert run([*map(str, attend), "part-?.csv"]) == 0


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {"data": "x", "held_out": 3},
        {"data": [1], "held_out": {"share": 2.0, "seed": 0}},
        {"zero_based": "no"},
    ],
)
def test_a_file_that_says_nothing_of_its_data_knows_nothing(state):
    assert Origin.of(state) == Origin()


def test_what_is_remembered_comes_back():
    origin = Origin(False, ("ab", "cd"), HeldOut(0.3, 5))
    assert Origin.of(json.loads(json.dumps(origin.state))) == origin


def test_a_share_that_holds_out_everything_is_refused(folder, capsys):
    FRAME[:3].to_csv("train.csv", index=False)
    assert "no row is left to learn from" in fails(capsys, *FIT, "--hold-out", 0.999, "-o", "m")


def test_a_share_that_holds_out_nothing_is_refused(folder, capsys):
    assert "--hold-out 1e-09 keeps none of the rows" in fails(capsys, *FIT, "--hold-out", 1e-9, "-o", "m")
    assert not Path("m").exists()


@pytest.mark.filterwarnings("default")
def test_a_column_that_counts_rows_or_has_no_name_is_a_warning(folder, capsys):
    FRAME[:50].to_csv("train.csv")
    with pytest.warns(SuspectColumnWarning, match=r"train\.csv: column '' counts the rows.*index=False"):
        saccade.learn(saccade.Pegasos(random_state=0), "train.csv", target="kind")
    assert run([*map(str, FIT), "-o", "m"]) == 0
    assert capsys.readouterr().err.startswith("saccade: train.csv: column '' counts the rows")
    FRAME[:50].assign(id=np.arange(1, 51)).to_csv("train.csv", index=False)
    with pytest.warns(SuspectColumnWarning, match="column 'id' counts the rows"):
        saccade.learn(saccade.Pegasos(random_state=0), "train.csv", target="kind")
    FRAME[:50].rename(columns={"f3": ""}).to_csv("train.csv", index=False)
    with pytest.warns(SuspectColumnWarning, match="a column has no name"):
        saccade.learn(saccade.Pegasos(random_state=0), "train.csv", target="kind")
    np.save("a.npy", np.column_stack([np.arange(50), EVERY[:50], CODES[:50]]))
    with pytest.warns(SuspectColumnWarning, match=r"a\.npy: column 0 counts the rows"):
        saccade.learn(saccade.Pegasos(random_state=0), "a.npy", target="9")


def test_rows_that_count_with_a_gap_do_not_count_rows(folder):
    FRAME[:50].assign(id=np.r_[0:25, 26:51]).to_csv("train.csv", index=False)
    saccade.learn(saccade.Pegasos(random_state=0), "train.csv", target="kind")  # a warning would be an error


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_a_continuous_target_is_refused(suffix, folder, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 4000)
    frame, target = FRAME.drop(columns="kind").assign(price=EVERY[:, 0] * 100), "price"
    match suffix:
        case "csv":
            frame.to_csv("a.csv", index=False)
        case "parquet":
            frame.to_parquet("a.parquet")
        case "npy":
            np.save("a.npy", frame.to_numpy())
            target = "8"
    with pytest.raises(DataFileError, match=r"the target is a quantity, not a class: .* ranges, or name another"):
        saccade.learn(saccade.Pegasos(), f"a.{suffix}", target=target)


def test_a_few_numbers_with_fractions_are_classes_and_few_rows_of_many_are_not(folder):
    FRAME.assign(kind=np.where(CODES == 1, 0.5, 1.5)).to_csv("train.csv", index=False)
    assert saccade.learn(saccade.Pegasos(random_state=0), "train.csv", target="kind").classes_.tolist() == [
        "0.5",
        "1.5",
    ]
    FRAME[:8].assign(kind=EVERY[:8, 0]).to_csv("train.csv", index=False)
    with pytest.raises(DataFileError, match="a quantity, not a class"):
        saccade.learn(saccade.Pegasos(random_state=0), "train.csv", target="kind")


def test_more_labels_than_there_can_be_classes_are_refused(folder, monkeypatch):
    monkeypatch.setattr("saccade.data.labels.MOST_CLASSES", 100)
    FRAME.assign(kind=[f"key-{row}" for row in range(3000)]).to_csv("train.csv", index=False)
    with pytest.raises(DataFileError, match="more than 100 different values, such as 'key-0'"):
        saccade.learn(saccade.Pegasos(random_state=0), "train.csv", target="kind")


@pytest.mark.filterwarnings("ignore:Features differ in scale")
def test_a_model_that_gives_every_row_one_label_is_a_warning(folder, capsys):
    FRAME.assign(f0=1e6 + EVERY[:, 0], kind=np.where(np.arange(3000) < 30, "elm", "oak")).to_csv(
        "train.csv", index=False
    )
    assert run([*map(str, FIT), "-o", "m", "--no-scale"]) == 0
    done = capsys.readouterr()
    assert "gives all 3,000 rows the same label, oak" in done.err
    assert "--scale" in done.err
    said = json.loads(done.out)
    assert said["accuracy"] == said["majority class"] == 0.99


def test_too_few_rows_are_answered_in_the_words_of_the_command_line(folder, capsys):
    run([str(argument) for argument in (*FIT, "--hold-out", 0.3, "-o", "m")])
    said = fails(capsys, "attend", "m", "train.csv", "--target", "kind", "-o", "a", "--delta", 0.001)
    assert "--when-too-few read" in said
    for parameter in ("when_too_few", "calibration_size", "promise='rows'", "X has"):
        assert parameter not in said
    assert not Path("a").exists()

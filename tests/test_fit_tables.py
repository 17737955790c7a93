"""``saccade fit`` on tables with columns of texts, and the commands on what it learned."""

import csv
import io
import json

import narwhals
import numpy as np
import pandas as pd
import pytest
from tables import TARGET, census

import saccade
from saccade.cli.main import run

FRAME = census(12_000)
OTHERS = census(3_000, seed=1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("train.csv", index=False)
    OTHERS.to_csv("test.csv", index=False)
    OTHERS.to_parquet("test.parquet", row_group_size=1000)
    return tmp_path


def prints(capsys, *arguments):
    assert run([str(argument) for argument in arguments]) == 0
    return capsys.readouterr()


def fitted(capsys, *options):
    given = ("fit", "train.csv", "--target", TARGET, "-o", "m", "--random-state", 0, "--ignore", "name", *options)
    return prints(capsys, *given)


@pytest.mark.filterwarnings("default::saccade.exceptions.SuspectColumnWarning")
def test_fit_says_what_it_made_of_the_columns(folder, capsys):
    given = ("fit", "train.csv", "--target", TARGET, "-o", "m", "--random-state", 0, "--categorical", "size")
    said = prints(capsys, *given)
    assert "column 'name' is left out: 12,000 different texts" in said.err
    sentence = said.out.splitlines()[0]
    assert "2 of numbers, with missing values at the mean: age, hours." in sentence
    assert "3 of categories, one-hot, with missing as one of them: state (6), size (4), work (2)." in sentence
    assert "1 left out: name (12,000 different texts in 12,000 rows, as names and keys have)." in sentence
    record = json.loads(fitted(capsys, "--json", "--force", "--categorical", "size").out)
    assert record["numbers"] == ["age", "hours"]
    assert record["categories"] == {"state": 6, "size": 4, "work": 2}
    assert record["left out"] == {}
    assert record["accuracy"] > 0.85 > 0.55 > record["majority class"]


def test_options_correct_what_columns_are(folder, capsys):
    chosen = fitted(capsys, "--json", "--columns", "age,size", "--columns", "work")
    assert json.loads(chosen.out)["numbers"] == ["age", "size"]
    assert saccade.load("m").feature_names_in_.tolist() == ["age", "size", "work"]
    assert run(["fit", "train.csv", "--target", TARGET, "-o", "m2", "--numeric", "state"]) == 1
    said = capsys.readouterr().err
    assert "'state' is to be numeric, and holds texts" in said
    assert "--skip-bad" not in said


@pytest.mark.parametrize("data", ["test.csv", "test.parquet"])
def test_predict_and_evaluate_take_the_table_as_it_is(data, folder, capsys):
    fitted(capsys, "--categorical", "size")
    model = saccade.load("m")
    lines = list(csv.DictReader(io.StringIO(prints(capsys, "predict", "m", data).out)))
    expected = model.decision_function(OTHERS)
    np.testing.assert_allclose([float(line["margin"]) for line in lines], expected)
    assert [line["label"] for line in lines] == model.predict(OTHERS).tolist()
    record = json.loads(prints(capsys, "evaluate", "m", data, "--target", TARGET, "--json").out)
    assert record["accuracy"] == np.mean(model.predict(OTHERS) == OTHERS[TARGET])
    assert record["bad rows"] == 0


@pytest.mark.parametrize("data", ["test.csv", "test.parquet"])
def test_attend_certifies_on_the_rows_held_out_and_reads_by_column(data, folder, capsys):
    fitted(capsys, "--hold-out", 0.4, "--categorical", "size")
    held_out = json.loads(prints(capsys, "evaluate", "m", "train.csv", "--target", TARGET, "--json").out)
    assert held_out["measured on"] == "rows held out of learning"
    assert 4_500 < held_out["rows"] < 5_100
    said = prints(capsys, "attend", "m", "train.csv", "-o", "f", "--delta", 0.03, "--random-state", 0)
    assert "held out of learning" in said.err
    assert "of 5 features were read per row" in said.out
    record = json.loads(prints(capsys, "evaluate", "f", data, "--target", TARGET, "--json").out)
    assert record["disagreement with the full read"] < 0.03
    assert record["features per row"] < 4.5
    labels = [line["label"] for line in csv.DictReader(io.StringIO(prints(capsys, "predict", "f", data).out))]
    assert labels == saccade.load("f").predict(OTHERS[list(saccade.load("m").feature_names_in_)]).tolist()


def test_rows_that_were_learned_from_certify_nothing(folder, capsys):
    fitted(capsys)
    assert run(["attend", "m", "train.csv", "-o", "f"]) == 1
    assert "train.csv has rows that m was fitted on" in capsys.readouterr().err.replace("Pegasos", "m")


def test_values_that_are_missing_or_unknown_in_a_file_are_no_bad_rows(folder, capsys):
    fitted(capsys, "--categorical", "size")
    new = OTHERS[:6].drop(columns=TARGET).astype({"size": object})
    new.loc[0, "age"], new.loc[1, "state"], new.loc[2, "work"] = np.nan, "Atlantis", None
    new.loc[3, "size"] = None
    new.loc[4, "size"] = 77
    new.drop(columns="name").to_csv("new.csv", index=False, na_rep="NA")
    lines = list(csv.DictReader(io.StringIO(prints(capsys, "predict", "m", "new.csv").out)))
    expected = saccade.load("m").decision_function(new)
    np.testing.assert_allclose([float(line["margin"]) for line in lines], expected)


def test_truth_values_of_a_csv_file_are_those_of_a_table(folder, capsys):
    frame = pd.DataFrame({"flag": OTHERS.hours > 45, "x": OTHERS.age.fillna(0), "y": OTHERS.hours > 40})
    frame.to_csv("flags.csv", index=False)
    prints(capsys, "fit", "flags.csv", "--target", "y", "-o", "m", "--random-state", 0, "--hold-out", 0.5)
    lines = list(csv.DictReader(io.StringIO(prints(capsys, "predict", "m", "flags.csv").out)))
    expected = saccade.load("m").decision_function(frame[["flag", "x"]])
    assert np.ptp(expected) > 1
    np.testing.assert_allclose([float(line["margin"]) for line in lines], expected)
    prints(capsys, "attend", "m", "flags.csv", "-o", "f", "--delta", 0.05, "--random-state", 0)


def test_a_column_of_which_only_whether_it_has_a_value_counts(folder, capsys):
    frame = pd.DataFrame({"cabin": [f"C{row}" for row in range(3000)], "x": OTHERS.hours, "y": OTHERS.hours > 40})
    frame.loc[OTHERS.work == "public", ["cabin", "y"]] = [None, True]
    frame.to_csv("cabins.csv", index=False)
    prints(capsys, "fit", "cabins.csv", "--target", "y", "-o", "m", "--random-state", 0, "--hold-out", 0.5)
    model = saccade.load("m")
    assert model.encoding_.summary()["categories"] == {"cabin": 0}
    expected = model.decision_function(frame[["cabin", "x"]])
    lines = list(csv.DictReader(io.StringIO(prints(capsys, "predict", "m", "cabins.csv").out)))
    np.testing.assert_allclose([float(line["margin"]) for line in lines], expected)
    prints(capsys, "attend", "m", "cabins.csv", "-o", "f", "--delta", 0.1, "--random-state", 0)
    record = json.loads(prints(capsys, "evaluate", "f", "cabins.csv", "--target", "y", "--json").out)
    assert record["disagreement with the full read"] <= 0.1


def test_a_certified_model_asks_for_raw_columns(folder, capsys):
    fitted(capsys, "--hold-out", 0.4, "--categorical", "size")
    prints(capsys, "attend", "m", "train.csv", "-o", "f", "--delta", 0.05, "--random-state", 0)
    fast = saccade.load("f")
    inquiry = fast.inquire(known={"age": 70.0, "state": "Iowa", "work": None})
    while inquiry.wanted is not None:
        inquiry.tell({"size": 3, "hours": 41.0}[inquiry.wanted])
    assert inquiry.label in fast.classes_


def test_standard_input_and_a_checkpoint_work_as_with_numbers(folder, capsys, monkeypatch):
    fitted(capsys, "--checkpoint", "state", "--checkpoint-every", 0)
    again = fitted(capsys, "--checkpoint", "state", "--resume", "--force", "--json")
    assert json.loads(again.out)["categories"] == {"state": 6, "work": 2}
    with open("train.csv", "rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read())))
    piped = prints(capsys, "fit", "-", "--target", TARGET, "-o", "p", "--random-state", 0, "--ignore", "name")
    assert "3 of numbers" in piped.out
    np.testing.assert_array_equal(saccade.load("p").coef_, saccade.load("m").coef_)


def test_inspect_says_the_encoding(folder, capsys):
    fitted(capsys)
    assert "2 of categories, one-hot" in prints(capsys, "inspect", "m").out
    assert json.loads(prints(capsys, "inspect", "m", "--json").out)["categories"] == {"state": 6, "work": 2}


@pytest.mark.parametrize("command", ["predict", "evaluate", "attend"])
def test_a_whole_column_of_texts_never_leads_to_the_advice_to_pass_over_rows(command, folder, capsys):
    numbers = FRAME[["hours", "size", TARGET]]
    numbers.to_csv("numbers.csv", index=False)
    prints(capsys, "fit", "numbers.csv", "--target", TARGET, "-o", "n", "--random-state", 0)
    OTHERS[["hours", "size", TARGET]].assign(size="many").to_csv("texts.csv", index=False)
    options = {"predict": [], "evaluate": ["--target", TARGET], "attend": ["-o", "f"]}[command]
    assert run([command, "n", "texts.csv", *options]) == 1
    said = capsys.readouterr().err
    assert "'size' is 'many', not a number" in said
    assert "--skip-bad" not in said
    few = OTHERS[["hours", "size", TARGET]].astype({"size": object})
    few.loc[3, "size"] = "many"
    few.to_csv("texts.csv", index=False)
    assert run([command, "n", "texts.csv", *options]) == 1
    assert "--skip-bad" in capsys.readouterr().err


def test_names_of_columns_may_hold_commas(folder, capsys):
    frame = pd.DataFrame({"a,b": OTHERS.state, "x": OTHERS.hours, "y": OTHERS[TARGET]})
    frame.to_csv("odd.csv", index=False)
    said = prints(capsys, "fit", "odd.csv", "--target", "y", "-o", "m", "--ignore", '"a,b"', "--json")
    assert "categories" not in json.loads(said.out)


def test_what_was_learned_from_texts_is_certified_without_pandas(folder, capsys, monkeypatch):
    """``saccade[files]`` does not bring pandas, and the learner reads Arrow tables by itself."""
    fitted(capsys)

    def missing(table):
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    monkeypatch.setattr(narwhals.DataFrame, "to_pandas", missing)
    said = prints(capsys, "attend", "m", "test.csv", "-o", "c", "--delta", "0.05", "--random-state", 0)
    assert "at most 5 % of each class" in said.out

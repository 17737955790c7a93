"""``saccade ask`` about a model of trees: columns, categories, gaps."""

import io
import json

import pytest
from attended_trees import STATES, attended, attended_without

import saccade
from saccade.cli.main import run


@pytest.fixture
def ask(monkeypatch, capsys, tmp_path):
    """Run ``saccade ask`` here, about one of the models, with the answers as its standard input."""

    def call(name, *arguments, answers=()):
        model = attended(name)[0] if isinstance(name, str) else name
        saccade.save(model, tmp_path / "model")
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers)))
        status = run(["ask", str(tmp_path / "model"), *arguments])
        return status, *capsys.readouterr()

    return call


def answers_to(attentive, row):
    inquiry, given = attentive.inquire(), []
    while inquiry.wanted is not None:
        given.append(row[inquiry.wanted])
        inquiry.tell(given[-1])
    return inquiry, given


@pytest.mark.parametrize("name", ["lightgbm", "hist", "xgboost", "catboost, three"])
def test_a_person_is_asked_for_columns_and_shown_categories(ask, name):
    attentive, frame = attended(name)
    categorical = bool(attentive.additive_.categories)
    for row in range(5):
        inquiry, given = answers_to(attentive, frame.iloc[row])
        status, out, err = ask(name, "--json", answers=given)
        assert status == 0
        assert json.loads(out)["label"] == inquiry.label
        assert json.loads(out)["asked"] == list(inquiry.asked)
        for column in inquiry.asked:
            listed = categorical and column == "state"
            assert (f"state [{', '.join(STATES)}]: " if listed else f"{column} [") in err


def test_a_category_that_nobody_knows_is_named_and_may_be_taken_back(ask):
    attentive, frame = attended("lightgbm")
    row = next(i for i in range(100) if "state" in answers_to(attentive, frame.iloc[i])[0].asked)
    inquiry, given = answers_to(attentive, frame.iloc[row])
    k = inquiry.asked.index("state")
    status, out, err = ask("lightgbm", answers=[*given[:k], "", "Utah", "<", *given[k:]])
    assert status == 0
    assert "There is no value. Type a category, ? where it cannot be had" in err
    assert "outside of what was seen" in err
    assert out.startswith(str(inquiry.label))
    assert "as certified" in out
    known = [f"--known={column}={frame.loc[row, column]}" for column in frame if column != "state"]
    _, out, _ = ask("lightgbm", *known, "--known=state=Utah")
    assert f"not certified: state = Utah, where {', '.join(STATES)} was seen" in out
    _, out, _ = ask("lightgbm", *known, "--known=state=?", "--json")
    assert json.loads(out)["outside"] == {}


def test_a_category_that_was_not_seen_is_listed_and_is_not_certified(ask):
    attentive, (_, frame) = attended_without("lightgbm", "CA"), attended("lightgbm")
    row = next(i for i in range(100) if "state" in answers_to(attentive, frame.iloc[i])[0].asked)
    known = [f"--known={column}={frame.loc[row, column]}" for column in frame if column != "state"]
    _, out, err = ask(attentive, *known, answers=["CA", ""])
    assert f"state [{', '.join(STATES)}]: " in err
    assert "outside of what was seen" in err
    assert "not certified: state = CA, where AK, NY, TX was seen" in out
    _, out, _ = ask(attentive, *known, answers=["NY"])
    assert "as certified" in out


def test_codes_without_names_that_were_seen_are_named(ask):
    attentive = attended_without("lightgbm, groups", 1.0, categorical="state")
    _, frame = attended("lightgbm, groups")
    known = [f"--known={column}={frame.loc[0, column]}" for column in frame if column != "state"]
    _, out, _ = ask(attentive, *known, "--known=state=1")
    assert "not certified: state = 1, where 0, 2, 3 was seen" in out


def test_a_column_that_no_tree_asks_for_may_be_known(ask):
    attentive, frame = attended("lightgbm, constant")
    used = attentive.additive_.walks.used.tolist()
    assert list(frame).index("noise") not in used
    assert attentive.population_.high[list(frame).index("noise")] == float("inf")
    inquiry, given = answers_to(attentive, frame.iloc[0])
    status, out, _ = ask("lightgbm, constant", "--known=noise=1e300", "--json", answers=given)
    assert status == 0
    assert json.loads(out)["certified"] == inquiry.certified
    assert "noise" not in attentive.columns_


def test_a_library_that_takes_no_missing_values_asks_again(ask):
    attentive, frame = attended("gradient")
    inquiry, given = answers_to(attentive, frame.iloc[0])
    status, out, err = ask("gradient", "--json", answers=["?", *given])
    assert status == 0
    assert "takes no missing values" in err
    assert json.loads(out)["label"] == inquiry.label
    status, _, err = ask("gradient", "--known=age=?")
    assert status == 2
    assert "takes no missing values" in err

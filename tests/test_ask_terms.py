"""``saccade ask`` about a model over raw columns: categories, and values for which the model has no way."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
from attended_terms import JOBS, NAMES, STATES, attended, model_of, table_of, take_stubs_apart

from saccade.cli.ask import _parted
from saccade.cli.main import run
from saccade.cli.questions import Question, question_about


@pytest.fixture(scope="module")
def certified():
    """A certified model, and rows of its table."""
    rng = np.random.default_rng(1)
    model, frame = model_of(rng), table_of(rng, 1500)
    with pytest.MonkeyPatch.context() as patch:
        take_stubs_apart(patch)
        return attended(model, frame), frame


@pytest.fixture
def ask(monkeypatch, capsys, certified):
    """Run ``saccade ask`` here, with the answers as its standard input."""
    monkeypatch.setattr("saccade.cli.ask._loaded", lambda _: certified[0])

    def call(*arguments, answers=()):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers)))
        status = run(["ask", "model", *arguments])
        return status, *capsys.readouterr()

    return call


def answers_to(attentive, row):
    inquiry, typed = attentive.inquire(), []
    while inquiry.wanted is not None:
        value = row[inquiry.wanted]
        typed.append("?" if value != value or value is None else value)
        inquiry.tell(value)
    return inquiry, typed


def test_a_person_is_asked_for_raw_columns_and_shown_categories(ask, certified):
    attentive, frame = certified
    for row in range(12):
        inquiry, typed = answers_to(attentive, frame.loc[row].replace({True: 1, False: 0}))
        status, out, err = ask("--json", answers=typed)
        assert status == 0
        found = json.loads(out)
        assert (found["label"], found["asked"]) == (inquiry.label, list(inquiry.asked))
        assert (found["certified"], found["spent"]) == (inquiry.certified, inquiry.spent)
        shown = {"job": ", ".join(JOBS), "state": ", ".join(STATES), "plan": "1.0, 2.0, 5.0"}
        for column in inquiry.asked:
            assert f"{column} [{shown.get(column, '')}" in err


def known_but(frame, row, *but):
    """Return what is known of a row but for some columns, as options."""
    values = frame.loc[row].replace({True: 1, False: 0}).dropna()
    return [f"--known={name}={values[name]}" for name in values.index if name not in but]


def test_a_category_that_the_model_refuses_is_asked_for_again(ask, certified):
    attentive, frame = certified
    row = next(i for i in range(200) if "state" in answers_to(attentive, frame.loc[i])[0].asked)
    known = known_but(frame, row, "state")
    _, out, err = ask(*known, "--json", answers=["Utah", "", "NY"])
    assert "the model has no way for 'Utah'. It was fitted on the categories ['AK', 'CA', 'NY']" in err
    assert "There is no value. Type a category, ? where it cannot be had" in err
    assert json.loads(out)["asked"] == ["state"]
    status, _, err = ask(*known, "--known=state=Utah")
    assert status == 2
    assert "no way for 'Utah'" in err


def test_what_cannot_be_had_is_a_value_where_the_model_has_a_way_and_else_is_replaced(ask, certified):
    attentive, frame = certified
    said = "The model has no way for a missing value here: what is expected of it takes its place."
    for name in ("state", "plan"):
        row = next(i for i in range(200) if name in answers_to(attentive, frame.loc[i])[0].asked)
        _, out, err = ask(*known_but(frame, row, name), "--json", answers=["?"] + [0] * len(NAMES))
        assert (said in err) == (name == "plan")
        assert json.loads(out)["label"] in attentive.classes_


def test_a_column_that_nothing_reads_may_be_known_whatever_it_holds(ask, certified):
    attentive, frame = certified
    _, typed = answers_to(attentive, frame.loc[0].replace({True: 1, False: 0}))
    status, _, _ = ask("--known=unread=any text", answers=typed)
    assert status == 0


def test_an_unseen_value_is_explained_by_what_was_seen(ask, certified):
    attentive, frame = certified
    row = next(i for i in range(200) if "plan" in answers_to(attentive, frame.loc[i])[0].asked)
    seen = attentive.population_.codes[NAMES.index("plan")]
    assert seen.tolist() == [0, 1, 2, 3]
    _, out, _ = ask(
        *known_but(frame, row, "plan", "age"), "--known=plan=2", "--known=age=1e6", answers=[0] * len(NAMES)
    )
    assert "not certified: age = 1e+06, where -" in out


def test_categories_are_typed_as_they_are_shown():
    written = {"Private": " Private", " Private": " Private", "True": True, "?": "?", "<=50K": "<=50K"}
    question = Question("job", "", "category", written, may_be_missing=False)
    assert question.value("Private\n") == question.value(" Private\n") == question.value("  Private ") == " Private"
    assert question.value("True\n") is True
    assert question.value("?\n") == "?"
    assert question.value("<=50K\n") == "<=50K"
    assert question.value("something else\n") == "something else"
    assert "?" not in question.advice
    assert "?" not in question.remedy
    assert Question("age", "", "number").value("?\n") is None


def test_names_and_categories_may_hold_equals_signs():
    named = SimpleNamespace(additive_=SimpleNamespace(columns=("income", "a=b", "a"), n_columns=3))
    assert _parted(named, "income=<=50K") == ("income", "<=50K")
    assert _parted(named, "a=b=1") == ("a=b", "1")
    assert _parted(named, "a=c=1") == ("a", "c=1")
    assert _parted(named, "none=1") == ("none", "1")
    numbered = SimpleNamespace(additive_=SimpleNamespace(columns=None, n_columns=3))
    assert _parted(numbered, "2=x=y") == (2, "x=y")


def test_many_categories_are_not_all_listed(certified):
    attentive, _ = certified
    assert question_about(attentive, "job").answers == ", ".join(JOBS)
    assert question_about(attentive, "job").categories["Private"] == "Private"
    assert question_about(attentive, "plan").kind == "number"
    assert question_about(attentive, "hours").way_for_missing is False
    assert question_about(attentive, "age").way_for_missing is True

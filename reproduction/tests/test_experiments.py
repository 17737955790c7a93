"""The experiments measure what they claim to measure, and verdicts follow from the figures."""

import ast
import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import reproduction
import saccade
from reproduction import claims, learning, walks
from reproduction.__main__ import as_json, as_text, main
from reproduction.effects import measure
from reproduction.experiments import QUICK
from reproduction.findings import errata, open_question
from reproduction.learning import COMPARED, HONEST, OWN_RULE, PAPER, PAPER_PAIRS, QUESTION
from reproduction.mnist import load_mnist, load_pair, scaled
from reproduction.summaries import Summary, derived_seed, pick, summarise
from reproduction.ten_digits import upright
from reproduction.tests.conftest import run_tiny
from saccade import ConstantSTST, Pegasos


def test_only_public_names_of_saccade_are_imported():
    for path in Path(reproduction.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "saccade":
                assert node.module in ("saccade", "saccade.exceptions"), path
            elif isinstance(node, ast.Import):
                assert not any(name.name.startswith("saccade.") for name in node.names), path


def test_the_number_of_threads_changes_nothing(results):
    assert as_json(run_tiny(jobs=1)) == as_json(results)


def test_a_budget_is_the_average_that_the_attentive_learner_read(results):
    budgeted = [run for run in results.runs if run.setting.budgeted]
    assert len(budgeted) == 4 * len(PAPER_PAIRS)
    for run in budgeted:
        [attentive] = pick(results.runs, setting=replace(run.setting, budgeted=False), pair=run.pair)
        assert run.features_learned == round(attentive.features_learned)


def test_a_full_read_is_its_own_stopped_prediction(results):
    full = [run for run in results.runs if run.setting.boundary == "full"]
    assert len(full) == 3 * len(PAPER_PAIRS) + 2
    for run in full:
        assert run.features_learned == run.features_predicted == 784
        assert run.error_full == run.error_stopped


def test_a_run_is_what_a_user_gets_from_the_same_learner(results):
    digits = load_pair((2, 3))
    how = {"rule": "algorithm1", "average": False, "audit": 0, "max_iter": 1}
    model = Pegasos(1e-2, boundary="constant", cost="features", tol=None, random_state=derived_seed(1, 0), **how)
    reading = model.fit(digits.X, digits.y).read(digits.X_test)
    [run] = pick(results.runs, setting=PAPER, pair=(2, 3))
    assert run.features_filtered == model.training_.features_per_filtered
    assert run.error_stopped == 100 * np.mean(reading.label != digits.y_test)
    assert run.features_predicted == reading.n_read.mean()


def test_the_recentred_read_has_the_fewest_wrong_training_images(results):
    digits = load_pair((2, 3))
    model = PAPER.estimator(derived_seed(1, 0)).fit(digits.X, digits.y)
    margin, sign = model.decision_function(digits.X), np.where(digits.y == 3, 1, -1)
    cuts = np.quantile(margin, np.linspace(0.2, 0.8, 2001))
    best = cuts[np.argmin([np.sum(sign * (margin - cut) <= 0) for cut in cuts])]
    error = 100 * np.mean((model.decision_function(digits.X_test) > best) != (digits.y_test == 3))
    [run] = pick(results.runs, setting=PAPER, pair=(2, 3))
    assert run.error_recentred == pytest.approx(error, abs=0.3)


def test_a_learning_curve_ends_where_one_pass_ends():
    attentive, budgeted, full, own_rule = learning.follow("paper", (3, 0), 0, seed=5)
    assert full.features[0] == learning.FIRST * 784
    assert full.features[-1] == load_pair((3, 0)).X.size
    assert attentive.features[-1] < full.features[-1] / 5
    assert budgeted.features[-1] == pytest.approx(attentive.features[-1], rel=0.02)
    for curve in (attentive, budgeted, full, own_rule):
        assert all(np.diff(curve.features) > 0)
        assert curve.error[-1] < 15


def test_replayed_levels_agree_with_a_plain_loop_over_the_images():
    digits = load_pair((3, 0))
    model = replace(HONEST, boundary="full").estimator(derived_seed(2, 0)).fit(digits.X, digits.y)
    coef = model.coef_[0]
    taus = {
        label: ConstantSTST(0.1).threshold(1.0, float(coef**2 @ digits.X[digits.y == label].astype(float).var(axis=0)))
        for label in model.classes_
    }
    signs = np.where(digits.y == model.classes_[1], 1, -1)
    important = np.flatnonzero(signs * model.decision_function(digits.X) < 1)
    missed = 0
    for i in important:
        partial = signs[i] * model.intercept_[0]
        for j in np.argsort(-np.abs(coef), kind="stable")[:-1]:
            partial += signs[i] * coef[j] * digits.X[i, j]
            if partial >= taus[digits.y[i]]:
                missed += 1
                break
    assert measure((3, 0), 0, seed=2).missed_sorted == pytest.approx(missed / important.size, abs=2 / important.size)


def test_the_papers_errors_have_the_expected_direction(results):
    """Directions that no seed reverses."""
    for pair in PAPER_PAIRS:
        in_order, permuted = (
            results.summary("features_filtered", COMPARED["paper"][f"attentive, {order}"], pair).mean
            for order in ("sorted", "permuted")
        )
        assert in_order < permuted
        full, own_rule = (results.summary("error_full", COMPARED["paper"][name], pair) for name in ("full", OWN_RULE))
        assert full.mean > own_rule.mean
    plain, squared = (summarise(results.effects, name).mean for name in ("missed_plain", "missed_permuted"))
    assert plain > squared
    assert summarise(results.effects, "sampled_bias").mean > 1.5


def test_the_figures_of_ten_digits_are_those_of_its_model(results):
    ten, (_, _, X_test, y_test) = results.ten_digits, load_mnist(None)
    X = scaled(upright(X_test))
    reading, full = ten.model.read(X), ten.model.full_margin(X).argmax(axis=1)
    assert ten.error_full == pytest.approx(100 * np.mean(full != y_test))
    assert ten.error_full < 8
    assert ten.error_stopped == pytest.approx(100 * np.mean(reading.label != y_test))
    assert ten.features == reading.n_read.mean() < 784 / 2
    assert ten.changed == pytest.approx(100 * np.mean(reading.label != full))
    assert all(np.mean(reading.label[full == digit] != digit) <= ten.delta for digit in range(10))
    assert ten.labels.tolist() == 3 * list(range(10))
    easy, typical, hard = ten.model.read(scaled(ten.images)).n_read.reshape(3, 10)
    assert (easy <= typical).all()
    assert (typical < hard).all()


def test_images_are_set_upright_and_centred_across():
    """The result does not lean, and setting it upright again changes little."""
    first = upright(load_mnist(None)[2][:300])
    assert np.abs(upright(first).astype(int) - first).mean() < 2
    places = np.arange(28)
    for picture in first.reshape(-1, 28, 28).astype(float):
        down, across = picture.sum(axis=1) @ places, picture.sum(axis=0) @ places
        assert across / picture.sum() == pytest.approx(14, abs=0.1)
        together = places @ picture @ places / picture.sum() - down * across / picture.sum() ** 2
        assert abs(together) < 0.12 * (picture.sum(axis=1) @ places**2 / picture.sum() - (down / picture.sum()) ** 2)
    lying = np.zeros((1, 28, 28), dtype=np.uint8)
    lying[0, 9, 4:19] = 255  # a single row has no slope
    assert upright(lying.reshape(1, -1)).reshape(28, 28)[9].sum() == 15 * 255


def test_the_exponent_of_a_power_law_is_found():
    stops = [walks.StopRecord(2**k, 3.0 * 2 ** (0.7 * k), 0.0) for k in range(12, 16)]
    assert walks.exponent(stops) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("filtered", "each", "verdict", "condition"),
    [
        (40.0, 48.0, claims.HOLDS, ""),
        (48.0, 50.0, claims.CONDITIONS, "in sorted and sampled and permuted order, counting filtered examples alone"),
        (50.0, 60.0, claims.FAILS, "in no order"),
    ],
)
def test_the_verdict_on_features_follows_from_the_figures(results, filtered, each, verdict, condition):
    runs = [replace(run, features_filtered=filtered, features_learned=each) for run in results.runs]
    claim = claims.claims(replace(results, runs=runs))[0]
    assert (claim.verdict, claim.condition) == (verdict, condition)


def test_only_a_claim_that_holds_has_no_condition(results):
    for claim in claims.claims(results):
        assert (claim.verdict == claims.HOLDS) == (claim.condition == "")


def test_a_single_permutation_is_never_beyond_chance(results):
    judged = {claim.says: claim for claim in claims.claims(results)}
    assert judged["Prediction that stops early has a lower error than the full computation"].verdict == claims.FAILS
    assert "±" not in " ".join(claim.measured for claim in judged.values())
    assert "in 0 of 48 settings and worse in 0" in " ".join(open_question(results))


def test_a_level_that_independent_walks_break_does_not_hold(results):
    broken = [replace(record, missed=(0.95, 0.9, 1.0)) for record in results.walks]
    judged = {claim.says: claim for claim in claims.claims(replace(results, walks=broken))}
    assert judged["The constant boundary makes about δ decision mistakes"].verdict == claims.FAILS


def test_the_open_question_names_the_settings_in_which_stopping_was_better(results):
    winner = QUESTION["Pegasos, averaged, audited, 1 pass"]
    runs = []
    for permutation, run in product(range(3), results.runs):
        gain = (1 if run.pair == (2, 9) and run.setting == winner else -1) + 0.01 * permutation
        runs.append(replace(run, permutation=permutation, error_full=5.0, error_stopped=5 - gain, error_recentred=4.5))
    text = " ".join(open_question(replace(results, runs=runs)))
    assert "in 1 of 48 settings and worse in 47" in text
    assert "0 learned with Algorithm 1's update and 1 with Pegasos's own; they are on 2 vs 9" in text
    assert "It does in 0 of these 1 settings; in the others stopping stays better by up to 0.51 points" in text
    assert "changes the error by -1.01 points (2 vs 9, one pass) at best and +0.99" in text


def test_picking_nothing_is_an_error():
    with pytest.raises(ValueError, match="nothing to summarise"):
        summarise([Summary(1.0, 0.0)], "mean", sd=1.0)


def test_records_survive_json(results):
    content = json.loads(as_json(results))
    for name in ("walks", "stops", "runs", "curves", "effects"):
        assert len(content[name]) == len(getattr(results, name))
    run, kept = results.runs[0], content["runs"][0]
    assert kept["setting"] == vars(run.setting)
    assert kept["features_learned"] == run.features_learned
    assert kept["decision_error"] is None  # without an audit
    assert [claim["says"] for claim in content["claims"]] == [claim.says for claim in claims.claims(results)]
    assert len(content["errata"]) == len(errata(results)) == 9


@pytest.fixture
def at_once(monkeypatch, results, html):
    """Replace the experiments by their results; return the arguments that they get."""
    asked = []
    monkeypatch.setattr("reproduction.__main__.run_all", lambda *given: asked.append(given[:3]) or results)
    monkeypatch.setattr("reproduction.__main__.render", lambda given: html)
    return asked


def test_the_command_prints_the_claims_and_writes_the_page(at_once, results, html, tmp_path, capsys):
    out = tmp_path / "page.html"
    main(["--out", str(out), "--quick", "--seed", "3", "--jobs", "2"])
    assert at_once == [(3, QUICK, 2)]
    assert out.read_text(encoding="utf-8") == html
    printed = capsys.readouterr()
    assert printed.out == as_text(results) + "\n"
    assert all(f"{claim.says}: {claim.verdict.upper()}" in printed.out for claim in claims.claims(results))
    assert printed.err == f"The page: {out}\n"  # no progress in a pipe
    main(["--out", str(out), "--json"])
    assert json.loads(capsys.readouterr().out)["version"] == saccade.__version__


@pytest.mark.parametrize(
    "given", [["--seed", "-1"], ["--jobs", "0"], ["--out", "/"], ["--out", "no/such/folder/page.html"]]
)
def test_wrong_options_are_refused_before_anything_runs(at_once, given, capsys):
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    assert given[0] in capsys.readouterr().err
    assert at_once == []

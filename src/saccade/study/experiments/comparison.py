"""Attentive, Budgeted and full Pegasos side by side, as the paper runs them and with our defaults."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from saccade.learners.pegasos import Pegasos
from saccade.planning.boundaries import Boundary, Budget, ConstantSTST, Full
from saccade.study.experiments.digits import N_PIXELS, Pair, Score, derived_seed, load_pair, score

# What all experiments share: the paper counts features, so every example is walked over and none is skipped unread.
FEATURES: dict[str, Any] = {"lam": 1e-2, "cost": "features", "max_iter": 1, "tol": None}
# The paper: Algorithm 1, one pass, its last weights, no audit. Ours: our own update, audited, five passes.
PAPER: dict[str, Any] = {**FEATURES, "rule": "algorithm1", "audit": 0, "average": False}
HONEST: dict[str, Any] = {**FEATURES, "max_iter": 5}
MODES = {"paper": PAPER, "honest": HONEST}
BOUNDARIES: dict[str, str | Boundary] = {"paper": ConstantSTST(0.1), "honest": "curved"}
# Sampling with replacement is biased as the paper prints it, and unbiased in our defaults.
ORDERS = {"paper": ("sorted", "sampled-printed", "permuted"), "honest": ("sorted", "sampled", "permuted")}


@dataclass(frozen=True)
class Run:
    """One algorithm on one permutation of the data."""

    mode: str
    pair: Pair
    algorithm: str
    order: str  # empty where everything is read
    permutation: int
    features_learned: float  # per example
    features_filtered: float  # per filtered example; nan where none was filtered
    decision_error: float  # as audited; nan without an audit
    score: Score


def compare(mode: str, pair: Pair, permutation: int, seed: int) -> list[Run]:
    """Run every algorithm in every order it can be run in, on one permutation."""
    return list(_runs(mode, pair, permutation, derived_seed(seed, permutation)))


def _runs(mode: str, pair: Pair, permutation: int, random_state: int) -> Iterator[Run]:
    digits = load_pair(pair)

    def run(algorithm: str, order: str = "", **changed: Any) -> Run:
        parameters = {**MODES[mode], **({"order": order} if order else {}), **changed}
        model = Pegasos(random_state=random_state, **parameters).fit(digits.X, digits.y)
        training = model.training_
        return Run(
            mode=mode,
            pair=pair,
            algorithm=algorithm,
            order=order,
            permutation=permutation,
            features_learned=training.features_per_example,
            features_filtered=training.features_per_filtered,
            decision_error=training.decision_error,
            score=score(model, digits),
        )

    for order in ORDERS[mode]:
        attentive = run("attentive", order, boundary=BOUNDARIES[mode])
        yield attentive
        if order != "sorted":  # a budget spent on the largest weights would never learn the others
            budget = min(max(1, round(attentive.features_learned)), N_PIXELS)
            yield run("budgeted", order, boundary=Budget(budget))
    yield run("full", boundary=Full())
    if mode == "paper":
        yield run("full, Pegasos's rule", boundary=Full(), rule="pegasos")

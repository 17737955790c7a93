"""Learning curves: the test error against the features read so far."""

from dataclasses import dataclass

import numpy as np

from saccade.learners.pegasos import Pegasos
from saccade.planning.boundaries import Budget, Full
from saccade.study.experiments.comparison import BOUNDARIES, FEATURES, PAPER
from saccade.study.experiments.digits import Pair, derived_seed, error_in_full, load_pair

FIRST = 64  # examples before the first point
POINTS = 16


@dataclass(frozen=True)
class Curve:
    """Test error (per cent) by features read, for one learner on one permutation, in one pass."""

    mode: str
    pair: Pair
    algorithm: str
    permutation: int
    features: tuple[float, ...]  # cumulative
    error: tuple[float, ...]  # of the weights so far, read in full


def learn_step_by_step(mode: str, pair: Pair, permutation: int, seed: int) -> list[Curve]:
    """Follow the three algorithms over one pass of one permutation."""
    digits = load_pair(pair)
    random_state = derived_seed(seed, permutation)
    parameters = PAPER if mode == "paper" else FEATURES
    rows = np.random.default_rng(random_state).permutation(len(digits.y))
    stops = np.unique(np.geomspace(FIRST, rows.size, POINTS).astype(int))

    def follow(model: Pegasos) -> tuple[list[float], list[float]]:
        features, errors = [], []
        for start, stop in zip([0, *stops], stops, strict=False):
            batch = rows[start:stop]
            model.partial_fit(digits.X[batch], digits.y[batch], classes=np.unique(digits.y))
            features.append(float(model.training_.n_read))
            errors.append(error_in_full(model, digits))
        return features, errors

    attentive = Pegasos(boundary=BOUNDARIES[mode], random_state=random_state, **parameters)
    curves = {"attentive": follow(attentive)}
    budget = Budget(max(1, round(attentive.training_.features_per_example)))
    curves["budgeted"] = follow(Pegasos(boundary=budget, order="permuted", random_state=random_state, **parameters))
    curves["full"] = follow(Pegasos(boundary=Full(), random_state=random_state, **parameters))
    if mode == "paper":
        own_rule = {**parameters, "rule": "pegasos"}
        curves["full, Pegasos's rule"] = follow(Pegasos(boundary=Full(), random_state=random_state, **own_rule))
    return [
        Curve(mode, pair, name, permutation, tuple(features), tuple(errors))
        for name, (features, errors) in curves.items()
    ]

"""The paper's open question: why would early-stopped prediction be better than the full computation?"""

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from saccade.learners.pegasos import Pegasos
from saccade.planning.boundaries import ConstantSTST
from saccade.study.experiments.comparison import FEATURES
from saccade.study.experiments.digits import Digits, Pair, Score, derived_seed, load_pair, score

RULES: tuple[Literal["algorithm1", "pegasos"], ...] = ("algorithm1", "pegasos")
PASSES = (1, 10)


@dataclass(frozen=True)
class Trial:
    """One setting of the learner, with the constant boundary in sorted order, on one permutation."""

    pair: Pair
    rule: str
    average: bool
    audit: float
    passes: int
    permutation: int
    score: Score
    error_recentred: float  # of the full read, with the intercept moved to where the fewest training images are wrong

    @property
    def gain(self) -> float:
        """By how many points the stopped prediction is better than the full read of the same weights."""
        return self.score.error_full - self.score.error_stopped


def try_all(pair: Pair, permutation: int, seed: int) -> list[Trial]:
    """Learn in all sixteen settings: two rules, last weights or averaged, audited or not, one pass or ten."""
    digits = load_pair(pair)
    trials = []
    for rule, average, audit, passes in product(RULES, (False, True), (0.0, 0.02), PASSES):
        model = Pegasos(
            boundary=ConstantSTST(0.1),
            random_state=derived_seed(seed, permutation),
            **{**FEATURES, "rule": rule, "average": average, "audit": audit, "max_iter": passes},
        ).fit(digits.X, digits.y)
        recentred = _error_recentred(model, digits)
        trials.append(Trial(pair, rule, average, audit, passes, permutation, score(model, digits), recentred))
    return trials


def _error_recentred(model: Pegasos, digits: Digits) -> float:
    """Return the error of the full read once the intercept is moved to where the fewest training images are wrong."""
    sign = np.where(digits.y == model.classes_[1], 1, -1)
    margin = model.full_margin(digits.X)
    ascending = np.argsort(margin, kind="stable")
    # With the cut after the k-th smallest margin, positive images up to there and negative images beyond are wrong.
    wrong = np.cumsum(sign[ascending]) + np.sum(sign < 0)
    best = int(np.argmin(wrong[:-1]))
    cut = margin[ascending[best : best + 2]].mean()
    label = model.classes_[(model.full_margin(digits.X_test) > cut).astype(int)]
    return float(100 * np.mean(label != digits.y_test))

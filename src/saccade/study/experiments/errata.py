"""The effect of the paper's errors on MNIST: the level by order and variance, and ablations of Algorithm 1."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.learners.pegasos import Pegasos
from saccade.planning.boundaries import ConstantSTST, Full
from saccade.planning.orders import reading_order
from saccade.study.experiments.comparison import FEATURES, HONEST, PAPER
from saccade.study.experiments.digits import N_PIXELS, PAPER_PAIRS, Digits, Pair, derived_seed, error_in_full, load_pair

# The paper's pairs, and a pair on which its method fails.
LEVEL_PAIRS: tuple[Pair, ...] = (*PAPER_PAIRS, (4, 9))
DELTA = 0.1
ORDERS = ("permuted", "sorted", "sampled", "sampled-printed")

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class LevelRecord:
    """The decision error of the constant boundary at delta = 10 % on the training images.

    The weights are fixed: full Pegasos, averaged over five passes.
    """

    pair: Pair
    order: str
    permutation: int  # which draw of the order, where it is random
    squared: bool  # whether the variance sums squared weights, as it must, or weights, as Algorithm 1 prints
    important: int  # images whose margin is below 1
    missed: float  # the share of them that the boundary would filter


def measure_levels(pair: Pair, permutation: int, seed: int) -> list[LevelRecord]:
    """Replay the walks of all important images under each order, with both variances."""
    digits = load_pair(pair)
    random_state = derived_seed(seed, permutation)
    model = Pegasos(boundary=Full(), random_state=random_state, **HONEST).fit(digits.X, digits.y)
    coef, intercept = model.coef_[0], float(model.intercept_[0])
    sign = np.where(digits.y == model.classes_[1], 1.0, -1.0)
    margin = sign * (digits.X @ coef + intercept)
    important = np.flatnonzero(margin < 1)
    label_sign = sign[important, None].astype(np.float32)
    images = label_sign * digits.X[important]
    variances = [digits.X[digits.y == label].var(axis=0) for label in model.classes_]
    records = []
    for order in ORDERS:
        features, weights = reading_order(order, coef, random_state)
        walks = np.cumsum(images[:, features] * weights.astype(np.float32), axis=1)
        highest = (walks + label_sign * intercept)[:, :-1].max(axis=1)
        for squared in (True, False):
            factors = coef**2 if squared else coef
            tau = [_tau(factors @ variance) for variance in variances]
            thresholds = np.where(sign[important] < 0, tau[0], tau[1])
            records.append(
                LevelRecord(pair, order, permutation, squared, important.size, float(np.mean(highest >= thresholds)))
            )
    return records


def _tau(variance: float) -> float:
    """Return the threshold; a negative variance, which a sum of plain weights can be, counts as zero."""
    return ConstantSTST(DELTA).threshold(1.0, max(float(variance), 0.0))


@dataclass(frozen=True)
class AlgorithmRecord:
    """Ablations of Algorithm 1 on one permutation; errors in per cent, read in full."""

    pair: Pair
    permutation: int
    error_algorithm1: float  # everything is read, and every example moves the weights
    error_pegasos: float  # everything is read, and only examples with a margin below 1 do
    error_unprojected: float  # Algorithm 1 without the projection, whose line lacks a factor
    norm_unprojected: float  # of its weights, over the radius that the projection keeps
    sampled_bias: float  # the mean margin of n draws as printed, over the mean full margin
    late_variance: float  # Algorithm 1's estimate over the true variance, median over the half that is read last
    error_attentive: float  # Algorithm 1 in sorted order, with attention
    error_audited: float  # the same with the audit
    error_own_rule: float  # the same with Pegasos's update and averaged weights, without the audit
    error_curved: float  # and with the curved boundary too
    error_honest: float  # and with the audit too: our defaults, in one pass


def measure_algorithm(pair: Pair, permutation: int, seed: int) -> AlgorithmRecord:
    digits = load_pair(pair)
    random_state = derived_seed(seed, permutation)

    def learn(**parameters: Any) -> Pegasos:
        model = Pegasos(random_state=random_state, **{**FEATURES, **parameters})
        model.fit(digits.X, digits.y)
        return model

    attentive = learn(**{**PAPER, "boundary": ConstantSTST(DELTA)})
    unprojected = learn(**{**PAPER, "boundary": ConstantSTST(DELTA), "project": False})
    return AlgorithmRecord(
        pair=pair,
        permutation=permutation,
        error_algorithm1=error_in_full(learn(**{**PAPER, "boundary": Full()}), digits),
        error_pegasos=error_in_full(learn(boundary=Full(), average=False), digits),
        error_unprojected=error_in_full(unprojected, digits),
        norm_unprojected=float(np.linalg.norm(unprojected.coef_) * math.sqrt(PAPER["lam"])),
        sampled_bias=_sampled_bias(attentive.coef_[0], digits, random_state),
        late_variance=_late_variance(attentive, digits),
        error_attentive=error_in_full(attentive, digits),
        error_audited=error_in_full(learn(**{**PAPER, "boundary": ConstantSTST(DELTA), "audit": 0.02}), digits),
        error_own_rule=error_in_full(learn(boundary=ConstantSTST(DELTA), audit=0), digits),
        error_curved=error_in_full(learn(audit=0), digits),
        error_honest=error_in_full(learn(), digits),
    )


def _sampled_bias(coef: Reals, digits: Digits, seed: int) -> float:
    features, weights = reading_order("sampled-printed", coef, seed)
    sign = np.where(digits.y_test == digits.y_test.max(), 1.0, -1.0)
    drawn = np.mean(sign * (digits.X_test[:, features] @ weights))
    return float(drawn / np.mean(sign * (digits.X_test @ coef)))


def _late_variance(model: Pegasos, digits: Digits) -> float:
    late = np.argsort(-np.abs(model.coef_[0]), kind="stable")[N_PIXELS // 2 :]
    estimated = model._learners[0].moments().var[:, late]
    true = np.stack([digits.X[digits.y == label][:, late].var(axis=0) for label in model.classes_])
    varying = true > 1e-3  # the others are dark in nearly every image
    return float(np.median(estimated[varying] / true[varying]))

"""Measure what the paper's errors do on MNIST: the level by order and variance, and biased estimates."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reproduction.learning import HONEST, PAPER
from reproduction.mnist import N_PIXELS, Digits, Pair, load_pair
from reproduction.summaries import derived_seed
from saccade import ConstantSTST, Pegasos

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Effects:
    """The paper's errors on one permutation of a pair.

    ``missed`` is the share of important training images, those with a margin below 1, that the constant boundary at
    delta = 10 % would filter. The weights are those of full Pegasos, averaged over five passes.
    """

    pair: Pair
    permutation: int
    missed_permuted: float
    missed_sorted: float
    missed_sampled: float  # without rescaling, as printed
    missed_plain: float  # permuted, with the variance as Algorithm 1 prints it: a sum of weights, not of their squares
    sampled_bias: float  # mean margin of n draws as printed, over the mean full margin
    late_variance: float  # Algorithm 1's estimate over the true variance, median over the half that is read last


def measure(pair: Pair, permutation: int, seed: int) -> Effects:
    """Replay the walks of all important images, and examine a learner of Algorithm 1."""
    digits, random_state = load_pair(pair), derived_seed(seed, permutation)
    full = replace(HONEST, boundary="full").estimator(random_state).fit(digits.X, digits.y)
    attentive = PAPER.estimator(random_state).fit(digits.X, digits.y)
    weights = full.coef_[0]
    features = {order: draw_order(order, weights, random_state) for order in ("permuted", "sorted", "sampled")}
    return Effects(
        pair=pair,
        permutation=permutation,
        missed_permuted=missed(full, digits, features["permuted"], weights**2),
        missed_sorted=missed(full, digits, features["sorted"], weights**2),
        missed_sampled=missed(full, digits, features["sampled"], weights**2),
        missed_plain=missed(full, digits, features["permuted"], weights),
        sampled_bias=_sampled_bias(attentive.coef_[0], digits, random_state),
        late_variance=_late_variance(attentive, digits),
    )


def draw_order(order: str, weights: Reals, seed: int) -> NDArray[np.intp]:
    """Return the features in the order in which they are read; "sampled" is with replacement, by magnitude."""
    magnitude = np.abs(weights)
    if order == "sorted":
        return np.argsort(-magnitude, kind="stable")
    rng = np.random.default_rng(seed)
    if order == "permuted":
        return rng.permutation(weights.size)
    return rng.choice(weights.size, weights.size, p=magnitude / magnitude.sum())


def missed(model: Pegasos, digits: Digits, features: NDArray[np.intp], factors: Reals) -> float:
    """Return the share of important images that the constant boundary stops.

    ``factors`` multiply the features' variances in the variance of the margin.
    """
    sign = np.where(digits.y == model.classes_[1], 1.0, -1.0)
    important = np.flatnonzero(sign * (digits.X @ model.coef_[0] + model.intercept_[0]) < 1)
    own_sign = sign[important, None].astype(np.float32)
    values = (own_sign * digits.X[important])[:, features] * model.coef_[0, features].astype(np.float32)
    highest = (np.cumsum(values, axis=1) + own_sign * float(model.intercept_[0]))[:, :-1].max(axis=1)
    # A sum of plain weights can make the variance negative; it then counts as zero.
    variances = [max(factors @ digits.X[digits.y == label].var(axis=0), 0.0) for label in model.classes_]
    low, high = (ConstantSTST(0.1).threshold(1.0, float(variance)) for variance in variances)
    return float(np.mean(highest >= np.where(sign[important] < 0, low, high)))


def _sampled_bias(weights: Reals, digits: Digits, seed: int) -> float:
    features = draw_order("sampled", weights, seed)
    sign = np.where(digits.y_test == digits.y_test.max(), 1.0, -1.0)
    drawn = np.mean(sign * (digits.X_test[:, features] @ weights[features]))
    return float(drawn / np.mean(sign * (digits.X_test @ weights)))


def _late_variance(model: Pegasos, digits: Digits) -> float:
    late = draw_order("sorted", model.coef_[0], seed=0)[N_PIXELS // 2 :]
    estimated = model.variances_[0][:, late]
    true = np.stack([digits.X[digits.y == label][:, late].var(axis=0) for label in model.classes_])
    varying = true > 1e-3  # the others are dark in nearly every image
    return float(np.median(estimated[varying] / true[varying]))

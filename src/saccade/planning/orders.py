"""Which feature is read next: one function per order, for a plan whose weights no longer move.

While a learner learns, its order follows the weights in ``kernels.walks``.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.state import NATURAL, PERMUTED, SAMPLED, SAMPLED_PRINTED, SORTED

__all__ = ["CODES", "check_order", "magnitude", "reading_order"]

CODES = {
    "natural": NATURAL,
    "permuted": PERMUTED,
    "sorted": SORTED,
    "sampled": SAMPLED,
    "sampled-printed": SAMPLED_PRINTED,
}

Weights = NDArray[np.float64]
Order = tuple[NDArray[np.intp], Weights]


def magnitude(coef: Weights) -> Weights:
    """Return how much each part of (scores, parts) weighs in the decision, for the orders that go by it.

    Of one score it is the weight itself, with its sign; of several how far their weights are apart.
    """
    if coef.shape[0] == 1:
        weight: Weights = coef[0]
        return weight
    apart: Weights = np.sqrt(((coef - coef.mean(axis=0)) ** 2).sum(axis=0))
    return apart


def natural(weights: Weights, seed: int) -> Order:
    """Read the features as they come."""
    return np.arange(weights.size), weights


def permuted(weights: Weights, seed: int) -> Order:
    """Read the features in a random order, under which the paper's independence assumption does least harm."""
    features = np.random.default_rng(seed).permutation(weights.size)
    return features, weights[features]


def sorted_by_magnitude(weights: Weights, seed: int) -> Order:
    """Read the features from the largest magnitude of the weight to the smallest."""
    features = np.argsort(-np.abs(weights), kind="stable")
    return features, weights[features]


def sampled(weights: Weights, seed: int) -> Order:
    """Draw features with replacement in proportion to |w|; each draw counts ||w||_1 sign(w_j) / n.

    The expectation of n draws is then the full margin.
    """
    features = _draw(weights, seed)
    return features, np.abs(weights).sum() * np.sign(weights[features]) / weights.size


def sampled_as_printed(weights: Weights, seed: int) -> Order:
    """Draw as ``sampled`` does, but weight each draw by w_j, as the paper does; the sum is biased upwards."""
    features = _draw(weights, seed)
    return features, weights[features]


def _draw(weights: Weights, seed: int) -> NDArray[np.intp]:
    mass = np.abs(weights)
    total = mass.sum()
    return np.random.default_rng(seed).choice(weights.size, weights.size, p=mass / total if total > 0 else None)


_ORDERS: dict[str, Callable[[Weights, int], Order]] = {
    "natural": natural,
    "permuted": permuted,
    "sorted": sorted_by_magnitude,
    "sampled": sampled,
    "sampled-printed": sampled_as_printed,
}


def check_order(order: str) -> str:
    if order not in _ORDERS:
        raise ValueError(f"order={order!r}: the orders are {', '.join(map(repr, _ORDERS))}.")
    return order


def reading_order(order: str, weights: Weights, seed: int) -> Order:
    """Return the features in the order in which they are read and the weight of each."""
    return _ORDERS[check_order(order)](weights, seed)

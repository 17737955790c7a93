"""Does a rate still lie below its level? Evidence of groups of rows, of which some were drawn and a few rows audited.

The rows of one group come together, so that they are not as many draws: a drawn group is one observation, whichever and
however many of its rows were audited. Of the rows that its coins chose let c be the share that a test is about and e
the share of its errors, both times the group's size over the chance that its coins choose any, beside that of the
largest, so that 0 <= e <= c <= 1. Where the rate over all groups is r, e - r c is 0 on average over the draws. Bets on
its sign (Waudby-Smith and Ramdas 2024) gain

    W(r) = Σ_κ w_κ Π_g (1 + κ (e_g / r - c_g))              where the rate is more than r,
    W(r) = Σ_κ w_κ Π_g (1 - κ (e_g - r c_g) / (1 - r))      where it is less,

and are at most 1 on average where it is not: also if the groups' own rates vary as they like, for of draws with means
μ_g, which sum up to at most 0, the product has the mean Π (1 + λ μ_g) <= exp(λ Σ μ_g) <= 1. Over this mean it is a
martingale, so that Ville's inequality holds for all times at which the rate so far is not beyond r. Both are monotone
in r.

Stakes κ stay below 1, so that no single group can ruin a bet. Hence 'less than r' takes ln(1/α) / r groups without an
error at the least, 299 for 1 % at 95 %: any group that was not drawn may be all errors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

__all__ = ["SeenGroups", "log_gained_above", "log_gained_below"]

Reals = NDArray[np.float64]


class SeenGroups(NamedTuple):
    """Of each drawn group, in its order: the share of rows that a test is about, and of errors, by its weight."""

    rows: Reals
    errors: Reals


class Stakes(NamedTuple):
    """What is put on a bet, as shares of what would ruin it, and their weights."""

    share: Reals
    log_weight: Reals


def _stakes(weights: dict[float, float]) -> Stakes:
    return Stakes(np.array(list(weights)), np.log(list(weights.values())))


# Large stakes gain soon where groups are alike, small ones in the end where few groups have most errors.
ABOVE = _stakes({0.01: 0.1, 0.05: 0.1, 0.2: 0.2, 0.5: 0.2, 0.95: 0.4})
BELOW = _stakes({0.1: 0.1, 0.4: 0.2, 0.99: 0.7})


def log_gained_above(seen: SeenGroups, rate: float) -> float:
    """Return the logarithm of W(rate), by bets that the rate is more."""
    return float(logsumexp(_log_factors_above(seen, rate).sum(axis=0) + ABOVE.log_weight))


def log_gained_below(seen: SeenGroups, rate: float) -> float:
    """Return the logarithm of W(rate), by bets that the rate is less."""
    surplus = (seen.errors - rate * seen.rows) / (1 - rate)
    return float(logsumexp(np.log1p(-surplus[:, None] * BELOW.share).sum(axis=0) + BELOW.log_weight))


def _log_factors_above(seen: SeenGroups, rate: float) -> Reals:
    surplus = seen.errors / rate - seen.rows
    factors: Reals = np.log1p(surplus[:, None] * ABOVE.share)
    return factors

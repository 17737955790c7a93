"""Iterative parameter mixing: copies of learners, a pass of each over its own rows, and the mean of what was learned.

McDonald, Hall and Mann 2010. Averaging once at the end is not enough: the mean goes into the next pass. The copies
learn in the processes of a cluster.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels import state as codes
from saccade.kernels.state import Walk
from saccade.kernels.updates import multiply_out, shift_exponents
from saccade.learners.online import OnlineLearner
from saccade.learners.passes import Memory, Team
from saccade.reading.inputs import Rows

__all__ = ["Mixing", "copies_of", "learn_apart", "positive_classes", "refresh", "shares_walk", "to_send"]

Reals = NDArray[np.float64]

# Far enough apart that no two learners draw the same coins.
NEXT_SEED = 104_729
# Of the numbers that a learner keeps, those that add up over the copies; of the others the mean is taken.
ADDED = [codes.LOSS]
# The part of a way that is gone again. Of 0, 0.3, 0.5 and 0.7, on pairs of MNIST and on texts, the last two led to the
# lowest objectives and errors after 20 passes, and differed little.
MOMENTUM = 0.5


def positive_classes(n_learners: int) -> list[int]:
    """Return the class that each learner sets against the others."""
    return [1] if n_learners == 1 else list(range(n_learners))


def shares_walk(learner: OnlineLearner, is_sparse: bool) -> bool:
    """Whether copies do without a walk of their own: sparse rows that are read in full teach nothing of walks."""
    return is_sparse and bool(learner.settings.limit == learner.state.weights.size)


def copies_of(learners: Sequence[OnlineLearner], number: int, shared: bool) -> list[OnlineLearner]:
    """Return the copies of this number: with coins of their own, and with walks of their own unless they are shared."""
    copied = [replace(one, state=one.copied_state()) if shared else one.copy() for one in learners]
    seeds = [(one.settings.seed + number * NEXT_SEED) % 2**31 for one in learners]
    return [replace(one, settings=one.settings._replace(seed=seed)) for one, seed in zip(copied, seeds, strict=True)]


def to_send(learners: Sequence[OnlineLearner], shared: bool) -> list[OnlineLearner]:
    """Return learners as other processes need them to make copies: a shared walk, which is long, is left out."""
    copied = copies_of(learners, 0, shared)
    return [replace(one, walk=Walk._make(array[:0] for array in one.walk)) for one in copied] if shared else copied


def refresh(copied: OnlineLearner, learner: OnlineLearner, shared: bool) -> None:
    """Let a copy go on from where a learner stands."""
    for mine, theirs in zip(_arrays(copied, shared), _arrays(learner, shared), strict=True):
        mine[...] = theirs
    copied.counters[:] = learner.counters


def learn_apart(
    copies: Sequence[OnlineLearner],
    memory: Memory,
    X: Rows,
    labels: NDArray[np.integer],
    rows: NDArray[np.uint32],
    weight: NDArray[np.float64],
    *,
    alone: bool,
) -> int:
    """Let copies learn from rows in turn; return -1, or a row that is not finite.

    Where they are not ``alone``, their weights are multiplied out, so that the mean over all copies can be taken.
    """
    team = Team(copies, positive_classes(len(copies)), memory)
    bad = team.learn(X, labels, rows, weight)
    team.grow_older(rows)
    team.done()
    for copied in () if alone else copies:
        exponentiated = copied.settings.rule == codes.EXPONENTIATED
        multiply_out(copied.state, 1.0 if exponentiated else copied.state.scalars[codes.SCALE])
    return bad


class Mixing:
    """Learners that are given the mean of their copies after every pass, and the way that this mean goes.

    The mean of k copies goes in a pass as far as one copy, which has a k-th of the rows. So half of the way that it
    went in the pass before is added (slow momentum: Wang, Tantia, Ballas and Rabbat 2020), for learners whose weights
    are averaged over the steps: that evens out where this leads too far.
    """

    def __init__(self, learners: Sequence[OnlineLearner], shared: bool) -> None:
        self._learners, self._shared = learners, shared
        self._ways: list[Reals | None] = [None] * len(learners)

    def mix(self, copies: Sequence[Sequence[OnlineLearner]], sizes: Sequence[int], held: Reals | None = None) -> None:
        """Give the learners the mean of their copies, which have so many rows each; it is summed in this order.

        ``held``, (copies, features), is in how many of its rows each copy has met each feature, where that is known. A
        weight is then a mean over these rows. Over all rows a rare feature, which one of k copies has met, would keep
        a k-th of what that copy learned.
        """
        shares = np.array(sizes) / sum(sizes)
        of_features = shares if held is None else _shares_of_features(held, shares)
        for k, (learner, *parts) in enumerate(zip(self._learners, *copies, strict=True)):
            if len(parts) == 1:
                refresh(learner, parts[0], self._shared)  # to the bit
                continue
            begun = _place(learner)
            _mix(learner, parts, shares, of_features, self._shared)
            if learner.settings.average and learner.state.potential is None:
                self._ways[k] = _go_on(learner, begun, self._ways[k])


def _place(learner: OnlineLearner) -> Reals:
    """Return weights and intercept of a mean: its scale is 1."""
    return np.append(learner.state.weights, learner.state.scalars[codes.INTERCEPT]).astype(np.float64)


def _go_on(learner: OnlineLearner, begun: Reals, before: Reals | None) -> Reals:
    """Let a mean go on by a part of the way that it went before; return the way from where this pass had begun.

    A first pass, which leads from nothing to most of what there is to learn, shows no way to go on.
    """
    if before is None:
        return np.zeros_like(begun)
    learner.state.weights[:] += MOMENTUM * before[:-1]
    learner.state.scalars[codes.INTERCEPT] += MOMENTUM * before[-1]
    _restore(learner)
    return _place(learner) - begun


def _shares_of_features(held: Reals, shares: Reals) -> Reals:
    """Return how much each copy counts for each feature: as for the others where no copy has met it."""
    total = held.sum(axis=0)
    return np.where(total > 0, held / np.maximum(total, 1), shares[:, None])


def _arrays(learner: OnlineLearner, shared: bool) -> list[NDArray[Any]]:
    """Return all that a learner knows, but for its counts and for a walk that is shared."""
    return [*_by_feature(learner), *_others(learner, shared)]


def _by_feature(learner: OnlineLearner) -> list[NDArray[Any]]:
    """Return what the steps have moved, feature by feature."""
    return [array for array in learner.state[:3] if array is not None and array.size]  # no potential, no average


def _others(learner: OnlineLearner, shared: bool) -> list[NDArray[Any]]:
    return [learner.state.scalars, *(() if shared else learner.walk)]


def _mix(
    learner: OnlineLearner, parts: Sequence[OnlineLearner], shares: Reals, of_features: Reals, shared: bool
) -> None:
    """Give a learner the mean of its copies, which began where it stands; counts add up, steps go on side by side."""
    scalars, counters = learner.state.scalars, learner.state.counters
    before, counted = scalars.copy(), counters.copy()
    for target, *arrays in zip(_by_feature(learner), *map(_by_feature, parts), strict=True):
        target[...] = _mean(arrays, of_features)
    for target, *arrays in zip(_others(learner, shared), *(_others(part, shared) for part in parts), strict=True):
        target[...] = _mean(arrays, shares) if target.dtype.kind == "f" else arrays[0]
    if of_features is not shares and learner.state.correction.size:
        # What is averaged over the steps is a sum of them, and copies of more rows have made more.
        weights = [part.state.scalars[codes.AVERAGE_WEIGHT] for part in parts]
        total = _mean(weights, of_features)
        learner.state.correction[:] *= np.divide(
            scalars[codes.AVERAGE_WEIGHT], total, out=np.ones(total.shape), where=total > 0
        )
    for entry in ADDED:
        scalars[entry] = before[entry] + sum(part.state.scalars[entry] - before[entry] for part in parts)
    counters[:] = counted + sum(part.counters - counted for part in parts)
    for entry in (codes.STEP, codes.CHANGES, codes.NEXT_REORDER, codes.REORDERS):
        counters[entry] = max(part.counters[entry] for part in parts)
    _restore(learner)


def _mean(arrays: Sequence[NDArray[Any]], shares: Reals) -> Reals:
    """Return the mean of arrays, each of which counts with its share, or with its shares of the features."""
    shape = np.broadcast_shapes(arrays[0].shape, shares.shape[1:])
    total, term = np.zeros(shape), np.empty(shape)
    for array, share in zip(arrays, shares, strict=True):
        total += np.multiply(array, share, out=term)
    return total


def _restore(learner: OnlineLearner) -> None:
    """Bring what follows from the weights in line with them."""
    state, settings = learner.state, learner.settings
    scalars = state.scalars
    if settings.rule == codes.EXPONENTIATED:
        shift_exponents(state, state.potential, settings)
        scalars[codes.SCALE] = settings.radius / scalars[codes.MASS]
    scalars[codes.NORM2] = float(state.weights.astype(np.float64) @ state.weights) + scalars[codes.INTERCEPT] ** 2

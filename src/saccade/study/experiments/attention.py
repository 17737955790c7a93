"""Pixels read of single test images, and the partial margin after each of them."""

from dataclasses import dataclass

import numpy as np

from saccade.learners.pegasos import Pegasos
from saccade.study.experiments.comparison import HONEST
from saccade.study.experiments.digits import Pair, derived_seed, load_pair

GALLERY = 10


@dataclass(frozen=True)
class DigitRead:
    """A test image, the pixels read of it and its partial margins."""

    digit: int
    said: int
    pixels: tuple[int, ...]  # 784 shades from 0 to 255, row by row
    order: tuple[int, ...]  # the pixels that were read, in their order
    walk: tuple[float, ...]  # the partial margin after each of them
    stopped: bool


@dataclass(frozen=True)
class Attention:
    """An easy and a hard image, and those that took fewest and most features."""

    pair: Pair
    checkpoints: tuple[int, ...]
    lower: tuple[float, ...]  # at or below it the first digit is said
    upper: tuple[float, ...]  # at or above it the second
    easy: DigitRead
    hard: DigitRead
    fewest: tuple[DigitRead, ...]
    most: tuple[DigitRead, ...]


def watch(pair: Pair, seed: int) -> Attention:
    """Learn with the defaults in five passes and record how test images are read."""
    digits = load_pair(pair)
    model = Pegasos(random_state=derived_seed(seed), **HONEST).fit(digits.X, digits.y)
    reading, plan = model.read(digits.X_test), model._plans[0]

    def as_read(row: int) -> DigitRead:
        image, size = digits.X_test[row], int(reading.n_read[row])
        walk = plan.intercept[0] + np.cumsum(plan.weights[0, :size] * image[plan.order[:size]])
        return DigitRead(
            digit=int(digits.y_test[row]),
            said=int(reading.label[row]),
            pixels=tuple((255 * image).round().astype(int).tolist()),
            order=tuple(plan.order[:size].tolist()),
            walk=tuple(walk.tolist()),
            stopped=bool(reading.stopped[row]),
        )

    by_effort = np.argsort(reading.n_read, kind="stable")
    decided = by_effort[reading.stopped[by_effort] & (reading.label == digits.y_test)[by_effort]]
    decided = decided[digits.y_test[decided] == model.classes_[1]]  # both of the same class, so that the walks compare
    offset = len(decided) // 50
    # Images read to the end come last, the least clear of them at the very end.
    by_difficulty = np.lexsort((-np.abs(reading.margin), reading.n_read))
    return Attention(
        pair=pair,
        checkpoints=tuple(plan.checkpoints.tolist()),
        lower=tuple(plan.lower[0].tolist()),
        upper=tuple(plan.upper[0].tolist()),
        easy=as_read(decided[offset]),
        hard=as_read(decided[-offset - 1]),
        fewest=tuple(as_read(row) for row in by_difficulty[:GALLERY]),
        most=tuple(as_read(row) for row in by_difficulty[::-1][:GALLERY]),
    )

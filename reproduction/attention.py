"""Record the pixels read of two test images, and the partial margin after each pixel."""

from dataclasses import dataclass

import numpy as np

from reproduction.learning import HONEST
from reproduction.mnist import Pair, load_pair
from reproduction.summaries import derived_seed


@dataclass(frozen=True)
class DigitRead:
    """A test image, the pixels read of it and its partial margins."""

    digit: int
    label: int
    pixels: tuple[int, ...]  # 784 shades from 0 to 255, row by row
    order: tuple[int, ...]  # the pixels that were read, in reading order
    walk: tuple[float, ...]  # the partial margin after each of them
    stopped: bool


@dataclass(frozen=True)
class Attention:
    """An easy and a hard image of the second digit, and the thresholds at each checkpoint."""

    pair: Pair
    checkpoints: tuple[int, ...]
    lower: tuple[float, ...]  # at or below it the label is the first digit
    upper: tuple[float, ...]  # at or above it the second
    easy: DigitRead
    hard: DigitRead


def watch(pair: Pair, seed: int) -> Attention:
    """Learn with saccade's defaults in five passes and record how test images are read."""
    digits = load_pair(pair)
    model = HONEST.estimator(derived_seed(seed)).fit(digits.X, digits.y)
    reading, [plan] = model.read(digits.X_test), model.plans_

    def as_read(row: int) -> DigitRead:
        image, order = digits.X_test[row], plan.order[: reading.n_read[row]]
        walk = plan.intercept[0] + np.cumsum(plan.weights[0, : order.size] * image[order])
        return DigitRead(
            digit=int(digits.y_test[row]),
            label=int(reading.label[row]),
            pixels=tuple((255 * image).round().astype(int).tolist()),
            order=tuple(order.tolist()),
            walk=tuple(walk.tolist()),
            stopped=bool(reading.stopped[row]),
        )

    # Both images show the same digit, so that their walks compare, and get the right label early.
    right = reading.stopped & (reading.label == digits.y_test) & (digits.y_test == model.classes_[1])
    by_effort = np.argsort(reading.n_read, kind="stable")
    candidates = by_effort[right[by_effort]]
    offset = candidates.size // 50
    return Attention(
        pair=pair,
        checkpoints=tuple(plan.checkpoints.tolist()),
        lower=tuple(plan.lower[0].tolist()),
        upper=tuple(plan.upper[0].tolist()),
        easy=as_read(candidates[offset]),
        hard=as_read(candidates[-offset - 1]),
    )

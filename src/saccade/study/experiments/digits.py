"""Pairs of MNIST digits, and the test scores of models learned on them."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.data.mnist import load_mnist
from saccade.learners.classifier import AttentiveLearner

Pair = tuple[int, int]

N_PIXELS = 784
# The paper's problems. It names the second '3 vs 10', a digit that does not exist: both readings of it are run.
PAPER_PAIRS: tuple[Pair, ...] = ((2, 3), (3, 0), (2, 9))


class Digits(NamedTuple):
    """Images of two digits with pixels scaled to [0, 1]."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]


@dataclass(frozen=True)
class Score:
    """Test scores of a learned model: errors in per cent, features out of 784."""

    error_full: float  # every feature is read
    error_stopped: float  # prediction stops early, by the model's own boundary
    features_predicted: float  # read per test image when prediction stops


@lru_cache(maxsize=4)
def load_pair(pair: Pair) -> Digits:
    X, y, X_test, y_test = load_mnist(pair)
    return Digits(scaled(X), y, scaled(X_test), y_test)


def scaled(X: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return pixels from 0 to 255 as shades from 0 to 1."""
    return np.divide(X, 255, dtype=np.float32)


def error_in_full(model: AttentiveLearner, digits: Digits) -> float:
    label = model.classes_[(model.full_margin(digits.X_test) > 0).astype(int)]
    return float(100 * np.mean(label != digits.y_test))


def score(model: AttentiveLearner, digits: Digits) -> Score:
    reading = model.read(digits.X_test)
    stopped = float(100 * np.mean(reading.label != digits.y_test))
    return Score(error_in_full(model, digits), stopped, float(reading.n_read.mean()))


def derived_seed(seed: int, *key: int) -> int:
    """Return a seed for each key of an experiment: different keys, different seeds; the same in every run."""
    return int(np.random.SeedSequence([seed, *key]).generate_state(1)[0])

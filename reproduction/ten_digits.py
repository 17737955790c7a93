"""Learn the classifier of ten digits that reads what visitors of the page draw."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproduction.mnist import N_PIXELS, SIDE, load_mnist, scaled
from reproduction.summaries import derived_seed
from saccade import AttentiveClassifier, Pegasos, attend

DELTA = 0.05
# The share of the rows that train the model; the others plan and calibrate.
TRAINED = 0.6
# Test digits to choose from: of each digit, those at these quantiles of the number of pixels read.
EFFORTS = (0.1, 0.5, 0.95)
CENTRE = 14  # MNIST's centre of mass, counted from the middle of the first pixel
MOST_LEAN = 1.0  # columns per row; strokes that lie flatter than that stay as they are


@dataclass(frozen=True, eq=False)
class TenDigits:
    """The classifier, its results on all test digits, and test digits to try it on."""

    delta: float
    error_full: float  # per cent, from all pixels
    error_stopped: float  # per cent, with early exit
    features: float  # pixels read per test digit
    changed: float  # per cent of the test digits whose label differs from that of all pixels
    model: AttentiveClassifier
    images: NDArray[np.uint8]  # (digits, 784), upright
    labels: NDArray[np.int64]


def learn_ten(rows: int, seed: int) -> TenDigits:
    """Train on upright training images, then plan on others to read as few pixels as possible."""
    X, y, X_test, y_test = load_mnist(None)
    X_test = upright(X_test)
    chosen = np.random.default_rng(derived_seed(seed)).permutation(y.size)[:rows]
    train, held_out = np.split(chosen, [round(TRAINED * rows)])
    pegasos = Pegasos(lam=1e-4, random_state=derived_seed(seed)).fit(scaled(upright(X[train])), y[train])
    # With a price for each pixel and none for a checkpoint, checkpoints are few pixels apart.
    prices = np.ones(N_PIXELS)
    model = attend(pegasos, scaled(upright(X[held_out])), delta=DELTA, costs=prices, random_state=derived_seed(seed))
    round_weights(model)
    reading, full = model.read(scaled(X_test)), model.classes_[model.full_margin(scaled(X_test)).argmax(axis=1)]
    by_effort = np.argsort(reading.n_read, kind="stable")
    by_digit = [by_effort[y_test[by_effort] == digit] for digit in range(10)]
    shown = np.array([ordered[int(effort * ordered.size)] for effort in EFFORTS for ordered in by_digit])
    return TenDigits(
        delta=DELTA,
        error_full=float(100 * np.mean(full != y_test)),
        error_stopped=float(100 * np.mean(reading.label != y_test)),
        features=float(reading.n_read.mean()),
        changed=float(100 * np.mean(reading.label != full)),
        model=model,
        images=X_test[shown],
        labels=y_test[shown],
    )


def round_weights(model: AttentiveClassifier) -> None:
    """Round the plan's weights to single precision, so that their products with pixels are exact in double precision.

    The page's reader then gets the same bits as saccade, which may fuse a multiplication with an addition.
    """
    plan = model.plan_
    weights, coef = (array.astype(np.float32).astype(np.float64) for array in (plan.weights, plan.coef))
    model.plan_ = plan._replace(weights=weights, coef=coef)


def upright(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Shear images of 784 pixels row by row so that their ink does not lean, and centre them horizontally.

    An image leans by the slope of the regression of its ink's columns on its rows, cov(x, y) / var(y). ``strokes.js``
    does the same to strokes.

    >>> slash = np.diag(np.full(28, 255, dtype=np.uint8)).reshape(1, -1)
    >>> bool((upright(slash).reshape(28, 28)[:, 14] == 255).all())
    True
    """
    pictures = images.reshape(-1, SIDE, SIDE)
    lean, across, down = _leaning(pictures)
    out, places = np.empty_like(pictures), np.arange(SIDE)
    for row in places:
        at = places + (lean * (row - down) + across - CENTRE)[:, None]
        before = np.floor(at).astype(np.int64)
        padded = np.pad(pictures[:, row], ((0, 0), (1, 1)))
        left, right = (np.take_along_axis(padded, np.clip(before + step, 0, SIDE + 1), axis=1) for step in (1, 2))
        out[:, row] = np.round(left + (at - before) * (right.astype(np.float64) - left))
    return out.reshape(images.shape)


def _leaning(pictures: NDArray[np.uint8]) -> tuple[NDArray[np.float64], ...]:
    """Return how many columns per row each image leans, and the column and the row of its centre of mass."""
    places = np.arange(SIDE, dtype=np.float64)
    by_row = pictures.sum(axis=2, dtype=np.float64)
    across_by_row = pictures @ places
    mass = by_row.sum(axis=1)
    across, down = across_by_row.sum(axis=1) / mass, by_row @ places / mass
    height = places - down[:, None]
    covariance = ((across_by_row - across[:, None] * by_row) * height).sum(axis=1)
    variance = np.maximum((by_row * height**2).sum(axis=1), np.finfo(np.float64).tiny)  # 0 for a single row
    return np.clip(covariance / variance, -MOST_LEAN, MOST_LEAN), across, down

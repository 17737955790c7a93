"""A reader of all ten digits, which the page carries to read what its visitor draws."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.attentive import attend
from saccade.data.mnist import load_mnist
from saccade.learners.pegasos import Pegasos
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan
from saccade.study.experiments.digits import N_PIXELS, Score, derived_seed, scaled
from saccade.study.experiments.upright import upright

DELTA = 0.05
LAM = 1e-4
# The share of the rows that teach the model; the others plan and calibrate.
TAUGHT = 0.6
# Test digits to choose from: of each digit those that took more pixels than these shares of its kind.
EFFORTS = (0.1, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class Reader:
    """A plan whose weights are single precision numbers, and test digits to try it on, set upright."""

    plan: Plan
    images: NDArray[np.uint8]  # (digits, 784)
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class TenDigits:
    """The reader and its scores on all test digits."""

    delta: float
    score: Score
    changed: float  # per cent of the test digits that get another label than from all pixels
    reader: Reader


def learn_ten(rows: int, seed: int) -> TenDigits:
    """Learn ten digits from some of the training images, set upright, and plan on others for the fewest pixels."""
    X, y, X_test, y_test = load_mnist(None)
    chosen = np.random.default_rng(derived_seed(seed)).permutation(y.size)[:rows]
    taught, held_out = np.split(chosen, [round(TAUGHT * rows)])
    X_test = upright(X_test)
    model = Pegasos(lam=LAM, random_state=derived_seed(seed)).fit(scaled(upright(X[taught])), y[taught])
    # A price for each pixel and none for a look: the sum is looked at after every few pixels.
    prices = np.ones(N_PIXELS)
    rows_to_plan_on = scaled(upright(X[held_out]))
    attentive = attend(model, rows_to_plan_on, delta=DELTA, costs=prices, random_state=derived_seed(seed))
    plan = in_single_precision(attentive.plan_)
    stopped, full = (read_plan(how, ArraySource(scaled(X_test))) for how in (plan, plan.without_stops()))
    label, full_label = decided(stopped.margin), decided(full.margin)
    shown = _by_effort(stopped.n_read, y_test)
    return TenDigits(
        delta=DELTA,
        score=Score(_error(full_label, y_test), _error(label, y_test), float(stopped.n_read.mean())),
        changed=_error(label, full_label),
        reader=Reader(plan, X_test[shown], y_test[shown]),
    )


def in_single_precision(plan: Plan) -> Plan:
    """Return the plan with weights rounded so that their products with pixels are exact in double precision.

    Every reader that adds them up in the plan's order, with fused multiplication or without, then has the same bits.
    """
    weights, coef = (array.astype(np.float32).astype(np.float64) for array in (plan.weights, plan.coef))
    return plan._replace(weights=weights, coef=coef)


def _error(label: NDArray[np.integer], other: NDArray[np.integer]) -> float:
    return float(100 * np.mean(label != other))


def _by_effort(n_read: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return test digits from easy to hard, ten of each."""
    by_digit = [np.flatnonzero(y == digit) for digit in range(10)]
    ordered = [rows[np.argsort(n_read[rows], kind="stable")] for rows in by_digit]
    return np.array([rows[int(effort * rows.size)] for effort in EFFORTS for rows in ordered])

"""Measure every boundary on simulated random walks."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from reproduction.simulate import decision_error, stopping_time
from reproduction.summaries import derived_seed
from saccade import ConstantSTST, CurvedSTST

DRIFT = 0.05
DELTAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
PERSISTENCES = (0.0, 0.2, 0.4, 0.6, 0.8)
FORMS = ("exact", "printed", "simplified")
TAILS = ("gaussian", "hoeffding", "cantelli")

Interval = tuple[float, float, float]  # a share and its 95 % confidence limits
Point = tuple[str, float, int, float, float]  # form, delta, n, theta, persistence


@dataclass(frozen=True)
class WalkRecord:
    """The errors and stops of one boundary at one level."""

    form: str  # form of the constant boundary, or tail of the curved boundary
    delta: float
    n: int
    theta: float  # in standard deviations of the walk's end
    persistence: float
    important: float  # probability that a walk ends below theta
    missed: Interval  # share of important walks that were stopped
    share_stopped: float  # of all walks
    mean_stop: float

    @property
    def wrong(self) -> Interval:
        """The share of stopped walks that would have ended below theta (false discovery rate).

        The interval ignores the error of the share that was stopped, which is far smaller.
        """
        ratio = self.important / self.share_stopped if self.share_stopped else 0.0
        share, low, high = self.missed
        return ratio * share, ratio * low, ratio * high


@dataclass(frozen=True)
class StopRecord:
    """The mean number of steps until the constant boundary stops a walk of n steps."""

    n: int
    mean: float
    standard_error: float


def grid(lengths: tuple[int, ...]) -> list[Point]:
    """Return the walks to simulate.

    All boundaries at theta = 0, the three forms at theta = 1, because they agree at 0, and correlated steps.
    """
    points = [(form, delta, n, 0.0, 0.0) for form, delta, n in product(("exact", *TAILS), DELTAS, lengths)]
    points += [(form, delta, n, 1.0, 0.0) for form, delta, n in product(FORMS, DELTAS, lengths)]
    return points + [(form, 0.1, 256, 0.0, each) for form, each in product(("exact", "gaussian"), PERSISTENCES[1:])]


def measure_errors(point: Point, walks: int, seed: int) -> WalkRecord:
    """Simulate walks against one boundary."""
    form, delta, n, theta, persistence = point
    boundary = ConstantSTST(delta, form) if form in FORMS else CurvedSTST(delta, form)  # type: ignore[arg-type]
    parameters = {"theta": theta * np.sqrt(n), "drift": DRIFT, "persistence": persistence, "walks": walks}
    seeds = [derived_seed(seed, n, int(1e6 * delta), int(100 * persistence), kind) for kind in range(2)]
    error = decision_error(boundary, n, random_state=seeds[0], **parameters)
    time = stopping_time(boundary, n, random_state=seeds[1], **parameters)
    missed = (error.rate, *error.interval)
    return WalkRecord(*point, error.important, missed, time.stopped / walks, time.mean)


def measure_stops(n: int, walks: int, seed: int) -> StopRecord:
    """Simulate walks until the constant boundary stops them."""
    time = stopping_time(ConstantSTST(0.1), n, drift=DRIFT, walks=walks, random_state=derived_seed(seed, n))
    return StopRecord(n, time.mean, time.standard_error)


def exponent(records: list[StopRecord], from_n: int = 4096) -> float:
    """Return the slope of log(mean stopping time) on log(n), over walks long enough to be stopped nearly always."""
    long = [record for record in records if record.n >= from_n]
    return float(np.polyfit(np.log([r.n for r in long]), np.log([r.mean for r in long]), 1)[0])

"""Simulated random walks: decision error and stopping time of each boundary."""

from dataclasses import dataclass

import numpy as np

from saccade.planning.boundaries import Boundary, ConstantSTST, CurvedSTST
from saccade.study.experiments.digits import derived_seed
from saccade.study.simulation import decision_error, stopping_time

DRIFT = 0.05
DELTAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
LENGTHS = (64, 256, 1024, 4096)
PERSISTENCES = (0.0, 0.2, 0.4, 0.6, 0.8)
FORMS = ("exact", "printed", "simplified")
TAILS = ("gaussian", "hoeffding", "cantelli")


@dataclass(frozen=True)
class WalkRecord:
    """One boundary on walks of one kind, at one level."""

    boundary: str  # "constant" or "curved"
    form: str  # the form of the constant boundary, or the tail of the curved boundary
    delta: float
    n: int
    theta: float  # in standard deviations of the walk's end
    persistence: float
    important: float  # the probability that a walk ends below theta
    missed: float  # of the walks that end below theta, the share that was stopped
    missed_low: float  # 95 % interval
    missed_high: float
    share_stopped: float  # of all walks
    mean_stop: float
    mean_stop_error: float

    @property
    def wrong_stops(self) -> tuple[float, float, float]:
        """The share of stopped walks that would have ended below theta (false discovery rate), with its 95 % interval.

        The share of walks that were stopped is taken as known: its own error is far smaller.
        """
        ratio = self.important / self.share_stopped if self.share_stopped else 0.0
        return ratio * self.missed, ratio * self.missed_low, ratio * self.missed_high

    @property
    def missed_stops(self) -> tuple[float, float, float]:
        """The share of important walks that were stopped, with its 95 % interval."""
        return self.missed, self.missed_low, self.missed_high


def simulate(form: str, delta: float, n: int, theta: float, persistence: float, walks: int, seed: int) -> WalkRecord:
    """Measure one boundary; theta is given in standard deviations of the end of an independent walk."""
    boundary: Boundary
    boundary = ConstantSTST(delta, form) if form in FORMS else CurvedSTST(delta, form)  # type: ignore[arg-type]
    threshold = theta * np.sqrt(n)
    seeds = [derived_seed(seed, n, int(1e6 * delta), int(100 * persistence), kind) for kind in range(2)]
    parameters = {"theta": threshold, "drift": DRIFT, "persistence": persistence, "walks": walks}
    error = decision_error(boundary, n, random_state=seeds[0], **parameters)
    time = stopping_time(boundary, n, random_state=seeds[1], **parameters)
    return WalkRecord(
        boundary="constant" if form in FORMS else "curved",
        form=form,
        delta=delta,
        n=n,
        theta=theta,
        persistence=persistence,
        important=error.important,
        missed=error.rate,
        missed_low=error.interval[0],
        missed_high=error.interval[1],
        share_stopped=time.stopped / walks,
        mean_stop=time.mean,
        mean_stop_error=time.standard_error,
    )


@dataclass(frozen=True)
class StopRecord:
    """How many features the constant boundary reads of walks of n steps."""

    n: int
    delta: float
    mean: float
    standard_error: float


def stopping(n: int, delta: float, walks: int, seed: int) -> StopRecord:
    time = stopping_time(ConstantSTST(delta), n, drift=DRIFT, walks=walks, random_state=derived_seed(seed, n))
    return StopRecord(n, delta, time.mean, time.standard_error)


def exponent(records: list[StopRecord], from_n: int = 4096) -> float:
    """Return the slope of log(mean stopping time) on log(n), over walks long enough to be stopped nearly always."""
    long = [record for record in records if record.n >= from_n]
    return float(np.polyfit(np.log([r.n for r in long]), np.log([r.mean for r in long]), 1)[0])

"""The simulated walks, against plain loops, brute force and the boundaries' promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from reproduction.simulate import count_crossings, decision_error, stopping_time, walk_on
from saccade import Budget, ConstantSTST, CurvedSTST, Full


def steps_of(draws, persistence):
    """Return correlated steps, computed one by one."""
    steps = [draws[0]]
    for draw in draws[1:]:
        steps.append(persistence * steps[-1] + np.sqrt(1 - persistence**2) * draw)
    return np.array(steps)


sizes = st.integers(2, 12)
persistences = st.sampled_from([0.0, 0.3, 0.9])


@given(n=sizes, persistence=persistences, seed=st.integers(0, 1000))
def test_crossings_are_counted_like_in_a_plain_loop(n, persistence, seed):
    rng = np.random.default_rng(seed)
    draws, ends, thresholds = rng.normal(size=(20, n)), rng.normal(size=20), rng.normal(1, 1, n)
    pull = np.linspace(1 / n, 1, n)
    expected = 0
    for row, end in zip(draws, ends, strict=True):
        walk = np.cumsum(steps_of(row, persistence))
        bridge = walk + pull * (end - walk[-1])
        expected += bool(np.any(bridge[:-1] >= thresholds[:-1]))
    assert count_crossings(draws, persistence, np.empty(n), pull, ends, thresholds) == expected


@given(n=sizes, stride=st.integers(1, 12), persistence=persistences, seed=st.integers(0, 1000))
def test_walks_stop_like_in_a_plain_loop_for_every_stride(n, stride, persistence, seed):
    rng = np.random.default_rng(seed)
    draws, thresholds, drift = rng.normal(size=(20, n)), rng.normal(1, 1, n), 0.1
    expected = []
    for row in draws:
        walk = np.cumsum(drift + steps_of(row, persistence))
        crossed = np.flatnonzero(walk >= thresholds)
        expected.append(crossed[0] + 1 if crossed.size else n + 1)
    stopped_after = np.full(20, n + 1)
    walking, total, noise = np.arange(20), np.zeros(20), np.zeros(20)
    for first in range(0, n, stride):
        block = draws[walking, first : first + stride]
        left = walk_on(block, persistence, drift, first, walking, total, noise, thresholds, stopped_after)
        walking = walking[:left]
    np.testing.assert_array_equal(stopped_after, expected)


@pytest.mark.parametrize("persistence", [0.0, 0.6])
@pytest.mark.parametrize(
    ("boundary", "theta"), [(ConstantSTST(0.2), 0.0), (ConstantSTST(0.2, "printed"), 3.0), (CurvedSTST(0.1), 0.0)]
)
def test_drawing_important_walks_agrees_with_rejecting_the_others(boundary, theta, persistence):
    n, walks, drift = 48, 40_000, 0.05
    error = decision_error(boundary, n, theta=theta, drift=drift, persistence=persistence, walks=walks, random_state=0)
    draws = np.random.default_rng(1).normal(size=(walks, n))
    paths = np.cumsum(drift + np.apply_along_axis(steps_of, 1, draws, persistence), axis=1)
    rest = n - np.arange(1, n + 1)
    if isinstance(boundary, ConstantSTST):
        thresholds = np.full(n, boundary.threshold(theta, n))
    else:
        thresholds = theta - drift * rest + norm.ppf(0.9) * np.sqrt(rest)
    important = paths[:, -1] < theta
    stopped = np.any(paths[important, :-1] >= thresholds[:-1], axis=1)
    rate = stopped.mean()
    assert abs(error.rate - rate) < 5 * np.sqrt(rate * (1 - rate) * (1 / walks + 1 / important.sum()))
    assert abs(error.important - important.mean()) < 5 * np.sqrt(error.important * (1 - error.important) / walks)


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("n", [16, 256, 2048])
def test_the_constant_boundary_keeps_its_level_on_independent_walks(n, delta):
    walks = 4000
    error = decision_error(ConstantSTST(delta), n, walks=walks, random_state=n)
    assert error.stopped <= binom.ppf(0.9999, walks, delta)
    assert error.interval[0] <= error.rate <= error.interval[1]


@pytest.mark.parametrize("tail", ["gaussian", "hoeffding", "cantelli"])
def test_the_curved_boundary_bounds_the_share_of_wrong_stops(tail):
    boundary, walks = CurvedSTST(0.1, tail), 20_000
    error = decision_error(boundary, 128, walks=walks, random_state=0)
    time = stopping_time(boundary, 128, walks=walks, random_state=1)
    wrong = error.rate * error.important / (time.stopped / walks)
    assert wrong <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / time.stopped)


def test_the_decision_error_has_its_closed_form():
    """A Brownian bridge to s crosses tau with probability exp(-2 tau (tau - s) / n).

    In discrete time it crosses as if tau were higher by the mean overshoot of a Gaussian walk (Siegmund 1979).
    """
    n, walks, drift = 2048, 20_000, 0.05
    boundary = ConstantSTST(0.3)
    tau = boundary.threshold(0.0, n) + 0.5826
    shares = (np.arange(10_000) + 0.5) / 10_000
    ends = n * drift + np.sqrt(n) * norm.ppf(shares * norm.cdf(-drift * np.sqrt(n)))
    expected = np.exp(-2 * tau * (tau - ends) / n).mean()
    error = decision_error(boundary, n, drift=drift, walks=walks, random_state=0)
    assert abs(error.rate - expected) < 4 * np.sqrt(expected * (1 - expected) / walks)
    assert error.important == pytest.approx(norm.cdf(-drift * np.sqrt(n)))


def test_correlated_steps_break_the_level():
    error = decision_error(ConstantSTST(0.1), 256, persistence=0.8, walks=4000, random_state=0)
    assert error.interval[0] > 0.2


def test_the_stopping_time_grows_with_the_root_of_the_length():
    means = [stopping_time(ConstantSTST(0.1), n, walks=2000, random_state=0).mean for n in (2**13, 2**15)]
    assert means[1] / means[0] == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("run", [decision_error, stopping_time])
def test_the_number_of_threads_changes_nothing(run):
    results = [run(ConstantSTST(0.1), 3000, walks=1500, random_state=3, n_jobs=jobs) for jobs in (None, 3)]
    assert results[0] == results[1]
    assert run(ConstantSTST(0.1), 3000, walks=1500, random_state=4) != results[0]


@pytest.mark.parametrize("run", [decision_error, stopping_time])
@pytest.mark.parametrize(
    ("boundary", "n", "changed", "message"),
    [
        (Full(), 100, {}, "promises no level"),
        (Budget(3), 100, {}, "promises no level"),
        (ConstantSTST(2.0), 100, {}, "delta"),
        (ConstantSTST(0.1), 1, {}, "at least 2 steps"),
        (ConstantSTST(0.1), -3, {}, "at least 2 steps"),
        (ConstantSTST(0.1), 100, {"walks": 0}, "at least 1 walk"),
        (ConstantSTST(0.1), 100, {"drift": float("nan")}, "finite"),
        (ConstantSTST(0.1), 100, {"persistence": 1.0}, "persistence"),
    ],
)
def test_bad_parameters_are_refused(run, boundary, n, changed, message):
    with pytest.raises(ValueError, match=message):
        run(boundary, n, **changed)

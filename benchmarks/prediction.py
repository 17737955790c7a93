"""What certified prediction must show: features per row, the promise, time per row beside its peers, growth.

Run with ``make bench``. Every figure is printed beside what is asked of it. Times are medians of interleaved runs of
the public ``predict`` on one thread, in nanoseconds per row; ratios are medians of the ratios within one round.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from time import perf_counter

import numpy as np
import pandas as pd
import polars as pl
from scipy.stats import binom
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from saccade import attend
from saccade.datasets import load_mnist

PAIRS = [(2, 3), (3, 0), (2, 9), (3, 8), (4, 9), (7, 9), (3, 5)]
ROWS = 200_000


def pair(digits):
    X, y, X_test, y_test = load_mnist(digits)
    return X / np.float32(255), y, X_test / np.float32(255), y_test


def svc(X, y):
    return LinearSVC(C=0.01, loss="hinge", random_state=0).fit(X, y)


def features():
    print("\nFeatures per test row, delta = 0.01, confidence 0.95, LinearSVC(C=0.01, loss='hinge')")
    print(f"{'':8}{'features':>10}{'disagreement %':>16}{'error %':>9}{'full %':>8}{'seconds':>9}")
    counts = []
    for digits in PAIRS:
        X, y, X_test, y_test = pair(digits)
        model = svc(X, y)
        start = perf_counter()
        attentive = attend(model, X, delta=0.01, random_state=0)
        seconds = perf_counter() - start
        reading, full = attentive.read(X_test), model.predict(X_test)
        counts.append(reading.n_read.mean())
        print(
            f"{digits[0]} vs {digits[1]}{counts[-1]:12.1f}{100 * np.mean(reading.label != full):16.2f}"
            f"{100 * np.mean(reading.label != y_test):9.2f}{100 * np.mean(full != y_test):8.2f}{seconds:9.1f}"
        )
    print(f"geometric mean {np.exp(np.mean(np.log(counts))):.2f} (at most 14)")


def promise(splits=200):
    print(f"\nThe promise, delta = 0.02, confidence 0.95: splits of {splits} whose true disagreement exceeds delta")
    most = binom.ppf(0.99, splits, 0.05)
    for name, X, model in problems():
        broken = 0
        for seed in range(splits):
            rows = np.random.default_rng(seed).permutation(len(X))
            attentive = attend(model, X[rows[:6000]], delta=0.02, random_state=seed)
            untouched = X[rows[6000:]]
            full = model.predict(untouched)
            broken += np.mean(attentive.predict(untouched) != full) > 0.02
        print(f"{name:32}{broken:4} of {splits}, {len(untouched):,} untouched rows (at most {most:.0f})")


def problems():
    """Yield rows and a model fitted on others, or on the same: the promise is about the model as it is."""
    for digits in [(2, 3), (3, 8)]:
        X, y, X_test, _ = pair(digits)
        yield f"MNIST {digits[0]} vs {digits[1]}", np.concatenate([X, X_test]), svc(X, y)
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(5, 50))
    for name, draw in [
        ("correlated", lambda *shape: rng.normal(size=shape)),
        ("heavy-tailed", lambda *shape: rng.standard_t(2.5, size=shape)),
        ("skewed", lambda *shape: rng.exponential(size=shape)),
    ]:
        X = (draw(14_000, 5) @ loadings + draw(14_000, 50)).astype(np.float32)
        score = X @ rng.normal(size=50)
        y = score + rng.normal(size=len(X)) * score.std() / 2 > np.median(score)
        yield name, X, LogisticRegression(max_iter=1000).fit(X[:3000], y[:3000])


def interleaved(calls, rounds, rows):
    """Time the calls in turn; return medians in nanoseconds per row and, to the last one, the ratios' medians."""
    times = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            start = perf_counter()
            call()
            if turn:
                times[name].append((perf_counter() - start) / rows * 1e9)
    *_, last = times
    ratios = {name: np.median(np.array(values) / np.array(times[last])) for name, values in times.items()}
    return {name: np.median(values) for name, values in times.items()}, ratios


def time_per_row():
    print(f"\nTime per row of predict, {ROWS:,} x 784 float32, MNIST 2 vs 3, delta = 0.01, one thread (ns)")
    X, y, X_test, _ = pair((2, 3))
    model = svc(X, y)
    attentive = attend(model, X, delta=0.01, random_state=0)
    weights = model.coef_[0].astype(np.float32)
    rows = np.tile(X_test, (ROWS // len(X_test) + 1, 1))[:ROWS]
    for name, array, asked in [("Fortran", np.asfortranarray(rows), (8, 20)), ("C", rows, (2, 8))]:
        times, ratios = interleaved(
            {
                "X @ w": lambda array=array: array @ weights,
                "LinearSVC": lambda array=array: model.predict(array),
                "ours": lambda array=array: attentive.predict(array),
            },
            9,
            ROWS,
        )
        print(
            f"{name + ' order':16}X @ w {times['X @ w']:7.1f}  LinearSVC {times['LinearSVC']:8.1f}  "
            f"ours {times['ours']:6.1f}   {ratios['X @ w']:.1f} times the product (at least {asked[0]}), "
            f"{ratios['LinearSVC']:.0f} times LinearSVC (at least {asked[1]})"
        )
    tables(rows, model, X)


def tables(rows, model, X):
    names = [f"p{j}" for j in range(784)]
    named = svc(pd.DataFrame(X, columns=names), model.predict(X))
    attentive = attend(named, pd.DataFrame(X, columns=names), delta=0.01, random_state=0)
    frame = pl.DataFrame(rows, schema=names)
    for name, table in [("pandas", pd.DataFrame(rows, columns=names)), ("polars", frame), ("Arrow", frame.to_arrow())]:
        times, ratios = interleaved(
            {
                "LinearSVC": lambda table=table: named.predict(table),
                "ours": lambda table=table: attentive.predict(table),
            },
            3,
            ROWS,
        )
        print(
            f"{name:16}{'':14}LinearSVC {times['LinearSVC']:8.1f}  ours {times['ours']:6.1f}   "
            f"{ratios['LinearSVC']:.0f} times LinearSVC (at least 50)"
        )


def one_row(calls=3000):
    X, y, X_test, _ = pair((2, 3))
    model = svc(X, y)
    attentive = attend(model, X, delta=0.01, random_state=0)
    medians = []
    for predictor in (attentive, model):
        times = []
        for i in range(calls):
            row = X_test[i % 1000 : i % 1000 + 1]
            start = perf_counter()
            predictor.predict(row)
            times.append(perf_counter() - start)
        medians.append(1e6 * np.median(times))
    print(f"\nOne row at a time: {medians[0]:.1f} µs (under 15); LinearSVC {medians[1]:.1f} µs")


def growth():
    print("\nGrowth: n independent features, each with mean 0.1 towards the label and variance 1; delta = 0.01")
    rng = np.random.default_rng(0)
    sizes, read = [2**k for k in range(8, 17, 2)], []
    for n in sizes:
        rows = min(8000, 400_000_000 // n)
        side = np.where(rng.random(rows) < 0.5, 1, -1).astype(np.float32)
        X = rng.standard_normal((rows, n), dtype=np.float32)
        X += np.float32(0.1) * side[:, None]
        model = LogisticRegression()  # its best weights are known: all the same
        model.classes_, model.n_features_in_ = np.array([-1, 1]), n
        model.coef_, model.intercept_ = np.ones((1, n)), np.zeros(1)
        start = perf_counter()
        attentive = attend(model, X[: rows // 2], delta=0.01, random_state=0)
        planned = perf_counter() - start
        fresh = np.ascontiguousarray(X[rows // 2 :])
        attentive.read(fresh)
        start = perf_counter()
        reading = attentive.read(fresh)
        seconds = perf_counter() - start
        read.append(reading.n_read.mean())
        nanoseconds = 1e9 * seconds / len(fresh)
        print(f"n = {n:6,}: {read[-1]:9.1f} features, {nanoseconds:9.0f} ns a row, planned in {planned:.1f} s")
    print(f"exponent {np.polyfit(np.log(sizes), np.log(read), 1)[0]:.2f} (at most 0.5)")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    begun = perf_counter()
    features()
    time_per_row()
    one_row()
    growth()
    promise()
    print(f"\n{perf_counter() - begun:.0f} s in all")

"""What certified prediction must show: time per row beside its peers, and growth. ``promise.py`` has the features.

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
from mnist import load_mnist
from record import keep
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from saccade import attend

ROWS = 200_000


def digits():
    """Return rows of 2 and 3 to fit on with their labels, others to attend with, and test rows."""
    X, y, X_test, _ = load_mnist((2, 3))
    X, X_test = X / np.float32(255), X_test / np.float32(255)
    fit, given = np.split(np.random.default_rng(0).permutation(len(X)), [len(X) // 4])
    return X[fit], y[fit], X[given], X_test


def svc(X, y):
    return LinearSVC(C=0.01, loss="hinge", random_state=0).fit(X, y)


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
    X, y, given, X_test = digits()
    model = svc(X, y)
    attentive = attend(model, given, delta=0.01, random_state=0)
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
        for peer, least in zip(("X @ w", "LinearSVC"), asked, strict=True):
            keep("prediction", f"predict against {peer}, {name} order", ratios[peer], unit="times", at_least=least)
        keep("prediction", f"predict, {name} order", times["ours"], unit="ns a row")
    tables(rows, X, y, given)


def tables(rows, X, y, given):
    names = [f"p{j}" for j in range(784)]
    named = svc(pd.DataFrame(X, columns=names), y)
    attentive = attend(named, pd.DataFrame(given, columns=names), delta=0.01, random_state=0)
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
        keep("prediction", f"predict against LinearSVC, {name}", ratios["LinearSVC"], unit="times", at_least=50)


def one_row(calls=3000):
    X, y, given, X_test = digits()
    model = svc(X, y)
    attentive = attend(model, given, delta=0.01, random_state=0)
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
    keep("prediction", "one row at a time", medians[0], unit="µs", at_most=15)
    keep("prediction", "one row at a time, LinearSVC", medians[1], unit="µs")


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
        keep("prediction", f"features per row of {n:,} independent ones", read[-1])
    exponent = np.polyfit(np.log(sizes), np.log(read), 1)[0]
    print(f"exponent {exponent:.2f} (at most 0.5)")
    keep("prediction", "features per row grow by the exponent", exponent, at_most=0.5)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    begun = perf_counter()
    time_per_row()
    one_row()
    growth()
    print(f"\n{perf_counter() - begun:.0f} s in all")

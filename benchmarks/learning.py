"""What the learners must show: features read, accuracy, the level, speed beside SGDClassifier, memory, start-up.

Run with ``make bench``. Every figure is printed beside what is asked of it. Speed is a ratio within one run, of the
public ``fit`` with its validation, interleaved with the peer; medians, and in brackets the quartiles.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
import tracemalloc
import warnings
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.linear_model import SGDClassifier

from saccade import ConstantSTST, Full, Pegasos
from saccade.datasets import load_mnist
from saccade.exceptions import LevelNotHeldWarning

PERMUTATIONS = 10
HONEST_PAIRS = [(2, 3), (3, 0), (3, 8), (4, 9), (7, 9)]


def pair(digits):
    X, y, X_test, y_test = load_mnist(digits)
    return X / np.float32(255), y, X_test / np.float32(255), y_test


def error(model, X, y):
    return 100 * np.mean(model.classes_[(model.full_margin(X) > 0).astype(int)] != y)


def versus(digits):
    return f"{digits[0]} vs {digits[1]}"


def as_the_paper():
    print("\nAs the paper: rule='algorithm1', ConstantSTST(0.1), sorted, audit=0, one pass")
    print(f"{'':10}{'features per filtered':>22}{'asked':>8}{'per example':>13}{'test error %':>14}{'stopped %':>11}")
    for digits, asked in [((2, 3), 49), ((3, 0), 72), ((2, 9), 72)]:
        X, y, X_test, y_test = pair(digits)
        rows = []
        for seed in range(PERMUTATIONS):
            model = Pegasos(boundary=ConstantSTST(0.1), rule="algorithm1", audit=0, random_state=seed).fit(X, y)
            stopped = 100 * np.mean(model.read(X_test).label != y_test)
            record = model.training_
            rows.append(
                (record.features_per_filtered, record.features_per_example, error(model, X_test, y_test), stopped)
            )
        filtered, example, full, stopped = np.mean(rows, axis=0)
        print(f"{versus(digits):10}{filtered:22.1f}{asked:8}{example:13.1f}{full:14.2f}{stopped:11.2f}")


def honest():
    print("\nHonest: the defaults with max_iter=5")
    print(f"{'':10}{'error, full learner':>20}{'attentive':>11}{'stopped':>9}{'read %':>8}{'decision error':>16}")
    table = []
    for digits in HONEST_PAIRS:
        X, y, X_test, y_test = pair(digits)
        rows, missed, important = [], 0, 0
        for seed in range(PERMUTATIONS):
            full = Pegasos(boundary=Full(), max_iter=5, random_state=seed).fit(X, y)
            model = Pegasos(max_iter=5, random_state=seed).fit(X, y)
            record = model.training_
            missed, important = missed + record.n_missed, important + record.n_important
            rows.append(
                (
                    error(full, X_test, y_test),
                    error(model, X_test, y_test),
                    100 * np.mean(model.read(X_test).label != y_test),
                    100 * record.features_per_example / X.shape[1],
                )
            )
        table.append((*np.mean(rows, axis=0), missed / important))
        print(f"{versus(digits):10}{table[-1][0]:20.2f}{table[-1][1]:11.2f}{table[-1][2]:9.2f}", end="")
        print(f"{table[-1][3]:8.1f}{table[-1][4]:16.3f}")
    full, attentive, stopped, read, level = np.mean(table, axis=0)
    print(f"{'mean':10}{full:20.2f}{attentive:11.2f}{stopped:9.2f}{read:8.1f}{level:16.3f}")
    print(f"{'asked':10}{'':20}{'+0.15':>11}{'':9}{'25':>8}{'0.150':>16}")


def averaged_full():
    print("\nAveraged full Pegasos, max_iter=10, lam=1e-2: test error %, and what is asked")
    for digits, asked in [((2, 3), 2.4), ((3, 0), 0.35), ((3, 8), 3.3), ((4, 9), 3.3)]:
        X, y, X_test, y_test = pair(digits)
        errors = [
            error(Pegasos(boundary=Full(), max_iter=10, random_state=seed).fit(X, y), X_test, y_test)
            for seed in range(PERMUTATIONS)
        ]
        print(f"{versus(digits):10}{np.mean(errors):8.2f}  (at most {asked})")


def speed(repetitions=60):
    print("\nSpeed of fit, one thread, one pass over 2 vs 3, float32, interleaved")
    X, y, _, _ = pair((2, 3))
    peer = SGDClassifier(loss="hinge", alpha=1e-4, max_iter=1, tol=None, average=True)
    models = {
        "SGDClassifier": peer,
        "full": Pegasos(boundary=Full()),
        "attentive": Pegasos(),
        "attentive, no audit": Pegasos(boundary=ConstantSTST(0.1), audit=0),
    }
    compare(models, X, y, repetitions, asked={"full": "4", "attentive": "10, and faster than full"})


def wide(repetitions=15):
    print("\nThe same on wide rows: 4,000 examples of 20,000 float32 features that share 20 hidden factors")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    factors = rng.normal(size=(4000, 20)).astype(np.float32)
    factors[:, :4] += 1.5 * np.where(y == 1, 1, -1)[:, None].astype(np.float32)
    X = factors @ rng.normal(size=(20, 20_000)).astype(np.float32)
    X = (X + rng.normal(size=X.shape).astype(np.float32)) / np.float32(np.sqrt(20_000))
    compare(
        {
            "SGDClassifier": SGDClassifier(loss="hinge", alpha=1e-4, max_iter=1, tol=None, average=True),
            "full": Pegasos(boundary=Full()),
            "attentive": Pegasos(),
        },
        X,
        y,
        repetitions,
    )


def compare(models, X, y, repetitions, asked=None):
    """Fit all models in turn, again and again; print medians, and ratios to the first model within the same turn."""
    times = {name: [] for name in models}
    for repetition in range(repetitions + 3):
        for name, model in models.items():
            model.set_params(random_state=repetition)
            start = perf_counter()
            model.fit(X, y)
            if repetition >= 3:
                times[name].append(perf_counter() - start)
    first = np.array(next(iter(times.values())))
    for name, values in times.items():
        ratios = first / np.array(values)
        low, high = np.quantile(ratios, [0.25, 0.75])
        wanted = f"  (at least {asked[name]})" if asked and name in asked else ""
        print(f"{name:20}{1e3 * median(values):8.2f} ms{np.median(ratios):8.2f} times [{low:.2f}, {high:.2f}]{wanted}")


def memory():
    X, y, _, _ = load_mnist(None)
    X, y = np.asfortranarray(X[:20_000]), y[:20_000]
    Pegasos(random_state=0).fit(X, y)
    tracemalloc.start()
    Pegasos(random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    per_row = peak / len(y)
    print(f"\nMemory beyond X, ten classes, 20,000 uint8 rows in Fortran order: {peak / 1e6:.2f} MB at the peak;")
    print(
        f"ten weight vectors are {10 * 784 * 8 / 1e6:.2f} MB, X is {X.nbytes / 1e6:.0f} MB; {per_row:.0f} bytes a row."
    )


START_UP = """
import sys, time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""
FIRST_FIT = """
import time, numpy as np, sklearn.linear_model
X, y = np.random.default_rng(0).normal(size=(2000, 50)), np.arange(2000) % 2
start = time.perf_counter()
from saccade import Pegasos
Pegasos().fit(X, y)
print(time.perf_counter() - start)
"""


def start_up():
    def seconds(script):
        output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        return float(output)

    seconds(FIRST_FIT)
    imports = median(seconds(START_UP.format(module="saccade")) for _ in range(5))
    first = median(seconds(FIRST_FIT) for _ in range(5))
    print(f"\nimport saccade: {1e3 * imports:.1f} ms (under 100)")
    print(f"first fit in a new process, warm cache, after scikit-learn's import: {first:.2f} s (under 1)")


if __name__ == "__main__":
    warnings.simplefilter("ignore", LevelNotHeldWarning)
    begun = perf_counter()
    as_the_paper()
    honest()
    averaged_full()
    speed()
    wide()
    memory()
    start_up()
    print(f"\n{perf_counter() - begun:.0f} s in all")

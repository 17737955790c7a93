"""What a watch over the promise must show: rare false alarms, quick true ones, and little overhead.

Run with ``make bench-production``. Every figure is printed beside what is asked of it. Paths are of audited rows, and
are looked at after each of them, which only an error can turn into an alarm. Times are medians of interleaved runs of
the public ``predict`` on one thread.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from time import perf_counter

import numpy as np
import pandas as pd
from mnist import load_mnist
from record import keep
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from saccade import Watch, attend
from saccade.promises.watch import Counts, is_broken

DELTA, ALPHA = 0.01, 0.05
PATHS, LONGEST = 1000, 30_000
NEVER = np.inf


def counted(counts, wrong):
    """Count rows, by whether each is wrong."""
    codes = wrong.astype(np.int64)
    counts.add(codes, np.zeros_like(codes))


def rows_to_alarm(rng, rate, good=0, good_rate=DELTA / 2):
    """Return after how many rows at this rate the alarm is raised, after good ones; 0 where it is raised before."""
    counts = Counts(np.array([DELTA]))
    counted(counts, rng.random(good) < good_rate)
    if is_broken(counts, 0, ALPHA):
        return 0
    wrong = rng.random(LONGEST) < rate
    start = 0
    for end in (np.flatnonzero(wrong) + 1).tolist():
        counted(counts, wrong[start:end])
        start = end
        if is_broken(counts, 0, ALPHA):
            return end
    return NEVER


def alarms():
    print(f"\nAudited rows to alarm at delta = 1 %, confidence 95 %, {PATHS:,} paths of {LONGEST:,} audited rows")
    rng = np.random.default_rng(0)
    raised = np.mean([rows_to_alarm(rng, DELTA) < NEVER for _ in range(PATHS)])
    print(f"  a true rate of 1 %: alarms in {100 * raised:.1f} % of the paths (at most 5 %)")
    keep("production", f"false alarms within {LONGEST:,} audited rows at δ = 1 %", 100 * raised, unit="%", at_most=5)
    for rate, asked in ((0.015, 3200), (0.02, 950), (0.03, 270), (0.05, 90)):
        found = np.array([rows_to_alarm(rng, rate) for _ in range(PATHS)])
        print(f"  {100 * rate:.1f} %: median {np.median(found):,.0f} (at most {asked:,}), 95 % {quantile(found)}")
        of = f"audited rows to alarm at a true rate of {rate:.1%}, where 1 % is promised"
        keep("production", of, np.median(found), at_most=asked)
    for good in (1_000, 100_000):
        found = np.array([rows_to_alarm(rng, 0.03, good) for _ in range(PATHS)])
        within, early = np.mean(found <= 1000), np.mean(found == 0)
        print(
            f"  3 % after {good:,} good audited rows at 0.5 %: median {np.median(found):,.0f} (at most 1,000), "
            f"{100 * within:.0f} % within 1,000, 95 % {quantile(found)}, alarms before the jump {100 * early:.1f} %"
        )
        of = f"audited rows to alarm at 3 %, after {good:,} good ones"
        keep("production", of, np.median(found), at_most=1000)


def quantile(found):
    return f"within {np.quantile(found, 0.95, method='higher'):,.0f}"


def attended_digits():
    X, y, X_test, _ = load_mnist((2, 3))
    X, X_test = X / np.float32(255), X_test / np.float32(255)
    fit, given = np.split(np.random.default_rng(0).permutation(len(X)), [len(X) // 4])
    model = LogisticRegression(C=0.01, max_iter=500).fit(X[fit], y[fit])
    return attend(model, X[given], delta=DELTA, random_state=0), np.tile(X_test, (25, 1))


def attended_trees():
    X, y = make_classification(60_000, 30, n_informative=12, class_sep=1.5, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=200, random_state=0).fit(X[:15_000], y[:15_000])
    return attend(model, X[15_000:30_000], delta=DELTA, random_state=0), X[30_000:]


def attended_table():
    """Return a pipeline over a table of texts and numbers, and rows of it."""
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(90_000, 12)), columns=[f"x{j}" for j in range(12)])
    texts = {f"t{j}": rng.choice(np.array(["red", "green", "blue", "grey"], dtype=object), 90_000) for j in range(4)}
    table = numbers.assign(**texts)
    y = (numbers.sum(axis=1) + 3 * (table["t0"] == "red") + rng.normal(size=90_000) > 1).astype(int)
    encoded = make_column_transformer((StandardScaler(), list(numbers)), (OneHotEncoder(), list(texts)))
    model = make_pipeline(encoded, LogisticRegression()).fit(table[:20_000], y[:20_000])
    return attend(model, table[20_000:40_000], delta=DELTA, random_state=0), table[40_000:]


def overhead():
    print("\nTime of predict with a watch at share 1 % beside predict without (at most 5 % more), one thread")
    digits = attended_digits()
    for name, (attentive, rows) in (
        ("MNIST 2 vs 3, by rows", digits),
        ("MNIST 2 vs 3, by columns", (digits[0], np.asfortranarray(digits[1]))),
        ("trees", attended_trees()),
        ("table", attended_table()),
    ):
        for size in (len(rows), 1000):
            report(name, attentive, rows, size)


def report(name, attentive, rows, size):
    watch = Watch(attentive, share=0.01, random_state=0)
    batches = [rows[start : start + size] for start in range(0, len(rows), size)]

    def time(predict):
        start = perf_counter()
        for batch in batches:
            predict(batch)
        return (perf_counter() - start) / len(rows) * 1e9

    calls = (attentive.predict, watch.predict, attentive.full_margin)
    each = np.array([[time(call) for call in calls] for _ in range(10)])[1:]
    plain, watched, full = np.median(each, axis=0)
    more = 100 * (np.median(each[:, 1] / each[:, 0]) - 1)
    print(
        f"  {name}, batches of {size:,}: {plain:.0f} -> {watched:.0f} ns a row, {more:+.1f} %; "
        f"a full read takes {full:.0f}, so that 1 % of them alone is {full / plain:+.1f} %"
    )
    keep("production", f"predict with a watch takes longer: {name}, batches of {size:,}", more, unit="%", at_most=5)


if __name__ == "__main__":
    alarms()
    overhead()

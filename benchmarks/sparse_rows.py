"""CSR rows beside SGDClassifier: ``predict`` and ``read`` in time, ``attend`` in time and memory.

Run with ``make bench``. Times are medians of interleaved runs of public calls on one thread, in milliseconds. Rows are
words drawn by Zipf's law, a third of which tell the class.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tracemalloc
from time import perf_counter

import numpy as np
import scipy.sparse as sp
from prediction import interleaved
from record import keep
from sklearn.linear_model import SGDClassifier

from saccade import Pegasos, attend

FITTED, WORDS = 3000, 48


def texts(rows, columns, classes):
    rng = np.random.default_rng(0)
    topic = rng.integers(classes, size=rows)
    frequency = np.cumsum(1 / np.arange(1, columns + 1))
    words = np.searchsorted(frequency / frequency[-1], rng.random((rows, WORDS)))
    words = np.where(rng.random((rows, WORDS)) < 0.3, (words * classes + topic[:, None]) % columns, words)
    ends = np.arange(0, rows * WORDS + 1, WORDS, dtype=np.int32)
    X = sp.csr_array((rng.random(rows * WORDS) + 0.5, words.ravel().astype(np.int32), ends), shape=(rows, columns))
    X.sum_duplicates()
    return X, topic


def measure(rows, columns, classes):
    X, y = texts(FITTED + rows, columns, classes)
    peer = SGDClassifier(random_state=0, max_iter=5, tol=None).fit(X[:FITTED], y[:FITTED])
    learner = Pegasos(random_state=0, max_iter=1).fit(X[:FITTED], y[:FITTED])
    X = X[FITTED:]
    start = perf_counter()
    attentive = attend(peer, X, delta=0.05, random_state=0)
    seconds = perf_counter() - start
    tracemalloc.start()
    attend(peer, X, delta=0.05, random_state=0)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    calls = {
        "Pegasos.predict": lambda: learner.predict(X),
        "Pegasos.read": lambda: learner.read(X),
        "attentive.predict": lambda: attentive.predict(X),
        "SGDClassifier.predict": lambda: peer.predict(X),
    }
    times, ratios = interleaved(calls, 15, 1e6)
    print(f"\n{rows:,} x {columns:,}, {WORDS} words a row, {classes} classes")
    print(", ".join(f"{name} {value:.2f} ms" for name, value in times.items()))
    of = f"{rows:,} x {columns:,} CSR, {classes} classes"
    for name in ("Pegasos.predict", "attentive.predict"):
        keep("sparse_rows", f"{name} against SGDClassifier's: {of}", 1 / ratios[name], unit="times")
    keep("sparse_rows", f"attend: {of}", seconds, unit="s")
    keep("sparse_rows", f"memory of attend: {of}", peak, unit="MB")
    print(f"attend {seconds:.1f} s, at most {peak:.0f} MB; {attentive.certificate_.features_per_row:.1f} values a row")


if __name__ == "__main__":
    for size in ((6_000, 42_060), (50_000, 100_000)):
        for classes in (2, 4):
            measure(*size, classes)

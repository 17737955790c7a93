"""What the promises hold: by class, by rows and by accuracy, over many splits, on rows that neither fit nor plan saw.

Run with ``make bench``. A split is broken where the share on untouched rows exceeds delta; at 95 % confidence that may
happen in 5 % of splits, so that of 200 at most 18 are broken with probability 0.99 (binomial).
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import warnings
from time import perf_counter

import numpy as np
from scipy.stats import binom
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from saccade import attend
from saccade.datasets import load_mnist

PAIRS = [(2, 3), (3, 0), (2, 9), (3, 8), (4, 9), (7, 9), (3, 5)]
SPLITS = 200
MOST_BROKEN = int(binom.ppf(0.99, SPLITS, 0.05))


def rare(share, *, noise, rows=300_000, features=40, seed=0):
    """Return rows of correlated features, and labels of which a share is positive, by a linear rule or a noisy one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5)) @ rng.normal(size=(5, features)) + 2 * rng.normal(size=(rows, features))
    score = X @ (rng.normal(size=features) * (rng.random(features) < 0.5))
    score += noise * score.std() * rng.normal(size=rows)
    return X.astype(np.float32), (score > np.quantile(score, 1 - share)).astype(int)


def shares(here, full, classes):
    """Return for each class the share that was lost, and the share that is false."""
    return np.array(
        [(np.mean(here[full == c] != c), np.mean(full[here == c] != c) if np.any(here == c) else 0.0) for c in classes]
    )


def by_class():
    print(f"\nPromises by class, confidence 0.95: splits of {SPLITS} that are broken (at most {MOST_BROKEN})")
    print(f"{'':24}{'delta':>6}{'rows':>8}{'lost, false by class':>26}{'features':>10}{'by rows':>9}{'rows loses':>12}")
    for share, delta, rows in [(0.10, 0.02, 20_000), (0.03, 0.05, 20_000), (0.01, 0.05, 40_000)]:
        for noise in (0.0, 0.5):
            X, y = rare(share, noise=noise)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = LogisticRegression(max_iter=300).fit(X[:20_000], y[:20_000])
            report(f"{share:.0%} positive{', noisy' if noise else ''}", model, X[20_000:], rows, delta)
    digits()


def digits():
    X, y, X_test, _ = load_mnist(None)
    X = np.concatenate([X, X_test]) / np.float32(255)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(max_iter=30).fit(X[:10_000], y[:10_000])
    report("MNIST, ten classes", model, X[10_000:], 30_000, 0.03)


def report(name, model, X, rows, delta):
    full, classes = model.predict(X), model.classes_
    broken, reads, reads_rows, lost = np.zeros((classes.size, 2), dtype=int), [], [], []
    begun = perf_counter()
    for seed in range(SPLITS):
        mixed = np.random.default_rng(seed).permutation(len(X))
        given, untouched = mixed[:rows], mixed[rows:]
        reading = attend(model, X[given], delta=delta, random_state=seed).read(X[untouched])
        broken += shares(reading.label, full[untouched], classes) > delta
        reads.append(reading.n_read.mean())
        if seed % 10 == 0:
            weaker = attend(model, X[given], delta=delta, promise="rows", random_state=seed).read(X[untouched])
            reads_rows.append(weaker.n_read.mean())
            lost.append(shares(weaker.label, full[untouched], classes)[:, 0].max())
    counts = "; ".join(f"{a}, {b}" for a, b in broken.tolist()) if classes.size == 2 else f"at most {broken.max()}"
    print(
        f"{name:24}{delta:6.2f}{rows:8,}{counts:>26}{np.mean(reads):10.1f}{np.mean(reads_rows):9.1f}"
        f"{100 * np.mean(lost):10.1f} %   {(perf_counter() - begun) / SPLITS:.2f} s",
        flush=True,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        SPLITS = int(sys.argv[1])
    by_class()

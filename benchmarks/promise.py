"""What the promises hold: by class, by rows and by accuracy, over many splits, on rows that neither fit nor plan saw.

Run with ``make bench``. A split is broken where the share on untouched rows exceeds delta; at 95 % confidence that may
happen in 5 % of splits, so that of 200 at most 18 are broken with probability 0.99 (binomial).
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings

import numpy as np
from mnist import load_mnist
from record import keep
from scipy.stats import binom
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from saccade import attend

PAIRS = [(2, 3), (3, 0), (2, 9), (3, 8), (4, 9), (7, 9), (3, 5)]
SPLITS = 200
MOST_BROKEN = int(binom.ppf(0.99, SPLITS, 0.05))


def rare(share, *, noise, rows=300_000, features=40, factors=5):
    """Return rows whose features share factors, and labels of which a share is positive, by a linear or noisy rule."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, factors)) @ rng.normal(size=(factors, features)) + 2 * rng.normal(size=(rows, features))
    score = X @ (rng.normal(size=features) * (rng.random(features) < 0.5))
    score += noise * score.std() * rng.normal(size=rows)
    return X.astype(np.float32), (score > np.quantile(score, 1 - share)).astype(int)


def shares(here, full, classes):
    """Return for each class the share that was lost, and the share that is false."""
    return np.array(
        [(np.mean(here[full == c] != c), np.mean(full[here == c] != c) if np.any(here == c) else 0.0) for c in classes]
    )


def fitted(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(**{"max_iter": 300, **options}).fit(X, y)


def by_class():
    print(f"\nBy class, confidence 0.95: splits of {SPLITS} in which a class lost, or has false, more than delta (at")
    print(f"most {MOST_BROKEN}); features per row by class and by rows; the largest share of a class that 'rows' loses")
    print(f"{'':26}{'delta':>6}{'rows':>9}{'lost, false':>24}{'classes':>9}{'rows':>7}{'loses':>9}")
    for share, delta, rows in [(0.10, 0.02, 20_000), (0.03, 0.05, 20_000), (0.01, 0.05, 80_000)]:
        for noise in (0.0, 0.5):
            X, y = rare(share, noise=noise)
            model = fitted(X[:20_000], y[:20_000])
            report(f"{share:.0%} positive, {'noisy' if noise else 'linear'}", model, X[20_000:], rows, delta)
    X, y, X_test, _ = load_mnist(None)
    X = np.concatenate([X, X_test]) / np.float32(255)
    report("MNIST, ten classes", fitted(X[:10_000], y[:10_000], max_iter=40), X[10_000:], 20_000, 0.05)


def report(name, model, X, rows, delta):
    full, classes = model.predict(X), model.classes_
    broken, reads, reads_rows, lost = np.zeros((classes.size, 2), dtype=int), [], [], []
    for seed, given, untouched in splits(len(X), rows):
        reading = attend(model, X[given], delta=delta, random_state=seed).read(X[untouched])
        broken += shares(reading.label, full[untouched], classes) > delta
        reads.append(reading.n_read.mean())
        if seed % 10 == 0:
            weaker = attend(model, X[given], delta=delta, promise="rows", random_state=seed).read(X[untouched])
            reads_rows.append(weaker.n_read.mean())
            lost.append(shares(weaker.label, full[untouched], classes)[:, 0].max())
    counts = "; ".join(f"{a}, {b}" for a, b in broken.tolist()) if classes.size == 2 else f"at most {broken.max()}"
    print(
        f"{name:26}{delta:6.2f}{rows:9,}{counts:>24}{np.mean(reads):9.1f}{np.mean(reads_rows):7.1f}"
        f"{100 * np.mean(lost):7.1f} %",
        flush=True,
    )
    of = f"by class, δ = {delta:g}: {name}"
    keep("promise", f"splits of {SPLITS} that were broken, {of}", broken.max(), at_most=MOST_BROKEN)
    keep("promise", f"features per row, {of}", np.mean(reads))
    keep("promise", f"features per row by rows, δ = {delta:g}: {name}", np.mean(reads_rows))
    keep("promise", f"a class loses by rows, δ = {delta:g}: {name}", 100 * np.mean(lost), unit="%")


def splits(n_rows, given):
    for seed in range(SPLITS):
        mixed = np.random.default_rng(seed).permutation(n_rows)
        yield seed, mixed[:given], mixed[given:]


def accuracy(delta=0.01, rows=40_000):
    print(f"\nBy accuracy, delta = {delta}, {rows:,} rows: splits of {SPLITS} in which accuracy fell by more (at most")
    print(f"{MOST_BROKEN}); features per row by accuracy and by rows, and their ratio (at most 0.5)")
    print(f"{'':26}{'full model':>11}{'broken':>8}{'falls by':>10}{'accuracy':>10}{'rows':>7}{'ratio':>7}")
    for name, factors in (("correlated", 5), ("independent", 0)):
        X, y = rare(0.5, noise=0.7, rows=150_000, features=200 if factors else 100, factors=factors)
        model = fitted(X[:20_000], y[:20_000])
        X, y = X[20_000:], y[20_000:]
        right, broken, falls, reads, reads_rows = model.predict(X) == y, 0, [], [], []
        for seed, given, untouched in splits(len(X), rows):
            terms = {"delta": delta, "random_state": seed}
            reading = attend(model, X[given], y[given], promise="accuracy", **terms).read(X[untouched])
            falls.append(right[untouched].mean() - np.mean(reading.label == y[untouched]))
            broken += falls[-1] > delta
            reads.append(reading.n_read.mean())
            if seed % 10 == 0:
                exact = attend(model, X[given], promise="rows", **terms).read(X[untouched])
                reads_rows.append(exact.n_read.mean())
        print(
            f"{name:26}{100 * right.mean():9.1f} %{broken:8}{100 * np.mean(falls):8.2f} %{np.mean(reads):10.1f}"
            f"{np.mean(reads_rows):7.1f}{np.mean(reads) / np.mean(reads_rows):7.2f}",
            flush=True,
        )
        of = f"by accuracy, δ = {delta:g}: {name} features"
        keep("promise", f"splits of {SPLITS} that were broken, {of}", broken, at_most=MOST_BROKEN)
        ratio = np.mean(reads) / np.mean(reads_rows)
        keep("promise", f"features read against those by rows, {of}", ratio, unit="times", at_most=0.5)


def pairs(delta=0.01, draws=5):
    print(
        f"\nSeven pairs of MNIST, delta = {delta}, LinearSVC fitted on a quarter of the training rows, attended on the"
    )
    print(f"others: features per test row, geometric means, over {draws} draws of that quarter")
    read = {"rows": np.empty((draws, len(PAIRS))), "classes": np.empty((draws, len(PAIRS)))}
    for column, digits in enumerate(PAIRS):
        X, y, X_test, _ = load_mnist(digits)
        X, X_test = X / np.float32(255), X_test / np.float32(255)
        for draw in range(draws):
            mixed = np.random.default_rng(draw).permutation(len(X))
            fit, given = np.split(mixed, [len(X) // 4])
            model = LinearSVC(C=0.01, loss="hinge", random_state=0).fit(X[fit], y[fit])
            for promise, counts in read.items():
                attentive = attend(model, X[given], delta=delta, promise=promise, random_state=draw)
                counts[draw, column] = attentive.read(X_test).n_read.mean()
    for promise, most in (("rows", 14), ("classes", 17)):
        by_draw = np.exp(np.log(read[promise]).mean(axis=1))
        mean = np.exp(np.log(read[promise]).mean())
        print(f"{promise:26}{mean:6.2f} ({by_draw.min():.2f} to {by_draw.max():.2f}), at most {most}", flush=True)
        spread = by_draw.min(), by_draw.max()
        of = f"features per row of 784, by {promise}, δ = {delta:g}: seven pairs of MNIST"
        keep("promise", of, mean, at_most=most, spread=spread)


if __name__ == "__main__":
    pairs()
    accuracy()
    by_class()

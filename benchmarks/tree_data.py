"""The tables that trees are measured on: rows to fit on with their labels, rows to attend with, and test rows."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from mnist import load_mnist


class Split(NamedTuple):
    """Rows for each purpose; no row has two."""

    X: object
    y: np.ndarray
    given: object
    test: object


def mnist(pair=(3, 8)):
    """Return digits as float32 pixels: 6,000 fit, the other training rows are given."""
    X, y, test, _ = load_mnist(pair)
    mixed = np.random.default_rng(0).permutation(len(X))
    X, y = X[mixed].astype(np.float32), y[mixed]
    return Split(X[:6000], y[:6000], X[6000:], test.astype(np.float32))


def noisy(n=60_000, seed=0):
    """Return thirty normal columns of which fifteen matter, with so much noise that 82 % can be got right."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 30))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + abs(X[:, 3]) - 0.3 * X[:, 4] ** 2 + 0.3 * X[:, 5:15].sum(axis=1)
    y = (score + 0.5 * rng.logistic(size=n) > 0.2).astype(int)
    return Split(*_thirds(X, y))


def mixed(n=60_000, seed=0):
    """Return a table as a census or a bank has it: numbers, counts, categories, gaps; a quarter is positive."""
    rng = np.random.default_rng(seed)
    age, hours = rng.integers(17, 90, n).astype(float), np.clip(rng.normal(40, 12, n), 1, 99).round()
    years, gain = (
        rng.integers(1, 17, n).astype(float),
        np.where(rng.random(n) < 0.08, rng.lognormal(8, 1.2, n), 0).round(),
    )
    kinds = {f"kind{k}": rng.zipf(1.6, n) % size for k, size in enumerate((2, 5, 7, 9, 15, 42))}
    effects = {name: np.random.default_rng(k).normal(0, 0.7, 50) for k, name in enumerate(kinds)}
    score = 0.28 * (years - 10) - ((age - 48) / 16) ** 2 + 0.045 * (hours - 40) + 1.3 * np.log1p(gain / 800)
    score += sum(effects[name][codes] for name, codes in kinds.items()) + 0.8 * (kinds["kind1"] == 1) * (age > 35)
    numbers = {"age": age, "hours": hours, "years": years, "gain": gain}
    numbers |= {f"noise{k}": rng.normal(size=n).round(2) for k in range(4)}
    for name in ("hours", "years", "noise0"):
        numbers[name][rng.random(n) < 0.06] = np.nan
    texts = {name: pd.Categorical([f"{name}-{code}" for code in codes]) for name, codes in kinds.items()}
    y = (score + rng.logistic(0, 0.6, n) > np.quantile(score, 0.75)).astype(int)
    return Split(*_thirds(pd.DataFrame({**numbers, **texts}), y))


def _thirds(X, y):
    fit, given = len(y) // 3, 2 * len(y) // 3
    return X[:fit], y[:fit], X[fit:given], X[given:]


TABLES = {"MNIST 3 vs 8": mnist, "noisy": noisy, "mixed table": mixed}

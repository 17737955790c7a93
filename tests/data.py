"""Small problems that the tests learn."""

import numpy as np


def correlated(rows, features, *, seed, factors=5, separation=1.0, classes=2, dtype=np.float64):
    """Classes whose features share hidden factors, so that the features of a row are far from independent."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    loadings = rng.normal(size=(factors, features)) / np.sqrt(factors)
    direction = rng.normal(size=(1 if classes == 2 else classes, features)) / np.sqrt(features)
    X = rng.normal(size=(rows, factors)) @ loadings + rng.normal(size=(rows, features))
    X += separation * (np.where(y == 1, 1.0, -1.0)[:, None] * direction if classes == 2 else direction[y])
    return X.astype(dtype), y


def problem(seed, n=8, rows=300):
    """Return correlated rows, weights of a score, and how much each row counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, n)) + rng.normal(size=(rows, n)) + rng.normal(size=n)
    return X, rng.normal(size=n), rng.uniform(0.2, 1.0, rows)

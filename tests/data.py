"""Small problems that the tests learn."""

import numpy as np
import pandas as pd


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


STATES = ["Iowa", "Ohio", "Utah", "Maine"]


def census(n_rows, seed=0, classes=2):
    """Return a table with numbers, categories, rare ones, missing values of both kinds, and a name in each row."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 80, n_rows).astype(float),
            "state": random.choice([*STATES, "Guam", "Palau"], n_rows, p=[0.3, 0.3, 0.2, 0.19, 0.008, 0.002]),
            "size": random.choice([1, 2, 3, 5], n_rows),
            "work": random.choice(["private", "public", "?"], n_rows, p=[0.6, 0.3, 0.1]).astype(object),
            "hours": random.normal(40, 10, n_rows).round(2),
            "name": [f"person {row * 7919 % n_rows}" for row in range(n_rows)],
        }
    )
    margin = (
        (frame.age - 45) / 15 + 2 * frame.state.isin(["Iowa", "Utah"]) - 2 * (frame.work == "?") + (frame["size"] == 3)
    )
    margin += random.normal(size=n_rows) / 3 - margin.mean()
    frame.loc[random.random(n_rows) < 0.1, "age"] = np.nan
    frame.loc[random.random(n_rows) < 0.05, "work"] = None
    levels = np.quantile(margin, np.arange(1, classes) / classes)
    frame["income"] = np.array(["low", "mid", "high"] if classes == 3 else ["low", "high"])[
        np.searchsorted(levels, margin)
    ]
    return frame

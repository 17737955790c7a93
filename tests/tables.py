"""Tables with columns of texts, for tests of learning from them."""

import numpy as np
import pandas as pd

TARGET = "income"
# Categories that are common, and that no row has in these tables.
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
    frame[TARGET] = np.array(["low", "mid", "high"] if classes == 3 else ["low", "high"])[
        np.searchsorted(levels, margin)
    ]
    return frame

"""A table of texts, numbers and gaps, a scikit-learn pipeline over it, and what it asks of each row.

The table is made here. Run it with ``python examples/table_pipeline.py``; it takes some seconds.
"""

from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from saccade import attend

PRICES = {"credit report": 5.0, "income": 2.0}  # what is not named costs 1


def applications(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return applications for a loan, and which were paid back."""
    random = np.random.default_rng(seed)
    work = random.choice(["employed", "own business", "student", "retired"], n, p=[0.6, 0.2, 0.1, 0.1])
    report = random.choice(["clean", "late once", "late often", "default"], n, p=[0.6, 0.2, 0.15, 0.05])
    rows = pd.DataFrame(
        {
            "age": random.integers(18, 80, n).astype(float),
            "income": random.lognormal(10, 0.5, n),
            "work": work,
            "home": random.choice(["rented", "owned", "parents"], n),
            "purpose": random.choice(["car", "house", "debts", "studies", "other"], n),
            "credit report": report,
            "years at address": random.exponential(5, n),
            "children": random.integers(0, 5, n).astype(float),
        }
    )
    worth = pd.Series(report).map({"clean": 2.0, "late once": 0.5, "late often": -1.5, "default": -4.0}).to_numpy()
    score = worth + 1.5 * np.log(rows["income"] / 22_000) + 0.8 * (work == "employed") + random.logistic(0, 0.5, n)
    for name in ("income", "work", "credit report"):
        rows.loc[random.random(n) < 0.05, name] = None
    return rows, np.where(score > 0, "repaid", "lost")


def main() -> None:
    rows, outcome = applications(60_000)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    texts = OneHotEncoder(handle_unknown="ignore", min_frequency=50)
    features = ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include=float)),
            ("texts", texts, make_column_selector(dtype_exclude=float)),
        ]
    )
    model = make_pipeline(features, LogisticRegression()).fit(rows[:20_000], outcome[:20_000])

    attentive = attend(model, rows[20_000:40_000], delta=0.02, costs=PRICES, random_state=0)
    print(attentive.certificate_)
    print(attentive.plan_.describe(rows.columns))

    new = rows[40_000:]
    attentive.predict(new[:100])  # the first call compiles what is not kept yet
    start = perf_counter()
    own = model.predict(new)
    between = perf_counter()
    ours = attentive.predict(new)
    times = (between - start) / (perf_counter() - between)
    print(f"\n{100 * np.mean(own != ours):.2f} % of {len(new):,} labels differ; {times:.0f} times as fast.")

    inquiry = attentive.inquire(known={"age": 41, "home": "rented"})
    answers = {"credit report": "late often", "income": None, "work": "student"}
    while inquiry.wanted is not None:
        inquiry.tell(answers.get(inquiry.wanted, rows.iloc[0][inquiry.wanted]))
    print(f"Asked for {', '.join(inquiry.asked)}: {inquiry.label}, for {inquiry.spent:g}.")


if __name__ == "__main__":
    main()

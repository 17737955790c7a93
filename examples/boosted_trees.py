"""Read boosted trees until the label is clear: a table with categories and gaps, a certificate, costs, one row by hand.

Run it with ``python examples/boosted_trees.py``. It takes scikit-learn's own boosted trees; LightGBM's, XGBoost's and
CatBoost's are taken in the same way.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import saccade


def applicants(n: int = 24_000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return applications for a loan, some with gaps, and whether each was repaid."""
    rng = np.random.default_rng(seed)
    work = np.array(["employed", "self-employed", "retired", "none"])[rng.choice(4, n, p=[0.6, 0.2, 0.15, 0.05])]
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "work": pd.Categorical(work),
            "income": rng.lognormal(7.8, 0.5, n).round(),
            "debt": rng.lognormal(6, 1.5, n).round(),
            "months at address": rng.exponential(60, n).round(),
            "credit file": rng.normal(600, 90, n).round(),
        }
    )
    score = 0.012 * (table["credit file"] - 560) + 0.9 * np.log(table["income"] / table["debt"])
    score -= 1.5 * (work == "none")
    table.loc[rng.random(n) < 0.1, "months at address"] = np.nan
    return table, np.where(score + rng.logistic(0, 0.5, n) > 0, "repaid", "defaulted")


def main() -> None:
    X, y = applicants()
    model = HistGradientBoostingClassifier(max_iter=300, random_state=0).fit(X[:8000], y[:8000])
    held_out, new = X[8000:20_000], X[20_000:]  # neither was fitted on

    attentive = saccade.attend(model, held_out, delta=0.02, random_state=0)
    print(attentive.certificate_)
    reading = attentive.read(new)
    differ = np.mean(reading.label != model.predict(new))
    print(f"new rows: {reading.n_read.mean():.1f} trees a row, {differ:.2%} differ")

    # What is asked of an applicant costs nothing; a credit file is bought, and looked up only where it is needed.
    costs = dict.fromkeys(X.columns, 0.0) | {"credit file": 4.0, "debt": 1.0}
    frugal = saccade.attend(model, held_out, delta=0.02, costs=costs, random_state=0)
    read = frugal.predict_lazily(lambda row, name: new[name].iloc[row], range(500))
    print(f"with costs: {read.spent.mean():.2f} of {sum(costs.values()):g} spent a row")

    applicant = new.iloc[3]
    inquiry = frugal.inquire(known={name: applicant[name] for name in ("age", "work")})
    while inquiry.wanted is not None:
        inquiry.tell(applicant[inquiry.wanted])
    print(f"applicant 3: {inquiry.label}, asked for {', '.join(inquiry.asked)}, spent {inquiry.spent:g}")


if __name__ == "__main__":
    main()

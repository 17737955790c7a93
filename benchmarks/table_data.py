"""Tables that are made here: one like a census, a wide one, and one whose columns have prices."""

from typing import NamedTuple

import numpy as np
import pandas as pd

__all__ = ["Made", "census", "priced", "wide"]


class Made(NamedTuple):
    """Rows and labels."""

    rows: pd.DataFrame
    label: np.ndarray


def _levels(prefix, n):
    return np.array([f"{prefix} {k}" for k in range(n)], dtype=object)


def _drawn(random, levels, size, *, steep=1.0):
    """Return levels that are rarer and rarer."""
    share = 1.0 / np.arange(1, levels.size + 1) ** steep
    return random.choice(levels, size, p=share / share.sum())


def census(n=220_000, seed=0):
    """Return 6 columns of numbers and 8 of texts, some missing: who earns more than most."""
    random = np.random.default_rng(seed)
    schooling = random.integers(1, 17, n)
    age = np.clip(random.gamma(9, 4.5, n), 17, 90).round()
    married = random.random(n) < 1 / (1 + np.exp(-(age - 32) / 7))
    columns = {
        "age": age,
        "workclass": _drawn(random, _levels("class", 8), n),
        "weight": random.lognormal(12, 0.5, n).round(),
        "education": np.array([f"grade {k}" for k in range(17)], dtype=object)[schooling],
        "education_years": schooling.astype(float),
        "marital": np.where(married, "married", _drawn(random, _levels("single", 5), n)),
        "occupation": _drawn(random, _levels("occupation", 14), n, steep=0.5),
        "relationship": np.where(
            married, _drawn(random, _levels("spouse", 2), n), _drawn(random, _levels("none", 4), n)
        ),
        "origin": _drawn(random, _levels("origin", 5), n, steep=2.0),
        "sex": _drawn(random, _levels("sex", 2), n),
        "gain": np.where(random.random(n) < 0.08, random.lognormal(8, 1, n).round(), 0.0),
        "loss": np.where(random.random(n) < 0.05, random.lognormal(7, 0.3, n).round(), 0.0),
        "hours": np.clip(random.normal(40, 11, n), 1, 99).round(),
        "country": _drawn(random, _levels("country", 40), n, steep=2.5),
    }
    rows = pd.DataFrame(columns)
    work = dict(zip(_levels("occupation", 14), random.normal(0, 0.8, 14), strict=True))
    score = (
        1.9 * married
        + 0.32 * (schooling - 10)
        + 0.03 * (age - 38)
        + 0.03 * (rows["hours"] - 40)
        + rows["occupation"].map(work).to_numpy(float)
        + 0.6 * np.log1p(rows["gain"]) / 2
        + random.logistic(0, 0.7, n)
    )
    for name, share in (("workclass", 0.06), ("occupation", 0.06), ("country", 0.02), ("hours", 0.03)):
        rows.loc[random.random(n) < share, name] = None
    return Made(rows, (score > np.quantile(score, 0.76)).astype(int))


def wide(n=110_000, seed=0, n_numbers=140, n_texts=60):
    """Return 200 columns, 60 of them of texts, five of these with 1,000 levels; a tenth of all values is missing."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(n, 8))
    columns, score = {}, random.logistic(0, 0.5, n)
    weights = random.normal(size=n_numbers) * 0.9 ** np.arange(n_numbers) * 2
    numbers = factors @ random.normal(size=(8, n_numbers)) + random.normal(size=(n, n_numbers)) * 2
    score += numbers @ weights / numbers.std()
    columns |= {f"number {j}": numbers[:, j] for j in range(n_numbers)}
    for j in range(n_texts):
        levels = _levels(f"t{j}", 1000 if j % 12 == 0 else int(random.integers(2, 30)))
        code = random.integers(0, levels.size, n) if j % 12 == 0 else (random.random(n) ** 2 * levels.size).astype(int)
        columns[f"text {j}"] = levels[code]
        score += (random.normal(0, 1.5 * 0.9**j, levels.size))[code]
    rows = pd.DataFrame(columns)
    return Made(rows.mask(random.random(rows.shape) < 0.1), (score > 0).astype(int))


def priced(n=120_000, seed=0):
    """Return a table of patients: questions are free or cheap, laboratory values and images are dear; with prices."""
    random = np.random.default_rng(seed)
    illness = random.normal(size=n)
    ask = {
        f"symptom {j}": np.where(random.random(n) < 1 / (1 + np.exp(-(illness - 0.5 * j))), "yes", "no")
        for j in range(6)
    }
    body = {f"measure {j}": illness * (0.5 + 0.1 * j) + random.normal(size=n) for j in range(4)}
    lab = {f"lab {j}": illness * (0.8 + 0.1 * j) + random.normal(size=n) * 0.8 for j in range(8)}
    image = {f"image {j}": illness * 1.5 + random.normal(size=n) * 0.5 for j in range(2)}
    rows = pd.DataFrame(ask | body | lab | image)
    prices = dict.fromkeys(ask, 1.0) | dict.fromkeys(body, 3.0) | dict.fromkeys(lab, 20.0)
    prices |= dict.fromkeys(image, 150.0)
    for name in [*ask, *lab]:
        rows.loc[random.random(n) < 0.05, name] = None
    label = (illness + 0.25 * random.normal(size=n) > 0.8).astype(int)
    return Made(rows, label), prices

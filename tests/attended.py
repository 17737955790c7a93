"""Certified models of small tables, each made when a test first needs it."""

from functools import cache

import pandas as pd
from sklearn.linear_model import LogisticRegression

from data import correlated
from saccade import attend

N = 12
NAMES = [f"f{j}" for j in range(N)]
GROUPS = {"sample": ["f0", "f3", "f5"], "record": ["f1", "f2"]}
MODELS = {
    "two classes": (2, {}),
    "four classes": (4, {}),
    "groups": (2, {"groups": GROUPS, "costs": {"sample": 3.0}}),
}


@cache
def attended(name):
    """Return a model that was not fitted on the rows that certify it, and all rows."""
    classes, options = MODELS[name]
    X, y = correlated(4000, N, seed=1, separation=3.0, classes=classes)
    frame = pd.DataFrame(X, columns=NAMES)
    model = LogisticRegression(max_iter=500).fit(frame[:1000], y[:1000])
    return attend(model, frame[1000:], delta=0.05, random_state=0, **options), frame


def seen(attentive, rows):
    """Return which rows have no value outside of what was seen when the model was certified."""
    population = attentive.population_
    return ((rows >= population.low) & (rows <= population.high)).to_numpy().all(axis=1)

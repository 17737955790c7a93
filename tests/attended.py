"""Certified linear models of small tables."""

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
    """Return a model that was fitted on the first 1000 rows and certified on the others, and all rows."""
    classes, options = MODELS[name]
    X, y = correlated(4000, N, seed=1, separation=3.0, classes=classes)
    frame = pd.DataFrame(X, columns=NAMES)
    model = LogisticRegression(max_iter=500).fit(frame[:1000], y[:1000])
    return attend(model, frame[1000:], delta=0.05, random_state=0, **options), frame


def answer(inquiry, row):
    """Answer all questions of an inquiry from a row, and return the inquiry."""
    while inquiry.wanted is not None:
        inquiry.tell(row[inquiry.wanted])
    return inquiry

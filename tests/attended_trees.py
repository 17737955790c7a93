"""Certified tree ensembles of small tables."""

from functools import cache

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from catboost import CatBoostClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from saccade import attend

NAMES = ["age", "income", "state", "debt", "rooms", "distance", "visits", "noise"]
N = len(NAMES)
STATES = ["AK", "CA", "NY", "TX"]
GROUPS = {"record": ["income", "debt"]}
DELTA = 0.05
LIGHT = {"n_estimators": 30, "num_leaves": 8, "learning_rate": 0.2, "verbose": -1, "n_jobs": 1}


def table(seed=0, n_rows=3600, classes=2, *, categories=True, gaps=False, noise=True):
    """Return rows of numbers and a category, and labels that are easy to predict for most rows."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, N)).round(2), columns=NAMES)
    code = rng.integers(0, 4, n_rows)
    score = 2 * X["age"] + np.where(code < 2, 1.5, -1.5) + X["income"] * (X["rooms"] > 0) + np.abs(X["debt"]) - 0.8
    if classes == 2:
        y = (score + 0.2 * rng.normal(size=n_rows) > 0).astype(int)
    else:
        y = np.digitize(score + 0.2 * rng.normal(size=n_rows), np.quantile(score, [0.35, 0.7]))
    X["state"] = pd.Categorical.from_codes(code, STATES) if categories else code.astype(float)
    if gaps:
        X["age"] = X["age"].mask(rng.random(n_rows) < 0.2)
    if not noise:
        X["noise"] = 0.0
    return X, np.array(["low", "middle", "high"])[y] if classes == 3 else y


MODELS = {
    "lightgbm": ({}, lambda: lgb.LGBMClassifier(**LIGHT), {}),
    "lightgbm, gaps": ({"gaps": True}, lambda: lgb.LGBMClassifier(**LIGHT), {}),
    "lightgbm, constant": ({"noise": False}, lambda: lgb.LGBMClassifier(**LIGHT), {}),
    "lightgbm, groups": (
        {"categories": False},
        lambda: lgb.LGBMClassifier(**LIGHT),
        {"groups": GROUPS, "costs": {"record": 20.0, "age": 5.0, "state": 0.0}},
    ),
    "lightgbm, zeros": ({"categories": False}, lambda: lgb.LGBMClassifier(**LIGHT, zero_as_missing=True), {}),
    "lightgbm, three": ({"classes": 3}, lambda: lgb.LGBMClassifier(**LIGHT), {}),
    "xgboost": (
        {"categories": False},
        lambda: xgb.XGBClassifier(n_estimators=30, max_depth=3, learning_rate=0.3, n_jobs=1),
        {},
    ),
    "xgboost, categories": (
        {},
        lambda: xgb.XGBClassifier(n_estimators=30, max_depth=3, learning_rate=0.3, n_jobs=1, enable_categorical=True),
        {"order": "sorted", "boundary": "curved"},
    ),
    "lightgbm, threshold": ({}, lambda: lgb.LGBMClassifier(**LIGHT), {"threshold": 0.2}),
    "hist": (
        {},
        lambda: HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8, categorical_features="from_dtype"),
        {},
    ),
    "forest": (
        {"categories": False},
        lambda: RandomForestClassifier(40, max_depth=7, random_state=0),
        {"costs": dict.fromkeys(NAMES[:4], 3.0)},
    ),
    "forest, three": (
        {"categories": False, "classes": 3},
        lambda: RandomForestClassifier(40, max_depth=7, random_state=0),
        {},
    ),
    "catboost, three": (
        {"categories": False, "classes": 3},
        lambda: CatBoostClassifier(
            iterations=30, depth=4, learning_rate=0.3, verbose=False, thread_count=1, allow_writing_files=False
        ),
        {},
    ),
    "adaboost": (
        {"categories": False},
        lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=30, random_state=0),
        {},
    ),
    "gradient": ({"categories": False}, lambda: GradientBoostingClassifier(n_estimators=30), {}),
}


@cache
def attended(name, delta=DELTA):
    """Return a model that was fitted on some rows and certified on others, and rows that are new to it."""
    how, make, options = MODELS[name]
    X, y = table(**how)
    with threadpool_limits(1):  # OpenMP's threads wait for each other for seconds where cores are busy
        model = make().fit(X[:800], y[:800])
    return attend(model, X[800:3200], delta=delta, random_state=0, **options), X[3200:].reset_index(drop=True)

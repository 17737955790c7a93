"""Dask collections for tests, and a model of rows without names."""

from functools import cache
from itertools import pairwise

import dask.dataframe as dd
from sklearn.linear_model import LogisticRegression

from data import correlated
from saccade import attend


def divided(frame, ends):
    """Return a Dask frame whose partitions end at these rows; some may be empty."""
    bounds = [0, *sorted(ends), len(frame)]
    parts = [frame.iloc[start:stop] for start, stop in pairwise(bounds)]
    return dd.from_map(lambda part: part, parts, meta=frame.iloc[:0])


def boom(*_, **__):
    raise AssertionError("a partition was computed")


@cache
def nameless(classes=2):
    """Return a certified model of rows without names, and other rows."""
    X, y = correlated(4000, 12, seed=1, separation=3.0, classes=classes)
    return attend(LogisticRegression(max_iter=500).fit(X[:1000], y[:1000]), X[1000:], delta=0.05, random_state=0), X

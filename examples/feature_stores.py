"""Classify the rows of a database table, and fetch only the cells that the decisions need.

Run it with ``python examples/feature_stores.py``. SQLite comes with Python; for DuckDB, ``pip install duckdb``.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from saccade import AttentiveClassifier, attend


class TableFetcher:
    """Fetches one cell at a time, and counts them."""

    def __init__(self, execute: Callable[..., object], table: str) -> None:
        self.execute, self.table, self.cells = execute, table, 0

    def __call__(self, key: int, column: str) -> float:
        self.cells += 1
        return self.execute(f'SELECT "{column}" FROM {self.table} WHERE id = ?', [key]).fetchone()[0]


def sqlite_table(frame: pd.DataFrame) -> sqlite3.Connection:
    """Return a database that holds the frame as the table 'patients'."""
    connection = sqlite3.connect(":memory:")
    frame.rename_axis("id").to_sql("patients", connection)
    connection.execute("CREATE UNIQUE INDEX by_id ON patients (id)")
    return connection


def duckdb_table(frame: pd.DataFrame):
    """Return the same as a DuckDB database."""
    import duckdb

    connection = duckdb.connect()
    rows = frame.rename_axis("id").reset_index()
    connection.register("rows", rows)
    connection.execute("CREATE TABLE patients AS SELECT * FROM rows")
    return connection


def classify(attentive: AttentiveClassifier, execute: Callable[..., object], keys: Sequence[int]):
    """Return the labels of some rows of the table, and how many cells were fetched for them."""
    fetch = TableFetcher(execute, "patients")
    return attentive.predict_lazily(fetch, keys), fetch.cells


def patients() -> tuple[AttentiveClassifier, pd.DataFrame]:
    """Return a model of the breast-cancer data, certified on rows that it was not fitted on, and still others."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rows = np.random.default_rng(0).permutation(len(X))
    fitted_on, given, others = np.split(rows, [150, 400])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X.iloc[fitted_on], y.iloc[fitted_on])
    attentive = attend(model, X.iloc[given], delta=0.1, calibration_size=0.6, random_state=0)
    return attentive, X.iloc[others].reset_index(drop=True)


def main() -> None:
    attentive, frame = patients()
    print(attentive.certificate_)
    stores = {"SQLite": sqlite_table(frame)}
    try:
        stores["DuckDB"] = duckdb_table(frame)
    except ModuleNotFoundError:
        print("DuckDB is not installed: pip install duckdb")
    for name, connection in stores.items():
        with closing(connection):
            found, cells = classify(attentive, connection.execute, range(len(frame)))
        agree = np.mean(found.label == attentive.estimator_.predict(frame))
        print(f"{name}: {cells:,} of {frame.size:,} cells were read; {100 * agree:.1f} % of labels as of all features.")


if __name__ == "__main__":
    main()

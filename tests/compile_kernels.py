"""Compile every kernel that the tests use, on all cores, before they start: else each worker compiles all of them.

The disk cache (``NUMBA_CACHE_DIR``) hands the result to the workers. A kernel is compiled for each kind and layout of
its arrays, so each task is a tiny fit and a reading of one of them. What is missing here is compiled during the tests,
once for every worker: slower, and not wrong.
"""

import os
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")  # what is learned here is of no use
Y = np.arange(200) % 2
X = np.random.default_rng(0).normal(size=(200, 24)) + Y[:, None]


def stored(kind, layout):
    """Return the rows as an array of a kind, with contiguous rows (C), contiguous columns (F) or neither (A)."""
    rows = (10 * X + 100).clip(0, 255).astype(kind)
    if layout == "A":
        return np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)[::2, ::2]
    return np.asarray(rows, order=layout)


def learn(kind, layout):
    from saccade import Pegasos

    rows = stored(kind, layout)
    Pegasos(random_state=0).fit(rows, Y).read(rows)
    Pegasos(cost="features", random_state=0).fit(rows, Y)


def learn_sparse(kind, indices):
    import scipy.sparse as sp

    from saccade import Pegasos

    rows = sp.csr_array(stored(kind, "C"))
    rows.indices, rows.indptr = rows.indices.astype(indices), rows.indptr.astype(indices)
    model = Pegasos(random_state=0).fit(rows, Y)
    model.read(rows)
    model.predict(rows)


def attend(kind):
    """Plan, which reads arrays that may be written to, and read arrays and tables by a plan that may not."""
    import joblib
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    import saccade

    rows = stored(kind, "C")
    attentive = saccade.attend(LogisticRegression(max_iter=500).fit(rows, Y), rows, delta=0.2, random_state=0)
    attentive.read(rows)
    saccade.Watch(attentive, share=0.5).predict(rows)
    if kind is np.float64:
        frame = pd.DataFrame(rows)
        attentive.read(frame)
        attentive.read(frame.astype({0: np.int64}))
        with tempfile.TemporaryDirectory() as folder:
            joblib.dump(attentive, Path(folder) / "attentive")
            joblib.load(Path(folder) / "attentive", mmap_mode="r").read(rows)


def attend_trees(kind, most_leaves):
    """Plan and read trees that are scanned or walked, by block and by row, as arrays, CSR matrix and table."""
    import pandas as pd
    import scipy.sparse as sp
    from lightgbm import LGBMClassifier

    import saccade

    rows = stored(kind, "C")
    model = LGBMClassifier(n_estimators=12, num_leaves=most_leaves, min_child_samples=1, min_split_gain=0, verbose=-1)
    model.fit(rows, Y)
    attentive = saccade.attend(model, rows, delta=0.2, random_state=0, costs=np.arange(24.0))
    frame = pd.DataFrame(rows, columns=[f"c{j}" for j in range(24)])
    for X in (rows, rows[:1], sp.csr_array(rows), frame.assign(c0=frame.c0 + 1)):
        attentive.read(X)
        attentive.full_margin(X)
    inquiry = attentive.inquire()
    while inquiry.wanted is not None:
        inquiry.tell(1.0)


def attend_trees_in_single_precision():
    """The same for libraries that round rows: scanned by columns, and walked by rows, brought together as singles."""
    import scipy.sparse as sp
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    import saccade

    rows, y = np.tile(stored(np.float64, "C"), (3, 1)), np.arange(600) % 5 == 0
    rows += np.random.default_rng(1).normal(size=rows.shape)
    for model in (GradientBoostingClassifier(n_estimators=12, max_depth=4), RandomForestClassifier(20)):
        attentive = saccade.attend(model.fit(rows, y), rows, delta=0.2, promise="rows", random_state=0)
        for part in (rows, rows[:1], sp.csr_array(rows)):
            attentive.read(part)
            attentive.full_margin(part)


def read_bytes_by_columns():
    from saccade import Pegasos

    Pegasos(random_state=0).fit(stored(np.float64, "C"), Y).read(stored(np.uint8, "F"))


def attend_tables():
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, SplineTransformer

    from saccade import attend

    table = pd.DataFrame({"number": np.tile(X[:, 0], 10), "text": np.where(np.tile(X[:, 1], 10) > 0, "a", "b")})
    steps = ColumnTransformer([("splines", SplineTransformer(), ["number"]), ("texts", OneHotEncoder(), ["text"])])
    model = make_pipeline(steps, LogisticRegression()).fit(table, np.tile(Y, 10))
    attentive = attend(model, table, delta=0.5, promise="rows", when_too_few="read", random_state=0)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    for rows in (table, arrow, pl.from_arrow(arrow), arrow.set_column(1, "text", arrow["text"].cast(pa.string()))):
        attentive.predict(rows)


# The longest first, so that all cores are busy to the end; neighbours share few of the functions that they call.
TASKS = [
    (learn, np.float64, "C"),
    (learn, np.float32, "C"),
    (learn, np.float64, "F"),
    (learn, np.float32, "F"),
    (learn_sparse, np.float64, np.int32),
    (learn_sparse, np.float32, np.int32),
    (learn, np.float64, "A"),
    (learn, np.uint8, "C"),
    (learn_sparse, np.float64, np.int64),
    (attend, np.float64),
    (attend_trees, np.float64, 31),
    (attend_trees, np.float32, 31),
    (attend_trees, np.float64, 100),
    (attend_trees_in_single_precision,),
    (attend, np.float32),
    (attend_tables,),
    (read_bytes_by_columns,),
]


def main():
    # Spawned, and not forked, because a fork would inherit whatever threads numpy has begun.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(*task) for task in TASKS]):
            done.result()


if __name__ == "__main__":
    main()

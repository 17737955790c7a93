"""``predict_files`` and ``fit_files`` beside a plain loop over pyarrow and the model's own ``predict``.

Run with ``make bench-files``: it writes about 2 GB into a temporary folder and takes a few minutes. Every call includes
reading the files and, for predictions, writing the labels. Runs take turns; a ratio is taken within a turn.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from lightgbm import LGBMClassifier
from record import keep
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.linear_model import LogisticRegression, SGDClassifier

import saccade

ROWS, GROUP, TURNS = 1_000_000, 100_000, 5
NAMES = [f"x{j}" for j in range(60)]


def scored(rng, n):
    """Return rows whose features share five hidden factors, and labels by weights that decay."""
    loadings = np.random.default_rng(7).normal(size=(5, len(NAMES))) / 2
    X = rng.normal(size=(n, 5)) @ loadings + rng.normal(size=(n, len(NAMES)))
    score = X @ 0.85 ** np.arange(len(NAMES)) + np.abs(X[:, 0]) * (X[:, 1] > 0)
    return X.round(4), (score + rng.logistic(scale=0.6, size=n) > 0).astype(int)


def write_files(folder, rows):
    """Write the rows as Parquet and as CSV, and a quarter of them, made sparse, as libsvm."""
    rng, writers = np.random.default_rng(1), {}
    for part in range(rows // GROUP):
        X, y = scored(rng, GROUP)
        table = pa.table(dict(zip(NAMES, X.T, strict=True)) | {"label": y})
        if not writers:
            writers["parquet"] = pq.ParquetWriter(folder / "rows.parquet", table.schema)
            writers["csv"] = pyarrow.csv.CSVWriter(folder / "rows.csv", table.schema)
        for writer in writers.values():
            writer.write_table(table)
        if part % 4 == 0:
            sparse = np.where(np.abs(X) > 1.4, X, 0.0)
            with open(folder / "rows.svm", "ab") as file:
                dump_svmlight_file(sparse, y, file, zero_based=False)
    for writer in writers.values():
        writer.close()


def predict_attentively(attentive, path, folder):
    target = folder / "predictions"
    shutil.rmtree(target, ignore_errors=True)
    saccade.predict_files(attentive, path, target)


def predict_plainly(model, path, folder):
    """Predict by the model's own predict, batch by batch."""
    with pq.ParquetWriter(folder / "plain.parquet", pa.schema([("label", pa.int64())])) as writer:
        for batch in ds.dataset(path, format=path.suffix[1:]).to_batches(columns=NAMES, batch_size=65_536):
            X = pd.DataFrame({name: batch.column(name).to_numpy() for name in NAMES})
            writer.write_table(pa.table({"label": np.asarray(model.predict(X), dtype=np.int64)}))


def fit_attentively(path, target):
    saccade.fit_files(saccade.Pegasos(random_state=0), path, target=target, classes=[0, 1])


def fit_plainly(kind, path):
    """Learn by the learner's own partial_fit, batch by batch."""
    learner = kind(random_state=0)
    if path.suffix == ".svm":
        X, y = load_svmlight_file(str(path), n_features=len(NAMES))
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # SGDClassifier takes no others
        learner.partial_fit(X, y, classes=[0, 1])
        return
    for batch in ds.dataset(path, format=path.suffix[1:]).to_batches(batch_size=65_536):
        X = np.column_stack([batch.column(name).to_numpy() for name in NAMES])
        learner.partial_fit(X, batch.column("label").to_numpy(), classes=[0, 1])


def in_turn(calls, turns=TURNS):
    """Return the seconds of each call in each turn."""
    seconds = np.empty((turns, len(calls)))
    for turn in range(turns):
        for k, call in enumerate(calls):
            begun = perf_counter()
            call()
            seconds[turn, k] = perf_counter() - begun
    return seconds


def report(name, seconds, *, peers):
    ours = seconds[:, 0]
    for k, peer in enumerate(peers, 1):
        ratios = seconds[:, k] / ours
        low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
        print(f"{name:50} {np.median(ours):7.2f} s, {peer}: {np.median(seconds[:, k]):7.2f} s, {middle:5.2f} times")
        keep("files", f"{name}, against {peer}", middle, unit="times", spread=(low, high))


def predictions(folder):
    X, y = scored(np.random.default_rng(0), 160_000)
    frame = pd.DataFrame(X, columns=NAMES)
    trees = LGBMClassifier(n_estimators=300, n_jobs=1, verbose=-1).fit(frame[:80_000], y[:80_000])
    linear = LogisticRegression(max_iter=300).fit(frame[:80_000], y[:80_000])
    models = {
        "LightGBM, 300 trees": (trees, {}),
        "LogisticRegression": (linear, {}),
        "LogisticRegression, fewest columns": (linear, {"fewest": "columns"}),
    }
    for name, (model, options) in models.items():
        attentive = saccade.attend(model, frame[80_000:], delta=0.01, random_state=0, **options)
        for path in (folder / "rows.parquet", folder / "rows.csv"):
            calls = (
                partial(predict_attentively, attentive, path, folder),
                partial(predict_plainly, model, path, folder),
            )
            calls[0]()
            report(f"predict {path.suffix[1:]}: {name}", in_turn(calls), peers=["pyarrow and predict"])


def learning(folder):
    for path in (folder / "rows.parquet", folder / "rows.csv", folder / "rows.svm"):
        target = None if path.suffix == ".svm" else "label"
        calls = (
            partial(fit_attentively, path, target),
            partial(fit_plainly, saccade.Pegasos, path),
            partial(fit_plainly, SGDClassifier, path),
        )
        calls[0]()
        peers = ["a loop of partial_fit", "pyarrow and SGDClassifier"]
        report(f"fit {path.suffix[1:]}, one pass", in_turn(calls), peers=peers)


def main(rows):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, rows)
        for path in sorted(folder.iterdir()):
            print(f"{path.name}: {path.stat().st_size / 1e6:.0f} MB")
        predictions(folder)
        learning(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)

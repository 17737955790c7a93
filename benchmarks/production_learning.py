"""Learning from the partitions of a Dask cluster of two workers, beside one process: test errors and times.

Run with ``make bench-production``.
"""

from time import perf_counter

import dask.array as da
import distributed
import numpy as np
import scipy.sparse as sp
from dask.delayed import delayed
from learning_data import mnist_pair, texts
from record import keep

from saccade import Pegasos
from saccade.dask import DaskPegasos

# How far the mean goes on by itself (learners/mixing.py) was chosen on 2v3, 3v8, 4v9, 1v7, 7v9, 5v8 and these texts.
PAIRS = ((0, 8), (3, 5), (2, 7), (5, 6), (4, 7), (6, 8))
PARTITIONS = (2, 4, 8)
SEEDS = 5
POINTS = 0.2


def partitioned(values, parts):
    """Return a Dask Array whose chunks are these rows; CSR rows stay so."""
    meta = sp.csr_matrix((0, 0)) if sp.issparse(values) else np.empty((0,) * values.ndim, values.dtype)
    return da.concatenate(
        [da.from_delayed(delayed(values[part]), values[part].shape, values.dtype, meta) for part in parts]
    )


def timed(model, X, y, data):
    """Return the test error of a fitted model in points, and the seconds that fitting took."""
    start = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - start
    local = model if isinstance(model, Pegasos) else model.to_local()
    return 100 * np.mean(local.predict(data.X_test) != data.y_test), seconds


def measure(name, data, client, options):
    """Print one line: errors and times of one process, and what partitions change."""
    alone = np.array([timed(Pegasos(**options, random_state=seed), data.X, data.y, data) for seed in range(SEEDS)])
    print(f"  {name:20}{alone[:, 0].mean():8.2f} %{1e3 * np.median(alone[:, 1]):7.0f} ms", end="")
    found = []
    for n_parts in PARTITIONS:
        runs = []
        for seed in range(SEEDS):
            parts = np.array_split(np.random.default_rng(seed).permutation(len(data.y)), n_parts)
            X, y = client.persist([partitioned(values, parts) for values in (data.X, data.y)])
            distributed.wait([X, y])
            runs.append(timed(DaskPegasos(**options, random_state=seed, client=client), X, y, data))
        points = np.array(runs)[:, 0] - alone[:, 0]
        found.append(points.mean())
        doubt, seconds = 2 * points.std(ddof=1) / np.sqrt(SEEDS), np.median(np.array(runs)[:, 1])
        print(f"{points.mean():+9.2f} ± {doubt:.2f}{1e3 * seconds:7.0f} ms", end="", flush=True)
    print()
    return found


def learning():
    """``DaskPegasos`` against ``Pegasos``: with the defaults, and with as many passes."""
    sets = {f"MNIST {a} vs {b}": mnist_pair((a, b)) for a, b in PAIRS}
    sets |= {f"texts, {n} classes": texts(n) for n in (2, 4)}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster) as client,
    ):
        for title, options in (("Defaults", {}), ("20 passes", {"tol": None})):
            print(f"\nDaskPegasos on 2 workers beside Pegasos, {title.lower()}, means of {SEEDS} seeds, median times")
            columns = "".join(f"{n:11} partitions      " for n in PARTITIONS)
            print(f"  {'':20}{'error, one process':>20}{columns}  (at most {POINTS:+} points)")
            for name, data in sets.items():
                for n_parts, points in zip(PARTITIONS, measure(name, data, client, options), strict=True):
                    of = f"test error of DaskPegasos beyond Pegasos's, {title.lower()}: {name}, {n_parts} partitions"
                    keep("production_learning", of, points, unit="points", at_most=POINTS)


if __name__ == "__main__":
    learning()

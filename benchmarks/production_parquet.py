"""``predict_parquet`` on two workers beside reading the columns with Dask and calling the full model.

Run with ``make bench-production``. Times are medians of interleaved runs; 8 GB are written into a temporary folder.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tempfile
import threading
from pathlib import Path
from time import perf_counter, sleep

import dask.dataframe as dd
import lightgbm as lgb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster
from record import keep
from sklearn.linear_model import LogisticRegression

from saccade import Watch, attend
from saccade.dask import predict_parquet

DELTA = 0.01
ROWS, GROUP, FILES, NAMES = 10_000_000, 1_000_000, 5, [f"x{j}" for j in range(100)]
REPEATS = 3


def scored(rng, n):
    """Return rows whose features share five hidden factors, and labels by weights that decay."""
    loadings = np.random.default_rng(7).normal(size=(5, len(NAMES))) / 2
    X = rng.normal(size=(n, 5)) @ loadings + rng.normal(size=(n, len(NAMES)))
    score = X @ 0.85 ** np.arange(len(NAMES))
    return pd.DataFrame(X, columns=NAMES), (score + rng.logistic(scale=0.6, size=n) > 0).astype(int)


def write_rows(folder):
    rng = np.random.default_rng(1)
    for number in range(FILES):
        writer = None
        for _ in range(ROWS // FILES // GROUP):
            table = pa.Table.from_pandas(scored(rng, GROUP)[0], preserve_index=False)
            writer = writer or pq.ParquetWriter(folder / f"{number}.parquet", table.schema)
            writer.write_table(table, row_group_size=GROUP)
        writer.close()


class Resident:
    """The most memory that any of some processes has, in MB, while this is entered."""

    def __init__(self, pids):
        self.pids, self.peak, self._done = pids, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self):
        while not self._done.is_set():
            for pid in self.pids:
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                self.peak = max(self.peak, pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
            sleep(0.01)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *raised):
        self._done.set()
        self._thread.join()


def full_by_dask(model, source, target):
    """Read the columns of the model with Dask, and call the model."""

    def labels(rows):
        return pd.DataFrame({"label": model.predict(rows)})

    rows = dd.read_parquet(str(source), columns=NAMES)
    rows.map_partitions(labels, meta={"label": np.int64}).to_parquet(str(target))


def parquet():
    """A plan for few columns is what Parquet files want, and what is asked for; the others are there to compare."""
    print(f"\npredict_parquet on two workers, {ROWS:,} x {len(NAMES)} doubles in row groups of {GROUP:,}, delta = 1 %")
    print("  (at least 5 times as fast, and under 500 MB, with the fewest columns)")
    rows, y = scored(np.random.default_rng(0), 260_000)
    linear = LogisticRegression(max_iter=300).fit(rows[:200_000], y[:200_000])
    trees = lgb.LGBMClassifier(n_estimators=300, n_jobs=1, verbose=-1).fit(rows[:200_000], y[:200_000])
    with tempfile.TemporaryDirectory() as name:
        source = Path(name, "rows")
        source.mkdir()
        write_rows(source)
        for title, model, fewest, files in (
            ("LogisticRegression, fewest columns", linear, "columns", source),
            ("LogisticRegression, fewest features, the first file", linear, "features", source / "0.parquet"),
            ("LightGBM of 300 trees, the first file", trees, "features", source / "0.parquet"),
        ):
            attentive = attend(model, rows[200_000:], delta=DELTA, fewest=fewest, random_state=0)
            with (
                tempfile.TemporaryDirectory(dir=name) as folder,
                LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
                Client(cluster) as client,
            ):
                print(f"  {title}")
                compare(title, attentive, model, files, Path(folder), list(client.run(os.getpid).values()))


def compare(title, attentive, model, source, folder, workers):
    """Time both, interleaved, after one run of ours that tells what it needs in workers that did nothing else yet."""
    with Resident(workers) as ours:
        predict_parquet(attentive, source, folder / "warm")
    times = []
    with Resident(workers) as theirs:
        for number in range(REPEATS):
            begun = perf_counter()
            done = predict_parquet(attentive, source, folder / f"labels {number}")
            middle = perf_counter()
            full_by_dask(model, source, folder / f"full {number}")
            times.append((middle - begun, perf_counter() - middle))
    watch = Watch(attentive, share=0.01, random_state=0)
    watched = predict_parquet(attentive, source, folder / "watched", watch=watch)
    early, full = (pd.read_parquet(folder / f"{name} 0")["label"].to_numpy() for name in ("labels", "full"))
    (mine, my_range), (other, their_range) = map(spread_of, zip(*times, strict=True))
    ratios = [slow / fast for fast, slow in times]
    print(
        f"    {done}\n"
        f"    {mine:.1f} s ({my_range}) against {other:.1f} s ({their_range}) for all columns and the full model: "
        f"{np.median(ratios):.1f} times as fast\n"
        f"    {ours.peak:.0f} MB resident in a worker against {theirs.peak:.0f}; disagreement "
        f"{100 * np.mean(early != full):.2f} %\n"
        f"    with a watch at share 1 %: {watched.seconds:.1f} s, {watched.bytes_read / done.bytes_read:.2f} times the "
        f"bytes, {watch.n_audited:,} audited rows, {watch.state}",
        flush=True,
    )
    aimed = "columns" in title
    spread = (min(ratios), max(ratios))
    aims = {"at_least": 5} if aimed else {}
    keep(
        "production_parquet",
        f"predict_parquet beside Dask: {title}",
        np.median(ratios),
        unit="times",
        spread=spread,
        **aims,
    )
    keep("production_parquet", f"its bytes: {title}", 100 * done.bytes_read / done.bytes_total, unit="%")
    keep(
        "production_parquet",
        f"its memory: {title}",
        ours.peak,
        unit="MB a worker",
        **({"at_most": 500} if aimed else {}),
    )


def spread_of(times):
    return np.median(times), f"{min(times):.1f} to {max(times):.1f}"


if __name__ == "__main__":
    parquet()

"""What production must show: of a watch rare false alarms, quick true ones, little overhead; of many rows, speed.

Run with ``make bench-production``. Every figure is printed beside what is asked of it. Paths are of audited rows, and
are looked at after each of them, which only an error can turn into an alarm. Times are medians of interleaved runs of
the public ``predict`` on one thread, and of ``predict_parquet`` on two workers of one thread each; for this 8 GB are
written into a temporary folder.
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
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from saccade import Watch, attend
from saccade.dask import predict_parquet
from saccade.datasets import load_mnist
from saccade.promises.watch import Counts, is_broken

DELTA, ALPHA = 0.01, 0.05
PATHS, LONGEST = 1000, 30_000
NEVER = np.inf
ROWS, GROUP, FILES, NAMES = 10_000_000, 1_000_000, 5, [f"x{j}" for j in range(100)]
REPEATS = 3


def counted(counts, wrong):
    """Count rows, by whether each is wrong."""
    codes = wrong.astype(np.int64)
    counts.add(codes, np.zeros_like(codes))


def rows_to_alarm(rng, rate, good=0, good_rate=DELTA / 2):
    """Return after how many rows at this rate the alarm is raised, after good ones; 0 where it is raised before."""
    counts = Counts(np.array([DELTA]))
    counted(counts, rng.random(good) < good_rate)
    if is_broken(counts, 0, ALPHA):
        return 0
    wrong = rng.random(LONGEST) < rate
    start = 0
    for end in (np.flatnonzero(wrong) + 1).tolist():
        counted(counts, wrong[start:end])
        start = end
        if is_broken(counts, 0, ALPHA):
            return end
    return NEVER


def alarms():
    print(f"\nAudited rows to alarm at delta = 1 %, confidence 95 %, {PATHS:,} paths of {LONGEST:,} audited rows")
    rng = np.random.default_rng(0)
    raised = np.mean([rows_to_alarm(rng, DELTA) < NEVER for _ in range(PATHS)])
    print(f"  a true rate of 1 %: alarms in {100 * raised:.1f} % of the paths (at most 5 %)")
    for rate, asked in ((0.015, 3200), (0.02, 950), (0.03, 270), (0.05, 90)):
        found = np.array([rows_to_alarm(rng, rate) for _ in range(PATHS)])
        print(f"  {100 * rate:.1f} %: median {np.median(found):,.0f} (at most {asked:,}), 95 % {quantile(found)}")
    for good in (1_000, 100_000):
        found = np.array([rows_to_alarm(rng, 0.03, good) for _ in range(PATHS)])
        within, early = np.mean(found <= 1000), np.mean(found == 0)
        print(
            f"  3 % after {good:,} good audited rows at 0.5 %: median {np.median(found):,.0f} (at most 1,000), "
            f"{100 * within:.0f} % within 1,000, 95 % {quantile(found)}, alarms before the jump {100 * early:.1f} %"
        )


def quantile(found):
    return f"within {np.quantile(found, 0.95, method='higher'):,.0f}"


def attended_digits():
    X, y, X_test, _ = load_mnist((2, 3))
    X, X_test = X / np.float32(255), X_test / np.float32(255)
    fit, given = np.split(np.random.default_rng(0).permutation(len(X)), [len(X) // 4])
    model = LogisticRegression(C=0.01, max_iter=500).fit(X[fit], y[fit])
    return attend(model, X[given], delta=DELTA, random_state=0), np.tile(X_test, (25, 1))


def attended_trees():
    X, y = make_classification(60_000, 30, n_informative=12, class_sep=1.5, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=200, random_state=0).fit(X[:15_000], y[:15_000])
    return attend(model, X[15_000:30_000], delta=DELTA, random_state=0), X[30_000:]


def attended_table():
    """Return a pipeline over a table of texts and numbers, and rows of it."""
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(90_000, 12)), columns=[f"x{j}" for j in range(12)])
    texts = {f"t{j}": rng.choice(np.array(["red", "green", "blue", "grey"], dtype=object), 90_000) for j in range(4)}
    table = numbers.assign(**texts)
    y = (numbers.sum(axis=1) + 3 * (table["t0"] == "red") + rng.normal(size=90_000) > 1).astype(int)
    encoded = make_column_transformer((StandardScaler(), list(numbers)), (OneHotEncoder(), list(texts)))
    model = make_pipeline(encoded, LogisticRegression()).fit(table[:20_000], y[:20_000])
    return attend(model, table[20_000:40_000], delta=DELTA, random_state=0), table[40_000:]


def overhead():
    print("\nTime of predict with a watch at share 1 % beside predict without (at most 5 % more), one thread")
    digits = attended_digits()
    for name, (attentive, rows) in (
        ("MNIST 2 vs 3, by rows", digits),
        ("MNIST 2 vs 3, by columns", (digits[0], np.asfortranarray(digits[1]))),
        ("trees", attended_trees()),
        ("table", attended_table()),
    ):
        for size in (len(rows), 1000):
            report(name, attentive, rows, size)


def report(name, attentive, rows, size):
    watch = Watch(attentive, share=0.01, random_state=0)
    batches = [rows[start : start + size] for start in range(0, len(rows), size)]

    def time(predict):
        start = perf_counter()
        for batch in batches:
            predict(batch)
        return (perf_counter() - start) / len(rows) * 1e9

    calls = (attentive.predict, watch.predict, attentive.full_margin)
    each = np.array([[time(call) for call in calls] for _ in range(10)])[1:]
    plain, watched, full = np.median(each, axis=0)
    more = 100 * (np.median(each[:, 1] / each[:, 0]) - 1)
    print(
        f"  {name}, batches of {size:,}: {plain:.0f} -> {watched:.0f} ns a row, {more:+.1f} %; "
        f"a full read takes {full:.0f}, so that 1 % of them alone is {full / plain:+.1f} %"
    )


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
    rows, y = scored(np.random.default_rng(0), 260_000)
    linear = LogisticRegression(max_iter=300).fit(rows[:200_000], y[:200_000])
    trees = lgb.LGBMClassifier(n_estimators=300, n_jobs=1, verbose=-1).fit(rows[:200_000], y[:200_000])
    with tempfile.TemporaryDirectory() as name:
        source = Path(name, "rows")
        source.mkdir()
        write_rows(source)
        for title, model, fewest, files in (
            ("LogisticRegression, fewest columns (at least 5 times as fast, under 500 MB)", linear, "columns", source),
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
                compare(attentive, model, files, Path(folder), list(client.run(os.getpid).values()))


def compare(attentive, model, source, folder, workers):
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
    ratio = np.median([slow / fast for fast, slow in times])
    print(
        f"    {done}\n"
        f"    {mine:.1f} s ({my_range}) against {other:.1f} s ({their_range}) for all columns and the full model: "
        f"{ratio:.1f} times as fast\n"
        f"    {ours.peak:.0f} MB resident in a worker against {theirs.peak:.0f}; disagreement "
        f"{100 * np.mean(early != full):.2f} %\n"
        f"    with a watch at share 1 %: {watched.seconds:.1f} s, {watched.bytes_read / done.bytes_read:.2f} times the "
        f"bytes, {watch.n_audited:,} audited rows, {watch.state}",
        flush=True,
    )


def spread_of(times):
    return np.median(times), f"{min(times):.1f} to {max(times):.1f}"


if __name__ == "__main__":
    alarms()
    overhead()
    parquet()

"""What files must show: bytes and time to predict a Parquet file, memory to learn from a large one, reading libsvm.

Run with ``make bench-files``: it writes about 3 GB into a temporary folder and takes some minutes. Times are medians of
interleaved runs in this process; learning is measured in a process of its own, as a person runs it.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from mnist import load_mnist
from record import keep
from sklearn.datasets import load_svmlight_file
from sklearn.frozen import FrozenEstimator
from sklearn.svm import LinearSVC

import saccade
from saccade import AttentiveClassifier
from saccade.data.batches import BadRows, Wanted
from saccade.data.columns import ParquetFile
from saccade.data.libsvm import open_libsvm
from saccade.data.reading import read_rows

CALIBRATIONS = 11
ROWS, GROUP, NAMES = 1_000_000, 100_000, [f"p{j}" for j in range(784)]
COMMAND = [sys.executable, "-c", "from saccade.cli import main; main()"]


def write_parquet(path, pool):
    rng, writer = np.random.default_rng(0), None
    for _ in range(ROWS // GROUP):
        part = pool[rng.integers(0, len(pool), GROUP)]
        table = pa.table({name: part[:, j] for j, name in enumerate(NAMES)})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=GROUP)
    writer.close()


def ours(model, path):
    data, read, labels = ParquetFile(str(path), Wanted(names=NAMES)), 0, []
    for piece in read_rows(model, data, BadRows(data.path, skip=False)):
        labels.append(piece.reading.label)
        read += piece.bytes_read
    return read / data.size, np.concatenate(labels)


def theirs(model, path):
    """Go row group by row group: the whole table would not fit beside its copy."""
    file, labels = pq.ParquetFile(path), []
    for number in range(file.num_row_groups):
        table = file.read_row_group(number)
        labels.append(model.predict(np.column_stack([column.to_numpy() for column in table.columns])))
    return np.concatenate(labels)


def parquet(folder):
    """Predict with plans for few columns, of which the middle one by bytes is timed, and with one for few features."""
    print(f"\nPredicting a Parquet file of {ROWS:,} x 784, delta = 0.01, one thread; bytes over {CALIBRATIONS} splits")
    for digits in ((2, 3), (3, 0)):
        X, y, X_test, _ = load_mnist(digits)
        for kind, scale in (("float32", np.float32(255)), ("uint8", None)):
            rows, pool = (X / scale, X_test / scale) if scale else (X, X_test)
            fit, given = np.split(np.random.default_rng(0).permutation(len(rows)), [len(rows) // 4])
            model = LinearSVC(C=0.01 if scale else 0.01 / 255**2, loss="hinge", random_state=0).fit(rows[fit], y[fit])
            path = folder / f"{kind}.parquet"
            write_parquet(path, pool)
            size = ParquetFile(str(path), Wanted()).column_bytes()
            costs = np.array([size[name] for name in NAMES])
            plans = [
                AttentiveClassifier(
                    FrozenEstimator(model),
                    delta=0.01,
                    promise="rows",
                    fewest="columns",
                    costs=costs,
                    calibration_size=0.5,
                    random_state=seed,
                ).fit(rows[given])
                for seed in range(CALIBRATIONS)
            ]
            plans.sort(key=lambda one: costs[one.plan_.order].sum())
            shares = [costs[one.plan_.order].sum() / path.stat().st_size for one in plans]
            print(f"\n{digits[0]} vs {digits[1]}, {kind}, {path.stat().st_size / 1e6:.0f} MB, of which are asked for")
            print("  " + ", ".join(f"{100 * share:.1f}" for share in shares) + " % (under 15)")
            of, spread = f"{digits[0]} vs {digits[1]}, {kind}", (100 * shares[0], 100 * shares[-1])
            median = 100 * np.median(shares)
            keep("files", f"bytes of a Parquet file read: {of}", median, unit="%", at_most=15, spread=spread)
            by_features = saccade.attend(model, rows[given], delta=0.01, random_state=0)
            timed(f"{of}, fewest columns", plans[CALIBRATIONS // 2], model, path)
            timed(f"{of}, fewest features", by_features, model, path)
            path.unlink()


def timed(name, attentive, model, path):
    times = [[], []]
    for _ in range(3):
        begun = time.perf_counter()
        share, labels = ours(attentive, path)
        middle = time.perf_counter()
        full = theirs(model, path)
        times[0].append(middle - begun)
        times[1].append(time.perf_counter() - middle)
    ratio = np.median(np.array(times[1]) / np.array(times[0]))
    print(
        f"  {name:32} {100 * share:5.1f} % of the bytes read, {np.median(times[0]):5.2f} s against "
        f"{np.median(times[1]):6.2f} s, {ratio:.1f} times (at least 5), "
        f"disagreement {100 * np.mean(labels != full):.2f} %",
        flush=True,
    )
    keep("files", f"predicting Parquet against pyarrow and LinearSVC: {name}", ratio, unit="times", at_least=5)


def write_libsvm(path, size):
    """Write rows of MNIST as sparse text until the file is large enough."""
    X, y, _, _ = load_mnist((2, 3))
    lines = []
    for row, label in zip(X[:2000], y[:2000], strict=True):
        stored = np.flatnonzero(row)
        lines.append(f"{label} " + " ".join(f"{j + 1}:{row[j] / 255:.6g}" for j in stored) + "\n")
    block = "".join(lines).encode()
    with open(path, "wb") as file:
        while file.tell() < size:
            file.write(block)


def libsvm(folder):
    path = folder / "some.svm"
    write_libsvm(path, 60_000_000)
    (source,), ratios = open_libsvm([str(path)], Wanted(n_features=784)), []
    for _ in range(5):
        begun = time.perf_counter()
        for _ in source.batches(0, BadRows(str(path), skip=False)):
            pass
        middle = time.perf_counter()
        load_svmlight_file(str(path))
        ratios.append((time.perf_counter() - middle) / (middle - begun))
    print(f"\nReading libsvm: {np.median(ratios):.1f} times as fast as scikit-learn's loader (at least 5)")
    keep("files", "reading libsvm against scikit-learn's loader", np.median(ratios), unit="times", at_least=5)


def write_wide_parquet(path, rows=660_000):
    """Write random numbers, which no compression makes smaller: 2.1 GB."""
    rng, writer = np.random.default_rng(0), None
    for first in range(0, rows, GROUP):
        part = rng.standard_normal((min(GROUP, rows - first), 784), dtype=np.float32)
        columns = {name: part[:, j] for j, name in enumerate(NAMES)}
        table = pa.table({**columns, "kind": np.where(part[:, :20].sum(axis=1) > 0, "oak", "elm")})
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=["kind"])
        writer.write_table(table, row_group_size=GROUP)
    writer.close()


def memory(folder):
    """Learn in one pass, with compiled kernels: the benchmarks before this one have filled their cache."""
    for name, write, options in (
        ("large.svm", lambda path: write_libsvm(path, 2_000_000_000), []),
        ("large.parquet", write_wide_parquet, ["--target", "kind"]),
    ):
        path, model = folder / name, folder / f"{name}.saccade"
        write(path)
        command = [*COMMAND, "fit", str(path), "-o", str(model), "--max-iter", "1", *options]
        subprocess.run([*command, "--force"], stdout=subprocess.DEVNULL, check=True)  # compiles what is missing
        begun, peak = time.perf_counter(), 0.0
        with subprocess.Popen([*command, "--force"], stdout=subprocess.DEVNULL) as process:
            while process.poll() is None:
                status = Path(f"/proc/{process.pid}/status").read_text()  # what exec left behind is not counted here
                peak = max([peak, *(float(line.split()[1]) / 1e3 for line in status.splitlines() if "VmHWM" in line)])
                time.sleep(0.05)
        seconds, size = time.perf_counter() - begun, path.stat().st_size / 1e9
        print(f"Learning from {size:.1f} GB, {name}: {peak:.0f} MB resident (under 500), {seconds:.0f} s", flush=True)
        keep("files", f"memory to learn from {size:.1f} GB, {path.suffix}", peak, unit="MB", at_most=500)
        path.unlink()


def kills(folder, count=50):
    X, y, _, _ = load_mnist((2, 3))
    pd.DataFrame(X[:3000], columns=NAMES).assign(label=y[:3000]).to_csv(folder / "some.csv", index=False)
    script = "from saccade.data import lines; lines.BLOCK = 100_000; from saccade.cli import main; main()"
    command = [sys.executable, "-c", script, "fit", "some.csv", "--target", "label", "--random-state", "0"]
    command += ["--max-iter", "100"]
    subprocess.run([*command, "-o", "whole"], cwd=folder, check=True, capture_output=True)
    resumed = [*command, "-o", "pieces", "--checkpoint", "state", "--checkpoint-every", "0", "--resume"]
    rng, killed = random.Random(0), 0
    while not (folder / "pieces").exists():
        process = subprocess.Popen(resumed, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if killed < count:
            time.sleep(1.0 + 1.5 * rng.random())
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                killed += 1
        process.wait()
    same = (folder / "whole").read_bytes() == (folder / "pieces").read_bytes()
    print(f"Killed {killed} times at random moments and resumed: {'the same bits' if same else 'OTHER BITS'}")
    keep("files", f"learning that was killed {killed} times gives other bits", int(not same), at_most=0)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        libsvm(Path(name))
        kills(Path(name))
        parquet(Path(name))
        memory(Path(name))

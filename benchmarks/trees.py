"""What trees that are read until the label is clear must show, beside LightGBM, lleaves, XGBoost and scikit-learn.

Run with ``make bench-trees``. One thread; the public ``predict`` with its checks and conversions; times are medians of
interleaved turns, in microseconds per row, with the quartiles of the ratios. In a turn each is called four times: the
first call finds the caches full of another's data (cold), the median of the others is what a busy service sees (warm).
Rows that the model was not fitted on plan and calibrate, and others are read.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import lightgbm
import numpy as np
import xgboost
from record import keep
from scipy.stats import binom
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from tree_data import TABLES, mixed, noisy

from saccade import attend
from saccade.models.apart import take_apart

SIZES = (100, 500, 2000)
SPLITS = 200
MOST_BROKEN = int(binom.ppf(0.99, SPLITS, 0.05))
# What is asked of trees per row at 500 trees, 1 %, by rows; and of the ratio of LightGBM's time to ours.
TREES_ASKED = {"MNIST 3 vs 8": 4.6, "noisy": 101}
RATIO_ASKED = {"MNIST 3 vs 8": 100, "noisy": 10, "mixed table": 20}
PEER = Path(__file__).with_name("lleaves_peer.py")
ENVIRONMENT = Path(__file__).parent.parent / ".cache" / "lleaves"


@cache
def split(table):
    return TABLES[table]()


@cache
def boosted(table, n_trees):
    rows = split(table)
    model = lightgbm.LGBMClassifier(n_estimators=n_trees, num_leaves=31, learning_rate=0.05, n_jobs=-1, verbose=-1)
    return model.fit(rows.X, rows.y)


def attended(model, rows, **terms):
    """Return a certified model and the seconds that it took, or the reason why there is none."""
    try:
        start = perf_counter()
        return attend(model, rows, random_state=0, **terms), perf_counter() - start
    except ValueError as error:
        return None, str(error).split(". ")[0]


class Times(NamedTuple):
    """Microseconds per row in each turn."""

    cold: np.ndarray
    warm: np.ndarray


def interleaved(calls, rows, turns=7, again=3):
    """Call each in turn, several times; a call may return the seconds it took."""
    times = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            times[name].append([1e6 * seconds(call) / rows for _ in range(1 + again)])
    return {name: Times(np.array(got)[:, 0], np.median(np.array(got)[:, 1:], axis=1)) for name, got in times.items()}


def seconds(call):
    start = perf_counter()
    taken = call()
    return taken if isinstance(taken, float) else perf_counter() - start


def compared(times, name, of, asked):
    """Say how many times as fast we are: the median of the ratios within a turn, and their quartiles; keep it."""
    said = []
    for state in ("warm", "cold"):
        peer, ours = getattr(times[name], state), getattr(times["ours"], state)
        low, middle, high = np.quantile(peer / ours, [0.25, 0.5, 0.75])
        said.append(f"{middle:.0f} ({low:.0f} to {high:.0f}) {state}")
        kept = f"predict against {name}, {of}, {state}"
        keep("trees", kept, middle, unit="times", at_least=asked, spread=(low, high))
    return f"{name} {np.median(times[name].warm):.2f} µs, times {', '.join(said)}"


def ours(times):
    return f"ours {np.median(times['ours'].warm):.3f} warm, {np.median(times['ours'].cold):.3f} cold"


# Reading trees a row ------------------------------------------------------------------------------------------------


def trees_per_row():
    print(
        "\nTrees a row on test rows, and labels that differ from the full ones (%); in boosting order; and LightGBM's"
    )
    print(
        "pred_early_stop at the same disagreement, its margin chosen on these very rows (at most half of it is asked)"
    )
    print(
        f"{'':14}{'trees':>6}{'delta':>7}  {'promise':8}{'ours':>7}{'differ':>8}{'natural':>9}{'early':>8}{'asked':>7}"
    )
    for table in TABLES:
        for n_trees in SIZES:
            for delta in (0.01, 0.001):
                for promise in ("rows", "classes"):
                    report_trees(table, n_trees, delta, promise)


def report_trees(table, n_trees, delta, promise):
    rows, model = split(table), boosted(table, n_trees)
    head = f"{table:14}{n_trees:6}{delta:7.3f}  {promise:8}"
    terms = {"delta": delta, "promise": promise, "calibration_size": 0.3 if delta >= 0.01 else 0.6}
    attentive, reason = attended(model, rows.given, **terms)
    if attentive is None:
        print(f"{head}  {reason}", flush=True)
        return
    full, reading = model.predict(rows.test), attentive.read(rows.test)
    differ = np.mean(reading.label != full)
    natural, _ = attended(model, rows.given, order="natural", **terms)
    in_order = "" if natural is None else f"{natural.read(rows.test).n_read.mean():.1f}"
    asked = TREES_ASKED.get(table, "") if (n_trees, delta, promise) == (500, 0.01, "rows") else ""
    stopped = early_stop(attentive, rows.test, differ)
    print(f"{head}{reading.n_read.mean():7.1f}{100 * differ:8.2f}{in_order:>9}{stopped:8.1f}{asked:>7}", flush=True)
    of, most = f"{n_trees:,} trees, δ = {delta:g}, by {promise}: {table}", asked or None
    keep("trees", f"trees per row, {of}", reading.n_read.mean(), at_most=most)
    ratio = reading.n_read.mean() / stopped
    keep("trees", f"trees per row against pred_early_stop, {of}", ratio, unit="times", at_most=0.5)


def early_stop(attentive, X, differ, every=10):
    """Return how many trees a row LightGBM's own early stop reads if it errs as often.

    It stops where twice the absolute margin exceeds a number, and looks after every tenth tree.
    """
    values = attentive.additive_.values(X, np.arange(len(X))).astype(np.float64)
    margin = np.cumsum(values, axis=1)[:, every - 1 :: every]
    read = np.minimum(np.arange(1, margin.shape[1] + 1) * every, values.shape[1])
    least = values.shape[1]
    for demanded in np.geomspace(0.01, 40, 200):
        clear = 2 * np.abs(margin) > demanded
        clear[:, -1] = True
        stop = clear.argmax(axis=1)
        wrong = np.mean((margin[np.arange(len(X)), stop] > 0) != (margin[:, -1] > 0))
        if wrong <= max(differ, 1 / len(X)):
            return read[stop].mean()
    return least


# Time ---------------------------------------------------------------------------------------------------------------


def time_per_row():
    print("\nTime per row of predict, 500 trees, delta = 0.01 (µs), one thread; lleaves: at least 3 times")
    for table, asked in RATIO_ASKED.items():
        rows, model = split(table), boosted(table, 500)
        with lleaves(model, rows.test) as leaves:
            for promise in ("rows", "classes"):
                attentive, _ = attended(model, rows.given, promise=promise)
                calls = {"LightGBM": lambda m=model, X=rows.test: m.predict(X, num_threads=1)}
                calls |= {} if isinstance(leaves, str) else {"lleaves": leaves}
                calls |= {"ours": lambda m=attentive, X=rows.test: m.predict(X)}
                times = interleaved(calls, len(rows.test))
                of = f"by {promise}: {table}"
                print(f"{table:14}{promise:9}{ours(times)}; {compared(times, 'LightGBM', of, asked)} ({asked})")
                said = compared(times, "lleaves", of, 3) if "lleaves" in times else leaves
                print(f"{'':23}{said}", flush=True)


@contextmanager
def lleaves(model, X):
    """Yield what asks lleaves for one call, or why there is none."""
    python, text = ENVIRONMENT / "bin" / "python", None
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "llvmlite<0.45", "lleaves", "lightgbm"]
        done = subprocess.run(install, capture_output=True, text=True)
        text = (
            None if done.returncode == 0 else f"lleaves could not be installed: {done.stderr.strip().splitlines()[-1]}"
        )
    if text is not None:
        yield text
        return
    with tempfile.TemporaryDirectory() as folder:
        model_file, rows_file = Path(folder, "model.txt"), Path(folder, "rows.npy")
        model.booster_.save_model(model_file)
        np.save(rows_file, as_codes(X))
        peer = subprocess.Popen(
            [python, PEER, model_file, rows_file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        compiling = peer.stdout.readline()
        if not compiling:
            yield "lleaves could not compile the model"
            return

        def call():
            peer.stdin.write("go\n")
            peer.stdin.flush()
            return float(peer.stdout.readline())

        print(f"{'':22}lleaves compiled for {float(compiling):.0f} s")
        yield call
        peer.stdin.close()
        peer.wait()


def as_codes(X):
    """Return a table as the array of doubles that lleaves takes; its own conversion is not measured."""
    if isinstance(X, np.ndarray):
        return X.astype(np.float64)
    columns = [X[name].cat.codes.where(X[name].notna()) if hasattr(X[name], "cat") else X[name] for name in X]
    return np.column_stack([np.asarray(column, np.float64) for column in columns])


def other_libraries():
    print("\nOther libraries, 500 trees, delta = 0.01, by rows, on arrays of numbers (µs), one thread")
    for table in RATIO_ASKED:
        X, y, given, test = split(table)
        for name, model in others().items():
            fit, plan, read = (
                without_gaps(part) if name == "RandomForest" else as_codes(part) for part in (X, given, test)
            )
            model.fit(fit, (y == y.max()).astype(int))  # XGBoost takes no other labels than 0 and 1
            attentive, reason = attended(model, plan, promise="rows")
            if attentive is None:
                print(f"{table:14}{name}: {reason}")
                continue
            full = model.get_booster().inplace_predict if name.startswith("XGBoost") else model.predict
            calls = {name: lambda call=full, X=read: call(X), "ours": lambda m=attentive, X=read: m.predict(X)}
            times, reading = interleaved(calls, len(read), turns=3, again=2), attentive.read(read)
            differ = 100 * np.mean(reading.label != model.predict(read))
            asked = 50 if name == "RandomForest" else 3
            print(
                f"{table:14}{reading.n_read.mean():5.1f} trees, {differ:.2f} % differ; {ours(times)}; "
                f"{compared(times, name, f'by rows: {table}', asked)} ({asked})",
                flush=True,
            )


def others():
    """Return models of 500 trees of other libraries, those that are boosted of 31 leaves."""
    by_leaves = {"max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "tree_method": "hist"}
    return {
        "XGBoost inplace_predict": xgboost.XGBClassifier(n_estimators=500, learning_rate=0.05, n_jobs=1, **by_leaves),
        "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=500, learning_rate=0.05, early_stopping=False),
        "RandomForest": RandomForestClassifier(500, n_jobs=1, random_state=0),
    }


def without_gaps(X):
    return np.nan_to_num(as_codes(X))


def full_read_and_one_row():
    print("\nA full read, 500 trees (ns a tree and row; at most 15, LightGBM: 58), and one row at a time, median and")
    print("mean of 1,000, in turns of 100 (µs; under 20 where LightGBM's Booster takes 38)")
    for table in ("noisy", "MNIST 3 vs 8"):
        rows, model = split(table), boosted(table, 500)
        attentive, _ = attended(model, rows.given, promise="rows")
        calls = {
            "LightGBM": lambda m=model, X=rows.test: m.predict(X, raw_score=True, num_threads=1),
            "ours": lambda m=attentive, X=rows.test: m.full_margin(X),
        }
        full = {name: 2 * np.median(got.warm) for name, got in interleaved(calls, len(rows.test), turns=3).items()}
        single = {
            "Booster": lambda x, m=model: m.booster_.predict(x, num_threads=1),
            "LGBMClassifier": lambda x, m=model: m.predict(x, num_threads=1),
            "ours": attentive.predict,
        }
        for i in range(300):  # some rows are read to the end, which is compiled when the first is
            attentive.predict(rows.test[i : i + 1])
        taken = {name: [] for name in single}
        for turn in range(10):
            for name, predict in single.items():
                predict(rows.test[:1])
                for i in range(100 * turn, 100 * turn + 100):
                    taken[name].append(1e6 * seconds(lambda predict=predict, x=rows.test[i : i + 1]: predict(x)))
        one = ", ".join(f"{name} {np.median(got):.1f}, {np.mean(got):.1f}" for name, got in taken.items())
        print(f"{table:14}ours {full['ours']:.1f}, LightGBM {full['LightGBM']:.1f}; one row: {one}", flush=True)
        keep("trees", f"a full read: {table}", full["ours"], unit="ns a tree and row", at_most=15)
        keep("trees", f"one row at a time: {table}", np.median(taken["ours"]), unit="µs", at_most=20)
        keep("trees", f"one row at a time, LightGBM's Booster: {table}", np.median(taken["Booster"]), unit="µs")


def planning():
    print("\nSeconds to plan 500 trees on 20,000 rows (under 5), and to take 2,000 apart (under 2); kernels compiled")
    for table in TABLES:
        given = split(table).given
        attended(boosted(table, 100), given)
        model, larger = boosted(table, 500), boosted(table, 2000)
        planned = {promise: attended(model, given, promise=promise)[1] for promise in ("rows", "classes")}
        apart = seconds(lambda model=larger: take_apart(model))
        said = ", ".join(f"{promise} {took:.1f}" for promise, took in planned.items())
        print(f"{table:14}{len(given):,} rows: {said}; apart {apart:.2f}", flush=True)
        keep("trees", f"planning 500 trees: {table}", max(planned.values()), unit="s", at_most=5)
        keep("trees", f"taking 2,000 trees apart: {table}", apart, unit="s", at_most=2)


def kept():
    print(
        f"\nPromise kept, 100 trees, delta = 0.02, 6,000 rows given, {SPLITS} splits: broken by rows, and by class lost"
    )
    print(f"and false, on some 30,000 rows that neither fitted nor planned (at most {MOST_BROKEN} of each)")
    for name, table in (("noisy", noisy), ("mixed table", mixed)):
        rows = table(54_000)
        model = lightgbm.LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=-1, verbose=-1).fit(rows.X, rows.y)
        X = np.concatenate([as_codes(rows.given), as_codes(rows.test)])
        full = model.booster_.predict(X, raw_score=True) > 0
        by_rows, by_class, trees = 0, np.zeros((2, 2), int), []
        numbers = lightgbm.Booster(model_str=model.booster_.model_to_string())
        for seed in range(SPLITS):
            mixed_up = np.random.default_rng(seed).permutation(len(X))
            given, untouched = X[mixed_up[:6000]], mixed_up[6000:]
            reading = attend(numbers, given, delta=0.02, promise="rows", random_state=seed).read(X[untouched])
            by_rows += np.mean(reading.label != full[untouched]) > 0.02
            reading = attend(numbers, given, delta=0.02, random_state=seed).read(X[untouched])
            for c in (0, 1):
                here, there = reading.label == c, full[untouched] == c
                by_class[c] += [np.mean(~here[there]) > 0.02, np.mean(~there[here]) > 0.02]
            trees.append(reading.n_read.mean())
        print(
            f"{name:14}by rows {by_rows}; by class {by_class.tolist()}; {np.mean(trees):.1f} trees by class", flush=True
        )
        for promise, broken in (("rows", by_rows), ("classes", by_class.max())):
            of = f"splits of {SPLITS} that were broken, by {promise}, δ = 0.02: {name}"
            keep("trees", of, broken, at_most=MOST_BROKEN)


PARTS = {
    part.__name__: part
    for part in (trees_per_row, time_per_row, other_libraries, full_read_and_one_row, planning, kept)
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()

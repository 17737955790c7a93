"""What trees that are read until the label is clear must show, beside LightGBM, lleaves, XGBoost and scikit-learn.

Run with ``make bench-trees``. One thread; the public ``predict`` with its checks and conversions; times are medians of
interleaved calls, in microseconds per row, with the quartiles of the ratios. Rows that the model was not fitted on plan
and calibrate, and others are read.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import perf_counter

import lightgbm
import numpy as np
import xgboost
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


def interleaved(calls, rows, rounds=9):
    """Call each in turn; return microseconds per row, (rounds,) of each. A call may return the seconds it took."""
    times = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            start = perf_counter()
            taken = call()
            if turn:
                seconds = taken if isinstance(taken, float) else perf_counter() - start
                times[name].append(1e6 * seconds / rows)
    return {name: np.array(values) for name, values in times.items()}


def compared(times, name):
    """Return how many times as fast we are, as a text: the median of the ratios within a round, and their quartiles."""
    low, middle, high = np.quantile(times[name] / times["ours"], [0.25, 0.5, 0.75])
    return f"{name} {np.median(times[name]):6.2f} µs, {middle:4.0f} times ({low:.0f} to {high:.0f})"


# Reading trees a row ------------------------------------------------------------------------------------------------


def trees_per_row():
    print(
        "\nTrees a row on test rows, and labels that differ from the full model's (%); LightGBM's pred_early_stop at the"
    )
    print("same disagreement, its margin chosen on these very rows (at most half of it is asked)")
    print(
        f"{'':14}{'trees':>6}{'delta':>7}  {'promise':8}{'ours':>7}{'differ':>8}{'natural':>9}{'early stop':>12}{'asked':>7}"
    )
    for table in TABLES:
        for n_trees in SIZES:
            for delta in (0.01, 0.001):
                for promise in ("rows", "classes"):
                    report_trees(table, n_trees, delta, promise)


def report_trees(table, n_trees, delta, promise):
    rows, model = split(table), boosted(table, n_trees)
    head = f"{table:14}{n_trees:6}{delta:7.3f}  {promise:8}"
    attentive, reason = attended(
        model, rows.given, delta=delta, promise=promise, calibration_size=0.5 if delta < 0.01 else 0.3
    )
    if attentive is None:
        print(f"{head}  {reason}", flush=True)
        return
    full, reading = model.predict(rows.test), attentive.read(rows.test)
    differ = np.mean(reading.label != full)
    natural, _ = attended(model, rows.given, delta=delta, promise=promise, order="natural")
    in_order = "" if natural is None else f"{natural.read(rows.test).n_read.mean():.1f}"
    asked = TREES_ASKED.get(table, "") if (n_trees, delta, promise) == (500, 0.01, "rows") else ""
    print(
        f"{head}{reading.n_read.mean():7.1f}{100 * differ:8.2f}{in_order:>9}"
        f"{early_stop(attentive, rows.test, differ):12.1f}{asked:>7}",
        flush=True,
    )


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
    print("\nTime per row of predict, 500 trees, delta = 0.01 (µs), one thread")
    for table, asked in RATIO_ASKED.items():
        rows, model = split(table), boosted(table, 500)
        for promise in ("rows", "classes"):
            attentive, _ = attended(model, rows.given, promise=promise)
            with lleaves(model, rows.test) as leaves:
                calls = {"LightGBM": lambda m=model, X=rows.test: m.predict(X, num_threads=1)}
                calls |= {} if isinstance(leaves, str) else {"lleaves": leaves}
                calls |= {"ours": lambda m=attentive, X=rows.test: m.predict(X)}
                times = interleaved(calls, len(rows.test))
            beside = f"{compared(times, 'lleaves')} (3)" if "lleaves" in times else leaves
            print(
                f"{table:14}{promise:8}ours {np.median(times['ours']):6.3f}   {compared(times, 'LightGBM')} ({asked}); {beside}",
                flush=True,
            )


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
    for table, asked in RATIO_ASKED.items():
        rows = split(table)._replace(
            X=as_codes(split(table).X), given=as_codes(split(table).given), test=as_codes(split(table).test)
        )
        models = {
            "XGBoost inplace_predict": xgboost.XGBClassifier(
                n_estimators=500,
                max_leaves=31,
                max_depth=0,
                learning_rate=0.05,
                grow_policy="lossguide",
                tree_method="hist",
                n_jobs=1,
            ),
            "HistGradientBoosting": HistGradientBoostingClassifier(
                max_iter=500, learning_rate=0.05, early_stopping=False
            ),
            "RandomForest": RandomForestClassifier(500, n_jobs=1, random_state=0),
        }
        for name, model in models.items():
            X, given, test = (
                np.nan_to_num(part) if name == "RandomForest" else part for part in (rows.X, rows.given, rows.test)
            )
            model.fit(X, rows.y)
            attentive, reason = attended(model, given, promise="rows")
            if attentive is None:
                print(f"{table:14}{name}: {reason}")
                continue
            full = (
                (lambda m=model, X=test: m.get_booster().inplace_predict(X))
                if name.startswith("XGB")
                else (lambda m=model, X=test: m.predict(X))
            )
            times = interleaved({name: full, "ours": lambda m=attentive, X=test: m.predict(X)}, len(test), rounds=5)
            reading = attentive.read(test)
            differ = 100 * np.mean(reading.label != model.predict(test))
            least = 50 if name == "RandomForest" else asked
            print(
                f"{table:14}ours {np.median(times['ours']):6.3f}, {reading.n_read.mean():5.1f} trees, {differ:.2f} % differ   {compared(times, name)} ({least})",
                flush=True,
            )


def full_read_and_one_row():
    print(
        "\nA full read, 500 trees (ns a tree and row; at most 15 where LightGBM takes 58), and one row at a time (µs; under"
    )
    print("20 where LightGBM's Booster takes 38)")
    for table in ("noisy", "MNIST 3 vs 8"):
        rows, model = split(table), boosted(table, 500)
        attentive, _ = attended(model, rows.given, promise="rows")
        calls = {
            "LightGBM": lambda m=model, X=rows.test: m.predict(X, raw_score=True, num_threads=1),
            "ours": lambda m=attentive, X=rows.test: m.full_margin(X),
        }
        times = interleaved(calls, len(rows.test), rounds=5)
        single = {"booster": [], "LGBMClassifier": [], "ours": []}
        for i in range(600):
            row = rows.test[i : i + 1]
            for name, predict in (
                ("booster", model.booster_.predict),
                ("LGBMClassifier", model.predict),
                ("ours", attentive.predict),
            ):
                options = {} if name == "ours" else {"num_threads": 1}
                start = perf_counter()
                predict(row, **options)
                single[name].append(1e6 * (perf_counter() - start))
        one = ", ".join(
            f"{name} {np.median(values):.1f} (mean {np.mean(values):.1f})" for name, values in single.items()
        )
        print(
            f"{table:14}ours {2 * np.median(times['ours']):.1f}, LightGBM {2 * np.median(times['LightGBM']):.1f}; one row: {one}",
            flush=True,
        )


def planning():
    print(
        "\nSeconds to plan 500 trees on 20,000 rows (under 5), and to take 2,000 trees apart (under 2), kernels compiled"
    )
    for table in TABLES:
        rows = split(table)
        attended(boosted(table, 100), rows.given)
        start = perf_counter()
        take_apart(boosted(table, 2000))
        taken = perf_counter() - start
        seconds = [
            f"{promise} {attended(boosted(table, 500), rows.given, promise=promise)[1]:.1f}"
            for promise in ("rows", "classes")
        ]
        print(f"{table:14}{len(rows.given):,} rows: {', '.join(seconds)}; apart {taken:.2f}", flush=True)


def kept():
    print(
        f"\nPromise kept, 100 trees, delta = 0.02, 6,000 rows given, {SPLITS} splits: broken by rows, and by class lost and"
    )
    print(f"false, on some 30,000 rows that neither fitted nor planned (at most {MOST_BROKEN} of each)")
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


PARTS = {
    part.__name__: part
    for part in (trees_per_row, time_per_row, other_libraries, full_read_and_one_row, planning, kept)
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()

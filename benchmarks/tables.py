"""What models over raw tables must show: equal labels, columns read, time beside the pipeline, money, the promise.

Run with ``make bench``, or parts by name: ``python benchmarks/tables.py time``. Time is the public ``predict`` with all
its checks, in one thread, in turn with the pipeline's own; medians of ratios within a turn, quartiles in brackets.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import warnings
from functools import cache, partial
from time import perf_counter

import numpy as np
import polars as pl
import pyarrow as pa
from record import keep
from scipy.stats import binom
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from table_data import census, priced, wide

from saccade import attend

# Asked at the least: times the pipeline's own predict. At the most: seconds of planning, of 14 columns.
TIMES, PLANNING = 20.0, 2.0
SPLITS = 200
MOST_BROKEN = int(binom.ppf(0.99, SPLITS, 0.05))
FITTED = 20_000


def standard(**options):
    """Return the usual model of a table."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    texts = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20)
    steps = [
        ("numbers", numbers, make_column_selector(dtype_include=float)),
        ("texts", texts, make_column_selector(dtype_exclude=float)),
    ]
    return make_pipeline(ColumnTransformer(steps), LogisticRegression(**{"max_iter": 300, **options}))


@cache
def tables():
    """Return the tables by name, each with a model that was fitted on its first rows, and the others."""
    made = {"census": census(), "wide": wide(), "priced": priced()[0]}
    return {
        name: (standard().fit(rows[:FITTED], label[:FITTED]), rows[FITTED:], label[FITTED:])
        for name, (rows, label) in made.items()
    }


def split(rows):
    """Return rows to plan and calibrate on, and rows to predict."""
    half = min(len(rows) // 2, 60_000)
    return rows[:half], rows[half:]


def columns():
    """Labels of a full read, and raw columns read a row at 1 %."""
    print(f"\n{'':10}{'columns':>8}{'encoded':>9}{'accuracy':>10}{'differ':>8}{'rows':>8}{'classes':>9}{'plan s':>9}")
    for name, (model, rows, label) in tables().items():
        given, others = split(rows)
        own = model.predict(others)
        read, seconds = {}, []
        for promise in ("rows", "classes"):
            start = perf_counter()
            attentive = attend(model, given, promise=promise, random_state=0)
            seconds.append(perf_counter() - start)
            read[promise] = attentive.read(others).n_read.mean()
        full = model.classes_[(attentive.full_margin(others) > 0).astype(int)]
        encoded = model[-1].coef_.shape[1]
        accuracy = 100 * np.mean(own == label[-len(others) :])
        print(
            f"{name:10}{rows.shape[1]:8}{encoded:9,}{accuracy:9.1f} %{np.sum(full != own):8}{read['rows']:8.1f}"
            f"{read['classes']:9.1f}{seconds[0]:8.2f}, {seconds[1]:.2f}",
            end="",
        )
        print(f" (asked {PLANNING:g})" if rows.shape[1] == 14 else "", flush=True)
        for promise, count in read.items():
            keep("tables", f"columns per row of {rows.shape[1]}, by {promise}, 1 %: {name}", count)
        keep("tables", f"labels of a full read that are not the pipeline's: {name}", np.sum(full != own), at_most=0)
        asked = PLANNING if rows.shape[1] == 14 else None
        keep("tables", f"planning: {name}", max(seconds), unit="s", at_most=asked)


def forms(rows):
    """Return a table as libraries hold it; texts as texts, and as categories."""
    texts = [name for name in rows if rows[name].dtype.kind not in "fi"]
    coded = rows.astype(dict.fromkeys(texts, "category"))
    arrow = pa.Table.from_pandas(rows, preserve_index=False)
    return {"pandas": rows, "pandas, categories": coded, "polars": pl.from_arrow(arrow), "Arrow": arrow}


def time(turns=7):
    """Nanoseconds a row of predict at 1 %, by class, beside the pipeline's own."""
    for name, (model, rows, _) in tables().items():
        given, others = split(rows)
        attentive = attend(model, given, random_state=0)
        print(f"\n{f'{name}, {len(others):,} rows':22}{'own ns':>9}{'full ns':>9}{'ours ns':>9}{'times own':>11}")
        for form, table in forms(others).items():
            seconds = in_turn(
                [(partial(own_labels, model), table), (attentive.full_margin, table), (attentive.predict, table)], turns
            )
            low, middle, high = np.quantile(seconds[:, 0] / seconds[:, 2], [0.25, 0.5, 0.75])
            own, full, ours = 1e9 / len(others) * np.median(seconds, axis=0)
            missed = "" if middle >= TIMES else ", MISSED"
            print(
                f"  {form:20}{own:9,.0f}{full:9,.0f}{ours:9,.0f}{middle:9.1f} [{low:.1f}, {high:.1f}] "
                f"(asked {TIMES:g}{missed})",
                flush=True,
            )
            of = f"predict against the pipeline's, by class, 1 %: {name}, {form}"
            keep("tables", of, middle, unit="times", at_least=TIMES, spread=(low, high))


def own_labels(model, table):
    """Return the pipeline's own labels; scikit-learn takes no Arrow tables, which are made into pandas' first."""
    return model.predict(table.to_pandas() if isinstance(table, pa.Table) else table)


def in_turn(calls, turns):
    """Return seconds of calls that are made in turn, (turns, calls); the first turn does not count."""
    seconds = np.empty((turns + 1, len(calls)))
    for row in seconds:
        for k, (function, table) in enumerate(calls):
            start = perf_counter()
            function(table)
            row[k] = perf_counter() - start
    return seconds[1:]


def money():
    """What a decision costs at 1 % by class: everything, L1 of the same accuracy, and attend."""
    (rows, label), prices = priced()
    fit, others = slice(0, FITTED), slice(FITTED, None)
    full = standard().fit(rows[fit], label[fit])
    given, untouched = split(rows[others])
    truth = label[others][len(given) :]
    right = np.mean(full.predict(untouched) == truth)
    total = sum(prices.values())
    print(f"\neverything: {total:.0f} a decision, accuracy {100 * right:.2f} %")
    keep("tables", "money per decision, everything", total)
    for strength in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05):
        sparse = standard(l1_ratio=1.0, solver="saga", C=strength).fit(rows[fit], label[fit])
        kept = attend(sparse, given, delta=0.5, random_state=0).additive_.used
        spent = sum(prices[name] for name in rows.columns[kept])
        print(
            f"L1, C = {strength:<6g} {kept.size:2} columns: {spent:.0f} a decision, "
            f"accuracy {100 * np.mean(sparse.predict(untouched) == truth):.2f} %"
        )
    for delta in (0.01, 0.02, 0.05):
        attentive = attend(full, given, delta=delta, costs=prices, random_state=0)
        reading = attentive.read(untouched)
        spent = _spent(attentive, reading, prices)
        print(
            f"attend, {delta:.0%}: {spent:.1f} a decision, accuracy {100 * np.mean(reading.label == truth):.2f} %, "
            f"{100 * np.mean(reading.label != full.predict(untouched)):.2f} % other labels",
            flush=True,
        )
        keep("tables", f"money per decision, attend at {delta:.0%}", spent)


def _spent(attentive, reading, prices):
    """Return what a decision costs on average: a column is bought once a row."""
    plan, names = attentive.plan_, attentive.additive_.columns
    bought = np.cumsum([0.0, *(prices[names[unit]] for unit in plan.units)])
    rest = sum(prices.values()) - bought[-1]
    return float(
        np.mean(
            np.where(
                reading.n_read < bought.size, bought[np.minimum(reading.n_read, bought.size - 1)], bought[-1] + rest
            )
        )
    )


def promise(delta=0.02, rows=20_000):
    """Splits in which a class lost, or has false, more than delta."""
    for name, (model, table, _) in tables().items():
        own, broken = model.predict(table), np.zeros((2, 2), dtype=int)
        table = pa.Table.from_pandas(table, preserve_index=False).to_pandas()
        for seed in range(SPLITS):
            mixed = np.random.default_rng(seed).permutation(len(table))
            given, untouched = np.sort(mixed[:rows]), np.sort(mixed[rows : 4 * rows])
            here = attend(model, table.iloc[given], delta=delta, random_state=seed).predict(table.iloc[untouched])
            full = own[untouched]
            for c in (0, 1):
                broken[c] += [np.mean(here[full == c] != c) > delta, np.mean(full[here == c] != c) > delta]
        print(
            f"{name:10} delta {delta:g}, {rows:,} rows: {broken.tolist()} broken of {SPLITS} (at most {MOST_BROKEN})",
            flush=True,
        )
        of = f"splits of {SPLITS} that were broken, by class, δ = {delta:g}: {name}"
        keep("tables", of, broken.max(), at_most=MOST_BROKEN)


PARTS = {"columns": columns, "time": time, "money": money, "promise": promise}


def main(names):
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"No such part: {', '.join(unknown)}. There are {', '.join(PARTS)}.")
    for name in names or PARTS:
        print(f"\n== {name}: {(PARTS[name].__doc__ or '').splitlines()[0]}", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    main(sys.argv[1:])

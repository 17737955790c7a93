"""What learning must show: speed beside full learning and SGDClassifier, accuracy, memory, start-up.

Run all of it with ``make bench``, or parts by name: ``python benchmarks/learning.py speed texts``. Every figure is
printed beside what is asked of it, and a figure that misses this says so. Speed is the public ``fit`` or ``predict``
with all its checks, in one thread. Models run in turn; a ratio is taken within a turn. Medians, in brackets quartiles.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import warnings
from functools import cache
from time import perf_counter
from typing import NamedTuple

import numpy as np
from learning_costs import memory, start_up
from learning_data import correlated, mnist_pair, texts
from learning_honesty import features, paper
from record import keep
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from saccade import Full, Pegasos
from saccade.exceptions import LevelNotHeldWarning

PAIRS = [(2, 3), (3, 8), (4, 9), (3, 0)]
# Asked at the least, by number of passes, in the geometric mean over the pairs: times full learning, SGDClassifier.
TIMES_FULL = {1: 0.95, 5: 2.0, 20: 3.0}
TIMES_PEER = {5: 10.0, 20: 15.0}
# Of CSR rows, times SGDClassifier; anywhere, times full learning.
TIMES_PEER_SPARSE = {1: 1.5, 5: 2.0}
NEVER_BELOW = 0.95
# Asked at the most: points of test error beyond full learning, share of important examples that are filtered.
POINTS_BEYOND_FULL, DECISION_ERROR = 0.1, 0.15
POINTS_BEYOND_SVC = 0.3


class Runs(NamedTuple):
    """What a model showed, a value for each turn."""

    seconds: np.ndarray
    errors: np.ndarray  # percent of the test rows
    missed: np.ndarray  # audited important examples that would have been filtered
    important: np.ndarray  # all audited important examples

    @property
    def decision_error(self):
        return self.missed.sum() / self.important.sum() if self.important.sum() else float("nan")


@cache
def data_sets(kind):
    """Return the data sets of a kind, by name."""
    if kind == "mnist":
        return {f"{a} vs {b}": mnist_pair((a, b)) for a, b in PAIRS}
    if kind == "texts":
        return {f"texts, {n} classes": texts(n) for n in (2, 4)}
    return {f"correlated, {100 * share:.0f} %": correlated(important=share) for share in (0.1, 0.4)}


def in_turn(models, data, turns):
    """Fit all models in turn, again and again, each time with another seed; the first turn does not count."""
    shown = {name: [] for name in models}
    for turn in range(turns + 1):
        for name, model in models.items():
            model.set_params(random_state=turn)
            start = perf_counter()
            model.fit(data.X, data.y)
            seconds = perf_counter() - start
            record = getattr(model, "training_", None)
            audit = (record.n_missed, record.n_important) if record else (0, 0)
            if turn:
                shown[name].append((seconds, 100 * (1 - model.score(data.X_test, data.y_test)), *audit))
    return {name: Runs(*np.transpose(rows)) for name, rows in shown.items()}


def times(peer, ours):
    """Return how many times as fast as the peer we are: the median over the turns, and the quartiles."""
    ratios = peer / ours
    return np.median(ratios), np.quantile(ratios, [0.25, 0.75])


def brackets(quartiles):
    low, high = quartiles
    return f"[{low:.2f}, {high:.2f}]"


def beyond(ours, peer):
    """Return by how many points our test error is higher, and the standard error over the turns."""
    points = ours.errors - peer.errors
    return points.mean(), points.std(ddof=1) / np.sqrt(points.size)


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values))))


def at_least(value, asked):
    return f"asked {asked:g}" + ("" if value >= asked else f", MISSED by {100 * (1 - value / asked):.0f} %")


def at_most(value, asked):
    return f"asked {asked:g}" + (f", MISSED by {value - asked:.3f}" if value > asked else "")


def passes(count):
    return "One pass" if count == 1 else f"{count} passes"


def against_full(kind, n_passes, turns, asked=None):
    """Compare with the same learner that reads all."""
    print(f"\n{passes(n_passes)}, against boundary=Full(); both lam=None, tol=None, {turns} turns")
    print(f"{'':20}{'full ms':>9}{'ours ms':>9}{'times':>8}{'':16}{'error %, full':>14}{'beyond':>17}{'missed %':>10}")
    models = {
        "full": Pegasos(boundary=Full(), max_iter=n_passes, tol=None),
        "ours": Pegasos(max_iter=n_passes, tol=None),
    }
    table = []
    for name, data in data_sets(kind).items():
        full, ours = in_turn(models, data, turns).values()
        ratio, quartiles = times(full.seconds, ours.seconds)
        points, doubt = beyond(ours, full)
        table.append((ratio, points, ours.decision_error))
        of = f"fit against full learning, {passes(n_passes).lower()}: {name}"
        keep("learning", of, ratio, unit="times", spread=quartiles)
        print(f"{name:20}{1e3 * np.median(full.seconds):9.2f}{1e3 * np.median(ours.seconds):9.2f}", end="")
        print(f"{ratio:8.2f} {brackets(quartiles):15}{full.errors.mean():14.2f}{points:+9.3f} ± {doubt:.3f}", end="")
        print(f"{100 * ours.decision_error:10.1f}")
    judge(f"{kind}, {passes(n_passes).lower()}", *zip(*table, strict=True), asked)


def judge(of, ratios, points, missed, asked):
    """Print what was asked of learning against full learning, and whether it was reached."""
    if asked:
        mean = geometric_mean(ratios)
        print(f"geometric mean {mean:.2f} ({at_least(mean, asked)})")
        keep("learning", f"fit against full learning, {of}: geometric mean", mean, unit="times", at_least=asked)
    most = max((share for share in missed if not np.isnan(share)), default=0.0)  # nan: nothing was to be missed
    print(f"lowest {min(ratios):.2f} ({at_least(min(ratios), NEVER_BELOW)}); ", end="")
    print(f"at most {max(points):+.3f} points beyond full ({at_most(max(points), POINTS_BEYOND_FULL)}); ", end="")
    print(f"decision error at most {most:.3f} ({at_most(most, DECISION_ERROR)})")
    keep("learning", f"fit against full learning, {of}: lowest", min(ratios), unit="times", at_least=NEVER_BELOW)
    beyond_full = f"test error beyond full learning, {of}: largest"
    keep("learning", beyond_full, max(points), unit="points", at_most=POINTS_BEYOND_FULL)
    keep("learning", f"decision error, {of}: largest", most, at_most=DECISION_ERROR)


def against_peer(kind, n_passes, turns, asked):
    """Compare with SGDClassifier(average=True) over as many passes."""
    print(f"\n{passes(n_passes)}, against SGDClassifier(average=True, tol=None), {turns} turns")
    print(f"{'':20}{'SGD ms':>9}{'ours ms':>9}{'times':>8}{'':16}{'error %, SGD':>14}{'ours':>7}")
    models = {
        "peer": SGDClassifier(average=True, max_iter=n_passes, tol=None),
        "ours": Pegasos(max_iter=n_passes, tol=None),
    }
    ratios = []
    for name, data in data_sets(kind).items():
        peer, ours = in_turn(models, data, turns).values()
        ratio, quartiles = times(peer.seconds, ours.seconds)
        ratios.append(ratio)
        of = f"fit against SGDClassifier, {passes(n_passes).lower()}: {name}"
        keep("learning", of, ratio, unit="times", spread=quartiles)
        print(f"{name:20}{1e3 * np.median(peer.seconds):9.2f}{1e3 * np.median(ours.seconds):9.2f}", end="")
        print(f"{ratio:8.2f} {brackets(quartiles):15}{peer.errors.mean():14.2f}{ours.errors.mean():7.2f}")
    mean = geometric_mean(ratios)
    print(f"geometric mean {mean:.2f} ({at_least(mean, asked)}), lowest {min(ratios):.2f}")
    of = f"{kind}, {passes(n_passes).lower()}: geometric mean"
    keep("learning", f"fit against SGDClassifier, {of}", mean, unit="times", at_least=asked)


def speed():
    """MNIST pairs, dense float32."""
    for n_passes, turns in ((1, 31), (5, 31), (20, 15)):
        against_full("mnist", n_passes, turns, TIMES_FULL[n_passes])
    for n_passes, turns in ((5, 15), (20, 7)):
        against_peer("mnist", n_passes, turns, TIMES_PEER[n_passes])


def wide():
    """Correlated dense features, 20,000 of them."""
    for n_passes, turns in ((1, 15), (5, 9)):
        against_full("correlated", n_passes, turns)


def sparse():
    """Texts as CSR."""
    for n_passes, turns in ((1, 15), (5, 15)):
        against_full("texts", n_passes, turns)
    for n_passes, turns in ((1, 15), (5, 9)):
        against_peer("texts", n_passes, turns, TIMES_PEER_SPARSE[n_passes])


def predict(turns=101):
    """Labels of the test rows, from all features."""
    print(f"\npredict against SGDClassifier's, {turns} turns")
    print(f"{'':20}{'SGD ms':>9}{'ours ms':>9}{'times':>8}")
    for name in ("2 vs 3", "texts, 2 classes", "texts, 4 classes"):
        data = data_sets("texts" if "texts" in name else "mnist")[name]
        models = [SGDClassifier(max_iter=5, tol=None), Pegasos(max_iter=5, tol=None)]
        seconds = np.empty((turns + 1, 2))
        for model in models:
            model.fit(data.X, data.y)
        for row in seconds:
            for k, model in enumerate(models):
                start = perf_counter()
                model.predict(data.X_test)
                row[k] = perf_counter() - start
        peer, ours = seconds[1:].T
        ratio, quartiles = times(peer, ours)
        print(f"{name:20}{1e3 * np.median(peer):9.2f}{1e3 * np.median(ours):9.2f}", end="")
        print(f"{ratio:8.2f} {brackets(quartiles):15}({at_least(ratio, 1)})")
        of = f"predict against SGDClassifier's: {name}"
        keep("learning", of, ratio, unit="times", at_least=1, spread=quartiles)


def defaults(turns=3):
    """Test errors with default parameters, on rows as they are."""
    print(f"\nTest error %, mean of {turns} seeds, and seconds of fit")
    print(
        f"{'':24}{'LinearSVC':>10}{'s':>7}{'SGDClassifier':>15}{'s':>7}{'Pegasos':>9}{'s':>7}{'beyond LinearSVC':>18}"
    )
    wide = {
        "correlated, 10 %": correlated(important=0.1),
        "2,000 correlated, 40 %": correlated(n_features=2000, important=0.4),  # with 20,000 LinearSVC may not finish
    }
    for name, data in (data_sets("mnist") | data_sets("texts") | wide).items():
        runs = in_turn({"svc": LinearSVC(), "sgd": SGDClassifier(), "ours": Pegasos()}, data, turns)
        print(f"{name:24}", end="")
        for run, room in zip(runs.values(), (10, 15, 9), strict=True):
            print(f"{run.errors.mean():{room}.2f}{np.median(run.seconds):7.2f}", end="")
        points, doubt = beyond(runs["ours"], runs["svc"])
        print(f"{points:+11.2f} ± {doubt:.2f} ({at_most(points, POINTS_BEYOND_SVC)})")
        of = f"test error of the defaults beyond LinearSVC's: {name}"
        keep("learning", of, points, unit="points", at_most=POINTS_BEYOND_SVC)


PARTS = {
    "speed": speed,
    "correlated": wide,
    "texts": sparse,
    "predict": predict,
    "features": features,
    "paper": paper,
    "defaults": defaults,
    "memory": memory,
    "startup": start_up,
}


def main(names):
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"No such part: {', '.join(unknown)}. There are {', '.join(PARTS)}.")
    begun = perf_counter()
    for name in names or PARTS:
        print(f"\n== {name}: {(PARTS[name].__doc__ or '').splitlines()[0]}", end="", flush=True)
        PARTS[name]()
    print(f"\n{perf_counter() - begun:.0f} s in all")


if __name__ == "__main__":
    warnings.simplefilter("ignore", LevelNotHeldWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    main(sys.argv[1:])

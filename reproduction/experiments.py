"""Run all experiments."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from joblib import Parallel, delayed

from reproduction.attention import Attention, watch
from reproduction.effects import Effects, measure
from reproduction.learning import ALL_PAIRS, COMPARED, PAPER_PAIRS, Curve, Run, Setting, follow, learn_all
from reproduction.mnist import Pair, load_mnist
from reproduction.summaries import Summary, summarise
from reproduction.ten_digits import TenDigits, learn_ten
from reproduction.walks import StopRecord, WalkRecord, grid, measure_errors, measure_stops
from saccade.exceptions import LevelNotHeldWarning


@dataclass(frozen=True)
class Size:
    """The size of the experiments."""

    permutations: int = 10
    walks: int = 10_000
    lengths: tuple[int, ...] = (64, 256, 1024, 4096)
    longest: int = 16  # log2 of the longest walk for the stopping time
    images: int = 50_000  # training images for ten digits


QUICK = Size(permutations=2, walks=1_000, lengths=(64, 256, 1024), longest=14)


@dataclass(frozen=True)
class Results:
    """All measured records."""

    seed: int
    size: Size
    walks: list[WalkRecord]
    stops: list[StopRecord]
    runs: list[Run]
    curves: list[Curve]
    effects: list[Effects]
    attention: Attention
    ten_digits: TenDigits

    def summary(self, name: str, setting: Setting, pair: Pair) -> Summary:
        """Return mean and standard deviation of a figure of the runs of a setting on a pair."""
        return summarise(self.runs, name, setting=setting, pair=pair)


def run_all(seed: int, size: Size, jobs: int, progress: Callable[[int, int], None]) -> Results:
    """Run all experiments in ``jobs`` threads; ``progress`` gets the number of tasks done and of all tasks."""
    load_mnist()  # fail before anything runs if it is missing
    permutations = range(size.permutations)
    tasks: dict[str, list[Callable[[], Any]]] = {
        "ten_digits": [partial(learn_ten, size.images, seed)],
        "attention": [partial(watch, (2, 3), seed)],
        "walks": [partial(measure_errors, point, size.walks, seed) for point in grid(size.lengths)],
        "stops": [partial(measure_stops, 2**k, size.walks, seed) for k in range(6, size.longest + 1)],
        "runs": [partial(learn_all, pair, k, seed) for pair, k in product(ALL_PAIRS, permutations)],
        "curves": [partial(follow, mode, p, k, seed) for mode, p, k in product(COMPARED, PAPER_PAIRS, permutations)],
        "effects": [partial(measure, pair, k, seed) for pair, k in product(ALL_PAIRS, permutations)],
    }
    names = [name for name, calls in tasks.items() for _ in calls]
    results: dict[str, list[Any]] = {name: [] for name in tasks}
    with warnings.catch_warnings():
        # Without an audit the level is not held: the experiments measure by how much.
        warnings.simplefilter("ignore", LevelNotHeldWarning)
        run = Parallel(n_jobs=jobs, prefer="threads", return_as="generator")
        done = run(delayed(call)() for calls in tasks.values() for call in calls)
        for count, (name, result) in enumerate(zip(names, done, strict=True), 1):
            results[name] += result if isinstance(result, list) else [result]
            progress(count, len(names))
    [attention], [ten_digits] = results.pop("attention"), results.pop("ten_digits")
    return Results(seed, size, **results, attention=attention, ten_digits=ten_digits)

"""All experiments in one run."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from joblib import Parallel, delayed

from saccade.data.mnist import load_mnist
from saccade.exceptions import LevelNotHeldWarning
from saccade.study.experiments.all_pairs import PAIRS, PairRecord, learn_pair
from saccade.study.experiments.attention import Attention, watch
from saccade.study.experiments.comparison import MODES, Run, compare
from saccade.study.experiments.curves import Curve, learn_step_by_step
from saccade.study.experiments.digits import PAPER_PAIRS
from saccade.study.experiments.errata import (
    LEVEL_PAIRS,
    AlgorithmRecord,
    LevelRecord,
    measure_algorithm,
    measure_levels,
)
from saccade.study.experiments.stopped_prediction import Trial, try_all
from saccade.study.experiments.ten_digits import TenDigits, learn_ten
from saccade.study.experiments.walks import (
    DELTAS,
    FORMS,
    LENGTHS,
    PERSISTENCES,
    TAILS,
    StopRecord,
    WalkRecord,
    simulate,
    stopping,
)

Progress = Callable[[], None]


@dataclass(frozen=True)
class Size:
    """The size of the experiments."""

    permutations: int = 10
    walks: int = 10_000
    lengths: tuple[int, ...] = LENGTHS
    longest: int = 16  # log2 of the longest walk for the stopping time
    images: int = 50_000  # that ten digits are learned and planned on


QUICK = Size(permutations=2, walks=1_000, lengths=LENGTHS[:3], longest=14)


@dataclass(frozen=True)
class Reproduction:
    """Everything that was measured."""

    seed: int
    size: Size
    walks: list[WalkRecord]
    stops: list[StopRecord]
    runs: list[Run]
    curves: list[Curve]
    pairs: list[PairRecord]
    trials: list[Trial]
    levels: list[LevelRecord]
    algorithms: list[AlgorithmRecord]
    attention: Attention
    ten_digits: TenDigits


Task = Callable[[], Any]


def tasks(seed: int, size: Size) -> dict[str, list[Task]]:
    """Return the tasks of each experiment, with their seeds bound."""
    permutations = range(size.permutations)
    # Levels and lengths at theta = 0; the three forms at theta = 1, for they agree at 0; correlated steps.
    grid = [(form, delta, n, 0.0, 0.0) for form, delta, n in product(("exact", *TAILS), DELTAS, size.lengths)]
    grid += [(form, delta, n, 1.0, 0.0) for form, delta, n in product(FORMS, DELTAS, size.lengths)]
    grid += [
        (form, 0.1, 256, 0.0, persistence) for form, persistence in product(("exact", "gaussian"), PERSISTENCES[1:])
    ]
    return {
        "walks": [partial(simulate, *point, size.walks, seed) for point in grid],
        "stops": [partial(stopping, 2**k, 0.1, size.walks, seed) for k in range(6, size.longest + 1)],
        "runs": [partial(compare, m, p, k, seed) for m, p, k in product(MODES, PAPER_PAIRS, permutations)],
        "curves": [partial(learn_step_by_step, m, p, k, seed) for m, p, k in product(MODES, PAPER_PAIRS, permutations)],
        "pairs": [partial(learn_pair, pair, size.permutations, seed) for pair in PAIRS],
        "trials": [partial(try_all, p, k, seed) for p, k in product(PAPER_PAIRS, permutations)],
        "levels": [partial(measure_levels, p, k, seed) for p, k in product(LEVEL_PAIRS, permutations)],
        "algorithms": [partial(measure_algorithm, p, k, seed) for p, k in product(LEVEL_PAIRS, permutations)],
        "attention": [partial(watch, (2, 3), seed)],
        "ten_digits": [partial(learn_ten, size.images, seed)],
    }


def run_all(seed: int, size: Size, jobs: int, progress: Progress) -> Reproduction:
    """Run all tasks in ``jobs`` threads; ``progress`` is called after each of them."""
    load_mnist()  # if it is missing, that is said before anything is run
    by_name = tasks(seed, size)
    names = [name for name, calls in by_name.items() for _ in calls]
    results: dict[str, list[Any]] = {name: [] for name in by_name}
    with warnings.catch_warnings():
        # Without an audit the level is not held: the experiments measure by how much.
        warnings.simplefilter("ignore", LevelNotHeldWarning)
        run = Parallel(n_jobs=jobs, prefer="threads", return_as="generator")
        done = run(delayed(call)() for calls in by_name.values() for call in calls)
        for name, result in zip(names, done, strict=True):
            results[name] += result if isinstance(result, list) else [result]
            progress()
    [attention], [ten_digits] = results.pop("attention"), results.pop("ten_digits")
    return Reproduction(seed, size, **results, attention=attention, ten_digits=ten_digits)

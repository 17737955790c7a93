"""Passes over rows by teams of learners in threads, and when enough passes have been made."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from saccade.kernels.state import LOSS
from saccade.learners.mixing import positive_classes
from saccade.learners.online import OnlineLearner
from saccade.learners.passes import Memory, Team
from saccade.reading.inputs import Rows

__all__ = ["Course", "Patience", "take_loss"]


class _Threads:
    """Threads that live as long as a course; the caller's is one of them.

    To start two for each pass, and to hand them shard by shard, took longer than passes of some milliseconds do.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.count = effective_n_jobs(n_jobs)
        self._others: ThreadPoolExecutor | None = None

    def run(self, function: Callable[..., int], calls: Sequence[tuple[Any, ...]]) -> list[int]:
        """Run independent calls, each thread an equal share of them; return what they return, in any order."""
        count = min(len(calls), self.count)
        if count == 1:
            return _run_all(function, calls)
        self._others = self._others or ThreadPoolExecutor(self.count - 1)
        tasks = [self._others.submit(_run_all, function, calls[k::count]) for k in range(1, count)]
        try:
            mine = _run_all(function, calls[::count])
        finally:
            wait(tasks)
        return sum((task.result() for task in tasks), mine)

    def end(self) -> None:
        if self._others is not None:
            self._others.shutdown()


def _run_all(function: Callable[..., int], calls: Sequence[tuple[Any, ...]]) -> list[int]:
    return [function(*call) for call in calls]


def take_loss(learners: Sequence[OnlineLearner]) -> float:
    """Return the losses of the examples that were read since this was last asked, of all learners together."""
    total = sum(float(learner.state.scalars[LOSS]) for learner in learners)
    for learner in learners:
        learner.state.scalars[LOSS] = 0.0
    return total


class Course:
    """Passes of all learners of a model. Until ``done`` is called, their weights may not be up to date."""

    def __init__(self, learners: Sequence[OnlineLearner], memory: Memory, n_jobs: int | None = None) -> None:
        self._threads = _Threads(n_jobs)
        n, positive = len(learners), positive_classes(len(learners))
        workers = min(n, self._threads.count)
        parts = [slice(n * k // workers, n * (k + 1) // workers) for k in range(workers)]
        self._teams = [Team(learners[part], positive[part], memory[part]) for part in parts]

    def go_over(
        self, X: Rows, labels: NDArray[np.integer], rows: NDArray[np.uint32], weight: NDArray[np.float64]
    ) -> int:
        """Learn from the given rows in turn; return -1, or a row that is not finite."""
        return max(self._threads.run(Team.learn, [(team, X, labels, rows, weight) for team in self._teams]))

    def grow_older(self) -> None:
        """Let what is remembered of all rows be older by the steps since this was last called."""
        for team in self._teams:
            team.grow_older()

    def done(self) -> None:
        """Bring the weights of all learners up to date, and let the threads go."""
        self._threads.end()
        for team in self._teams:
            team.done()


@dataclass
class Patience:
    """When to stop: once the mean loss has not improved by ``tol`` for some passes, as in SGDClassifier.

    Examples
    --------
    >>> patience = Patience(tol=0.1, n_iter_no_change=2)
    >>> [patience.is_over(loss) for loss in (0.9, 0.5, 0.45, 0.44)]
    [False, False, False, True]
    """

    tol: float | None
    n_iter_no_change: int
    best: float | None = None  # of the mean losses so far
    waited: int = 0  # for so many passes

    def is_over(self, loss: float) -> bool:
        """Take the mean loss of one more pass."""
        if self.tol is None:
            return False
        self.waited = 0 if self.best is None or loss <= self.best - self.tol else self.waited + 1
        self.best = loss if self.best is None else min(self.best, loss)
        return self.waited >= self.n_iter_no_change

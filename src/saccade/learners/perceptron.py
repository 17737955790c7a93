"""The perceptron."""

from typing import Any, Literal

from saccade.kernels.state import PERCEPTRON
from saccade.learners.classifier import AttentiveLearner
from saccade.learners.online import UpdateRule
from saccade.planning.boundaries import Boundary

__all__ = ["Perceptron"]


class Perceptron(AttentiveLearner):
    """The averaged perceptron (Rosenblatt 1958; Freund and Schapire 1999), which stops reading clear examples.

    An example moves the weights where its margin is not positive, so the importance threshold is 0.

    Parameters
    ----------
    boundary, order, max_iter, tol, n_iter_no_change, fit_intercept, audit, cost, shuffle, class_weight, warm_start, \
n_jobs, random_state
        As for :class:`saccade.Pegasos`.
    average : bool, default=True
        Average the weights over the steps, with weights proportional to the step's number.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from saccade import Perceptron
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(Perceptron(max_iter=5, random_state=0).fit(scale(X), y).score(scale(X), y) > 0.95)
    True
    """

    def __init__(
        self,
        *,
        boundary: str | Boundary = "curved",
        order: str = "sorted",
        max_iter: int = 20,
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        average: bool = True,
        fit_intercept: bool = True,
        audit: float = 0.02,
        cost: Literal["time", "features"] = "time",
        shuffle: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.boundary = boundary
        self.order = order
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.average = average
        self.fit_intercept = fit_intercept
        self.audit = audit
        self.cost = cost
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _update_rule(self) -> UpdateRule:
        return UpdateRule(PERCEPTRON, strength=1.0, theta=0.0)

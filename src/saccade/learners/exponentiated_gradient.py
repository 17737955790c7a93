"""Exponentiated gradients."""

from typing import Any, ClassVar, Literal

from saccade.kernels.state import EXPONENTIATED
from saccade.learners.classifier import AttentiveLearner
from saccade.learners.online import UpdateRule
from saccade.planning.boundaries import Boundary
from saccade.reading.parameters import Kinds, real

__all__ = ["ExponentiatedGradient"]


class ExponentiatedGradient(AttentiveLearner):
    """Exponentiated gradient (Kivinen and Warmuth 1997), which stops reading clear examples.

    Weights are multiplied instead of added to, so that few of many features come to count: the method for problems
    with many irrelevant ones. Every feature has a positive and a negative weight, 2 n in all with the sum ``norm``; an
    example with a margin below 1 multiplies them by exp(rate y x) and exp(-rate y x). At step t the rate is
    eta sqrt(log(2 n) / t) over the largest magnitude of any feature so far.

    Parameters
    ----------
    eta : float, default=1.0
        How long the steps are.
    norm : float, default=30.0
        The sum of the magnitudes of all weights, before positive and negative ones are set off against each other: how
        clear margins can become.
    boundary, order, max_iter, tol, n_iter_no_change, fit_intercept, audit, cost, shuffle, class_weight, warm_start, \
n_jobs, random_state
        As for :class:`saccade.Pegasos`. Sample and class weights multiply the step.
    average : bool, default=True
        Average the weights over the steps, with weights proportional to the step's number.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.preprocessing import scale
    >>> from saccade import ExponentiatedGradient
    >>> X, y = make_classification(2000, 500, n_informative=5, n_redundant=0, random_state=0)
    >>> bool(ExponentiatedGradient(random_state=0).fit(scale(X), y).score(scale(X), y) > 0.8)
    True
    """

    def __init__(
        self,
        eta: float = 1.0,
        *,
        norm: float = 30.0,
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
        self.eta = eta
        self.norm = norm
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

    _kinds: ClassVar[Kinds] = {**AttentiveLearner._kinds, "eta": [real(0)], "norm": [real(0)]}

    def _update_rule(self) -> UpdateRule:
        return UpdateRule(EXPONENTIATED, self.eta, theta=1.0, radius=self.norm)

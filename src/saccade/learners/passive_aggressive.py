"""Passive-Aggressive learning."""

from typing import Any, ClassVar, Literal

from saccade.kernels.state import PA1, PA2
from saccade.learners.classifier import AttentiveLearner
from saccade.learners.online import UpdateRule
from saccade.planning.boundaries import Boundary
from saccade.reading.parameters import Kinds, real, text

__all__ = ["PassiveAggressive"]


class PassiveAggressive(AttentiveLearner):
    """Passive-Aggressive classification (Crammer and others 2006), which stops reading clear examples.

    An example with a margin below 1 moves the weights by tau y x, as little as brings its margin to 1: with the loss
    l = 1 - margin, tau = min(C, l / ||x||^2) in PA-I and tau = l / (||x||^2 + 1 / (2 C)) in PA-II.

    Parameters
    ----------
    C : float, default=1.0
        How aggressive a step may be.
    variant : {"pa1", "pa2"}, default="pa1"
    boundary, order, max_iter, tol, n_iter_no_change, fit_intercept, audit, cost, shuffle, class_weight, warm_start, \
n_jobs, random_state
        As for :class:`saccade.Pegasos`. Sample and class weights multiply tau, to 1.9 times
        l / ||x||^2 at the most: longer steps diverge.
    average : bool, default=True
        Average the weights over the steps, with weights proportional to the step's number.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from saccade import PassiveAggressive
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(PassiveAggressive(C=0.1, random_state=0).fit(scale(X), y).score(scale(X), y) > 0.95)
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        variant: Literal["pa1", "pa2"] = "pa1",
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
        self.C = C
        self.variant = variant
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

    _kinds: ClassVar[Kinds] = {
        **AttentiveLearner._kinds,
        "C": [real(0)],
        "variant": [text({"pa1", "pa2"})],
    }

    def _update_rule(self) -> UpdateRule:
        return UpdateRule(PA2 if self.variant == "pa2" else PA1, self.C, theta=1.0)

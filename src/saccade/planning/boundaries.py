"""Stopping rules: when is a partial margin clear enough not to read the rest?

A boundary is a small object with parameters. For an importance threshold theta it becomes a *law*, a handful of numbers
from which the kernels and the plans compute thresholds. A new boundary is one class here and touches no kernel.

S_n is the full margin, S_i the margin after i features, V = var(S_n) = sum of w_j^2 var(x_j), the features taken as
independent. ``delta`` is the share of important examples, those with S_n < theta, that may be stopped.
"""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Literal, Protocol

from scipy.special import ndtri
from sklearn.base import BaseEstimator

from saccade.kernels.state import REST_SQUARED_WEIGHTS, REST_VARIANCE, TOTAL_VARIANCE, Law

__all__ = ["Boundary", "Budget", "Conditional", "ConstantSTST", "CurvedSTST", "Full", "as_boundary", "as_numbers"]


class Boundary(Protocol):
    """What a learner asks of a boundary."""

    def law(self, theta: float) -> Law | None:
        """Return the boundary as numbers, or None where it never stops by the margin; raise on bad parameters."""

    def limit(self, n_features: int) -> int:
        """Return how many features are read of any row at the most."""


class Full(BaseEstimator):
    """Never stop: read every feature of every row.

    Examples
    --------
    >>> from saccade import Full
    >>> Full().limit(784)
    784
    """

    def law(self, theta: float) -> None:
        return None

    def limit(self, n_features: int) -> int:
        return n_features


class Budget(BaseEstimator):
    """Read the same number of features of every row, and decide by those.

    In learning, an update moves only the weights of the features that were read. So the order may not depend on the
    weights alone: the sorted one would never read a feature that it has not read yet.

    Parameters
    ----------
    k : int
        The number of features.

    Examples
    --------
    >>> from saccade import Budget
    >>> Budget(49).limit(784), Budget(49).limit(30)
    (49, 30)
    """

    def __init__(self, k: int = 64) -> None:
        self.k = k

    def law(self, theta: float) -> None:
        if not isinstance(self.k, Integral) or isinstance(self.k, bool) or self.k < 1:
            raise ValueError(f"Budget(k={self.k!r}): k must be an integer of at least 1, the features to read per row.")

    def limit(self, n_features: int) -> int:
        return min(int(self.k), n_features)


class ConstantSTST(BaseEstimator):
    """The constant Sequential Thresholded Sum Test: stop when S_i reaches one threshold tau.

    A Brownian bridge that ends at theta crosses tau with probability exp(-2 tau (tau - theta) / V) (lemma 1 of the
    paper). Set to delta this gives, with L = ln(1 / sqrt(delta)),

    - ``form="exact"``: tau = theta / 2 + sqrt(theta^2 / 4 + V L), the solution of that equation;
    - ``form="printed"``: tau = theta + sqrt(theta^2 / 4 + V L), as the paper prints it, the square completed wrongly;
    - ``form="simplified"``: tau = theta + sqrt(V L), as Algorithm 1 has it.

    Parameters
    ----------
    delta : float
        The level, between 0 and 1.
    form : {"exact", "printed", "simplified"}

    Examples
    --------
    >>> from saccade import ConstantSTST
    >>> round(ConstantSTST(delta=0.1).threshold(theta=1.0, variance=4.0), 3)
    2.703
    """

    def __init__(self, delta: float = 0.1, form: Literal["exact", "printed", "simplified"] = "exact") -> None:
        self.delta = delta
        self.form = form

    def law(self, theta: float) -> Law:
        _check_delta(self)
        if self.form not in ("exact", "printed", "simplified"):
            raise ValueError(f'{self!r}: form must be "exact", "printed" or "simplified".')
        log_level = -math.log(self.delta) / 2
        shift = 0.0 if self.form == "simplified" else theta**2 / (4 * log_level)
        offset = theta / 2 if self.form == "exact" else 0.0
        return Law(theta, 0, math.sqrt(log_level), shift, offset, TOTAL_VARIANCE)

    def limit(self, n_features: int) -> int:
        return n_features

    def threshold(self, theta: float, variance: float) -> float:
        """Return tau for a full margin of this variance."""
        law = self.law(theta)
        return theta + law.slope * math.sqrt(law.shift + variance) - law.offset


class CurvedSTST(BaseEstimator):
    """The curved Sequential Thresholded Sum Test: stop when P(S_n < theta | S_i) is at most delta.

    With m_i and v_i the mean and the variance of the unread rest, tau_i = theta - m_i + cushion, and the cushion is

    - ``tail="gaussian"``: sqrt(v_i) times the 1 - delta quantile of the normal distribution;
    - ``tail="hoeffding"``: sqrt(2 ln(1 / delta) times the rest's sum of w_j^2), for features in [-1, 1];
    - ``tail="cantelli"``: sqrt(v_i (1 / delta - 1)), for any distribution of that mean and variance.

    Parameters
    ----------
    delta : float
        The level, between 0 and 1.
    tail : {"gaussian", "hoeffding", "cantelli"}

    Examples
    --------
    >>> from saccade import CurvedSTST
    >>> CurvedSTST(delta=0.05, tail="cantelli")
    CurvedSTST(delta=0.05, tail='cantelli')
    """

    def __init__(self, delta: float = 0.1, tail: Literal["gaussian", "hoeffding", "cantelli"] = "gaussian") -> None:
        self.delta = delta
        self.tail = tail

    def law(self, theta: float) -> Law:
        _check_delta(self)
        if self.tail == "gaussian":
            return Law(theta, 1, float(-ndtri(self.delta)), 0.0, 0.0, REST_VARIANCE)
        if self.tail == "hoeffding":
            return Law(theta, 1, math.sqrt(2 * math.log(1 / self.delta)), 0.0, 0.0, REST_SQUARED_WEIGHTS)
        if self.tail == "cantelli":
            return Law(theta, 1, math.sqrt(1 / self.delta - 1), 0.0, 0.0, REST_VARIANCE)
        raise ValueError(f'{self!r}: tail must be "gaussian", "hoeffding" or "cantelli".')

    def limit(self, n_features: int) -> int:
        return n_features


class Conditional(BaseEstimator):
    """Stop when the full margin, as predicted from the features read, is clearly on one side.

    The prediction is the best linear one under the features' correlations, so it is planned on rows: this boundary is
    for ``attend`` and ``AttentiveClassifier``, and not for learning.

    Parameters
    ----------
    focus : float
        Rows whose margin is within this share of the median magnitude count most when the prediction is planned.
    ridge : float
        Added to every feature's variance, as a share of it. It is at least 20 over the number of planning rows where
        these are up to 1,000, and, for trees, 0.4 times the number of trees over that of the rows.

    Examples
    --------
    >>> from saccade import Conditional
    >>> Conditional(ridge=0.1)
    Conditional(ridge=0.1)
    """

    def __init__(self, focus: float = 0.5, ridge: float = 0.01) -> None:
        self.focus = focus
        self.ridge = ridge

    def law(self, theta: float) -> Law:
        raise ValueError(f"{self!r} is planned on rows: use it with attend or AttentiveClassifier, not in a learner.")

    def limit(self, n_features: int) -> int:
        return n_features

    def check(self) -> None:
        """Raise where a parameter cannot be."""
        for name, value in (("focus", self.focus), ("ridge", self.ridge)):
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < math.inf:
                raise ValueError(f"{self!r}: {name} must be a positive number.")


_BY_NAME: dict[str, Callable[[], Boundary]] = {"full": Full, "constant": ConstantSTST, "curved": CurvedSTST}
_PLANNED: dict[str, Callable[[], Boundary]] = {"conditional": Conditional}


def as_boundary(boundary: str | Boundary, *, planned: bool = False) -> Boundary:
    """Return the boundary that a name stands for, or the object itself; some are for plans alone."""
    by_name = {**_BY_NAME, **(_PLANNED if planned else {})}
    names = ", ".join(map(repr, by_name))
    if isinstance(boundary, str):
        if boundary not in by_name:
            raise ValueError(f"boundary={boundary!r}: the names are {names}.")
        named: Boundary = by_name[boundary]()
        return named
    if isinstance(boundary, type) or not (hasattr(boundary, "law") and hasattr(boundary, "limit")):
        raise TypeError(
            f"boundary={boundary!r}: expected one of {names} or an object such as Full(), Budget(k), "
            f"ConstantSTST(delta){', CurvedSTST(delta) or Conditional()' if planned else ' or CurvedSTST(delta)'}."
        )
    return boundary


def as_numbers(boundary: Boundary, theta: float, n_features: int) -> tuple[Law | None, int]:
    """Return a boundary's law and limit, checked: kernels read as far as the limit says."""
    law, limit = boundary.law(theta), boundary.limit(n_features)
    if not isinstance(limit, Integral) or not 1 <= limit <= n_features:
        raise ValueError(
            f"{boundary!r}: limit({n_features}) returned {limit!r}. It must be a whole number from 1 to {n_features}, "
            "the number of features."
        )
    if law is None:
        return None, int(limit)
    finite = isinstance(law, Law) and all(isinstance(value, Real) and math.isfinite(value) for value in law)
    if not finite or law.centred not in (0, 1) or law.grows_with not in range(3):
        raise ValueError(
            f"{boundary!r}: law({theta}) returned {law!r}. It must be None or a Law of finite numbers, such as "
            "CurvedSTST().law(theta), with a centred of 0 or 1 and a grows_with of 0, 1 or 2."
        )
    return law, int(limit)


def _check_delta(boundary: ConstantSTST | CurvedSTST) -> None:
    delta = boundary.delta
    if isinstance(delta, bool) or not isinstance(delta, Real) or not 0 < delta < 1:
        raise ValueError(f"{boundary!r}: delta must be a number strictly between 0 and 1.")

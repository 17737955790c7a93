"""What may go wrong, counted: a risk is one function from labels given here, and by the full model, to counts.

A risk that returns several counts is kept only where every one of them is: Learn-then-Test then rejects only if every
test does, which is an intersection-union test and needs no correction.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Count", "Risk", "rows"]


class Count(NamedTuple):
    """So many errors among so many rows; the rows are drawn independently, so that the errors are binomial."""

    errors: int
    rows: int


Codes = NDArray[np.integer]
Risk = Callable[[Codes, Codes], list[Count]]


def rows(here: Codes, full: Codes) -> list[Count]:
    """Count all rows that get another label than the full model gives them.

    >>> rows(np.array([0, 1, 1]), np.array([0, 1, 0]))
    [Count(errors=1, rows=3)]
    """
    return [Count(int(np.sum(here != full)), full.size)]

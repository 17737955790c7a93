"""Means, standard deviations and t-tests over records."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.stats import t as student

Record = TypeVar("Record")


class Summary(NamedTuple):
    """Mean and sample standard deviation over permutations; of a single permutation the latter is nan."""

    mean: float
    sd: float

    def __format__(self, spec: str) -> str:
        if math.isnan(self.sd):
            return f"{self.mean:{spec}}"
        return f"{self.mean:{spec}} ± {self.sd:{spec.lstrip('+')}}"


def pick(records: Iterable[Record], **where: object) -> list[Record]:
    """Return the records whose attributes have these values.

    >>> from saccade.study.experiments.summaries import Summary, pick
    >>> pick([Summary(1.0, 0.1), Summary(2.0, 0.1)], mean=2.0)
    [Summary(mean=2.0, sd=0.1)]
    """
    return [record for record in records if all(getattr(record, name) == value for name, value in where.items())]


def summarise(records: Iterable[Record], value: Callable[[Record], float], **where: object) -> Summary:
    """Return mean and standard deviation of a value over the records picked.

    >>> from saccade.study.experiments.summaries import Summary, summarise
    >>> f"{summarise([Summary(1.0, 0), Summary(2.0, 0)], lambda record: record.mean):.1f}"
    '1.5 ± 0.7'
    """
    return summary([value(record) for record in pick(records, **where)])


def summary(values: Sequence[float]) -> Summary:
    if not values:
        raise ValueError("No record was picked: there is nothing to summarise.")
    return Summary(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else math.nan)


def is_above_zero(values: Sequence[float]) -> bool:
    """Whether the mean is significantly above zero: a t-test at 5 %, two-sided. That of a single value never is.

    >>> from saccade.study.experiments.summaries import is_above_zero
    >>> is_above_zero([0.9, 1.1, 1.0]), is_above_zero([1.0]), is_above_zero([3.0, -1.0, 1.0])
    (True, False, False)
    """
    if len(values) < 2:
        return False
    mean, sd = summary(values)
    return bool(mean > student.ppf(0.975, len(values) - 1) * sd / math.sqrt(len(values)))

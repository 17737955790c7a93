"""Means, standard deviations and t-tests over records."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.stats import t as student

Record = TypeVar("Record")


class Summary(NamedTuple):
    """Mean and sample standard deviation; the latter is NaN for a single value."""

    mean: float
    sd: float

    def __format__(self, spec: str) -> str:
        if math.isnan(self.sd):
            return f"{self.mean:{spec}}"
        return f"{self.mean:{spec}} ± {self.sd:{spec.lstrip('+')}}"


def pick(records: Iterable[Record], **where: object) -> list[Record]:
    """Return the records whose attributes have these values.

    >>> from reproduction.summaries import Summary, pick
    >>> pick([Summary(1.0, 0.1), Summary(2.0, 0.1)], mean=2.0)
    [Summary(mean=2.0, sd=0.1)]
    """
    return [record for record in records if all(getattr(record, name) == value for name, value in where.items())]


def summarise(records: Iterable[Any], name: str, **where: object) -> Summary:
    """Return mean and standard deviation of an attribute of the picked records.

    >>> from reproduction.summaries import Summary, summarise
    >>> f"{summarise([Summary(1.0, 0), Summary(2.0, 0)], 'mean'):.1f}"
    '1.5 ± 0.7'
    """
    return summary([getattr(record, name) for record in pick(records, **where)])


def summary(values: Sequence[float]) -> Summary:
    """Return mean and standard deviation; raise if there are no values."""
    if not values:
        raise ValueError("No record was picked: there is nothing to summarise.")
    return Summary(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else math.nan)


def is_above_zero(values: Sequence[float]) -> bool:
    """Test whether the mean is above zero: a two-sided t-test at 5 %. A single value is never significant.

    >>> from reproduction.summaries import is_above_zero
    >>> is_above_zero([0.9, 1.1, 1.0]), is_above_zero([1.0]), is_above_zero([3.0, -1.0, 1.0])
    (True, False, False)
    """
    if len(values) < 2:
        return False
    mean, sd = summary(values)
    return bool(mean > student.ppf(0.975, len(values) - 1) * sd / math.sqrt(len(values)))


def derived_seed(seed: int, *key: int) -> int:
    """Return a seed for each key of an experiment: different keys, different seeds; the same in every run."""
    return int(np.random.SeedSequence([seed, *key]).generate_state(1)[0])

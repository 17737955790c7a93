"""From many records to a few figures."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import numpy as np

Record = TypeVar("Record")


class Summary(NamedTuple):
    """Mean and standard deviation over permutations."""

    mean: float
    sd: float

    def __format__(self, spec: str) -> str:
        return f"{self.mean:{spec}} ± {self.sd:{spec.lstrip('+')}}"


def pick(records: Iterable[Record], **where: object) -> list[Record]:
    """Return the records whose attributes have these values.

    >>> from saccade.experiments.summaries import Summary, pick
    >>> pick([Summary(1.0, 0.1), Summary(2.0, 0.1)], mean=2.0)
    [Summary(mean=2.0, sd=0.1)]
    """
    return [record for record in records if all(getattr(record, name) == value for name, value in where.items())]


def summarise(records: Iterable[Record], value: Callable[[Record], float], **where: object) -> Summary:
    """Return mean and standard deviation of a value over the records picked.

    >>> from saccade.experiments.summaries import Summary, summarise
    >>> f"{summarise([Summary(1.0, 0), Summary(2.0, 0)], lambda record: record.mean):.1f}"
    '1.5 ± 0.7'
    """
    values = [value(record) for record in pick(records, **where)]
    if not values:
        raise ValueError(f"No record has {where}.")
    return Summary(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)

"""Which values a parameter may have.

scikit-learn has the same in ``sklearn.utils._param_validation``, which is private and may change without notice.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "ARRAY_LIKE",
    "BOOLEAN",
    "NONE",
    "RANDOM_STATE",
    "Kind",
    "Kinds",
    "check_parameters",
    "having",
    "instance",
    "real",
    "text",
    "whole",
]


class Kind(NamedTuple):
    """One kind of value that a parameter may have."""

    words: str
    allows: Callable[[Any], bool]


Kinds = Mapping[str, Sequence[Kind]]  # by parameter


def check_parameters(owner: object, kinds: Kinds) -> None:
    """Raise a ValueError that says what a parameter may be, where its value is none of that."""
    for name, allowed in kinds.items():
        value = getattr(owner, name)
        if not any(kind.allows(value) for kind in allowed):
            *others, last = (kind.words for kind in allowed)
            words = f"{', '.join(others)} or {last}" if others else last
            raise ValueError(
                f"The {name!r} parameter of {type(owner).__name__} must be {words}. Got {value!r} instead."
            )


def real(low: float, high: float = math.inf, *, ends: bool = False) -> Kind:
    """Numbers between two others, which belong to them where ``ends``; never NaN."""
    if ends:
        return Kind(f"a float in the range [{low}, {high}]", lambda x: isinstance(x, Real) and low <= float(x) <= high)
    return Kind(f"a float in the range ({low}, {high})", lambda x: isinstance(x, Real) and low < float(x) < high)


def whole(low: int) -> Kind:
    """Whole numbers from ``low`` on."""
    return Kind(f"an int in the range [{low}, inf)", lambda x: isinstance(x, Integral) and int(x) >= low)


def text(options: Collection[str]) -> Kind:
    """One of several words."""
    words = ", ".join(repr(option) for option in sorted(options))
    return Kind(f"a str among {{{words}}}", lambda x: isinstance(x, str) and x in options)


def instance(kind: type) -> Kind:
    """Instances of a class."""
    return Kind(f"an instance of {kind.__name__!r}", lambda x: isinstance(x, kind))


def having(*methods: str) -> Kind:
    """Objects that have these methods."""
    words = " and ".join(repr(method) for method in methods)
    return Kind(f"an object implementing {words}", lambda x: all(callable(getattr(x, name, None)) for name in methods))


def _is_array_like(x: Any) -> bool:
    return (hasattr(x, "__len__") or hasattr(x, "__array__")) and not np.isscalar(x)


def _seeds(x: Any) -> bool:
    return x is None or isinstance(x, np.random.RandomState) or (isinstance(x, Integral) and 0 <= int(x) < 2**32)


ARRAY_LIKE = Kind("an array-like", _is_array_like)
BOOLEAN = Kind("an instance of 'bool'", lambda x: isinstance(x, bool | np.bool_))
NONE = Kind("None", lambda x: x is None)
RANDOM_STATE = Kind("an int in the range [0, 4294967295], an instance of 'numpy.random.RandomState' or None", _seeds)

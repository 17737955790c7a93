"""Everything that tells one model over raw columns from another, as arrays: a fingerprint is made of them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["arrays_of"]

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def arrays_of(thing: Any) -> Iterator[NDArray[Any]]:
    """Yield the arrays and texts within nested records, each record led by its kind."""
    if isinstance(thing, np.ndarray):
        # Objects are pointers in memory, so they are written out.
        yield thing if thing.dtype.kind in "fiub" else _text(thing.tolist())
    elif is_dataclass(thing) and not isinstance(thing, type):
        yield _text(type(thing).__name__)
        for each in fields(thing):
            yield from arrays_of(getattr(thing, each.name))
    elif isinstance(thing, Mapping):
        for key in sorted(thing):
            yield from arrays_of((key, thing[key]))
    elif isinstance(thing, tuple):
        yield _text(len(thing))
        for part in thing:
            yield from arrays_of(part)
    elif not isinstance(thing, Callable):  # type: ignore[arg-type]  # of a transformer its name is all that is known
        yield _text(thing)


def _text(value: Any) -> NDArray[Any]:
    """Return a value in words, without its address, which is another in another process."""
    return np.array(ADDRESS.sub("", repr(value)))

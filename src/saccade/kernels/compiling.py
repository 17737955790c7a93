"""How the kernels are compiled.

Two things would cost more than a short walk: copying a state of many arrays into a function that is called, and
counting references to its arrays. So what runs for every example is inlined, and kernels allocate nothing, which lets
them do without reference counts.
"""

import gc
from collections.abc import Callable
from functools import wraps
from typing import Any

from numba import njit

from saccade.kernels.caching import keep

__all__ = ["exact", "inlined", "internal", "kernel", "loop"]


# The last two are not documented: kernels need no reference counts, and nobody takes their address in C.
_options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


def _uncollected(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function run without looking for garbage: numba makes so many objects that it would take a tenth longer."""

    @wraps(compile_)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return compile_(*args, **kwargs)
        finally:
            if enabled:
                gc.enable()

    return wrapped


def _compiled(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator: compiled when it is first called, and kept from one process to the next."""
    decorate = njit(**_options, **options)

    def decorated(function: Any) -> Any:
        dispatcher = keep(decorate(function))
        if hasattr(dispatcher, "compile"):  # else numba is told not to compile at all
            dispatcher.compile = _uncollected(dispatcher.compile)
        return dispatcher

    return decorated


# Functions that are called.
kernel = _compiled()
# Functions that only kernels call. They do without a wrapper that would take a learner's many arrays out of Python's
# hands, which takes time to compile; but to call one from Python is a crash.
internal = _compiled(no_cpython_wrapper=True)
# Loops over features, likewise, whose sums may be reordered so that they run on vectors; NaN and infinity keep their
# meaning.
loop = _compiled(no_cpython_wrapper=True, fastmath={"reassoc", "contract", "nsz"})
# Short sums whose order is meant: a tree, which is sooner done than a chain.
exact = _compiled(fastmath={"contract"})
# Functions that are written into their caller.
inlined = _compiled(inline="always")

"""How the kernels are compiled.

Two things would cost more than a short walk: copying a state of many arrays into a function that is called, and
counting references to its arrays. So what runs for every example is inlined, and kernels allocate nothing, which lets
them do without reference counts.
"""

from collections.abc import Callable
from typing import Any

from numba import njit

from saccade.kernels.caching import keep

__all__ = ["exact", "inlined", "internal", "kernel", "loop"]


def _without_reference_counts() -> dict[str, Any]:
    """Return the option for it, which is private: seen to work with numba 0.59 to 0.68.

    Where numba no longer knows it, references are counted and kernels are slower, but not wrong.
    """
    option: dict[str, Any] = {"_nrt": False}
    try:
        njit(**option)(lambda: None)
    except (KeyError, TypeError):
        return {}
    return option


# Nobody takes a kernel's address, so it needs no wrapper for C.
_options: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    **_without_reference_counts(),
}


def _compiled(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator: compiled when it is first called, and kept from one process to the next."""
    decorate = njit(**_options, **options)
    return lambda function: keep(decorate(function))


# Functions that are called.
kernel = _compiled()
# Functions that only kernels call. They do without a wrapper that would take a learner's many arrays out of Python's
# hands, which takes time to compile; but to call one from Python is a crash.
internal = _compiled(no_cpython_wrapper=True)
# Loops over features, whose sums may be reordered so that they run on vectors; NaN and infinity keep their meaning.
loop = _compiled(fastmath={"reassoc", "contract", "nsz"})
# Short sums whose order is meant: a tree, which is sooner done than a chain.
exact = _compiled(fastmath={"contract"})
# Functions that are written into their caller.
inlined = _compiled(inline="always")

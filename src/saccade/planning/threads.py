"""One BLAS thread for many small products.

OpenBLAS wakes all of its threads for each of them and waits for the slowest: on a machine that is busy with other work
a product of two milliseconds then takes twelve.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from threadpoolctl import threadpool_limits

__all__ = ["one_blas_thread"]

# The limit holds for the whole process. Were two threads to set it at once, the one that leaves last would restore
# what the other had set, for ever.
_LOCK = RLock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Compute linear algebra in one thread for a while; other threads that want the same wait."""
    with _LOCK, threadpool_limits(limits=1, user_api="blas"):
        yield

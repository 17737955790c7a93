"""Progress of long work, shown on a terminal only, and never in a pipe."""

import sys
import threading
import time
from typing import Self

__all__ = ["Progress"]

SECONDS_BETWEEN = 0.2


class Progress:
    """A line on standard error with a count and, where the length is known, a share; it is erased at the end."""

    def __init__(self, unit: str, *, label: str = "", length: int | None = None) -> None:
        self._unit, self._label, self._length = unit, label, length
        self._count = self._place = 0
        self._last = time.monotonic()
        self._visible = sys.stderr.isatty()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._visible:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def advance(self, count: int, place: int = 0) -> None:
        """Add to the count; ``place`` is the position reached, of the length."""
        with self._lock:
            self._count, self._place = self._count + count, place
            now = time.monotonic()
            if self._visible and now - self._last >= SECONDS_BETWEEN:
                self._last = now
                print(f"\r{self._line()}", end="", file=sys.stderr, flush=True)

    def _line(self) -> str:
        counted = f"{self._count:,} {self._unit}"
        if self._length is None:
            return counted
        return f"{self._label}: {100 * self._place // max(self._length, 1):3}%, {counted}"

"""How far long work has come: on a terminal only, and never in a pipe."""

import sys
import threading
import time
from typing import Self

__all__ = ["Progress"]

SECONDS_BETWEEN = 0.2


class Progress:
    """A line on standard error that counts up, and is wiped away at the end."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._done = 0
        self._shown = time.monotonic()
        self._visible = sys.stderr.isatty()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._visible:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def advance(self, count: int) -> None:
        with self._lock:
            self._done += count
            now = time.monotonic()
            if self._visible and now - self._shown >= SECONDS_BETWEEN:
                self._shown = now
                print(f"\r{self._done:,} {self._unit}", end="", file=sys.stderr, flush=True)

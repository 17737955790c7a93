"""How far reading a file has come: one line on a terminal, and nothing elsewhere."""

import sys
import time
from typing import Any, Self

__all__ = ["bar"]

SECONDS_BETWEEN = 0.1


class bar:  # noqa: N801 - used like a function
    """Show a share and the rows so far, on standard error where that is a terminal.

    It is called with how many bytes, or rows of a file that is counted in rows, and how many rows were read.
    """

    def __init__(self, length: int, label: str) -> None:
        self._length, self._label = max(length, 1), label
        self._place = self._rows = 0
        self._shown_at = -SECONDS_BETWEEN

    def __enter__(self) -> Self:
        self._silent = not sys.stderr.isatty()
        return self

    def __call__(self, steps: int, rows: int) -> None:
        self._place, self._rows = self._place + steps, self._rows + rows
        if not self._silent and time.monotonic() - self._shown_at >= SECONDS_BETWEEN:
            self._show("")
            self._shown_at = time.monotonic()

    def __exit__(self, *raised: Any) -> None:
        if not self._silent:
            self._show("\n")

    def _show(self, end: str) -> None:
        share = min(100 * self._place // self._length, 100)
        print(f"\r{self._label}: {share:3}%, {self._rows:,} rows", end=end, file=sys.stderr, flush=True)

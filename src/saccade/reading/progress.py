"""Progress of long work: a line on a terminal where it was asked for, and nothing anywhere else."""

import threading
import time
from typing import Self

from saccade.terminal import WIPE, is_watched, write

__all__ = ["Progress"]

# Work that is done sooner shows nothing.
SECONDS_BEFORE = 1.0
SECONDS_BETWEEN = 0.2
# So often a thread looks whether the line is to be brought up to date.
SECONDS_BETWEEN_LOOKS = 0.2

# Held by the work whose line is shown: work within it, or beside it in another thread, shows none.
_line = threading.Lock()


class Progress:
    """What is being done and, where it is counted, how much of it: on standard error, if anybody asked to see it.

    A thread of its own brings the line up to date, so that it shows during a single long call, too.
    """

    def __init__(self, unit: str = "", *, label: str = "", length: int | None = None) -> None:
        self._unit, self._label, self._length = unit, label, length
        self._count = self._place = 0
        self._began = time.monotonic()
        self._due = self._began + SECONDS_BEFORE
        self._lock, self._done = threading.Lock(), threading.Event()
        self._shows = self._shown = False

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def __enter__(self) -> Self:
        self._shows = is_watched() and _line.acquire(blocking=False)
        if self._shows:
            threading.Thread(target=self._keep_showing, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        if not self._shows:
            return
        with self._lock:
            self._done.set()
            if self._shown:
                write(WIPE)
            _line.release()

    def now(self, label: str) -> None:
        """Say what is being done from here on."""
        with self._lock:
            self._label = label
        self._show()

    def advance(self, count: int, place: int | None = None) -> None:
        """Add to the count; ``place`` is the position reached, of the length, where that is not the count."""
        with self._lock:
            self._count += count
            self._place = self._count if place is None else place
        self._show()

    def _keep_showing(self) -> None:
        while not self._done.wait(SECONDS_BETWEEN_LOOKS):
            self._show()

    def _show(self) -> None:
        if not self._shows:
            return
        with self._lock:
            now = time.monotonic()
            if now >= self._due and not self._done.is_set():
                self._due, self._shown = now + SECONDS_BETWEEN, True
                write(f"{WIPE}{self._text()}")

    def _text(self) -> str:
        if self._length is not None:
            share = 100 * self._place // max(self._length, 1)
            return f"{self._label}: {share:3}%, {self._count:,} {self._unit}"
        return f"{self._count:,} {self._unit}" if self._unit else f"{self._label}, {self.seconds:.0f} s"

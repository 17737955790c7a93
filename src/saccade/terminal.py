"""Progress on a terminal, where it was asked for, and text that is safe to print on one."""

import os
import sys
from contextlib import suppress

__all__ = ["SAVES_NOTHING", "WIPE", "is_watched", "printable", "printable_lines", "show_progress", "write"]

# Plans and certificates print this sentence.
SAVES_NOTHING = "Reads nearly everything: early exit saves nothing here."
# Back to the beginning of the line, and empty it.
WIPE = "\r\033[K"

_asked = False


def show_progress(on: bool = True) -> None:
    """Show the progress of work that takes over a second, as a line on a terminal that is erased at the end.

    The command line does it by itself; from Python nothing is shown before this is called, and never in a pipe or a
    file. What was done, and how long it took, is logged under ``logging.getLogger("saccade")``.

    Examples
    --------
    >>> import saccade
    >>> saccade.show_progress()
    >>> saccade.show_progress(False)
    """
    global _asked
    _asked = on


def is_watched() -> bool:
    """Whether progress was asked for and standard error is a terminal that can erase a line."""
    with suppress(OSError, ValueError):  # it may have been closed
        return _asked and sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return False


def write(text: str) -> None:
    """Write to standard error, if it is still there."""
    with suppress(OSError, ValueError):  # the terminal may be gone
        print(text, end="", file=sys.stderr, flush=True)


def printable(value: object) -> str:
    r"""Return a name or a label as text, with control characters escaped as ``repr`` escapes them.

    A terminal would obey some of them, and others change the order in which text is shown.

    >>> printable("\x1b[31mred\u202e"), printable("Größe"), printable(3)
    ('\\x1b[31mred\\u202e', 'Größe', '3')
    """
    text = str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    """Return a message with control characters escaped, but for the ends of its lines."""
    return "\n".join(map(printable, text.split("\n")))

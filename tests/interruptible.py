"""The command line in a process of its own, which Ctrl-C ends even where the tests themselves run in the background."""

import sys

__all__ = ["INTERRUPTIBLE"]

# What a shell runs in the background ignores the signal, and so does what that begins.
INTERRUPTIBLE = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from saccade.cli import main; main()",
]

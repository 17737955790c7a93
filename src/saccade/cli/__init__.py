"""The command line: one module per command, each importing what it needs when it runs."""

import signal
import sys
from typing import Any


def main() -> None:
    """Run ``saccade``."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        from saccade.cli.main import run
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        print("saccade: the command line needs click. Install it with: pip install 'saccade[files]'", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


def _stop(number: int, frame: Any) -> None:
    """End as an error would: a service that stops leaves no scratch file behind."""
    sys.exit(128 + number)

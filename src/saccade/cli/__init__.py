"""The command line: one module per command, each importing what it needs when it runs."""

import sys


def main() -> None:
    """Run ``saccade``."""
    try:
        from saccade.cli.main import run
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        extra = "report" if "reproduce" in sys.argv else "files"
        print(
            f"saccade: the command line needs click. Install it with: pip install 'saccade[{extra}]'", file=sys.stderr
        )
        sys.exit(2)
    sys.exit(run(sys.argv[1:]))

"""The list of commands, and what every one of them does on an error or an interruption."""

import io
import sys

import click

from saccade.cli.ask import ask
from saccade.cli.attend import attend, inspect_model
from saccade.cli.fit import fit
from saccade.cli.predict import evaluate, predict
from saccade.cli.reproduce import reproduce
from saccade.version import __version__

INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="saccade %(version)s")
def commands() -> None:
    """Classifiers that stop reading features as soon as the decision is clear."""


for command in (ask, attend, evaluate, fit, inspect_model, predict, reproduce):
    commands.add_command(command)


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit status: 0, 1, 2 for wrong usage, 130 when interrupted."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that does not know a character shows another
    try:
        status = commands.main(arguments, prog_name="saccade", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        print(f"saccade: {error.format_message()}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"saccade: {error}", file=sys.stderr)
        return 1
    except (click.Abort, KeyboardInterrupt):
        print("saccade: interrupted", file=sys.stderr)
        return INTERRUPTED
    return status if isinstance(status, int) else 0

"""The list of commands, and how errors and interruptions end them."""

import io
import os
import sys
import warnings
from typing import Any

import click

from saccade.cli.ask import ask
from saccade.cli.attend import attend
from saccade.cli.fit import fit
from saccade.cli.inspect import inspect_model
from saccade.cli.predict import evaluate, predict
from saccade.cli.watch import watch
from saccade.terminal import WIPE, is_watched, show_progress
from saccade.version import __version__

INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="saccade %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show where in the code an error comes from.")
def commands() -> None:
    """Classifiers that stop reading features as soon as the decision is clear."""


for command in (ask, attend, evaluate, fit, inspect_model, predict, watch):
    commands.add_command(command)


def _show_warning(message: Warning | str, *place: Any, **more: Any) -> None:
    """Print a warning in one line, as errors are, without the place in the code that it comes from."""
    wipe = WIPE if is_watched() else ""  # a line of progress may stand there
    print(f"{wipe}saccade: {message}", file=sys.stderr)


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit status: 0, 1, 2 for wrong usage, 3 by ``watch``, 130 when interrupted."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # it was closed, and print would write messages between the results
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - until the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="replace")  # for terminals that cannot show a character
        else:
            sys.stdout.reconfigure(encoding="utf-8")
    debug = "--debug" in arguments
    show_progress()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            status = commands.main(
                [argument for argument in arguments if argument != "--debug"],
                prog_name="saccade",
                standalone_mode=False,
            )
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        print(f"saccade: {error.format_message()}", file=sys.stderr)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("saccade: interrupted", file=sys.stderr)
        return INTERRUPTED
    except ModuleNotFoundError as missing:  # the message names the extra
        if debug:
            raise
        print(f"saccade: {missing}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of the output, such as head, is done
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - so that the interpreter does not try to write the rest
        return 1
    except Exception as error:
        if debug:
            raise
        what = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error} (see it with --debug)"
        print(f"saccade: {what}", file=sys.stderr)
        return 1
    finally:
        show_progress(False)
    return status if isinstance(status, int) else 0

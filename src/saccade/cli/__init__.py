"""The command line: ``saccade predict`` and ``saccade inspect``."""

import argparse
import json
import signal
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from saccade.terminal import WIPE, is_watched, printable_lines, show_progress
from saccade.version import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 1 after an error, 2 for wrong usage, 130 if interrupted."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    warnings.showwarning = _print_warning
    show_progress()
    try:
        options.run(options)
    except KeyboardInterrupt:
        print("saccade: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output, such as head, is done
        sys.stderr.close()
        return 1
    except Exception as error:
        if options.debug:
            raise
        kind = "" if isinstance(error, ValueError | OSError | ModuleNotFoundError) else f"{type(error).__name__}: "
        print(f"saccade: {kind}{printable_lines(str(error))}", file=sys.stderr)
        return 1
    finally:
        show_progress(False)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="saccade", description="Apply and inspect saved models.")
    parser.add_argument("--version", action="version", version=f"saccade {__version__}")
    parser.add_argument("--debug", action="store_true", help="show where in the code an error comes from")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    predict = commands.add_parser("predict", help="predict the rows of data files", description=_predict.__doc__)
    predict.add_argument("model", type=Path, help="a .saccade file")
    predict.add_argument("source", type=Path, nargs="+", help="data files, or folders of them")
    predict.add_argument("target", type=Path, help="folder for the labels")
    predict.add_argument("--format", help="of the data files: parquet, arrow, csv, libsvm, libsvm-zero-based or npy")
    predict.add_argument("--skip-bad", action="store_true", help="leave the label of a row empty if it cannot be read")
    predict.set_defaults(run=_predict)
    inspect = commands.add_parser("inspect", help="describe a saved model", description=_inspect.__doc__)
    inspect.add_argument("model", type=Path, help="a .saccade file")
    inspect.set_defaults(run=_inspect)
    for command in (predict, inspect):
        command.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _predict(options: argparse.Namespace) -> None:
    """Predict the rows of data files, and write one file of labels for each into a folder."""
    from saccade.files.models import load
    from saccade.io.predict import predict_files

    model = load(options.model)
    done = predict_files(model, options.source, options.target, format=options.format, skip_bad=options.skip_bad)
    print(json.dumps(done._asdict()) if options.json else done)


def _inspect(options: argparse.Namespace) -> None:
    """Print what a saved model reads and promises."""
    from saccade.files.models import load

    record = _described(load(options.model))
    if options.json:
        print(json.dumps(record, default=_plain))
        return
    for name, value in record.items():
        text = printable_lines(str(value))
        print(f"{name}:", text, sep="\n" if "\n" in text else " ")


def _described(model: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from saccade.attentive import AttentiveClassifier

    names = getattr(model, "feature_names_in_", None)
    record = {
        "class": type(model).__name__,
        "classes": model.classes_.tolist(),
        "n_features": model.n_features_in_,
        "features": None if names is None else names.tolist(),
        "parameters": {name: value for name, value in model.get_params(deep=False).items() if name != "estimator"},
    }
    if isinstance(model, AttentiveClassifier):
        plan = model.plan_.describe(model.additive_.unit_names)
        return record | {"columns": model.columns_, "certificate": str(model.certificate_), "plan": plan}
    return record | {"training": asdict(model.training_)}


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _print_warning(message: Warning | str, *place: Any, **more: Any) -> None:
    """Print a warning in one line, without the place in the code that it comes from."""
    wipe = WIPE if is_watched() else ""  # progress may be shown there
    print(f"{wipe}saccade: {printable_lines(str(message))}", file=sys.stderr)


def _stop(number: int, frame: Any) -> None:
    """Exit as after an error, so that no scratch file is left."""
    sys.exit(128 + number)

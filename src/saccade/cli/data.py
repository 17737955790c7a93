"""Shared by the commands on files: options, loading models, opening data, and printing."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from saccade.data import FORMATS

if TYPE_CHECKING:
    from saccade.data.batches import DataFile, Wanted
    from saccade.data.origin import Origin

__all__ = [
    "HELD_OUT",
    "Loaded",
    "check_output",
    "data_options",
    "demanded_by",
    "file_options",
    "keep_model",
    "loaded",
    "loaded_to_certify",
    "one_line",
    "opened",
    "print_record",
    "wanted_by",
    "wanted_to_certify",
]

HELD_OUT = "rows held out of learning"

# Types that skops does not trust by itself, and that the pipelines and wrappers hold which can be certified. None of
# them runs anything when it is built.
TRUSTED = (
    "numpy.dtype",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "scipy.interpolate._bsplines.BSpline",
    "scipy.interpolate._bsplines._BSpline",  # what BSpline holds from SciPy 1.18 on
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.metrics._classification.accuracy_score",
    "sklearn.metrics._classification.balanced_accuracy_score",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.model_selection._split.StratifiedShuffleSplit",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a data file is to be read, and how what comes of it is printed."""
    return click.option("--json", "as_json", is_flag=True, help="Print for machines.")(file_options(command))


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a data file is to be read."""
    for option in (
        click.option("--format", "kind", type=click.Choice(FORMATS), help="Of DATA; else its name tells."),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether the first line of a CSV file has names; else it is guessed.",
        ),
        click.option("--skip-bad", is_flag=True, help="Pass over rows that cannot be read, and count them."),
    ):
        command = option(command)
    return command


def check_output(path: Path, force: bool, data: str | None = None) -> Path:
    """Check before the work that the output can be written, and is none of the files of ``data``."""
    from saccade.files.writing import check_writable

    target = path.resolve()
    if str(path) == "-" or target.is_dir():
        raise click.UsageError(f"-o {path} is no file: give it a name.")
    if data is not None and target in _files(data):
        raise click.UsageError(f"-o {path} would replace the data.")
    if target.exists() and not force:
        raise click.UsageError(f"{path} exists already. Choose another name, or replace it with --force.")
    try:
        check_writable(target)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
    return target


def keep_model(model: Path, out: Path) -> None:
    """Raise where the output would replace the model."""
    if out == model.resolve():
        raise click.UsageError(f"-o {model} would replace the model. Give it another name.")


def _files(data: str) -> list[Path]:
    """Return the files that are read; none where the path is wrong, which opening it reports."""
    from saccade.data.opening import data_files
    from saccade.exceptions import DataFileError

    try:
        return [Path(file).resolve() for file in data_files(data)]
    except DataFileError:
        return []


@dataclass(frozen=True)
class Loaded:
    """A saved model, and what its file remembers of the data that it learned from."""

    model: Any
    origin: "Origin"


def loaded(path: Path) -> Loaded:
    """Load a model that saccade saved."""
    from saccade.data.origin import Origin
    from saccade.exceptions import ModelFileError
    from saccade.files.models import load_with

    try:
        model, about = load_with(path)
    except ModelFileError as error:
        if path.suffix.lower() == ".skops" or _is_of_a_library(path):
            raise click.UsageError(
                f"{path} is no model of saccade. Certify it first: saccade attend {path} DATA -o MODEL"
            ) from error
        raise click.ClickException(str(error)) from error
    return Loaded(model, Origin.of(about))


def loaded_to_certify(path: Path, out: Path) -> Loaded:
    """Load a model of saccade, of a library that writes its trees to a file, or of scikit-learn from a skops file.

    One of saccade's own may be certified anew in its place, the file of another library is not replaced.
    """
    from saccade.data.origin import Origin

    if path.suffix.lower() != ".skops" and not _is_of_a_library(path):
        return loaded(path)
    keep_model(path, out)
    if path.suffix.lower() == ".skops":
        return Loaded(_from_skops(path), Origin())
    from saccade.models.trees.apart import from_file

    with one_line():
        read = from_file(path.read_bytes(), str(path))
    if read is None:
        raise click.ClickException(
            f"{path} is no model of saccade, LightGBM's text or XGBoost's JSON or UBJSON. Save it as one of these."
        )
    trees, library = read
    print(
        f"{path} is read as {library}: labels are computed by saccade, and not compared with the library's own",
        file=sys.stderr,
    )
    return Loaded(trees, Origin())


def _is_of_a_library(path: Path) -> bool:
    """Whether a file begins as LightGBM's text does, or as JSON or UBJSON: saccade's own begin with a length."""
    with open(path, "rb") as file:
        head = file.read(16)
    is_own = head[4:9] == b"\0\0\0\0{"
    return head.startswith((b"tree\n", b"tree\r\n")) or (head.lstrip()[:1] == b"{" and not is_own)


def _from_skops(path: Path) -> Any:
    try:
        import skops.io
    except ModuleNotFoundError as missing:
        raise click.UsageError("skops is missing. Install it with: pip install 'saccade[skops]'") from missing
    try:
        unknown = sorted(set(skops.io.get_untrusted_types(file=path)).difference(TRUSTED))
        if not unknown:
            return skops.io.load(path, trusted=list(TRUSTED))
    except OSError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise click.ClickException(f"{path} is damaged, or no skops file ({type(error).__name__}: {error}).") from error
    raise click.ClickException(
        f"{path} holds types that are not trusted: {', '.join(unknown)}. If you trust the file, load it in Python, and "
        "save what saccade.attend(model, X) makes of the model with saccade.save."
    )


def unit_names_of(model: Any) -> list[str] | None:
    """Return the names of what a plan counts: features, or terms, which may be of several."""
    from saccade.data.demand import names_of

    names = getattr(getattr(model, "additive_", None), "unit_names", None)
    return names_of(model) if names is None else list(names)


def wanted_by(saved: Loaded, target: str | None, header: bool | None) -> "Wanted":
    """Return what a model reads of a data file, as ``saccade.data.demand`` says."""
    from saccade.data import demand

    with one_line():
        return demand.wanted_by(saved.model, target, header, saved.origin.zero_based)


def wanted_to_certify(saved: Loaded, target: str | None, header: bool | None) -> "Wanted":
    """Return what is read to certify a model: as ``wanted_by``, and texts so that they can be given back to it.

    A model of another library is asked for its own labels, and takes all columns that it was fitted on.
    """
    from saccade.data.demand import additive_of
    from saccade.data.headers import MISSING_WORDS
    from saccade.data.texts import Remembered
    from saccade.files.additive import additive_parts

    wanted, additive = wanted_by(saved, target, header), additive_of(saved.model)
    if not additive.takes_objects:
        return wanted
    with one_line():
        additive_parts(additive)  # what cannot be saved is said before the work
    is_own = getattr(saved.model, "encoding_", None) is not None
    coders = {
        column: Remembered(categories, MISSING_WORDS, others_alike=is_own)
        for column, categories in additive.categories.items()
    }
    if is_own or hasattr(saved.model, "additive_"):
        return replace(wanted, coders=coders)
    unread = set(range(additive.n_columns)).difference(additive.used.tolist())
    coders |= {column: Remembered(None, MISSING_WORDS) for column in unread if column not in coders}
    return replace(wanted, needed=None, coders=coders)


def demanded_by(saved: Loaded, target: str | None, header: bool | None, *, others: bool) -> "Wanted":
    """Return what a model must find in every row, as ``saccade.data.demand`` says."""
    from saccade.data import demand

    with one_line():
        return demand.demanded_by(saved.model, target, header, saved.origin.zero_based, others=others)


@contextmanager
def one_line() -> Iterator[None]:
    """Turn errors about data or a checkpoint into messages of one line."""
    from saccade.exceptions import CheckpointError

    try:
        yield
    except CheckpointError as error:
        raise click.UsageError(str(error)) from error
    except (ValueError, TypeError) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def opened(data: str, wanted: "Wanted", kind: str | None) -> Iterator["DataFile"]:
    """Open a data file, or several as one; errors about them or their rows are messages of one line."""
    from saccade.data.opening import open_data

    with one_line(), open_data(data, wanted, kind) as source:
        yield source


def print_record(record: dict[str, Any], as_json: bool) -> None:
    """Print names and values, those that there are, or one JSON object."""
    if as_json:
        print(json.dumps(record, default=_plain))
        return
    known = {name: value for name, value in record.items() if value is not None}
    width = max(map(len, known))
    for name, value in known.items():
        print(f"{name:{width}}  {f'{value:.6g}' if isinstance(value, float) else value}")


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)

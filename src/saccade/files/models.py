"""Save a model to one file, and load it: never by unpickling."""

import os
from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from saccade.attentive import AttentiveClassifier
from saccade.exceptions import ModelFileError
from saccade.files.archive import DIGEST, Archive, archive_bytes, read_archive, write_archive
from saccade.files.attentive import attentive_from, attentive_parts
from saccade.files.format1 import upgrade
from saccade.files.learners import LEARNERS, learner_from, learner_parts
from saccade.version import __version__

__all__ = ["FORMAT", "load", "load_with", "model_bytes", "save", "save_with"]

FORMAT = 2


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file of arrays and JSON; an older file stays as it was until the new one is whole.

    Of the model behind an ``AttentiveClassifier`` the weights, the terms or the trees are kept: what is loaded can be
    read, certified anew and asked, but the model itself cannot be fitted again.

    Examples
    --------
    >>> import os, tempfile, saccade
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = saccade.Pegasos(random_state=0).fit(X / X.max(axis=0), y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saccade.save(model, os.path.join(folder, "model.saccade"))
    ...     os.listdir(folder)
    ['model.saccade']
    """
    save_with(model, path, None)


def save_with(model: Any, path: str | os.PathLike[str], state: dict[str, Any] | None) -> None:
    """Save a model together with the state of whoever made it."""
    write_archive(path, *_parts(model, state))


def model_bytes(model: Any) -> bytes:
    """Return what the file of a model holds: of the same model the same bytes."""
    return archive_bytes(*_parts(model, None))


def _parts(model: Any, state: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a fitted model."""
    name = type(model).__name__
    if type(model) is not LEARNERS.get(name, AttentiveClassifier):
        known = ", ".join([*LEARNERS, AttentiveClassifier.__name__])
        raise TypeError(f"{name} cannot be saved, only {known}. Make a fitted model one with saccade.attend.")
    check_is_fitted(model)
    header, arrays = attentive_parts(model) if isinstance(model, AttentiveClassifier) else learner_parts(model)
    if state is not None:
        header = {**header, "state": state}
    return {"format": FORMAT, "version": __version__, "class": name, **header}, arrays


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model that a file holds, with the same predictions to the last bit.

    The file is parsed and audited before anything is built, and no code in it is ever run. A file that is no model, or
    one of a later format, raises ``ModelFileError``, which is a ValueError.

    Examples
    --------
    >>> import os, tempfile, saccade
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = saccade.Pegasos(random_state=0).fit(X / X.max(axis=0), y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saccade.save(model, os.path.join(folder, "model.saccade"))
    ...     again = saccade.load(os.path.join(folder, "model.saccade"))
    >>> bool((again.coef_ == model.coef_).all())
    True
    """
    return load_with(path)[0]


def load_with(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any] | None]:
    """Load a model, and the state that was saved with it."""
    try:
        archive = _in_present_format(read_archive(path))
        name = archive.field("class", str)
        if name == AttentiveClassifier.__name__:
            return attentive_from(archive), archive.header.get("state")
        if name not in LEARNERS:
            raise ModelFileError(f"it holds a {name[:80]!r}, which this version of saccade does not know")
        return learner_from(archive, LEARNERS[name]), archive.header.get("state")
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: {error}.") from None


def _in_present_format(archive: Archive) -> Archive:
    version = archive.header.get("format")
    if type(version) is int and version == 1:
        return upgrade(archive)
    if type(version) is not int or version != FORMAT:
        raise ModelFileError(
            f"it has format {str(version)[:20]!r}, and this is saccade {__version__}, which reads formats 1 to {FORMAT}"
        )
    if DIGEST not in archive.header:
        raise ModelFileError("it lacks the SHA-256 that every file of its format has")
    return archive

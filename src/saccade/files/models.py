"""Save a model to one file, and load it: never by unpickling."""

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from saccade.attentive import AttentiveClassifier
from saccade.exceptions import ModelFileError
from saccade.files.archive import DIGEST, Archive, read_archive, write_archive
from saccade.files.attentive import attentive_from, attentive_parts
from saccade.files.learners import LEARNERS, learner_from, learner_parts
from saccade.version import __version__

__all__ = ["FORMAT", "load", "save"]

FORMAT = 1


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file of arrays and JSON; the file appears when it is complete.

    An ``AttentiveClassifier`` is saved with its plan, its certificate and the weights, terms or trees of its model; a
    learner with its weights and plans. Both predict and read as before when they are loaded, but cannot be fitted
    further. To go on training, save a learner like any estimator of scikit-learn.

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
    name = type(model).__name__
    if type(model) is not LEARNERS.get(name, AttentiveClassifier):
        known = ", ".join([*LEARNERS, AttentiveClassifier.__name__])
        raise TypeError(f"{name} cannot be saved, only {known}. Make a fitted model one with saccade.attend.")
    check_is_fitted(model)
    header, arrays = attentive_parts(model) if isinstance(model, AttentiveClassifier) else learner_parts(model)
    write_archive(path, {"format": FORMAT, "version": __version__, "class": name, **header}, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model that a file holds, with the same predictions to the last bit.

    The file is parsed and audited before anything is built, and no code in it is ever run. A file that is no model, or
    has another format, raises ``ModelFileError``, which is a ValueError.

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
    try:
        archive = _checked(read_archive(path))
        name = archive.field("class", str)
        if name == AttentiveClassifier.__name__:
            return attentive_from(archive)
        if name not in LEARNERS:
            raise ModelFileError(f"it holds a {name[:80]!r}, which this version of saccade does not know")
        return learner_from(archive, LEARNERS[name])
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: {error}.") from None


def _checked(archive: Archive) -> Archive:
    version = archive.header.get("format")
    if type(version) is not int or version != FORMAT:
        raise ModelFileError(
            f"it has format {str(version)[:20]!r}, but saccade {__version__} reads format {FORMAT}. Save the model "
            "again from the original estimator"
        )
    if DIGEST not in archive.header:
        raise ModelFileError("it lacks the SHA-256 that every file of its format has")
    return archive

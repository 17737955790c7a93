"""Additive models in files: a kind of model is a pair of functions, to a header and arrays, and back."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive
from saccade.files.terms import terms_from, terms_parts
from saccade.files.trees import trees_from, trees_parts
from saccade.models.additive import Additive
from saccade.models.linear import LinearModel
from saccade.models.tables.model import TermModel
from saccade.models.trees.model import TreeModel

__all__ = ["additive_from", "additive_parts"]

Arrays = dict[str, NDArray[Any]]


def _linear_parts(model: LinearModel) -> tuple[dict[str, Any], Arrays]:
    return {}, {"coef": model.coef, "intercept": model.intercept}


def _linear_from(archive: Archive, classes: NDArray[Any]) -> LinearModel:
    scores = 1 if classes.size == 2 else classes.size
    coef = archive.array("coef", np.float64, (scores, None))
    if coef.shape[1] == 0:
        raise ModelFileError("its model has no features")
    names = archive.names(coef.shape[1])
    columns = None if names is None else tuple(names)
    return LinearModel(coef, archive.array("intercept", np.float64, (scores,)), classes, columns)


# Each kind's class, and the functions that take it apart and make it again.
_KINDS: dict[str, tuple[type, Callable[[Any], tuple[dict[str, Any], Arrays]], Callable[..., Additive]]] = {
    "linear": (LinearModel, _linear_parts, _linear_from),
    "terms": (TermModel, terms_parts, terms_from),
    "trees": (TreeModel, trees_parts, trees_from),
}


def additive_parts(model: Additive) -> tuple[dict[str, Any], Arrays]:
    """Return what the header says of a model, and its arrays."""
    for name, (kind, parts, _) in _KINDS.items():
        if isinstance(model, kind):
            header, arrays = parts(model)
            return {"kind": name, **header}, arrays
    raise TypeError(f"A {type(model).__name__} cannot be saved yet, only {', '.join(_KINDS)} models.")


def additive_from(archive: Archive, classes: NDArray[Any]) -> Additive:
    """Return the additive model of a file."""
    kind = archive.field("kind", str)
    if kind not in _KINDS:
        raise ModelFileError(f"its model is of the kind {kind[:80]!r}, which this version of saccade does not know")
    return _KINDS[kind][2](archive, classes)

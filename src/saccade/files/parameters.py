"""Parameters of models as JSON, and back. Nothing is looked up by name but a short list of boundaries."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import ModelFileError
from saccade.planning.boundaries import Budget, Conditional, ConstantSTST, CurvedSTST, Full

__all__ = ["decode", "decode_labels", "encode", "encode_labels"]

BOUNDARIES = {kind.__name__: kind for kind in (Full, Budget, ConstantSTST, CurvedSTST, Conditional)}


def encode(name: str, value: Any) -> Any:
    """Return what JSON can hold."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if type(value) in BOUNDARIES.values():
        parameters = {key: encode(f"{name}__{key}", entry) for key, entry in value.get_params(deep=False).items()}
        return {"boundary": type(value).__name__, "parameters": parameters}
    if hasattr(value, "to_dict"):  # a pandas Series
        value = value.to_dict()
    if isinstance(value, dict) and all(isinstance(key, str | Real | np.bool_ | None) for key in value):
        return {"dict": [[encode(name, key), encode(name, entry)] for key, entry in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return {"list": [encode(name, entry) for entry in value]}
    raise TypeError(
        f"{name}={value!r} cannot be saved: only numbers, texts, lists, dicts and saccade's boundaries can. "
        f"Set it to one of these first, for example with set_params({name}=None)."
    )


def decode(name: str, value: Any) -> Any:
    """Return the parameter that was encoded."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case {"boundary": str(kind), "parameters": dict(parameters)} if kind in BOUNDARIES:
            try:
                return BOUNDARIES[kind](**{key: decode(name, entry) for key, entry in parameters.items()})
            except TypeError as error:
                raise ModelFileError(f"its {name} is not a {kind}: {error}") from error
        case {"dict": list(pairs)} if all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            keys = [decode(name, key) for key, _ in pairs]
            if all(isinstance(key, str | int | float | bool | None) for key in keys):
                return dict(zip(keys, (decode(name, entry) for _, entry in pairs), strict=True))
        case {"list": list(values)}:
            return [decode(name, entry) for entry in values]
    raise ModelFileError(f"its {name} is {str(value)[:80]!r}, which is nothing that this version of saccade knows")


def encode_labels(classes: NDArray[Any]) -> dict[str, Any]:
    if classes.dtype.kind not in "biufU" and not all(isinstance(label, str) for label in classes):
        raise TypeError(f"The classes {classes[:3].tolist()} … cannot be saved: only numbers and texts can.")
    if not _moderate(classes.tolist()):
        raise TypeError("The classes cannot be saved: one is a text of many thousand characters. Shorten it.")
    return {"dtype": classes.dtype.str, "labels": classes.tolist()}


def decode_labels(stored: Any) -> NDArray[Any]:
    match stored:
        case {"dtype": str(dtype), "labels": list(labels)} if len(dtype) < 12 and len(labels) > 1:
            try:
                kind = np.dtype(dtype)
                kinds = (str,) if kind.kind in "UO" else (bool,) if kind.kind == "b" else (int, float)
                right = kind.kind in "biufUO" and all(isinstance(label, kinds) for label in labels)
                if right and _moderate(labels):
                    classes = np.array(labels, dtype=_wide_enough(kind, labels) if kind.kind == "U" else kind)
                    finite = kind.kind != "f" or np.isfinite(classes).all()
                    if finite and np.array_equal(np.unique(classes), classes):  # each once, in their order
                        return classes
            except (TypeError, ValueError, OverflowError) as error:
                raise ModelFileError(f"its classes are no labels: {error}") from error
    raise ModelFileError(f"its classes are {str(stored)[:80]!r}")


def _wide_enough(kind: np.dtype[Any], labels: list[str]) -> str:
    """Return the type that texts had; where its width would cost much memory, or is too little, the widest text's."""
    longest, width = max(map(len, labels)), kind.itemsize // 4
    return f"U{width}" if longest <= width <= max(16 * longest, 250_000 // len(labels)) else f"U{max(longest, 1)}"


def _moderate(labels: list[Any]) -> bool:
    """Return whether labels as an array take little more memory than as a list."""
    lengths = [len(label) if isinstance(label, str) else 8 for label in labels]
    return max(lengths) * len(lengths) <= max(16 * sum(lengths), 250_000)

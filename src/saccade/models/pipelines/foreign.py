"""Steps that are used as they are: functions column by column, and any transformer of a single column."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import FunctionTransformer

from saccade.models.pipelines.features import Blocks, RefusedError, each
from saccade.models.tables.blocks import Foreign, Raw, expanded, mapped
from saccade.models.tables.maps import UFUNCS, Elementwise, Map

__all__ = ["STEPS", "single"]

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Apply:
    """A function of the user's own, for each feature by itself: it takes and returns (rows, 1)."""

    function: Callable[[Reals], Any]
    name: str
    width: int | None = None  # of what it returns where it takes one feature; None: one for one

    def __call__(self, features: Reals) -> Reals:
        made = [_dense(self.function(features[:, [j]])) for j in range(features.shape[1])]
        if any(part.ndim != 2 or part.shape[0] != features.shape[0] for part in made):
            raise TypeError(f"{self.name} does not return a row for each row, (rows, features).")
        return np.concatenate(made, axis=1)

    def __getitem__(self, places: NDArray[np.intp]) -> "Apply":
        return self


def function(step: FunctionTransformer, blocks: Blocks) -> Blocks:
    """Return features behind a function, which is taken to work on each by itself: labels are compared later."""
    if step.func is None:
        return list(blocks)
    name = getattr(step.func, "__name__", "")
    by_name = step.func is UFUNCS.get(name) and not step.kw_args
    applied: Map = Elementwise(name) if by_name else Apply(_called(step), repr(step))
    return each(blocks, lambda _, made: (mapped(made, applied), 1))


def _called(step: FunctionTransformer) -> Callable[[Reals], Any]:
    options = step.kw_args or {}
    return lambda features: step.func(features, **options)


def single(step: Any, blocks: Blocks) -> Blocks:
    """Return what a fitted transformer of a single column makes of it."""
    known = expanded(blocks)
    if len(known) != 1 or known[0].places.size != 1:
        raise RefusedError(
            step,
            "is not known to work column by column. If it does, pass it one column at a time, in a ColumnTransformer.",
        )
    width = _width(step)
    made = known[0].made
    if isinstance(made, Raw) and not made.replaced:
        foreign = Foreign(made.column, lambda values: _transformed(step, values), type(step).__name__, numeric=False)
        return each(blocks, lambda place, _: (foreign, width))
    return each(blocks, lambda place, one: (mapped(one, Apply(step.transform, repr(step), width)), width))


def _width(step: Any) -> int:
    try:
        return len(step.get_feature_names_out())
    except (AttributeError, ValueError, TypeError):
        raise RefusedError(
            step, "does not say how many features it makes. Give it the method get_feature_names_out."
        ) from None


def _transformed(step: Any, values: NDArray[Any]) -> Reals:
    names = getattr(step, "feature_names_in_", None)
    if names is None:
        return _dense(step.transform(values.reshape(-1, 1)))
    return _dense(step.transform(import_module("pandas").DataFrame({names[0]: values})))


def _dense(made: Any) -> Reals:
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)


STEPS: dict[type, Any] = {FunctionTransformer: function}

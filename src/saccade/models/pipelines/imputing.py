"""Steps that say what a missing value counts as, and where one is."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import MissingIndicator, SimpleImputer

from saccade.models.pipelines.features import Blocks, concatenated, each, taken
from saccade.models.tables.blocks import Lookup, Made, Raw, mapped
from saccade.models.tables.maps import Fill, Indicate
from saccade.reading.distinct import is_missing

__all__ = ["STEPS"]


def imputer(step: SimpleImputer, blocks: Blocks) -> Blocks:
    missing, filled = step.missing_values, step.statistics_

    def made_of(place: int, made: Made) -> tuple[Made, int]:
        return _filled(made, missing, filled[place]), 1

    parts = [each(blocks, made_of)]
    if not step.keep_empty_features:  # features without any value were dropped; None is one, and stays
        kept = [value is None or not is_missing(value) for value in np.asarray(filled).tolist()]
        parts = [taken(parts[0], np.flatnonzero(kept))]
    if step.add_indicator and step.indicator_ is not None:
        parts.append(indicator(step.indicator_, blocks))
    return concatenated(parts)


def indicator(step: MissingIndicator, blocks: Blocks) -> Blocks:
    shown = taken(blocks, np.asarray(step.features_))
    return each(shown, lambda _, made: (_indicated(made, step.missing_values), 1))


def _filled(made: Made, missing: Any, value: Any) -> Made:
    gone = None if is_missing(missing) else missing
    if isinstance(made, Raw):
        return replace(made, replaced=(*made.replaced, (gone, _plain(value))))
    number = np.nan if gone is None else float(gone)
    return mapped(made, Fill(number, np.array([float(value)])))


def _indicated(made: Made, missing: Any) -> Made:
    gone = None if is_missing(missing) else missing
    if not isinstance(made, Raw):
        return mapped(made, Indicate(np.nan if gone is None else float(gone)))
    known = _objects([] if gone is None else [gone])
    shown = [*(made.reads(value) for value in known.tolist()), _NOTHING, made.reads(None)]
    table = np.array([[float(_is_gone(value, gone))] for value in shown])
    return Lookup(made.column, known, table, np.zeros(len(shown), dtype=bool))


_NOTHING = object()  # any value that nothing is said of


def _is_gone(value: Any, gone: Any) -> bool:
    if value is _NOTHING or value is None or gone is None:
        return value is None and gone is None
    return bool(value == gone)


def _objects(values: list[Any]) -> NDArray[Any]:
    """Return an array of numbers, or of objects."""
    if values and all(isinstance(value, int | float) for value in values):
        return np.array(values)
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


STEPS: dict[type, Any] = {SimpleImputer: imputer, MissingIndicator: indicator}

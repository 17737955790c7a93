"""What a model asks of the columns of a data file."""

from dataclasses import replace
from typing import Any

import numpy as np

from saccade.data.batches import Wanted
from saccade.data.headers import MISSING_WORDS
from saccade.models.additive import Additive
from saccade.models.apart import take_apart
from saccade.models.coding import coder_of
from saccade.models.thresholds import step_inside

__all__ = ["additive_of", "demanded_by", "names_of", "wanted_by"]


def names_of(model: Any) -> list[str] | None:
    """Return the names of a model's features, where it knows them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and hasattr(model, "additive_"):
        names = model.additive_.columns
    while names is None and (model := step_inside(model)) is not None:  # a wrapper may know less than what it holds
        names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def additive_of(model: Any) -> Additive:
    """Return a model as a sum of parts: a certified one, a learner, or one that was loaded to be certified."""
    additive: Additive | None = getattr(model, "additive_", None)
    return take_apart(model) if additive is None else additive


def wanted_by(
    model: Any, target: str | None = None, header: bool | None = None, zero_based: bool | None = None
) -> Wanted:
    """Return what a model reads of a data file: its features by name, where it knows names.

    Where parts are no columns, these are the columns that any part asks for.
    """
    width, additive = getattr(model, "n_features_in_", None), additive_of(model)
    wanted = Wanted(target, names_of(model), width, header, zero_based)
    if additive.parts_are_columns:
        return wanted
    return replace(
        wanted,
        needed=additive.used.tolist() or None,  # a row of no columns cannot be counted
        others=False,
        missing_ok=frozenset(np.flatnonzero(additive.takes_missing).tolist()),
        coders={column: coder_of(categories, MISSING_WORDS) for column, categories in additive.categories.items()},
    )


def demanded_by(
    model: Any,
    target: str | None = None,
    header: bool | None = None,
    zero_based: bool | None = None,
    *,
    others: bool = False,
) -> Wanted:
    """Return what a model must find in every row: of a certified one, what its plan can ask for.

    ``others`` says whether the other features are read, too, where they are there. Where a missing value is a value all
    must be there then, for a full read without a column would be another. And so must they where a library of trees
    refuses missing values, wherever in a row.
    """
    wanted, plan = wanted_by(model, target, header, zero_based), getattr(model, "plan_", None)
    if plan is None:
        return replace(wanted, others=others)
    additive = additive_of(model)
    if additive.of_trees and not additive.takes_missing.all():
        return wanted
    if not additive.parts_are_columns:  # what is missing where it matters is seen when it is read
        wanted = replace(wanted, missing_ok=frozenset(range(additive.n_columns)))
    if others and additive.takes_missing.any():
        return wanted
    # A row of no columns cannot be counted.
    return replace(wanted, needed=additive.columns_of(plan.demanded).tolist() or None, others=others)

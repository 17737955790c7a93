"""Do a model and the rows go together, and does it, taken apart, give the labels that it gives itself?

Asked before anything is promised.
"""

import warnings
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from saccade.models.additive import Additive
from saccade.models.apart import ACCEPTED
from saccade.models.saved import SavedModel
from saccade.models.thresholds import innermost, step_inside
from saccade.reading.inputs import feature_names
from saccade.reading.plan import decided
from saccade.reading.tables import as_table, take_rows

__all__ = ["named_by", "own_codes", "own_labels", "selects_columns"]

Reals = NDArray[np.float64]
Codes = NDArray[np.intp]

# Two scores are tied where their difference is at most this share of what is summed in them, in absolute values:
# models sum in another order, and single precision rows in single precision.
TIED = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
# Rows whose scores are computed at once, in double precision.
BLOCK = 4096


class Summed(Protocol):
    """What is asked of a model that was taken apart."""

    @property
    def coef(self) -> Reals:
        """(scores, parts)."""

    @property
    def intercept(self) -> Reals:
        """(scores,)."""

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, in the order of the scores."""

    def check_own(self, X: Any, rows: NDArray[np.intp]) -> None:
        """Raise where the margins of X are not the model's own, if these are to be the same to the bit."""


def named_by(additive: Additive, X: Any) -> Additive:
    """Return the model with the names of X's columns where it knows none; raise where the two do not fit together."""
    if X.shape[1] != additive.n_columns:
        raise ValueError(
            f"The model was fitted on {additive.n_columns} features, but X has {X.shape[1]}. Pass rows of the same "
            "features."
        )
    given, taught = feature_names(X), additive.columns
    if given is None:
        return additive
    names = tuple(map(str, given))
    written = tuple(name.replace(" ", "_") for name in names)  # as LightGBM writes names down
    if taught is not None and taught not in (names, written):
        apart = next(k for k, name in enumerate(taught) if name not in (names[k], written[k]))
        raise ValueError(
            "The feature names should match those that the model was fitted on, in the same order: column "
            f"{apart} of X is {names[apart]!r}, not {taught[apart]!r}."
        )
    return additive.named(names)


def own_labels(
    model: Any,
    X: Any,
    rows: NDArray[np.intp],
    additive: Summed,
    values: NDArray[np.floating],
    full: Reals | None = None,
) -> Codes:
    """Return the labels that a model itself gives to some rows of X, as codes into its classes.

    ``values`` are the parts of these rows, and ``full`` their margins where these are known more exactly than as a sum
    of the parts. Raise where they speak for another label, and not because of a tie.
    """
    own = take_rows(X, rows)
    labels = own_codes(model, own, additive)
    additive.check_own(own, rows)
    if full is None:
        blocks = (values[start : start + BLOCK] for start in range(0, len(values), BLOCK))
        ours = np.concatenate([decided(_scores(additive, block)) for block in blocks])
    else:
        ours = decided(full)
    differ = np.flatnonzero(ours != labels).tolist()
    typical = np.abs(values[:BLOCK]).mean(axis=0, dtype=np.float64) if differ else np.zeros(values.shape[1])
    for k in differ:
        _check_tied(model, additive, int(rows[k]), values[k], typical, int(ours[k]), int(labels[k]))
    return labels


def _scores(additive: Summed, values: NDArray[np.floating]) -> Reals:
    scores: Reals = values @ additive.coef.T + additive.intercept
    return scores


def own_codes(model: Any, X: Any, additive: Summed) -> Codes:
    """Return the labels that a model itself predicts, as codes into its classes."""
    by_name = getattr(additive, "takes_objects", False) or selects_columns(model)
    with warnings.catch_warnings():  # whether rows and model know their columns by name has been seen to
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names", UserWarning)
        try:
            given = np.asarray(model.predict(_as_frame(model, X) if by_name else X))
        except TypeError:  # numbers that scikit-learn does not take from a table, such as decimals
            table = as_table(X)
            if table is None:
                raise
            given = np.asarray(model.predict(np.column_stack([table.column(j) for j in range(table.shape[1])])))
    if given.shape == (X.shape[0], 1):  # CatBoost's, of several classes
        given = given[:, 0]
    if given.shape != (X.shape[0],):
        raise TypeError(
            f"{_name(model)} gives {given.shape} labels to {X.shape[0]} rows: it was fitted on several targets "
            f"(multilabel). Fit a model for each target, and pass them one by one. Accepted are {ACCEPTED}."
        )
    code = {label: k for k, label in enumerate(additive.classes.tolist())}
    codes = np.array([code.get(label, -1) for label in given.tolist()], dtype=np.intp)
    if (codes < 0).any():
        raise TypeError(
            f"{_name(model)}.predict returns {given[codes < 0][0]!r}, which is none of its classes_. Accepted are "
            f"{ACCEPTED}."
        )
    return codes


def selects_columns(model: Any) -> bool:
    """Whether a step of a model takes its columns from a table, as ColumnTransformer does."""
    if hasattr(model, "transformers_"):
        return True
    if isinstance(model, Pipeline) and any(selects_columns(step) for _, step in model.steps[:-1]):
        return True
    inside = step_inside(model)
    return inside is not None and selects_columns(inside)


def _as_frame(model: Any, X: Any) -> Any:
    """Return a table as a data frame that scikit-learn's encoders take: they select columns of no Arrow table."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or isinstance(innermost(model), SavedModel):
        return X
    if frame.implementation.is_pandas():
        named = (nw.String, nw.Categorical, nw.Enum)
        return _without_na(X, [name for name, kind in frame.schema.items() if kind in named])
    if not frame.implementation.is_pyarrow():
        return X
    try:
        made = frame.to_pandas()
    except ImportError as missing:
        raise ModuleNotFoundError(
            "The model takes its columns from a pandas or polars table, and X is one of Arrow. Install "
            "pandas, so that its own labels can be compared.",
            name="pandas",
        ) from missing
    # As objects, as pandas reads texts where nothing else is said, with NaN for what is missing.
    texts = [name for name, kind in frame.schema.items() if not kind.is_numeric() and kind != nw.Boolean]
    return made.astype(dict.fromkeys(texts, object))


def _without_na(X: Any, named: list[str]) -> Any:
    """Return a data frame with NaN for pandas.NA, as Dask's texts have it, and which encoders take for a new value."""
    made = X.copy(deep=False)
    for name in named:
        column = X[name]
        held = column.cat.categories if hasattr(column, "cat") else column
        if not column.hasnans or getattr(held.dtype, "na_value", np.nan) is np.nan:
            continue
        if held is column:
            made[name] = column.to_numpy(dtype=object, na_value=np.nan)
        else:
            made[name] = column.cat.rename_categories(held.astype(object))
    return made


def _check_tied(
    model: Any, additive: Summed, row: int, values: NDArray[np.floating], typical: Reals, ours: int, own: int
) -> None:
    """Raise unless the two labels of a row have the same score but for rounding.

    ``typical`` are values as other rows have them: an intercept that is nearly zero may be the rest of sums like those.
    """
    coef, intercept = additive.coef, additive.intercept
    if coef.shape[0] == 1:
        weights, constant, sizes = coef[0], intercept[0], (coef[0], intercept[0])
    else:
        weights, constant = coef[ours] - coef[own], intercept[ours] - intercept[own]
        sizes = np.abs(coef[ours]) + np.abs(coef[own]), abs(intercept[ours]) + abs(intercept[own])
    lead = float(values @ weights + constant)
    summed = float(np.maximum(np.abs(values), typical) @ np.abs(sizes[0]) + abs(sizes[1]))
    if abs(lead) <= TIED[values.dtype] * summed:
        return
    label, other = additive.classes[[own, ours]].tolist()
    raise TypeError(
        f"{_name(model)} is not the sum that its weights make: row {row} of X is {label!r} for its own predict, and "
        f"{other!r} for its weights, by a margin of {abs(lead):.3g}. Does its class override predict, or does a "
        f"threshold go by probabilities that are no logistic function of the margin? Accepted are {ACCEPTED}."
    )


def _name(model: Any) -> str:
    return type(innermost(model)).__name__

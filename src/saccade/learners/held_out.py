"""Rows that certify a learner must be others than those that it learned from."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from saccade.learners.sketch import Hashes, RowSketch, hash_rows
from saccade.learners.tables import encoded_rows
from saccade.models.thresholds import step_inside
from saccade.reading.arrays import FLOATS_AND_BYTES, as_read_only
from saccade.reading.inputs import check_numbers, without_repeats
from saccade.reading.tables import take_rows

__all__ = ["refuse_training_rows", "sketch_of"]

# Rows that are converted at a time, to bound the memory.
BLOCK = 4096


def refuse_training_rows(model: Any, X: Any, rows: NDArray[np.intp]) -> None:
    """Raise a ValueError where some of these rows of X are among those that a learner of ours was fitted on.

    Models without a sketch of their training rows, such as those of other libraries, cannot be checked.
    """
    model, scalers = _opened(model)
    sketch = getattr(model, "_sketch", None)
    if not isinstance(sketch, RowSketch) or sketch.n_rows == 0:
        return
    blocks = (rows[start : start + BLOCK] for start in range(0, rows.size, BLOCK))
    encoded = getattr(model, "encoding_", None) is not None
    hashes = np.concatenate(
        [hash_rows(encoded_rows(model, take_rows(X, one))) if encoded else _hashes(X, one, scalers) for one in blocks]
    )
    if sketch.recognises(hashes):
        name, seen = type(model).__name__, int(np.isin(hashes, sketch.hashes).sum())
        raise ValueError(
            f"X has rows that {name} was fitted on: {seen:,} of the {rows.size:,} that were checked are among "
            f"{sketch.hashes.size:,} of its {sketch.n_rows:,} training rows, of which it keeps hashes. On training "
            "rows margins are clearer than on new ones, so that the certificate would not hold. Pass rows that were "
            f"held out: sklearn.model_selection.train_test_split before fit, AttentiveClassifier({name}()).fit(X, y), "
            "which splits by itself, or saccade fit --hold-out. Pass them as they come: without its duplicates a "
            "sample is another population."
        )


def sketch_of(model: Any) -> RowSketch | None:
    """Return the sketch of the rows that a model learned from, neither scaled nor encoded; None where it has none."""
    inner, scalers = _opened(model)
    sketch = getattr(inner, "_sketch", None)
    as_they_are = not scalers and getattr(inner, "encoding_", None) is None
    return sketch if isinstance(sketch, RowSketch) and sketch.n_rows and as_they_are else None


def _opened(model: Any) -> tuple[Any, list[Any]]:
    """Return the model that decides, out of its wrappers, and the steps of pipelines before it."""
    scalers: list[Any] = []
    while (inside := step_inside(model)) is not None:
        if isinstance(model, Pipeline):
            place = next(k for k, (_, step) in enumerate(model.steps) if step is inside)
            scalers += [step for _, step in model.steps[:place] if step not in (None, "passthrough")]
        model = inside
    return model, scalers


def _hashes(X: Any, rows: NDArray[np.intp], scalers: list[Any]) -> Hashes:
    """Return the hashes of rows as the learner saw them: scaled by the pipeline before it."""
    part = take_rows(X, rows)
    check_numbers(part)
    for scaler in scalers:
        with warnings.catch_warnings():
            # A table for a pipeline that knows no names, or the other way round: the columns have been compared.
            warnings.filterwarnings("ignore", message="X (has|does not have valid) feature names")
            part = scaler.transform(part)
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": FLOATS_AND_BYTES, "ensure_all_finite": False}
    rows = as_read_only(check_array(part, **options))
    return hash_rows(without_repeats(rows) if sp.issparse(rows) else rows)

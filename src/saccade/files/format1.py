"""Files of format 1, as saccade 0.1 wrote them, in the layout of format 2."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.files.archive import Archive

__all__ = ["upgrade"]

# What the entries of a learner's two arrays of numbers meant.
SCALARS = (
    *("scale", "intercept", "norm2", "total", "average_weight", "intercept_correction", "expected_0", "expected_1"),
    *("weight_sum", "width_0", "width_1", "important_share", "multiplier", "factor_0", "factor_1"),
)
COUNTERS = (
    *("step", "changes", "next_reorder", "reorders", "tracked", "n_examples", "n_filtered", "n_updates", "n_read"),
    *("n_read_filtered", "n_audited", "n_important", "n_missed"),
)
RENAMED = {
    "plan.coef": "coef",
    "plan.offset": "intercept",
    "regression.spread": "regression.score_covariance",
    "near": "partial_square",
    "cross": "partial_product",
    "debt": "correction",
    "stand_in": "neutral",
}
# The weights stood in a file twice.
DROPPED = {"linear.coef", "linear.intercept"}


def upgrade(old: Archive) -> Archive:
    """Return what a file of format 1 holds as format 2 has it; what does not fit is found when it is asked for."""
    arrays = {RENAMED.get(name, name): array for name, array in old.arrays.items() if name not in DROPPED}
    for name, entries in (("real", SCALARS), ("whole", COUNTERS)):
        array = arrays.pop(name, None)
        if array is not None and array.ndim == 2 and array.shape[1] == len(entries):
            arrays |= {entry: np.ascontiguousarray(array[:, k]) for k, entry in enumerate(entries)}
    if "plan.shift" in arrays:
        _separate_thresholds(arrays)
    return Archive({**old.header, "kind": "linear"}, arrays)


def _separate_thresholds(arrays: dict[str, NDArray[Any]]) -> None:
    """Give every score thresholds of its own, where one row stood for all."""
    shape = arrays["plan.shift"].shape
    for name in ("plan.lower", "plan.upper"):
        array = arrays.get(name)
        if array is not None and len(shape) == 2 and array.shape == shape[1:]:
            unused = name == "plan.lower" and shape[0] > 1
            arrays[name] = np.full(shape, -np.inf) if unused else np.tile(array, (shape[0], 1))

"""Plans in model files: every index is checked, because readers trust their plans."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive
from saccade.reading.plan import Plan

__all__ = ["plan_from", "plan_parts"]

# The other fields of a plan follow from the model.
KEPT = ("order", "checkpoints", "first", "begins", "weights", "shift", "lower", "upper")


def plan_parts(plan: Plan, prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a plan by name."""
    return {f"{prefix}.{name}": getattr(plan, name) for name in KEPT}


def plan_from(archive: Archive, prefix: str, model: Plan) -> Plan:
    """Return the plan of a file for a model, which is given as the plan that reads all of its parts."""
    scores, n = model.coef.shape
    order = archive.array(f"{prefix}.order", np.uint32, (None,))
    stops = archive.array(f"{prefix}.checkpoints", np.int64, (None,))
    first = archive.array(f"{prefix}.first", np.int64, stops.shape)
    begins = archive.array(f"{prefix}.begins", np.int64, stops.shape)
    weighed = np.append(0, np.cumsum(stops - first)) if _ascends(stops, order.size) else np.zeros(1, dtype=np.int64)
    before = np.append(0, stops[:-1])[: stops.size]
    weights = archive.array(f"{prefix}.weights", np.float64, (scores, None))
    possible = (
        order.size <= n
        and (order < n).all()
        and _ascends(stops, order.size)
        and ((first == 0) | (first == before)).all()
        and np.array_equal(begins, weighed[:-1])
        and weights.shape[1] >= weighed[-1]
    )
    if not possible:
        raise ModelFileError("its plan is impossible")
    return model._replace(
        order=order,
        checkpoints=stops,
        first=first,
        begins=begins,
        weights=weights,
        shift=archive.array(f"{prefix}.shift", np.float64, (scores, stops.size)),
        lower=archive.array(f"{prefix}.lower", np.float64, (scores, stops.size), finite=False),
        upper=archive.array(f"{prefix}.upper", np.float64, (scores, stops.size), finite=False),
    )


def _ascends(stops: NDArray[np.int64], last: int) -> bool:
    inside = ((stops >= 1) & (stops <= last)).all()  # first of all: differences of what is not inside may wrap around
    return bool(inside and (np.diff(stops) > 0).all())

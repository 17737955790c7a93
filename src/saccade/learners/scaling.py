"""Learning in standardised columns, by a learner whose weights and plans are those of the columns as they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.reading.plan import Plan

__all__ = ["Scaling"]

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scaling:
    """What a learner sees of x: z = (x - centre) / unit.

    So b + Σ w_j z_j = (b - Σ w_j centre_j / unit_j) + Σ (w_j / unit_j) x_j.
    """

    centre: Reals  # (n,) zeros where rows are sparse, and stay so
    unit: Reals  # (n,) above 0

    def apply(self, X: Any) -> Any:
        """Return rows as the learner sees them: float32 stays float32, all else becomes float64."""
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        if sp.issparse(X) and not self.centre.any():
            data = (X.data / self.unit[X.indices]).astype(dtype)
            return type(X)((data, X.indices, X.indptr), shape=X.shape)
        dense = X.toarray() if sp.issparse(X) else X
        return ((dense - self.centre) / self.unit).astype(dtype, copy=False)

    def raw_weights(self, coef: Reals, intercept: float) -> tuple[Reals, float]:
        """Return weights and intercept for rows as they are."""
        raw = coef / self.unit
        return raw, float(intercept - raw @ self.centre)

    def raw_plan(self, plan: Plan) -> Plan:
        """Return the plan that stops on rows as they are where ``plan`` stops on scaled ones."""
        weights, shift = plan.weights.copy(), plan.shift.copy()
        for k, (first, end, begin) in enumerate(zip(plan.first, plan.checkpoints, plan.begins, strict=True)):
            features = plan.order[first:end]
            weighed = slice(begin, begin + end - first)
            weights[:, weighed] /= self.unit[features]
            shift[:, k] -= weights[:, weighed] @ self.centre[features]
        coef = plan.coef / self.unit
        return plan._replace(weights=weights, shift=shift, coef=coef, intercept=plan.intercept - coef @ self.centre)

"""The training path of a binary learner: its state, a pass over rows, what it has learned."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.kernels import state as codes
from saccade.kernels.audit import FIRST_MULTIPLIER, FIRST_SHARE, FIRST_WIDTH
from saccade.kernels.reordering import reorder
from saccade.kernels.state import Law, Settings, State
from saccade.kernels.thresholds import FEWEST_EXAMPLES
from saccade.kernels.training import train_dense, train_sparse
from saccade.learners.scaling import Scaling
from saccade.planning.boundaries import Boundary
from saccade.planning.orders import CODES
from saccade.planning.stst import Moments, checkpoints, plan_prediction
from saccade.reading.inputs import Rows
from saccade.reading.plan import Plan

__all__ = ["OnlineLearner", "UpdateRule", "new_learner"]

# While learning, checkpoints grow apart by this factor. An audited walk in sorted order that has read this share of a
# row has touched most of its memory, and what it might still save costs more time than to read the row to its end.
GROWTH = 1.5
LONGEST_WALK = 0.5


@dataclass(frozen=True)
class UpdateRule:
    """How a learner learns from an example: what tells Pegasos, Perceptron and Passive-Aggressive apart."""

    code: int
    strength: float  # lambda of Pegasos, C of Passive-Aggressive
    theta: float  # margins below this are worth an update
    project: bool = False


@dataclass(frozen=True)
class OnlineLearner:
    """One binary learner. The state is changed in place by ``learn``; ``copy`` before where a failure may undo it."""

    boundary: Boundary
    order: str
    settings: Settings
    checkpoints: NDArray[np.int64]
    state: State
    only_reject: bool  # in predictions, among several one-vs-rest learners
    scaling: Scaling | None = None  # of the rows that it learns from; its weights and its plan are for rows as they are

    def copy(self) -> "OnlineLearner":
        state = State._make(array.copy() for array in self.state)
        return replace(self, state=state)

    def learn(
        self, X: Rows, labels: NDArray[np.integer], positive: int, rows: NDArray[np.uint32], weight: NDArray[np.float64]
    ) -> int:
        """Learn from the given rows in turn, the positive class against the others.

        Return -1, or the row that is not finite.
        """
        target = (labels == positive).astype(np.int8)
        n = X.shape[1]
        kind = self.state.weights.dtype
        buffer = np.zeros(n if self.settings.limit < n else 0, kind)
        rest = (target, rows, weight, self.checkpoints, self.state, self.settings, buffer)
        if sp.issparse(X):
            return int(train_sparse(X.data, X.indices, X.indptr, np.zeros((1, n), kind), *rest))
        return int(train_dense(X, *rest))

    @property
    def counters(self) -> NDArray[np.int64]:
        return self.state.counters

    @property
    def factors(self) -> NDArray[np.float64]:
        """By what the cushions of the two classes are multiplied: 1 without an audit."""
        factors = np.array([self.state.scalars[codes.FACTOR_0], self.state.scalars[codes.FACTOR_1]])
        widths = np.array([self.state.scalars[codes.WIDTH_0], self.state.scalars[codes.WIDTH_1]])
        return factors * widths if self.settings.regress else factors

    def weights(self) -> tuple[NDArray[np.float64], float]:
        """Return weights and intercept for rows as they are."""
        return self._weights() if self.scaling is None else self.scaling.raw_weights(*self._weights())

    def _weights(self) -> tuple[NDArray[np.float64], float]:
        """Return the weights and the intercept: averaged over the steps, or those after the last one."""
        scalars = self.state.scalars
        weights = self.state.weights.astype(np.float64)
        intercept = scalars[codes.INTERCEPT]
        if not self.settings.average or scalars[codes.AVERAGE_WEIGHT] == 0:
            return scalars[codes.SCALE] * weights, float(scalars[codes.SCALE] * intercept)
        total, weight = scalars[codes.TOTAL], scalars[codes.AVERAGE_WEIGHT]
        return (total * weights - self.state.correction) / weight, float(
            (total * intercept - scalars[codes.INTERCEPT_CORRECTION]) / weight
        )

    def moments(self) -> Moments:
        fewest = FEWEST_EXAMPLES if self.settings.audit > 0 else 1
        known = self.state.counts.max(axis=1, initial=0) >= fewest
        return Moments(known, self.state.mean.astype(np.float64), self.state.var.astype(np.float64))

    def go_on_from(self, old: "OnlineLearner") -> "OnlineLearner":
        """Return this learner with what an older one has learned, or raise where the two do not fit together."""
        if _what_is_kept(self.settings) != _what_is_kept(old.settings):
            raise ValueError(
                "Learning cannot go on with this boundary, order, average, fit_intercept or audit: they keep other "
                "things than what has been learned so far. Set them back, or fit anew."
            )
        return replace(self, state=old.copy().state)

    @cached_property
    def plan(self) -> Plan:
        """The plan for predictions with what has been learned. Built lazily."""
        coef, intercept = self._weights()
        factors = np.maximum(1.0, self.factors)
        plan = plan_prediction(
            coef,
            intercept,
            self.boundary,
            self.order,
            self.moments(),
            factors,
            self.settings.seed,
            only_reject=self.only_reject,
        )
        return plan if self.scaling is None else self.scaling.raw_plan(plan)


def new_learner(
    n_features: int,
    dtype: np.dtype[np.floating],
    boundary: Boundary,
    order: str,
    rule: UpdateRule,
    *,
    fit_intercept: bool,
    average: bool,
    audit: float,
    seed: int,
    only_reject: bool,
    scaling: Scaling | None = None,
) -> OnlineLearner:
    """Return a learner that has seen nothing."""
    law = boundary.law(rule.theta)
    limit = boundary.limit(n_features)
    settings = Settings(
        rule=rule.code,
        order=CODES[order] if law is not None or limit < n_features else codes.NATURAL,
        strength=float(rule.strength),
        law=law or Law(float(rule.theta), 0, 0.0, 0.0, 0.0, codes.TOTAL_VARIANCE),
        delta=float(getattr(boundary, "delta", 0.0)),
        limit=limit,
        attentive=int(law is not None),
        regress=int(
            law is not None and audit > 0 and law.grows_with == codes.REST_VARIANCE and CODES[order] < codes.SAMPLED
        ),
        intercept=int(fit_intercept),
        average=int(average),
        project=int(rule.project),
        audit=float(audit) if law is not None else 0.0,
        seed=seed,
    )
    longest = LONGEST_WALK if settings.regress and settings.order == codes.SORTED else 1.0
    where = checkpoints(int(longest * n_features) if law is not None else 0, GROWTH)
    state = _new_state(n_features, dtype, settings, where)
    if settings.order not in (codes.NATURAL, codes.SORTED):  # which begin in natural order anyway
        reorder(state, settings)
        state.counters[codes.NEXT_REORDER] = 0
    return OnlineLearner(boundary, order, settings, where, state, only_reject, scaling)


def _what_is_kept(settings: Settings) -> tuple[object, ...]:
    """Return what the meaning of a learner's state depends on."""
    law = settings.law
    return (
        *(settings.order, settings.limit, settings.attentive, settings.regress, settings.audit > 0),
        *(settings.intercept, settings.average, law.theta, law.centred, law.grows_with),
    )


def _new_state(n: int, dtype: np.dtype[np.floating], settings: Settings, where: NDArray[np.int64]) -> State:
    def zeros(*shape: int) -> NDArray[np.floating]:
        return np.zeros(shape, dtype)

    moments = n if settings.attentive else 0
    scalars = np.zeros(codes.SCALARS_SIZE)
    scalars[codes.SCALE] = 1.0
    scalars[codes.MULTIPLIER], scalars[codes.IMPORTANT_SHARE] = FIRST_MULTIPLIER, FIRST_SHARE
    width = 1.0 if settings.law.grows_with == codes.REST_SQUARED_WEIGHTS else FIRST_WIDTH
    scalars[codes.WIDTH_0] = scalars[codes.WIDTH_1] = width
    first = FIRST_MULTIPLIER * (1.0 if settings.regress else width)
    scalars[codes.FACTOR_0] = scalars[codes.FACTOR_1] = first if settings.audit > 0 else 1.0
    counters = np.zeros(codes.COUNTERS_SIZE, dtype=np.int64)
    counters[codes.STEP] = 1
    explained = np.array([width**2 * where / n] * 2)  # until it is measured: as if features were alike and independent
    ones = settings.law.grows_with == codes.REST_SQUARED_WEIGHTS
    return State(
        order=np.arange(n, dtype=np.uint32),
        ratio=zeros(n if settings.order >= codes.SAMPLED else 0),
        weights=zeros(n),
        correction=zeros(n if settings.average else 0),
        counts=zeros(2, moments),
        mean=zeros(2, moments),
        var=zeros(2, moments),
        neutral=np.full((2, moments), float(ones), dtype),
        cushion=np.full((2, where.size), np.inf),
        slope=np.ones((2, where.size)),
        partial_square=explained,
        partial_product=explained.copy(),
        path=np.zeros(where.size),
        work_real=np.zeros(n if settings.order >= codes.SORTED else 0),
        work_whole=np.zeros(n + codes.BUCKETS + 1, dtype=np.int64),
        scalars=scalars,
        counters=counters,
    )

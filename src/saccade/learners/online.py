"""A binary learner: its state, how it begins, what it has learned."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from saccade.kernels import state as codes
from saccade.kernels.audit import FIRST_MULTIPLIER, FIRST_SHARE, FIRST_WIDTH, SCATTERED, rarity
from saccade.kernels.state import Law, Settings, State, Walk
from saccade.kernels.walks import FEWEST_EXAMPLES, reorder
from saccade.planning.boundaries import Boundary, as_numbers
from saccade.planning.orders import CODES
from saccade.planning.stst import Moments, checkpoints, plan_prediction
from saccade.reading.plan import Plan

__all__ = ["OnlineLearner", "UpdateRule", "new_learner"]

# While learning, checkpoints grow apart by this factor. An audited walk in sorted order that has read this share of a
# row has touched most of its memory, and what it might still save costs more time than to read the row to its end.
GROWTH = 1.5
LONGEST_WALK = 0.5
# Where time is to be saved, a walk can pay only in rows that take as long to read as this many scattered features.
FEWEST_SCATTERED = 32
# The share of examples that teach moments and walks where these are to cost no time, and what is added at step t.
TIMED_TEACHING, TIMED_WARM_UP = 1 / 512, 2.0
# The same where features are to be saved: as many as are audited, and more while t is small, for moments and multiplier
# to settle early.
WARM_UP = 60.0


@dataclass(frozen=True)
class UpdateRule:
    """How a learner learns from an example: what tells Pegasos, Perceptron and Passive-Aggressive apart."""

    code: int
    strength: float  # lambda of Pegasos, C of Passive-Aggressive, the rate of exponentiated gradients
    theta: float  # margins below this are worth an update
    project: bool = False
    delay: float = 0.0  # what is added to the number of a step in the schedule of Pegasos
    radius: float = 0.0  # the sum of the magnitudes of exponentiated weights


@dataclass(frozen=True)
class OnlineLearner:
    """One binary learner. Its arrays are changed in place; ``copy`` before where a failure may undo it."""

    boundary: Boundary
    order: str
    settings: Settings
    checkpoints: NDArray[np.int64]
    state: State
    walk: Walk
    only_reject: bool  # in predictions, among several one-vs-rest learners

    def copy(self) -> "OnlineLearner":
        return replace(self, state=self.copied_state(), walk=Walk._make(array.copy() for array in self.walk))

    def copied_state(self) -> State:
        return State._make(None if array is None else array.copy() for array in self.state)

    @property
    def counters(self) -> NDArray[np.int64]:
        return self.state.counters

    @property
    def factors(self) -> NDArray[np.float64]:
        """By what the cushions of the two classes are multiplied: 1 without an audit."""
        factors = self.state.scalars[[codes.FACTOR_0, codes.FACTOR_1]]
        widths = self.state.scalars[[codes.WIDTH_0, codes.WIDTH_1]]
        if self.settings.fair and not self.settings.walks:  # the multiplier is the memory's alone
            return np.asarray(widths * rarity(self.state.scalars, self.settings))
        return np.asarray(factors * widths if self.settings.regress else factors)

    def weights(self) -> tuple[NDArray[np.float64], float]:
        """Return the weights and the intercept: averaged over the steps, or those after the last one."""
        scalars = self.state.scalars
        weights = self.state.weights.astype(np.float64)
        intercept = scalars[codes.INTERCEPT]
        if not self.settings.average or scalars[codes.AVERAGE_WEIGHT] == 0:
            return scalars[codes.SCALE] * weights, float(scalars[codes.SCALE] * intercept)
        total, weight = scalars[codes.TOTAL], scalars[codes.AVERAGE_WEIGHT]
        weights *= total  # in place: new pages for 50,000 weights cost more than the sums
        weights -= self.state.correction
        weights /= weight
        return weights, float((total * intercept - scalars[codes.INTERCEPT_CORRECTION]) / weight)

    def moments(self) -> Moments:
        fewest = FEWEST_EXAMPLES if self.settings.fair else 1
        known = self.walk.counts.max(axis=1, initial=0) >= fewest
        return Moments(known, self.walk.mean.astype(np.float64), self.walk.var.astype(np.float64))

    def go_on_from(self, old: "OnlineLearner") -> "OnlineLearner":
        """Return this learner with what an older one has learned, or raise where the two do not fit together."""
        if _what_is_kept(self.settings) != _what_is_kept(old.settings):
            raise ValueError(
                "Learning cannot go on with this boundary, order, average, fit_intercept, audit or cost: they keep "
                "other things than what has been learned so far. Set them back, or fit anew."
            )
        kept = old.copy()
        return replace(self, state=kept.state, walk=kept.walk)

    @cached_property
    def plan(self) -> Plan:
        """The plan for predictions with what has been learned. Built lazily."""
        coef, intercept = self.weights()
        factors = np.maximum(1.0, self.factors)
        return plan_prediction(
            coef,
            intercept,
            self.boundary,
            self.order,
            self.moments(),
            factors,
            self.settings.seed,
            only_reject=self.only_reject,
        )


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
    cost: str,
    seed: int,
    only_reject: bool,
) -> OnlineLearner:
    """Return a learner that has seen nothing."""
    law, limit = as_numbers(boundary, rule.theta, n_features)
    attentive, timed = law is not None, cost == "time"
    walks = attentive and (not timed or n_features > SCATTERED * FEWEST_SCATTERED)
    fair = attentive and (timed or audit > 0)
    settings = Settings(
        rule=rule.code,
        order=CODES[order] if attentive or limit < n_features else codes.NATURAL,
        strength=float(rule.strength),
        delay=float(rule.delay),
        radius=float(rule.radius),
        law=law or Law(float(rule.theta), 0, 0.0, 0.0, 0.0, codes.TOTAL_VARIANCE),
        delta=float(getattr(boundary, "delta", 0.0)),
        limit=limit,
        attentive=int(attentive),
        walks=int(walks),
        always=int(not timed),
        regress=int(
            law is not None
            and walks
            and fair
            and law.grows_with == codes.REST_VARIANCE
            and CODES[order] < codes.SAMPLED
        ),
        intercept=int(fit_intercept),
        average=int(average),
        project=int(rule.project),
        audit=float(audit) if attentive else 0.0,
        fair=int(fair),
        teach=TIMED_TEACHING if timed else float(audit),
        warm_up=TIMED_WARM_UP if timed else WARM_UP,
        seed=seed,
    )
    longest = n_features if walks else 0
    if walks and timed:
        longest = n_features // SCATTERED
    elif settings.regress and settings.order == codes.SORTED:
        longest = int(LONGEST_WALK * n_features)
    where = checkpoints(longest, GROWTH)
    state, walk = _new_state(n_features, dtype, settings), _new_walk(n_features, dtype, settings, where)
    if settings.order not in (codes.NATURAL, codes.SORTED):  # which begin in natural order anyway
        reorder(state, walk, settings)
        state.counters[codes.NEXT_REORDER] = 0
    return OnlineLearner(boundary, order, settings, where, state, walk, only_reject)


def _what_is_kept(settings: Settings) -> tuple[object, ...]:
    """Return what the meaning of a learner's state depends on."""
    law = settings.law
    return (
        *(settings.order, settings.limit, settings.attentive, settings.walks, settings.always, settings.regress),
        *(settings.fair, settings.intercept, settings.average, law.theta, law.centred, law.grows_with),
    )


def _new_state(n: int, dtype: np.dtype[np.floating], settings: Settings) -> State:
    exponentiated = settings.rule == codes.EXPONENTIATED
    scalars = np.zeros(codes.SCALARS_SIZE)
    scalars[codes.MASS] = 2.0 * (n + settings.intercept)
    scalars[codes.SCALE] = settings.radius / scalars[codes.MASS] if exponentiated else 1.0
    scalars[codes.MULTIPLIER], scalars[codes.IMPORTANT_SHARE] = FIRST_MULTIPLIER, FIRST_SHARE
    width = _first_width(settings)
    scalars[codes.WIDTH_0] = scalars[codes.WIDTH_1] = width
    first = FIRST_MULTIPLIER * (1.0 if settings.regress else width)
    scalars[codes.FACTOR_0] = scalars[codes.FACTOR_1] = first if settings.fair else 1.0
    counters = np.zeros(codes.COUNTERS_SIZE, dtype=np.int64)
    counters[codes.STEP] = 1
    return State(
        weights=np.zeros(n, dtype),
        correction=np.zeros(n if settings.average else 0, dtype),
        potential=np.zeros(n, dtype) if exponentiated else None,
        scalars=scalars,
        counters=counters,
    )


def _new_walk(n: int, dtype: np.dtype[np.floating], settings: Settings, where: NDArray[np.int64]) -> Walk:
    def zeros(*shape: int) -> NDArray[np.floating]:
        return np.zeros(shape, dtype)

    moments = n if settings.attentive else 0
    # Until it is measured: as if features were alike and independent.
    explained = np.array([_first_width(settings) ** 2 * where / n] * 2)
    ones = settings.law.grows_with == codes.REST_SQUARED_WEIGHTS
    return Walk(
        order=np.arange(n, dtype=np.uint32),
        ratio=zeros(n if settings.order >= codes.SAMPLED else 0),
        counts=zeros(2, moments),
        mean=zeros(2, moments),
        var=zeros(2, moments),
        neutral=np.ones((2, moments), dtype) if ones else zeros(2, moments),
        cushion=np.full((2, where.size), np.inf),
        slope=np.ones((2, where.size)),
        partial_square=explained,
        partial_product=explained.copy(),
        path=np.zeros(where.size),
        work_real=np.zeros(n if settings.order >= codes.SORTED else 0),
        work_whole=np.zeros(n + codes.BUCKETS + 1, dtype=np.int64),
    )


def _first_width(settings: Settings) -> float:
    return 1.0 if settings.law.grows_with == codes.REST_SQUARED_WEIGHTS else FIRST_WIDTH

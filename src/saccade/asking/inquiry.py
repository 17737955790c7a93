"""One row whose features are asked for one after another, each at a price, until its label is clear.

The row is read by the same plan as any other, so its label is the one that ``predict`` gives for the same values, and
the certificate holds. Values that are known beforehand wait until the plan comes to them.

A feature that cannot be had is replaced by what is expected of it given those read before, and the plan demands clearer
margins (``absence.py``). The label stays certified where the calibration rows, read without that feature or that group
of features, kept the level. It does not where a value lies outside of what the rows that planned and calibrated have.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from saccade.planning.absence import Population, plan_without
from saccade.planning.prices import Feature, Prices, places_of, position_of
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["Inquiry", "Questions", "resume"]

Reals = NDArray[np.float64]
FORMAT = 1
# So many plans for rows that lack features are kept.
MOST_PLANS = 128
# How often the scores of several classes are drawn to see how sure a label is.
DRAWS = 2000


@dataclass(frozen=True)
class Questions:
    """What an inquiry goes by; the same for every row."""

    plan: Plan
    population: Population
    prices: Prices
    classes: NDArray[Any]
    names: tuple[str, ...] | None
    delta: float
    unpromised: frozenset[int] = frozenset()  # codes of classes of which the certificate promises nothing

    @cached_property
    def fingerprint(self) -> str:
        """Return what tells this plan from others."""
        digest = hashlib.sha256(repr((self.classes.tolist(), self.names)).encode())
        for values in self.plan:
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def stages(self) -> list[NDArray[np.intp]]:
        """Return the features that are new at each checkpoint, and at the end all others."""
        stages, seen = [], np.zeros(self.plan.n_features, dtype=bool)
        for end in self.plan.checkpoints:
            new = [feature for feature in dict.fromkeys(self.plan.order[:end].tolist()) if not seen[feature]]
            seen[new] = True
            stages.append(np.array(new, dtype=np.intp))
        return [*stages, np.flatnonzero(~seen & ~self.weightless)]

    @cached_property
    def weightless(self) -> NDArray[np.bool_]:
        """Return which features no checkpoint weighs and no score: nobody needs to know them."""
        return self.plan.weightless

    @cached_property
    def _places(self) -> dict[str, int]:
        return places_of(self.names)

    def position(self, feature: Any) -> int:
        """Return the index of a feature that is given by its name or by its index."""
        return position_of(feature, self.plan.n_features, self._places, "this inquiry")

    @cached_property
    def plan_without(self) -> Callable[[tuple[int, ...]], Plan]:
        """Return what gives the plan for a row that lacks some features; rows are often alike in what they lack."""

        def planned(absent: tuple[int, ...]) -> Plan:
            missing = np.isin(np.arange(self.plan.n_features), absent)
            return plan_without(self.plan, self.population, missing, self.delta)

        return lru_cache(MOST_PLANS)(planned)

    def feature(self, position: int) -> Feature:
        return int(position) if self.names is None else self.names[position]


@dataclass(frozen=True)
class _Decision:
    code: int
    margin: Reals  # (scores,)
    lacked: tuple[int, ...]  # features that were to be read and could not be had


class Inquiry:
    """A row that is asked for its features until its label is clear.

    Attributes
    ----------
    wanted : the feature that is asked for next, by name or index; None once the label is clear
    needed : all features that will be asked for before the row is looked at again, ``wanted`` first
    label : None until it is clear
    leaning : the label that the values so far speak for
    margin : the full model's margin as predicted so far; with several classes one per class
    confidence : the estimated probability that the full model gives the label leaned to
    certified : whether the label is clear and the certificate covers it, with the features that are missing
    outside : the values that lie outside of what was seen when the model was certified, by feature; with any of these
        the label is not certified
    asked : the features asked for so far
    spent : what they cost, but for those that could not be had

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from saccade import attend
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:200], y[:200])
    >>> inquiry = attend(model, X[200:], delta=0.1, calibration_size=0.5, random_state=0).inquire()
    >>> while inquiry.wanted is not None:
    ...     inquiry.tell(X.loc[0, inquiry.wanted])
    >>> int(inquiry.label), len(inquiry.asked) < 10
    (0, True)
    """

    def __init__(self, questions: Questions, known: Any = None) -> None:
        self._questions = questions
        n = questions.plan.n_features
        self._values = np.full(n, np.nan)
        self._missing = np.zeros(n, dtype=bool)
        self._asked: list[int] = []
        self._told: list[list[tuple[int, float | None]]] = []
        self._known: list[tuple[int, float | None]] = [] if known is None else self._checked(_without_gaps(known))
        undecided = questions.stages[0].size and not self._known  # as most inquiries begin: nothing to compute
        self._decision = None if undecided else self._taken(self._known)

    @property
    def needed(self) -> tuple[Feature, ...]:
        return tuple(self._questions.feature(position) for position in self._needed())

    @property
    def wanted(self) -> Feature | None:
        return next(iter(self.needed), None)

    @property
    def purchases(self) -> tuple[Feature, ...]:
        """Return, of what is needed, one feature for each purchase: the others come with it, or are needed next."""
        first: dict[int, Feature] = {}
        for position in self._needed():
            first.setdefault(int(self._questions.prices.purchase[position]), self._questions.feature(position))
        return tuple(first.values())

    @property
    def asked(self) -> tuple[Feature, ...]:
        return tuple(self._questions.feature(position) for position in self._asked)

    @property
    def spent(self) -> float:
        return self._questions.prices.total([position for position in self._asked if not self._missing[position]])

    @property
    def label(self) -> Any:
        return None if self._decision is None else self._questions.classes[self._decision.code]

    @property
    def leaning(self) -> Any:
        return self._questions.classes[self._leaning()]

    @property
    def margin(self) -> float | Reals:
        margin = self._estimate()[0] if self._decision is None else self._decision.margin
        return float(margin[0]) if margin.size == 1 else margin

    @property
    def outside(self) -> dict[Feature, float]:
        population = self._questions.population
        beyond = (self._values < population.low) | (self._values > population.high)  # NaN, not known, is neither
        return {self._questions.feature(j): float(self._values[j]) for j in np.flatnonzero(beyond).tolist()}

    @property
    def certified(self) -> bool:
        if self._decision is None or self.outside or self._decision.code in self._questions.unpromised:
            return False
        return not self._decision.lacked or self._decision.lacked in self._questions.population.spare

    @property
    def confidence(self) -> float:
        if not (self._open() & ~self._questions.weightless).any() and not self._missing.any():
            return 1.0
        mean, covariance = self._estimate()
        code = self._leaning()
        if mean.size == 1:
            towards = mean[0] if code else -mean[0]
            return float(ndtr(towards / np.sqrt(max(covariance[0, 0], 1e-300))))
        values, vectors = np.linalg.eigh(covariance)
        normal = np.random.default_rng(0).standard_normal((DRAWS, mean.size))  # always the same draws
        drawn = mean + normal @ (vectors * np.sqrt(np.maximum(values, 0))).T
        return float(np.mean(decided(drawn) == code))

    def tell(self, value: float | None) -> None:
        """Tell the value of the feature that is wanted; None where it cannot be had."""
        if self.wanted is None:
            self._refuse_more()
        self.tell_many({self.wanted: value})

    def tell_many(self, values: Mapping[Feature, float | None]) -> None:
        """Tell several values. Those that were not asked for yet cost nothing, and are used when their turn comes."""
        if self._decision is not None:
            self._refuse_more()
        told, needed = self._checked(values), set(self._needed())
        self._decision = self._taken(told)
        self._told += [told] if told else []
        self._asked += [position for position, _ in told if position in needed]

    def take_back(self) -> tuple[Feature, ...]:
        """Take back the last answer, or those that were told together, and return their features.

        What was known beforehand stays. A label that had become clear is open again.
        """
        if not self._told:
            raise ValueError("No answer is left that could be taken back.")
        positions = [position for position, _ in self._told.pop()]
        self._values[positions], self._missing[positions], self._decision = np.nan, False, None
        self._asked = [position for position in self._asked if position not in positions]
        return tuple(self._questions.feature(position) for position in positions)

    def new_in(self, record: Mapping[Any, Any]) -> dict[Feature, Any]:
        """Return what a record brings that is not known yet, and of what is not needed yet only numbers."""
        still_open, needed = self._open(), set(self._needed())
        new = {}
        for position in np.flatnonzero(still_open).tolist():
            feature = self._questions.feature(position)
            if feature in record and (position in needed or _is_finite(record[feature])):
                new[feature] = record[feature]
        return new

    def to_json(self) -> str:
        """Return everything that was told, as JSON from which ``AttentiveClassifier.resume`` goes on."""
        prices = self._questions.prices
        return json.dumps(
            {
                "saccade inquiry": FORMAT,
                "plan": self._questions.fingerprint,
                "known": self._known,
                "told": self._told,
                "purchase": prices.purchase.tolist(),
                "price": prices.price.tolist(),
            }
        )

    def __repr__(self) -> str:
        state = f"wanted={self.wanted!r}" if self._decision is None else f"label={self.label}"
        return f"Inquiry({state}, asked={len(self._asked)}, spent={self.spent:g})"

    def _refuse_more(self) -> NoReturn:
        raise ValueError(f"The label is clear, {self.label!r}: nothing more is asked for. Begin a new inquiry.")

    def _checked(self, values: Mapping[Feature, Any]) -> list[tuple[int, float | None]]:
        """Return positions and numbers, or raise before anything has changed."""
        if not isinstance(values, Mapping):
            raise TypeError(f"Expected a dict of feature to value; got {type(values).__name__}.")
        told: list[tuple[int, float | None]] = []
        seen: set[int] = set()
        for feature, value in values.items():
            position = self._questions.position(feature)
            if self._missing[position] or not math.isnan(self._values[position]) or position in seen:
                raise ValueError(f"{feature!r} has been told already. An inquiry takes one value for each feature.")
            seen.add(position)
            if value is not None and not isinstance(value, Real | np.bool_):
                raise TypeError(f"{feature!r}: expected a number, or None where it cannot be had; got {value!r}.")
            if value is not None and not _is_finite(value):
                raise ValueError(f"{feature!r} is not finite. Tell a finite number, or None where it cannot be had.")
            told.append((position, None if value is None else float(value)))
        return told

    def _taken(self, told: list[tuple[int, float | None]]) -> "_Decision | None":
        """Write down what was told and return what follows from it; or raise, and nothing was told."""
        before = self._values.copy(), self._missing.copy()
        for position, value in told:
            if value is None:
                self._missing[position] = True
            else:
                self._values[position] = value
        decision = self._decide()
        if decision is None and not any(self._open()[stage].any() for stage in self._questions.stages):
            self._values, self._missing = before
            raise ValueError("The margin overflows although the values are finite. Nothing was taken: are they right?")
        return decision

    def _open(self) -> NDArray[np.bool_]:
        """Return which features have neither a value nor the mark that they cannot be had."""
        still_open: NDArray[np.bool_] = np.isnan(self._values) & ~self._missing
        return still_open

    def _needed(self) -> list[int]:
        if self._decision is not None:
            return []
        still_open = self._open()
        needed = (stage[still_open[stage]] for stage in self._questions.stages)
        return next(positions.tolist() for positions in needed if positions.size)

    def _decide(self) -> _Decision | None:
        if self._open()[self._questions.stages[0]].any():
            return None
        questions, absent = self._questions, tuple(np.flatnonzero(self._missing).tolist())
        # What is unknown is NaN, and a sum that contains it decides nothing: so this is the reader's own decision.
        unweighed = self._missing | (questions.weightless & np.isnan(self._values))
        plan = questions.plan_without(absent) if absent else questions.plan
        values = np.where(unweighed, 0.0, self._values)
        margin, n_read, stopped, bad = read_plan(plan, ArraySource(values[None]))
        if bad >= 0:
            return None
        read = set(plan.order[: n_read[0]].tolist()) if stopped[0] else set(range(plan.n_features))
        lacked = tuple(position for position in absent if position in read)
        return _Decision(int(decided(margin)[0]), margin[0], lacked)

    def _estimate(self) -> tuple[Reals, Reals]:
        """Return mean and covariance of the full scores given the known values, under a normal law."""
        regression = self._questions.population.regression
        known = np.flatnonzero(~np.isnan(self._values[regression.order]))
        mean, covariance = regression.given(known, self._values[regression.order[known]])
        return mean + self._questions.plan.intercept, covariance

    def _leaning(self) -> int:
        return int(decided(self._estimate()[0][None])[0]) if self._decision is None else self._decision.code


def _without_gaps(known: Any) -> Any:
    """Return what a pandas Series knows as a dict: a gap in it is not known yet. Other values stay as they are."""
    return known.dropna().to_dict() if hasattr(known, "dropna") and hasattr(known, "to_dict") else known


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def resume(text: str, questions: Questions) -> Inquiry:
    """Return the inquiry that wrote this text, as it stood; it must be about the same plan."""
    try:
        state = json.loads(text)
        version, fingerprint = state["saccade inquiry"], state["plan"]
        known, told = _pairs(state["known"]), [_pairs(answers) for answers in state["told"]]
        prices = Prices(np.array(state["purchase"], dtype=np.intp), np.array(state["price"], dtype=np.float64))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"This is not an inquiry as to_json writes it: {str(error)[:120]}.") from error
    if version != FORMAT:
        raise ValueError(f"The inquiry has format {version!r}; this version of saccade reads {FORMAT}.")
    if fingerprint != questions.fingerprint:
        raise ValueError("The inquiry is about another model. Resume it with the model that began it.")
    n, last = questions.plan.n_features, prices.price.size
    priced = prices.price.ndim == 1 and bool(np.all((prices.price >= 0) & np.isfinite(prices.price)))
    if not priced or prices.purchase.shape != (n,) or not np.isin(prices.purchase, np.arange(last)).all():
        raise ValueError(f"The inquiry's prices are not those of {n} features.")
    try:
        inquiry = Inquiry(replace(questions, prices=prices), known)
        for values in told:
            inquiry.tell_many(values)
    except TypeError as error:
        raise ValueError(f"This is not an inquiry as to_json writes it: {error}") from error
    return inquiry


def _pairs(pairs: list[tuple[int, float | None]]) -> dict[Feature, float | None]:
    told: dict[Feature, float | None] = {int(position): value for position, value in pairs}
    if len(told) < len(pairs):
        raise ValueError("a feature is told twice")
    return told

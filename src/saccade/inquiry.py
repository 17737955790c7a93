"""One row whose features are asked for one after another, each at a price, until its label is clear.

The row is read by the same plan as any other, so its label is the one that ``predict`` gives for the same values, and
the certificate holds. Values that are known beforehand wait until the plan comes to them.

A feature that cannot be had is replaced by what is expected of it given those read before, and the plan demands clearer
margins (``absence.py``). The label stays certified where the calibration rows, read without that feature or that group
of features, kept the level.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from saccade.absence import Population, plan_without
from saccade.plan import Plan, decided
from saccade.prices import Feature, Prices, position_of
from saccade.readers.dispatch import read_plan

__all__ = ["Inquiry", "Questions", "resume"]

Reals = NDArray[np.float64]
FORMAT = 1


@dataclass(frozen=True)
class Questions:
    """What an inquiry goes by; the same for every row."""

    plan: Plan
    population: Population
    prices: Prices
    classes: NDArray[Any]
    names: tuple[str, ...] | None
    delta: float

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
        return [*stages, np.flatnonzero(~seen)]

    def plan_without(self, absent: tuple[int, ...]) -> Plan:
        """Return the plan for a row that lacks these features; rows are often alike in what they lack."""
        if not absent:
            return self.plan
        if absent not in self._plans:
            missing = np.isin(np.arange(self.plan.n_features), absent)
            self._plans[absent] = plan_without(self.plan, self.population, missing, self.delta)
        return self._plans[absent]

    @cached_property
    def _plans(self) -> dict[tuple[int, ...], Plan]:
        return {}

    def feature(self, position: int) -> Feature:
        return int(position) if self.names is None else self.names[position]


@dataclass(frozen=True)
class _Decision:
    code: int
    margin: Reals  # (scores,)
    certified: bool


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
    asked : the features asked for so far
    spent : what they cost

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from saccade import attend
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    >>> inquiry = attend(model, X, delta=0.05, random_state=0).inquire()
    >>> while inquiry.wanted is not None:
    ...     inquiry.tell(X.loc[0, inquiry.wanted])
    >>> int(inquiry.label), len(inquiry.asked) < 10
    (0, True)
    """

    def __init__(self, questions: Questions, known: Mapping[Feature, Any] | None = None) -> None:
        self._questions = questions
        n = questions.plan.n_features
        self._values = np.full(n, np.nan)
        self._missing = np.zeros(n, dtype=bool)
        self._asked: list[int] = []
        self._told: list[list[tuple[int, float | None]]] = []
        self._known = self._checked(known or {})
        self._write(self._known)
        self._decision = self._decide()

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
        return self._questions.prices.total(self._asked)

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
    def certified(self) -> bool:
        return self._decision is not None and self._decision.certified

    @property
    def confidence(self) -> float:
        if not self._open().any() and not self._missing.any():
            return 1.0
        mean, covariance = self._estimate()
        signs, code = _sides(mean.size), self._leaning()
        against = signs[code] - np.delete(signs, code, axis=0)
        lead, variance = against @ mean, np.einsum("ck,kl,cl->c", against, covariance, against)
        return float(np.prod(ndtr(lead / np.sqrt(np.maximum(variance, 1e-300)))))

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
        self._write(told)
        self._told.append(told)
        self._asked += [position for position, _ in told if position in needed]
        self._decision = self._decide()

    def new_in(self, record: Mapping[Any, Any]) -> dict[Feature, Any]:
        """Return what a record brings that is not known yet; other fields of it are left out."""
        still_open = self._open()
        features = (self._questions.feature(int(position)) for position in np.flatnonzero(still_open))
        return {feature: record[feature] for feature in features if feature in record}

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
        questions = self._questions
        told: list[tuple[int, float | None]] = []
        for feature, value in values.items():
            position = position_of(feature, questions.plan.n_features, questions.names, "tell")
            if self._missing[position] or not math.isnan(self._values[position]) or position in dict(told):
                raise ValueError(f"{feature!r} has been told already. An inquiry takes one value for each feature.")
            if value is not None and not isinstance(value, Real | np.bool_):
                raise TypeError(f"{feature!r}: expected a number, or None where it cannot be had; got {value!r}.")
            if value is not None and not math.isfinite(float(value)):
                raise ValueError(
                    f"{feature!r} is {float(value)}. Tell a finite number, or None where it cannot be had."
                )
            told.append((position, None if value is None else float(value)))
        return told

    def _write(self, told: list[tuple[int, float | None]]) -> None:
        for position, value in told:
            if value is None:
                self._missing[position] = True
            else:
                self._values[position] = value

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
        plan, values = questions.plan_without(absent), np.where(self._missing, 0.0, self._values)
        margin, _, _, not_finite = read_plan(plan, values[None])
        if not_finite >= 0:
            return None
        certified = not absent or absent in questions.population.spare
        return _Decision(int(decided(margin)[0]), margin[0], certified)

    def _estimate(self) -> tuple[Reals, Reals]:
        """Return mean and covariance of the full scores given the known values, under a normal law."""
        regression = self._questions.population.regression
        known = np.flatnonzero(~np.isnan(self._values[regression.order]))
        mean, covariance = regression.given(known, self._values[regression.order[known]])
        return mean + self._questions.plan.offset, covariance

    def _leaning(self) -> int:
        return int(decided(self._estimate()[0][None])[0]) if self._decision is None else self._decision.code


def _sides(scores: int) -> Reals:
    """Return what turns scores into one per class: the only score speaks for the second class against the first."""
    return np.array([[-0.5], [0.5]]) if scores == 1 else np.eye(scores)


def resume(text: str, questions: Questions) -> Inquiry:
    """Return the inquiry that wrote this text, as it stood; it must be about the same plan."""
    try:
        state = json.loads(text)
        version, fingerprint = state["saccade inquiry"], state["plan"]
        known, told = _pairs(state["known"]), [_pairs(one) for one in state["told"]]
        prices = Prices(np.array(state["purchase"], dtype=np.intp), np.array(state["price"], dtype=np.float64))
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"This is not an inquiry as to_json writes it: {error}.") from error
    if version != FORMAT:
        raise ValueError(f"The inquiry has format {version!r}; this version of saccade reads {FORMAT}.")
    if fingerprint != questions.fingerprint:
        raise ValueError("The inquiry is about another model. Resume it with the model that began it.")
    n = questions.plan.n_features
    if (
        prices.purchase.shape != (n,)
        or prices.price.ndim != 1
        or not np.isin(prices.purchase, np.arange(prices.price.size)).all()
    ):
        raise ValueError(f"The inquiry's prices are not those of {n} features.")
    inquiry = Inquiry(replace(questions, prices=prices), known)
    for values in told:
        inquiry.tell_many(values)
    return inquiry


def _pairs(pairs: Iterable[tuple[int, float | None]]) -> dict[Feature, float | None]:
    return {int(position): value for position, value in pairs}

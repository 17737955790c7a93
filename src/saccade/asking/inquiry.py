"""One row whose features are asked for one after another, each at a price, until its label is clear.

The row is read by the same plan as any other, so its label is the one that ``predict`` gives for the same values, and
the certificate holds. Values that are known beforehand wait until the plan comes to them.

What a row needs next, and how a feature without a value is replaced, depends on the kind of model
(``rows_of_columns.py``, ``rows_of_terms.py``, ``rows_of_trees.py``). A label is certified only if all values that it
needed are known, and lie within what the rows that planned and calibrated have.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from saccade.asking.one_row import Row, RowReader, Value
from saccade.planning.prices import Feature, Prices, places_of, position_of
from saccade.reading.plan import Plan, decided
from saccade.terminal import printable

__all__ = ["Inquiry", "Questions", "resume"]

Reals = NDArray[np.float64]
FORMAT = 1
# How often the scores of several classes are drawn to see how sure a label is.
DRAWS = 2000


@dataclass(frozen=True)
class Questions:
    """What an inquiry goes by; the same for every row."""

    reader: RowReader
    prices: Prices
    classes: NDArray[Any]
    names: tuple[str, ...] | None
    unpromised: frozenset[int] = frozenset()  # codes of classes of which the certificate promises nothing

    @property
    def plan(self) -> Plan:
        return self.reader.plan

    @cached_property
    def fingerprint(self) -> str:
        """Return what tells this model and its plan from others."""
        digest = hashlib.sha256(repr((self.classes.tolist(), self.names)).encode())
        for values in (*self.plan, *self.reader.arrays()):
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def _places(self) -> dict[str, int]:
        return places_of(self.names)

    def position(self, feature: Any) -> int:
        """Return the index of a feature that is given by its name or by its index."""
        return position_of(feature, self.reader.n_columns, self._places, "this inquiry")

    def feature(self, position: int) -> Feature:
        return int(position) if self.names is None else self.names[position]


class Inquiry:
    """A row that is asked for its features, which are columns, until its label is clear.

    Attributes
    ----------
    wanted : name or index, or None
        The feature that is asked for next; None once the label is clear. Of trees, the column that the next node on the
        row's path needs.
    needed : tuple
        All features that will be asked for before the row is looked at again, ``wanted`` first.
    label
        None until it is clear.
    leaning
        The label that the values so far speak for.
    margin : float or array
        The full model's margin as predicted so far; with several classes one per class.
    confidence : float
        The estimated probability that the full model gives the label leaned to.
    certified : bool
        Whether the label is clear and the certificate covers it: no value that it needed is missing, unless the feature
        was also missing in rows that planned or calibrated, as trees and imputers allow.
    outside : dict of feature to value
        The values that lie outside of what was seen when the model was certified: beyond the range of numbers, or a
        category that no row had. With any of these the label is not certified.
    asked : tuple
        The features asked for so far.
    spent : float
        What they cost, but for those that could not be had.

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
        self._reader = questions.reader
        self._row = Row.unknown(questions.reader.n_columns)
        self._asked: list[int] = []
        self._told: list[list[tuple[int, Value]]] = []
        self._known: list[tuple[int, Value]] = []
        self._decision = self._reader.decide(self._row)
        if known is not None:
            numbers = self._checked(_without_gaps(known))
            self._take(numbers)
            self._known = _plain(numbers)

    @property
    def needed(self) -> tuple[Feature, ...]:
        return tuple(self._questions.feature(position) for position in self._needed())

    @property
    def wanted(self) -> Feature | None:
        return next(iter(self.needed), None)

    @property
    def asked(self) -> tuple[Feature, ...]:
        return tuple(self._questions.feature(position) for position in self._asked)

    @property
    def spent(self) -> float:
        return self._questions.prices.total([position for position in self._asked if not self._row.missing[position]])

    @property
    def label(self) -> Any:
        return None if self._decision is None else self._questions.classes[self._decision.code]

    @property
    def leaning(self) -> Any:
        return self._questions.classes[self._leaning()]

    @property
    def margin(self) -> float | Reals:
        margin = self._reader.estimate(self._row)[0] if self._decision is None else self._decision.margin
        return float(margin[0]) if margin.size == 1 else margin

    @property
    def outside(self) -> dict[Feature, Value]:
        beyond = self._reader.outside(self._row)
        told = dict(pair for answers in (self._known, *self._told) for pair in answers) if beyond else {}
        return {self._questions.feature(position): told[position] for position in beyond}

    @property
    def certified(self) -> bool:
        decision = self._decision
        if decision is None or decision.lacked or self.outside:
            return False
        return decision.code not in self._questions.unpromised

    @property
    def lacked(self) -> bool:
        """Whether a value that the label needed could not be had; also a part of ``certified``."""
        return self._decision is not None and self._decision.lacked

    @property
    def confidence(self) -> float:
        mean, covariance = self._reader.estimate(self._row)
        code = self._leaning()
        if not covariance.any():
            return float(decided(mean[None])[0] == code)
        if mean.size == 1:
            towards = mean[0] if code else -mean[0]
            return float(ndtr(towards / np.sqrt(max(covariance[0, 0], 1e-300))))
        values, vectors = np.linalg.eigh(covariance)
        normal = np.random.default_rng(0).standard_normal((DRAWS, mean.size))  # always the same draws
        drawn = mean + normal @ (vectors * np.sqrt(np.maximum(values, 0))).T
        return float(np.mean(decided(drawn) == code))

    def tell(self, value: Value) -> None:
        """Tell the value of the feature that is wanted, a number or a category; None where it cannot be had."""
        if self.wanted is None:
            self._refuse_more()
        self.tell_many({self.wanted: value})

    def tell_many(self, values: Mapping[Feature, Value]) -> None:
        """Tell several values. Those that were not asked for yet cost nothing, and are used when their turn comes."""
        if self._decision is not None:
            self._refuse_more()
        numbers, needed = self._checked(values), set(self._needed())
        self._take(numbers)
        self._told += [_plain(numbers)] if numbers else []
        self._asked += [position for position in numbers if position in needed]

    def take_back(self) -> tuple[Feature, ...]:
        """Take back the last answer, or those that were told together, and return their features.

        What was known beforehand stays. A label that had become clear is open again.
        """
        if not self._told:
            raise ValueError("No answer is left that could be taken back.")
        positions = [position for position, _ in self._told.pop()]
        self._row.forget(positions)
        self._decision = None
        self._asked = [position for position in self._asked if position not in positions]
        return tuple(self._questions.feature(position) for position in positions)

    def new_in(self, record: Mapping[Any, Any]) -> dict[Feature, Any]:
        """Return what a record brings that is not known yet, and of what is not needed yet only values."""
        needed, new = set(self._needed()), {}
        for position in np.flatnonzero(~self._row.known).tolist():
            feature = self._questions.feature(position)
            if feature in record and (position in needed or self._is_value(position, record[feature])):
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
        state = f"wanted={self.wanted!r}" if self._decision is None else f"label={printable(self.label)}"
        return f"Inquiry({state}, asked={len(self._asked)}, spent={self.spent:g})"

    def _refuse_more(self) -> NoReturn:
        raise ValueError(f"The label is clear, {self.label!r}: nothing more is asked for. Begin a new inquiry.")

    def _checked(self, values: Mapping[Feature, Any]) -> dict[int, tuple[Value, float]]:
        """Return what was told by position, with the numbers of it; or raise before anything has changed."""
        if not isinstance(values, Mapping):
            raise TypeError(f"Expected a dict of feature to value; got {type(values).__name__}.")
        told: dict[int, tuple[Value, float]] = {}
        for feature, value in values.items():
            position = self._questions.position(feature)
            if self._row.known[position] or position in told:
                raise ValueError(f"{feature!r} has been told already. An inquiry takes one value for each feature.")
            told[position] = self._reader.taken(position, feature, value)
        return told

    def _take(self, told: dict[int, tuple[Value, float]]) -> None:
        """Write down what was told and what follows from it; or raise, and nothing was told."""
        for position, (value, number) in told.items():
            self._row.put(position, value, number)
        try:
            decision = self._reader.decide(self._row)
        except Exception:  # values that are refused together, or a transformer that raises
            self._row.forget(list(told))
            raise
        if decision is None and not self._reader.needed(self._row):
            self._row.forget(list(told))
            raise ValueError("The margin overflows although the values are finite. Nothing was taken: are they right?")
        self._decision = decision

    def _is_value(self, position: int, value: Any) -> bool:
        """Whether a value could be told."""
        try:
            return self._reader.taken(position, position, value)[0] is not None
        except (TypeError, ValueError):
            return False

    def _needed(self) -> list[int]:
        return [] if self._decision is not None else self._reader.needed(self._row)

    def _leaning(self) -> int:
        if self._decision is not None:
            return self._decision.code
        return int(decided(self._reader.estimate(self._row)[0][None])[0])


def _plain(told: dict[int, tuple[Value, float]]) -> list[tuple[int, Value]]:
    return [(position, value) for position, (value, _) in told.items()]


def _without_gaps(known: Any) -> Any:
    """Return what a pandas Series knows as a dict: a gap in it is not known yet. Dicts stay as they are."""
    if isinstance(known, Mapping):
        return known
    if getattr(known, "ndim", None) != 1 or not hasattr(known, "dropna"):
        raise TypeError(
            "known must be a dict of feature to value, or a row of a pandas table as a Series, such as X.iloc[5]; got "
            f"{type(known).__name__}."
        )
    return known.dropna().to_dict()


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
    n, last = questions.reader.n_columns, prices.price.size
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


def _pairs(pairs: list[tuple[int, Value]]) -> dict[Feature, Value]:
    told: dict[Feature, Value] = {int(position): value for position, value in pairs}
    if len(told) < len(pairs):
        raise ValueError("a feature is told twice")
    return told

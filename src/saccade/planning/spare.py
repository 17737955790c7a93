"""Without which features the certificate still holds: tested on the calibration rows, when somebody asks.

Most models never meet a row that lacks a feature, so nothing is tested when they are made. What the tests need is kept
instead: of every calibration row the full model's scores, and the values of the features that count where another is
missing. These are the features that checkpoints weigh, those of the regression, which replace what is missing, and the
missing features themselves. Of trees it is the columns that any of them asks for: where one is missing, rows go the way
that the library sends them.

All of these tests together keep the confidence (Bonferroni). That the plan was chosen on the same rows needs no more as
long as bolder plans only add errors, because a plan that passes then implies the last one that should have.
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.models.additive import Columns
from saccade.planning.absence import Population, plan_without
from saccade.planning.choosing import Sample
from saccade.planning.prices import Prices
from saccade.promises.certificate import Certificate, strictest
from saccade.promises.labels import Labels
from saccade.promises.promise import Promise, is_kept
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["spare_features"]

Reals = NDArray[np.float64]
Rows = NDArray[np.floating[Any]]
Features = tuple[int, ...]

# Of so many features, the first that are asked for, it is tested whether a row may lack them; of fewer where the tests
# would read more values than that. Features are columns.
MOST_SPARED = 64
MOST_VALUES_SPARED = 300_000_000
# Rows that take more memory than this are not kept, and the tests are made at once.
MOST_BYTES_KEPT = 64_000_000


def spare_features(
    plan: Plan,
    promise: Promise,
    certificate: Certificate,
    population: Population,
    prices: Prices,
    calibration: Sample,
) -> Set[Features]:
    """Return the features, and the groups of them, without which these rows still bear the certificate out.

    Each is tested when it is first asked for.
    """
    rows, columns = calibration.values, calibration.columns
    most = min(MOST_SPARED, int(MOST_VALUES_SPARED / (rows.shape[0] * max(certificate.features_per_row, 1.0))))
    asked = plan.order[:most] if columns is None else _may_be_lacking(columns, plan, population)[:most]
    alone = [(int(feature),) for feature in dict.fromkeys(asked.tolist())]
    groups = [tuple(prices.members(int(group)).tolist()) for group in prices.groups]
    candidates = tuple(dict.fromkeys([*alone, *groups]))
    if not candidates or (columns is not None and not columns.may_lack):
        return frozenset()
    confidence = 1 - (1 - certificate.confidence) / len(candidates)
    if columns is None:
        return _tested(candidates, *_rehearsal(plan, promise, confidence, population, calibration, candidates))
    small = columns.nbytes <= MOST_BYTES_KEPT
    kept = columns.kept() if small else columns
    return _tested(candidates, _RehearsalOfTrees(plan, promise, confidence, kept, calibration.labels), small)


def _may_be_lacking(columns: Columns, plan: Plan, population: Population) -> NDArray[np.intp]:
    """Return the columns that the plan can ask for, and of which no row lacked a value."""
    asked = columns.in_order(plan.demanded)
    return asked[~population.missing[asked]]


def _tested(candidates: tuple[Features, ...], rehearsal: "_Rehearses", later: bool) -> Set[Features]:
    """Return those of the candidates without which the promise is kept, tested at once or when somebody asks."""
    if later:
        return _SpareFeatures(rehearsal, candidates)
    return frozenset(features for features in candidates if rehearsal.passes(features))


def _rehearsal(
    plan: Plan,
    promise: Promise,
    confidence: float,
    population: Population,
    calibration: Sample,
    candidates: tuple[Features, ...],
) -> tuple["_Rehearsal", bool]:
    """Return what reads rows of columns again, and whether it holds a copy of what it needs of them."""
    rows, labels = calibration.values, calibration.labels
    full, kept = calibration.margins(plan), _features_kept(plan, population, candidates)
    small = rows.shape[0] * kept.size * rows.itemsize + full.nbytes <= MOST_BYTES_KEPT
    kept, values = calibration.taken(kept, copied=small)
    return _Rehearsal(plan, promise, confidence, population, kept, values, full, labels), small


def _features_kept(plan: Plan, population: Population, candidates: tuple[Features, ...]) -> NDArray[np.intp]:
    missing = np.array([feature for features in candidates for feature in features], dtype=np.intp)
    return np.unique(np.concatenate([_weighed(plan), population.regression.order, missing])).astype(np.intp)


def _weighed(plan: Plan) -> NDArray[np.uint32]:
    """Return the features that checkpoints weigh."""
    return plan.order[: plan.checkpoints[-1] if plan.checkpoints.size else 0]


class _Rehearses(Protocol):
    def passes(self, absent: Features) -> bool:
        """Whether the promise is kept for the calibration rows without these features."""


@dataclass(frozen=True, eq=False)
class _RehearsalOfTrees:
    """The columns of the calibration rows, to read them once more as if they lacked some."""

    plan: Plan
    promise: Promise
    confidence: float
    columns: Columns
    labels: Labels

    def passes(self, absent: Features) -> bool:
        here = decided(read_plan(self.plan, self.columns.without(absent)).margin)
        return is_kept(self.promise, here, self.labels, self.confidence)


@dataclass(frozen=True, eq=False)
class _Rehearsal:
    """What is kept of the calibration rows to read them once more as if they lacked some features."""

    plan: Plan
    promise: Promise
    confidence: float
    population: Population
    kept: NDArray[np.intp]  # features, ascending
    values: Rows  # (rows, kept)
    full: Reals  # (rows, scores) the full scores, to the bit as a reader sums them
    labels: Labels

    def passes(self, absent: Features) -> bool:
        """Whether the promise is kept for these rows without these features."""
        plan = self.plan
        missing = np.isin(np.arange(plan.n_features), absent)
        without = plan_without(plan, self.population, missing, strictest(self.promise.delta))
        # Read to the end, a row has its full score and what the absence changes in it. So rows keep their label to the
        # bit where it changes nothing; a sum over other features would round otherwise.
        changes = without._replace(
            order=np.searchsorted(self.kept, _weighed(plan)).astype(np.uint32),
            coef=np.ascontiguousarray((without.coef - plan.coef)[:, self.kept]),
            intercept=without.intercept - plan.intercept,
        )
        margin, _, stopped, _ = read_plan(changes, ArraySource(self.values))
        margin[~stopped] += self.full[~stopped]
        return is_kept(self.promise, decided(margin), self.labels, self.confidence)


class _SpareFeatures(Set[Features]):
    """A set that tests whether it contains something when it is asked, and remembers; a copy in a file is a plain set.

    Two threads may test the same at once, and find the same.
    """

    def __init__(self, rehearsal: _Rehearses, candidates: tuple[Features, ...]) -> None:
        self._rehearsal = rehearsal
        self._candidates = candidates
        self._passed: dict[Features, bool] = {}

    def __contains__(self, features: object) -> bool:
        if not isinstance(features, tuple) or features not in self._candidates:
            return False
        if features not in self._passed:
            self._passed[features] = self._rehearsal.passes(features)
        return self._passed[features]

    def __iter__(self) -> Iterator[Features]:
        return (features for features in self._candidates if features in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(set(self))

    def __reduce__(self) -> tuple[type[frozenset[Features]], tuple[list[Features]]]:
        return frozenset, (list(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> "_SpareFeatures":
        return self  # nothing in it ever changes but what is remembered

    @classmethod
    def _from_iterable(cls, features: Iterable[Any]) -> Set[Any]:
        return frozenset(features)
